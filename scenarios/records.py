"""From what detectors observed in a run to the records that the checkers judge.

Detectors tell ``Suspect(detector, peer)`` and ``Trust(detector, peer)``; they are known by
these names, so that any protocol that observes them is judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocols.values import NodeId
from sim.check.timeline import PairRecord, Span

if TYPE_CHECKING:
    from scenarios.runner import RunResult

Pair = tuple[str, NodeId, NodeId]
Change = tuple[int, bool, int]


def detector_names(run: RunResult) -> list[str]:
    """The detectors that the processes host, in their order."""
    names: dict[str, None] = {}
    for node in run.cluster.nodes.values():
        hosted = getattr(node.process, "detectors", ())
        names.update(dict.fromkeys(name for name, _ in hosted))
    for _, _, seen, _ in run.observations:
        if type(seen).__name__ in ("Suspect", "Trust"):
            names.setdefault(seen.detector)  # type: ignore[attr-defined]
    return list(names)


def pair_records(run: RunResult, start_us: int = 0) -> dict[str, list[PairRecord]]:
    """Detector name → one record per monitor and target, in node order."""
    changes = _changes(run)
    downs = down_times(run)
    names = detector_names(run)
    found: dict[str, list[PairRecord]] = {name: [] for name in names}
    for name in names:
        for monitor, node in run.cluster.nodes.items():
            for target in _monitored(node.process):
                told = _with_restarts(changes.get((name, monitor, target), []), downs[monitor])
                found[name].append(_record(run, monitor, target, told, downs, start_us))
    return found


def _monitored(process: Any) -> tuple[NodeId, ...]:
    monitors: tuple[NodeId, ...] = getattr(process, "monitors", None) or ()
    return tuple(monitors or getattr(process, "peers", ()))


def _changes(run: RunResult) -> dict[Pair, list[Change]]:
    told: dict[Pair, list[Change]] = {}
    for at, monitor, seen, event in run.observations:
        kind = type(seen).__name__
        if kind in ("Suspect", "Trust"):
            key = (seen.detector, monitor, seen.peer)  # type: ignore[attr-defined]
            told.setdefault(key, []).append((at, kind == "Suspect", event))
    return told


def down_times(run: RunResult) -> dict[NodeId, list[Span]]:
    """Per node, the times in which it was down; one that lasts reaches beyond the end."""
    downs: dict[NodeId, list[Span]] = {node: [] for node in run.cluster.nodes}
    since: dict[NodeId, int] = {}
    for at, node, kind in run.cluster.lifecycle:
        if kind == "crash":
            since[node] = at
        elif kind == "recover" and node in since:
            downs[node].append((since.pop(node), at))
    for node, at in since.items():
        downs[node].append((at, run.end_us + 1))
    return {node: [span for span in spans if span[0] < span[1]] for node, spans in downs.items()}


def _with_restarts(told: list[Change], monitor_downs: list[Span]) -> list[Change]:
    """A monitor that restarts has forgotten its suspicions: it trusts until it says otherwise."""
    forgotten = [(end, False, -1) for _, end in monitor_downs]
    return sorted([*forgotten, *told], key=lambda change: change[0])


def _record(
    run: RunResult,
    monitor: NodeId,
    target: NodeId,
    told: list[Change],
    downs: dict[NodeId, list[Span]],
    start_us: int,
) -> PairRecord:
    spans = downs.get(target, [])
    crash = spans[-1][0] if spans and spans[-1][1] > run.end_us else None
    return PairRecord(
        monitor,
        target,
        min(start_us, run.end_us),
        run.end_us,
        transitions=tuple((at, suspected) for at, suspected, _ in told),
        crash_us=crash,
        downs=tuple(spans[:-1] if crash is not None else spans),
        monitor_downs=tuple(downs.get(monitor, [])),
        event_ids=tuple(event for _, _, event in told),
    )
