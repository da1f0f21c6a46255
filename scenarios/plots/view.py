"""What a figure needs to know about a run, from its result in memory or from its trace on disk.

Observations are plain: the class name and a dict of the fields, as traces show them, so that a
figure is the same whether it is drawn right after the run or from the file years later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarios.plots.errors import PlotError

if TYPE_CHECKING:
    from scenarios.runner import RunResult
    from sim.trace_read import Event, Trace

__all__ = ["FaultSpan", "Observed", "RunView", "Span", "spans", "view"]

Span = tuple[int, int]
Source = "RunResult | RunView | str | Path"


class Observed(NamedTuple):
    """Something that a process told at ``t`` (µs): class name and fields."""

    t: int
    node: str
    kind: str
    fields: Mapping[str, Any]


class FaultSpan(NamedTuple):
    """A fault of the plan in force from ``start_us``; ``end_us`` None: at once, or for good."""

    start_us: int
    end_us: int | None
    text: str


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as figures see it. ``lifecycle`` holds ``(t, node, what)``: crash, recover, pause…

    ``thresholds``: detector → the level from which on it suspects.
    """

    name: str
    title: str
    seed: int
    digest: str | None
    nodes: tuple[str, ...]
    end_us: int
    observations: tuple[Observed, ...]
    lifecycle: tuple[tuple[int, str, str], ...]
    faults: tuple[FaultSpan, ...]
    thresholds: Mapping[str, float]

    def downs(self, node: str) -> list[Span]:
        """When ``node`` was down, the run's end being the last end."""
        own = [(t, what) for t, who, what in self.lifecycle if who == node]
        return spans(own, ("crash", "leave"), ("recover", "join"), self.end_us)

    def pauses(self, node: str) -> list[Span]:
        """When ``node`` stood still (a crash ends a pause)."""
        own = [(t, what) for t, who, what in self.lifecycle if who == node]
        return spans(own, ("pause",), ("resume", "crash", "leave"), self.end_us)

    def of_kind(self, *kinds: str) -> Iterator[Observed]:
        """The observations of these classes, in time order."""
        return (seen for seen in self.observations if seen.kind in kinds)


def spans(
    events: Iterable[tuple[int, str]], begins: Sequence[str], ends: Sequence[str], end_us: int
) -> list[Span]:
    """Times from one of ``begins`` to the next of ``ends``; what is still open ends at the end."""
    found, since = [], None
    for t, what in events:
        if what in begins and since is None:
            since = t
        elif what in ends and since is not None:
            found.append((since, t))
            since = None
    if since is not None:
        found.append((since, end_us))
    return [span for span in found if span[0] < span[1]]


def view(run: RunResult | RunView | str | Path) -> RunView:
    """The view of a run result, a run folder or a trace file; PlotError if there is no trace."""
    if isinstance(run, RunView):
        return run
    if isinstance(run, (str, Path)):
        return _from_file(Path(run))
    return _from_result(run)


def _from_file(path: Path) -> RunView:
    from sim.trace_read import read_trace

    if path.is_dir():
        found = [p for name in ("trace.jsonl.gz", "trace.jsonl") if (p := path / name).is_file()]
        if not found:
            raise PlotError(f"{path}: there is no trace.jsonl.gz in this folder; give a run's")
        path = found[0]
    return _from_trace(read_trace(path))


def _sorted(faults: Iterable[FaultSpan]) -> tuple[FaultSpan, ...]:
    return tuple(sorted(faults, key=lambda fault: (fault.start_us, fault.text)))


# -- from memory ------------------------------------------------------------------------------


def _from_result(run: RunResult) -> RunView:
    from sim.plan import describe

    plan = run.plan.faults
    return RunView(
        name=run.scenario.name,
        title=run.scenario.title,
        seed=run.seed,
        digest=run.digest,
        nodes=tuple(run.scenario.nodes),
        end_us=run.end_us,
        observations=tuple(_observed(t, node, seen) for t, node, seen, _ in run.observations),
        lifecycle=tuple(run.cluster.lifecycle),
        faults=_sorted(FaultSpan(f.at_us, f.until_us, describe(f)) for f in plan),
        thresholds=_thresholds(
            getattr(node.process, "detectors", ()) for node in run.cluster.nodes.values()
        ),
    )


def _observed(t: int, node: str, seen: Any) -> Observed:
    return Observed(t, node, type(seen).__name__, _Lazy(seen))


class _Lazy(Mapping[str, Any]):
    """The fields of an observation as a mapping, without copying them."""

    __slots__ = ("_seen",)

    def __init__(self, seen: Any) -> None:
        self._seen = seen

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self._seen, name)
        except AttributeError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return (f.name for f in fields(self._seen))

    def __len__(self) -> int:
        return len(fields(self._seen))


def _thresholds(hosted: Iterable[Iterable[tuple[str, Any]]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for detectors in hosted:
        for name, estimator in detectors:
            options = getattr(estimator, "options", None)
            found.setdefault(name, float(getattr(options, "threshold", 1.0)))
    return found


# -- from a trace -----------------------------------------------------------------------------


def _from_trace(trace: Trace) -> RunView:
    header = trace.header
    raw = header.get("scenario") or {}
    last = trace.events[-1]["t"] if trace.events else 0
    return RunView(
        name=str(header.get("name", "")),
        title=str(raw.get("title", "")),
        seed=int(header.get("seed", 0)),
        digest=trace.digest,
        nodes=trace.nodes,
        end_us=last if trace.end_us is None else trace.end_us,
        observations=tuple(_told(trace.events)),
        lifecycle=tuple(
            (e["t"], e["node"], e["kind"]) for e in trace.events if e["kind"] in _LIFECYCLE
        ),
        faults=_sorted(_fault_spans(trace.events)),
        thresholds=_header_thresholds(header.get("parameters") or {}),
    )


_LIFECYCLE = ("crash", "recover", "pause", "resume", "clock", "disk", "join", "leave")


def _told(events: Sequence[Event]) -> Iterator[Observed]:
    for event in events:
        for effect in event.get("effects", ()):
            seen = effect.get("observe")
            if isinstance(seen, dict):
                content = {name: value for name, value in seen.items() if name != "$"}
                yield Observed(event["t"], event["node"], str(seen.get("$", "")), content)


def _fault_spans(events: Sequence[Event]) -> list[FaultSpan]:
    found: dict[int, FaultSpan] = {}
    for event in events:
        if event["kind"] == "fault":
            found[event["fault"]] = FaultSpan(event["t"], None, event["text"])
        elif event["kind"] == "heal" and event["fault"] in found:
            begun = found[event["fault"]]
            found[event["fault"]] = begun._replace(end_us=event["t"])
    return list(found.values())


def _header_thresholds(parameters: Mapping[str, Any]) -> dict[str, float]:
    """Thresholds of the detectors that the scenario configures; {} if they cannot be read."""
    from scenarios.detector_parameters import parse_detectors

    described = parameters.get("detectors")
    if not isinstance(described, Mapping):
        return {}
    try:
        return _thresholds([parse_detectors(described)])
    except ValueError:  # detectors of a protocol of its own kind: their levels count from 0 to 1
        return {}
