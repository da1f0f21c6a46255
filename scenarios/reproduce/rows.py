"""One line of a reproduction: a published number, ours, and whether they agree."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Row", "row"]


@dataclass(frozen=True, slots=True)
class Row:
    """A published number beside ours.

    ``tolerance`` is absolute, in the unit of the number; ``assumption`` says what was assumed
    where the source is silent ("" for nothing); ``source`` names the paper or file.
    """

    name: str
    published: float
    ours: float
    tolerance: float
    ok: bool
    assumption: str
    source: str


def row(
    name: str,
    published: float,
    ours: float,
    *,
    source: str,
    tolerance: float = 0.0,
    relative: float = 0.0,
    assumption: str = "",
) -> Row:
    """Build a row that is ok if the two numbers differ by no more than the tolerance.

    ``relative`` adds a share of the published number to the absolute ``tolerance``. A NaN never
    agrees with anything.
    """
    allowed = tolerance + relative * abs(published)
    agrees = abs(ours - published) <= allowed
    return Row(name, published, ours, allowed, agrees, assumption, source)
