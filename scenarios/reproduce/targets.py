"""What can be reproduced: published figures by target and part, at full size or quickly.

    for part, rows in reproduce("detectors", quick=True):
        ...

Each part compares the figures of one kind of source with ours. A quick run leaves out what needs
minutes; what it does compare, it compares with the same tolerances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from scenarios.reproduce.rows import Row

__all__ = ["TARGETS", "Part", "names", "parts", "reproduce", "to_json", "to_markdown"]

ALL = "all"


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one kind. ``module`` and ``function`` make them; None for ``quick``: left out.

    ``full`` and ``quick`` are the arguments by keyword for either size; ``cost`` says how long a
    full run takes on one core of a usual machine.
    """

    title: str
    module: str
    function: str
    cost: str
    full: Callable[[], dict[str, Any]] = dict
    quick: Callable[[], dict[str, Any]] | None = dict

    def rows(self, *, quick: bool = False) -> list[Row]:
        """Make the rows; [] for a part that a quick run leaves out."""
        arguments = self.quick if quick else self.full
        if arguments is None:
            return []
        function = getattr(import_module(f"scenarios.reproduce.{self.module}"), self.function)
        return list(function(**arguments()))


def _quick_plans() -> dict[str, Any]:
    from scenarios.reproduce.nfd_s_runs import QUICK

    return {"plans": QUICK}


_FORMULAS = (
    ("Akka's formula at Pekko's test vectors", "akka_formula"),
    ("sliding windows", "histories"),
    ("Akka's approximation against the normal law", "approximation_error"),
    ("silence at which each law reaches a threshold", "thresholds"),
    ("crash to suspicion by formula", "crash_to_suspicion"),
    ("Cassandra's and Chitchat's vectors", "cassandra_and_chitchat"),
    ("NFD-S in closed form", "chen_quality"),
    ("Chen's configurator", "chen_configuration"),
)

TARGETS: dict[str, tuple[Part, ...]] = {
    "detectors": (
        *(Part(title, "detectors", function, "at once") for title, function in _FORMULAS),
        Part("crash to suspicion in a run", "detector_runs", "crash_to_suspicion", "1 s"),
        Part("Cassandra's 18.42 intervals in a run", "detector_runs", "cassandra_intervals", "1 s"),
        Part(
            "false alarms of a fixed timeout, 9,900 pairs",
            "detector_runs",
            "false_alarms",
            "40 s",
            quick=None,
        ),
        Part("NFD-S in plain runs", "nfd_s_runs", "nfd_s_plain", "60 s", quick=None),
        Part(
            "NFD-S given lost heartbeats",
            "nfd_s_runs",
            "nfd_s_given_losses",
            "2 min",
            quick=_quick_plans,
        ),
    ),
    "gossip": (
        Part(
            "Demers' tables 1 to 3",
            "gossip",
            "demers_rows",
            "60 s",
            quick=lambda: {"runs": 40, "tables": (1, 3)},
        ),
        Part(
            "mean rounds of push, pull and push-pull",
            "gossip",
            "rounds_rows",
            "40 s",
            quick=lambda: {"runs": 100, "sizes": (100, 1_000)},
        ),
        Part("Serf's convergence", "gossip_serf", "serf_rows", "5 s"),
    ),
}
"""Target → its parts, in the order in which they run."""


def names() -> list[str]:
    """What one may ask for: each target, and all of them."""
    return [*TARGETS, ALL]


def parts(target: str) -> list[Part]:
    """The parts of a target; KeyError for one that is not in :func:`names`."""
    if target == ALL:
        return [part for every in TARGETS.values() for part in every]
    return list(TARGETS[target])


def reproduce(target: str, *, quick: bool = False) -> Iterator[tuple[Part, list[Row]]]:
    """Run the parts of a target one by one."""
    for part in parts(target):
        yield part, part.rows(quick=quick)


def to_json(target: str, found: Iterable[tuple[Part, list[Row]]], *, quick: bool) -> dict[str, Any]:
    """All rows as plain data, schema ``splitbrain.reproduce/1``."""
    lines = [{"part": part.title, **asdict(line)} for part, rows in found for line in rows]
    return {
        "schema": "splitbrain.reproduce/1",
        "target": target,
        "quick": quick,
        "ok": all(line["ok"] for line in lines),
        "rows": lines,
    }


def to_markdown(found: Iterable[tuple[Part, list[Row]]]) -> str:
    """All rows as tables in Markdown."""
    lines: list[str] = []
    for part, rows in found:
        if rows:
            lines += [
                f"## {part.title}",
                "",
                "| figure | published | ours | tolerance | ok | source | assumption |",
            ]
            lines += ["|---|---|---|---|---|---|---|"]
            lines += [_cells(line) for line in rows] + [""]
    return "\n".join(lines)


def _cells(line: Row) -> str:
    figures = (f"{line.published:.10g}", f"{line.ours:.10g}", f"{line.tolerance:.3g}")
    told = "yes" if line.ok else "NO"
    cells = (line.name, *figures, told, line.source, line.assumption)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
