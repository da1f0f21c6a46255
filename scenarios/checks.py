"""The checks that a scenario may ask for, by id, and how each judges a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarios.records import down_times, pair_records
from sim import faults as f
from sim.check import detectors, gossip
from sim.check.replicated_log import ReplicatedLogInvariants
from sim.check.result import Ok, Result, Unknown
from sim.check.timeline import PairRecord

if TYPE_CHECKING:
    from scenarios.model import Scenario
    from scenarios.runner import RunResult
    from sim.cluster import Cluster

Judge = Callable[["RunResult", Mapping[str, Any]], list[tuple[str, Result]]]


@dataclass(frozen=True, slots=True)
class Check:
    """A check: what it demands, its parameters (name → default; None: required) and its judge.

    Parameters that end in ``_us`` are written as durations without the ending.
    """

    id: str
    text: str
    parameters: Mapping[str, int | float | str | None]
    judge: Judge
    attach: Callable[[Cluster], Any] | None = None  # called before the start, to watch the run


def attach(cluster: Cluster, scenario: Scenario) -> dict[str, Any]:
    """Let the checks that watch the run do so; what each has to look at, by its id."""
    chosen = [CHECKS[spec.id] for spec in scenario.checks]
    return {check.id: check.attach(cluster) for check in chosen if check.attach is not None}


def judge(run: RunResult) -> list[tuple[str, Result]]:
    """All checks of the scenario, in its order."""
    found: list[tuple[str, Result]] = []
    for spec in run.scenario.checks:
        check = CHECKS[spec.id]
        parameters = {**check.parameters, **spec.parameters}
        found += check.judge(run, parameters)
    return found


def stable_from(run: RunResult) -> int:
    """When the last fault has ended: from then on the network and the nodes behave.

    A crash for good is over at once: the node is simply not there. A partition, a pause and the
    like without an end last until the run does, unless a resume or a release ends them.
    """
    plan = run.plan.faults
    return max((_over(fault, plan, run.end_us) for fault in plan), default=0)


def _over(fault: f.Fault, plan: Sequence[f.Fault], end_us: int) -> int:
    if fault.until_us is not None:
        return fault.until_us
    if isinstance(fault, _AT_ONCE) or (isinstance(fault, f.Disk) and fault.kind in _ONCE_ON_DISK):
        return fault.at_us
    opposite = {f.Pause: f.Resume, f.Hold: f.Release}.get(type(fault))
    ends = [
        x.at_us for x in plan if opposite and isinstance(x, opposite) and x.at_us >= fault.at_us
    ]
    return min(ends, default=end_us)


_AT_ONCE = (f.Crash, f.Recover, f.Resume, f.Release, f.ClockStep)
_ONCE_ON_DISK = ("wipe", "corrupt")


def _per_detector(
    name: str, function: Callable[[Sequence[PairRecord], RunResult, Mapping[str, Any]], Result]
) -> Judge:
    def run_it(run: RunResult, parameters: Mapping[str, Any]) -> list[tuple[str, Result]]:
        records = pair_records(run)
        wanted = parameters.get("detector")
        chosen = {d: r for d, r in records.items() if wanted in (None, "", d)}
        if not chosen:
            hosted = ", ".join(records) or "none"
            return [(name, Unknown(f"no detector {wanted!r} in this run; there are: {hosted}"))]
        several = len(records) > 1
        return [
            (f"{name}[{d}]" if several else name, function(r, run, parameters))
            for d, r in chosen.items()
        ]

    return run_it


def _completeness(r: Sequence[PairRecord], run: RunResult, p: Mapping[str, Any]) -> Result:
    return detectors.strong_completeness(r, p["bound_us"])


def _accuracy(r: Sequence[PairRecord], run: RunResult, p: Mapping[str, Any]) -> Result:
    return detectors.eventual_strong_accuracy(r, stable_from(run), p["bound_us"])


def _eventually_perfect(r: Sequence[PairRecord], run: RunResult, p: Mapping[str, Any]) -> Result:
    return detectors.eventually_perfect(r, stable_from(run), p["bound_us"])


def _strong_accuracy(r: Sequence[PairRecord], run: RunResult, p: Mapping[str, Any]) -> Result:
    return detectors.strong_accuracy(r, p["bound_us"])


def learned(run: RunResult) -> dict[str, list[tuple[int, str]]]:
    """Rumor → when which node learned it."""
    found: dict[str, list[tuple[int, str]]] = {}
    for at, node, seen, _ in run.observations:
        if type(seen).__name__ == "Learned":
            found.setdefault(str(seen.rumor), []).append((at, node))  # type: ignore[attr-defined]
    return found


def _delivered(run: RunResult, p: Mapping[str, Any]) -> list[tuple[str, Result]]:
    rumors = learned(run)
    if not rumors:
        return [("delivered-to-all", Unknown("no rumor was ever published"))]
    downs = down_times(run)
    return [
        (
            f"delivered-to-all[{rumor}]" if len(rumors) > 1 else "delivered-to-all",
            gossip.eventual_delivery(
                informed,
                run.scenario.nodes,
                start_us=max(min(at for at, _ in informed), stable_from(run)),
                bound_us=p["bound_us"],
                end_us=run.end_us,
                downs=downs,
            ),
        )
        for rumor, informed in rumors.items()
    ]


def _converged(run: RunResult, p: Mapping[str, Any]) -> list[tuple[str, Result]]:
    """Every node that is up holds the same data at the end."""
    field = str(p["field"])
    values = {
        n: getattr(node.process, field, None) for n, node in run.cluster.nodes.items() if node.up
    }
    if len(values) < 2 or None in values.values():
        return [("converged", Unknown(f"fewer than two nodes are up with a field {field!r}"))]
    if not any(values.values()):
        return [("converged", Unknown(f"{field} is empty at every node: nothing to converge on"))]
    first, reference = next(iter(values.items()))
    for node, value in values.items():
        if value != reference:
            return [("converged", _differ(run, first, node, field))]
    if run.end_us < stable_from(run):
        return [("converged", Unknown("the run ended while a fault was in force"))]
    return [("converged", Ok(f"{len(values)} nodes hold the same {field}"))]


def _differ(run: RunResult, a: str, b: str, field: str) -> Result:
    from sim.check.result import Counterexample, Violated

    if run.end_us < stable_from(run) + 1:
        return Unknown("the run ended before the last fault did")
    why = f"{a} and {b} hold different {field} at the end{_first_difference(run, a, b, field)}"
    return Violated(why, Counterexample((a, b), run.end_us, (), why))


def _first_difference(run: RunResult, a: str, b: str, field: str) -> str:
    one, other = (getattr(run.cluster.nodes[n].process, field) for n in (a, b))
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return ""
    for key in dict.fromkeys((*one, *other)):
        if one.get(key) != other.get(key):
            return f"; {key}: {one.get(key)!r} at {a}, {other.get(key)!r} at {b}"
    return ""


CHECKS: dict[str, Check] = {
    check.id: check
    for check in (
        Check(
            "strong-completeness",
            "every crashed node is suspected for good by every correct one within the bound",
            {"bound_us": None, "detector": ""},
            _per_detector("strong-completeness", _completeness),
        ),
        Check(
            "eventual-strong-accuracy",
            "from the bound after the last fault on, no correct node suspects a correct one",
            {"bound_us": None, "detector": ""},
            _per_detector("eventual-strong-accuracy", _accuracy),
        ),
        Check(
            "eventually-perfect",
            "after the last fault and the bound, the suspected nodes are the crashed ones (◇P)",
            {"bound_us": None, "detector": ""},
            _per_detector("eventually-perfect", _eventually_perfect),
        ),
        Check(
            "strong-accuracy",
            "no node is ever suspected while it is up",
            {"bound_us": 0, "detector": ""},
            _per_detector("strong-accuracy", _strong_accuracy),
        ),
        Check(
            "delivered-to-all",
            "every rumor reaches every node that is up, within the bound after the last fault",
            {"bound_us": None},
            _delivered,
        ),
        Check(
            "replicated-log",
            "Raft's five safety properties and its runtime invariants hold after every step",
            {},
            lambda run, p: [("replicated-log", run.attached["replicated-log"].result())],
            ReplicatedLogInvariants,
        ),
        Check(
            "converged",
            "at the end all nodes that are up hold the same data",
            {"field": "data"},
            _converged,
        ),
    )
}
