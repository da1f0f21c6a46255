"""The figures that a scenario may ask for: detectors, gossip, operations."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scenarios.checks import learned
from scenarios.records import pair_records
from sim.check.gossip import spread
from sim.check.qos import pool
from sim.check.stats import percentiles
from sim.check.timeline import PairRecord

if TYPE_CHECKING:
    from scenarios.model import Scenario
    from scenarios.runner import RunResult


Progress = Callable[[int, int], None]
OVER_SEEDS = "qos-over-seeds"


def measure(run: RunResult, progress: Progress | None = None) -> dict[str, Any]:
    """All metric families that the scenario asks for."""
    found = {}
    for family in run.scenario.metrics:
        if family == OVER_SEEDS:
            found[family] = _qos_over_seeds(run, progress)
        else:
            found[family] = METRICS[family](run)
    return found


def by_itself(scenario: Scenario) -> Scenario:
    """The scenario with metrics of the single run only, where each seed is run anyway."""
    metrics = tuple("qos" if name == OVER_SEEDS else name for name in scenario.metrics)
    return replace(scenario, metrics=tuple(dict.fromkeys(metrics)))


def further_seeds(scenario: Scenario, seed: int) -> list[int]:
    """The seeds that a run with ``seed`` also runs, unrecorded, for its metrics."""
    if OVER_SEEDS not in scenario.metrics:
        return []
    return [other for other in scenario.seeds if other != seed]


def _qos(run: RunResult) -> dict[str, Any]:
    """Chen's metrics per detector, all pairs pooled (intervals over targets), times in µs."""
    rng = random.Random(f"bootstrap/{run.seed}")
    return {
        name: pool(records, rng=rng, by="target").to_json()
        for name, records in pair_records(run).items()
        if records
    }


def _qos_over_seeds(run: RunResult, progress: Progress | None = None) -> dict[str, Any]:
    """Chen's metrics over all seeds of the scenario: whole runs are independent of each other."""
    from scenarios.runner import run_scenario

    scenario = replace(run.scenario, checks=(), metrics=())
    records = {name: _labelled(found, run.seed) for name, found in pair_records(run).items()}
    for number, seed in enumerate(further_seeds(run.scenario, run.seed), 1):
        other = run_scenario(scenario, seed, trace=False)
        if progress is not None:
            progress(number * run.end_us, 0)
        for name, found in pair_records(other).items():
            records.setdefault(name, []).extend(_labelled(found, seed))
    return {name: pool(found, by="run").to_json() for name, found in records.items() if found}


def _labelled(records: list[PairRecord], seed: int) -> list[PairRecord]:
    return [replace(record, run=str(seed)) for record in records]


def _qos_pairs(run: RunResult) -> dict[str, Any]:
    """Chen's metrics for every monitor and target by itself."""
    return {
        name: {f"{r.monitor}→{r.target}": pool((r,)).to_json() for r in records}
        for name, records in pair_records(run).items()
    }


def _gossip(run: RunResult) -> dict[str, Any]:
    """Residue, traffic (messages sent per node, all rumors), delays; times in µs."""
    nodes, sent = len(run.scenario.nodes), run.cluster.network.sent
    found = learned(run)
    single = sent if len(found) == 1 else None
    return {
        rumor: spread(informed, nodes, messages=single).to_json()
        for rumor, informed in found.items()
    }


def _operations(run: RunResult) -> dict[str, Any]:
    """Client operations by outcome, and the latency of those that ended ok, µs."""
    counts = {"ok": 0, "fail": 0, "info": 0, "open": 0}
    latencies: list[float] = []
    for record in run.history:
        counts[record.outcome.kind if record.outcome else "open"] += 1
        if record.outcome and record.outcome.kind == "ok" and record.completed_us is not None:
            latencies.append(record.completed_us - record.invoked_us)
    p50, p99 = percentiles(latencies, (50, 99))
    return {**counts, "latency_us": {"p50": p50, "p99": p99}}


METRICS: dict[str, Callable[[RunResult], dict[str, Any]]] = {
    "qos": _qos,
    "qos-pairs": _qos_pairs,
    OVER_SEEDS: _qos_over_seeds,
    "gossip": _gossip,
    "operations": _operations,
}
