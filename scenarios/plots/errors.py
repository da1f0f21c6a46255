"""What can go wrong with a figure, apart from a bug in drawing it."""

from __future__ import annotations

__all__ = ["MissingExtra", "PlotError"]


class PlotError(ValueError):
    """Something cannot be drawn: says what was given, what is there, what to try."""


class MissingExtra(ImportError):
    """An optional dependency isn't installed; ``extra`` names what to install."""

    def __init__(self, extra: str, what: str = "a figure", needs: str = "matplotlib") -> None:
        self.extra = extra
        super().__init__(f"{what} needs {needs}: pip install 'splitbrain[{extra}]'")
