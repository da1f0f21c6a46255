"""How an update spread, and whether it reached everyone.

Figures of Demers et al., "Epidemic Algorithms for Replicated Database Maintenance", PODC 1987,
section 1.4: residue s (share of sites that never got it), traffic m (update messages per site),
delay as t_ave and t_last. Times may be µs or cycle numbers; they come back in the same unit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from sim.check.result import Counterexample, Ok, Result, Unknown, Violated
from sim.check.timeline import Span
from sim.units import format_duration as shown

if TYPE_CHECKING:
    from fractions import Fraction

COVERAGES = (0.5, 0.9, 0.99, 0.9999)


@dataclass(frozen=True, slots=True)
class Spread:
    """One update among ``n`` nodes.

    ``times`` are the sorted times at which a node first had it, the source's (``start``)
    included; ``messages`` the update messages sent, or None if nobody counted them.
    """

    n: int
    start: int
    times: tuple[int, ...]
    messages: int | None = None

    @property
    def residue(self) -> float:
        """Share of the nodes that never got the update, s."""
        return (self.n - len(self.times)) / self.n

    @property
    def traffic(self) -> float | None:
        """Update messages per node, m; None if they were not counted."""
        return None if self.messages is None else self.messages / self.n

    @property
    def t_ave(self) -> float:
        """Mean delay from ``start``, over the nodes that got it (the source has delay 0)."""
        return sum(time - self.start for time in self.times) / len(self.times)

    @property
    def t_last(self) -> int:
        """Delay of the last node that got it."""
        return self.times[-1] - self.start

    def fraction_at(self, time: int) -> float:
        """Return the share of all nodes that have the update at ``time``."""
        return bisect_right(self.times, time) / self.n

    def curve(self) -> tuple[tuple[int, float], ...]:
        """Return ``(time, share informed)`` at each time at which it grew."""
        counts = {time: count for count, time in enumerate(self.times, 1)}
        return tuple((time, count / self.n) for time, count in counts.items())

    def coverage_delay(self, fraction: float | Fraction) -> int | None:
        """Return the delay until at least ``fraction`` (0 < it <= 1) of all nodes had it.

        None if so many never had it. A float is taken as its decimal digits say: 0.9999 of 10,000
        nodes are 9,999. Give a ``fractions.Fraction`` for a share such as 2/30.
        """
        if not 0 < fraction <= 1:
            raise ValueError(f"the fraction is {fraction}; it must be above 0 and at most 1")
        from fractions import Fraction  # here, as it takes long to import

        needed = ceil(Fraction(str(fraction)) * self.n)
        return self.times[needed - 1] - self.start if needed <= len(self.times) else None

    def to_json(self) -> dict[str, object]:
        """Return the figures (not the curve) as a dict that ``json.dumps`` takes as it is."""
        return {
            "n": self.n,
            "residue": self.residue,
            "traffic": self.traffic,
            "t_ave": self.t_ave,
            "t_last": self.t_last,
            "coverage": {str(share): self.coverage_delay(share) for share in COVERAGES},
        }


def spread(
    informed: Iterable[tuple[int, str]],
    n: int,
    *,
    messages: int | None = None,
    start: int | None = None,
) -> Spread:
    """Return how an update spread among ``n`` nodes.

    ``informed`` holds ``(time, node)`` in any order; the first time of each node counts. The
    delays count from ``start``, by default the earliest time. No node, more than ``n`` of them,
    or a time before ``start`` is a ValueError.
    """
    times = tuple(sorted(_first_times(informed).values()))
    if not 1 <= len(times) <= n:
        raise ValueError(f"{len(times)} nodes were informed of n={n}; need 1 to n, source included")
    begin = times[0] if start is None else start
    if times[0] < begin:
        raise ValueError(f"a node was informed at {times[0]}, before the start {begin}")
    if messages is not None and messages < 0:
        raise ValueError(f"messages is {messages}; it is a count, so 0 or more")
    return Spread(n, begin, times, messages)


def eventual_delivery(
    informed: Iterable[tuple[int, str]],
    nodes: Sequence[str],
    *,
    start_us: int,
    bound_us: int,
    end_us: int,
    downs: Mapping[str, Sequence[Span]] | None = None,
) -> Result:
    """Check that an update issued at ``start_us`` reaches every node that is up in the end.

    Each such node must have had it ``bound_us`` after ``start_us`` or, if later, after its last
    recovery (a node that joins late is down until then). To have had it once counts, whatever a
    crash does to it later. ``downs`` are ``(from_us, to_us)`` per node; a down to ``end_us`` or
    beyond is for good. Unknown if the run ends before a node that lacks it is due, or if no
    correct node but those of ``start_us`` ever had to get it.
    """
    _check_times(start_us, bound_us, end_us)
    have = _known(informed, nodes, end_us)
    due = _due(nodes, start_us, bound_us, end_us, downs or {})
    waiting = {node: at for node, at in due.items() if have.get(node, end_us + 1) > start_us}
    return _delivery("eventual delivery", have, waiting, end_us)


def agreement(
    informed: Iterable[tuple[int, str]],
    nodes: Sequence[str],
    *,
    bound_us: int,
    end_us: int,
    downs: Mapping[str, Sequence[Span]] | None = None,
) -> Result:
    """Check that once one correct node has an update, all correct nodes get it.

    As :func:`eventual_delivery`, from the first time at which a correct node had it: a source
    that crashes may take its update with it, but not after a correct node got hold of it.
    Unknown if no correct node ever had it.
    """
    have = _known(informed, nodes, end_us)
    correct = _due(nodes, 0, 0, end_us, downs or {})
    times = [have[node] for node in correct if node in have]
    if not times:
        return Unknown("agreement: no correct node ever had the update")
    _check_times(min(times), bound_us, end_us)
    due = _due(nodes, min(times), bound_us, end_us, downs or {})
    waiting = {node: at for node, at in due.items() if have.get(node) != min(times)}
    return _delivery("agreement", have, waiting, end_us)


def _delivery(name: str, have: Mapping[str, int], due: Mapping[str, int], end_us: int) -> Result:
    late = [(at, node) for node, at in due.items() if at <= end_us and _lacks(have, node, at)]
    if late:
        return _missed(name, have, late, len(due))
    pending = [node for node in due if _lacks(have, node, end_us)]
    if pending:
        return Unknown(
            f"{name}: the run ended at {shown(end_us)}, before {len(pending)} of {len(due)} nodes "
            f"were due ({pending[0]} at {shown(due[pending[0]])})"
        )
    if not due:
        return Unknown(f"{name}: no correct node had still to get the update")
    last = max(have[node] for node in due)
    return Ok(f"{name}: all {len(due)} nodes got it", {"nodes": len(due), "last_us": last})


def _missed(
    name: str, have: Mapping[str, int], late: Sequence[tuple[int, str]], total: int
) -> Violated:
    at, node = min(late)
    got = f"got it only at {shown(have[node])}" if node in have else "never got it"
    what = f"{node} should have had the update by {shown(at)} and {got}"
    more = f" ({len(late)} of {total} nodes were late)"
    return Violated(f"{name}: {what}{more}", Counterexample((node,), at, (), what))


def _lacks(have: Mapping[str, int], node: str, time_us: int) -> bool:
    return node not in have or have[node] > time_us


def _first_times(informed: Iterable[tuple[int, str]]) -> dict[str, int]:
    first: dict[str, int] = {}
    for time, node in informed:
        first[node] = min(time, first.get(node, time))
    return first


def _known(
    informed: Iterable[tuple[int, str]], nodes: Sequence[str], end_us: int
) -> dict[str, int]:
    have = _first_times(informed)
    strangers = sorted(have.keys() - set(nodes))
    if strangers:
        raise ValueError(f"informed names {strangers[:5]}, not among the {len(nodes)} nodes given")
    return {node: time for node, time in have.items() if time <= end_us}


def _due(
    nodes: Sequence[str],
    start_us: int,
    bound_us: int,
    end_us: int,
    downs: Mapping[str, Sequence[Span]],
) -> dict[str, int]:
    """Return, for each node that is up in the end, when it must have the update."""
    due = {}
    for node in nodes:
        ends = [to for start, to in downs.get(node, ()) if start <= end_us]
        if all(to < end_us for to in ends):
            due[node] = max([start_us, *ends]) + bound_us
    return due


def _check_times(start_us: int, bound_us: int, end_us: int) -> None:
    if bound_us < 0:
        raise ValueError(f"bound_us is {bound_us}; give a time of 0 µs or more")
    if end_us < start_us:
        raise ValueError(
            f"the run ends at {shown(end_us)}, before the update started at {start_us}"
        )
