"""The one error of reading and making histories."""

from __future__ import annotations

__all__ = ["HistoryError", "shown"]

_LONGEST = 80


class HistoryError(ValueError):
    """A history that cannot be used: where, what is wrong, what is ``allowed``.

    ``line`` counts from 1, 0 where no line is to blame; ``field`` names the part of the line, ""
    where it is the line as a whole; ``path`` is the file, "" for data in memory.
    """

    def __init__(
        self, problem: str, allowed: str = "", *, line: int = 0, field: str = "", path: str = ""
    ) -> None:
        self.problem, self.allowed = problem, allowed
        self.line, self.field, self.path = line, field, path
        super().__init__(self._message())

    def at(self, line: int) -> HistoryError:
        """The same mistake on that line, unless it knows its line already."""
        return self._with(self.line or line, self.path)

    def within(self, path: str) -> HistoryError:
        """The same mistake in that file."""
        return self._with(self.line, path)

    def _with(self, line: int, path: str) -> HistoryError:
        return HistoryError(self.problem, self.allowed, line=line, field=self.field, path=path)

    def _message(self) -> str:
        place = ", ".join(filter(None, [self.path, f"line {self.line}" if self.line else ""]))
        field = f"field {self.field!r}" if self.field else ""
        told = ": ".join(filter(None, [place, field, self.problem]))
        return f"{told}; allowed: {self.allowed}" if self.allowed else told

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.problem, self.allowed, self.line, self.field, self.path)


def _again(problem: str, allowed: str, line: int, field: str, path: str) -> HistoryError:
    return HistoryError(problem, allowed, line=line, field=field, path=path)


def shown(value: object) -> str:
    """A value as an error shows it: short, and printable whatever it holds."""
    text = ascii(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
