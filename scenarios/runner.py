"""Running a scenario: build the cluster, inject the plan, drive the workload, judge, measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protocols.values import NodeId
from scenarios import registry
from scenarios._version import __version__
from scenarios.checks import attach, judge
from scenarios.code import code_digest
from scenarios.metrics import further_seeds, measure
from scenarios.model import Scenario
from scenarios.traffic import schedule as add_clients
from scenarios.workload import schedule
from sim.check.result import Result, Unknown, combine
from sim.clocks import NodeClock
from sim.cluster import Cluster, OperationRecord
from sim.inject import Injector, Usage
from sim.nemesis import draw_plan
from sim.plan import Plan, describe, to_values
from sim.trace import Recorder

SCHEMA = "splitbrain.run/1"
SLICES = 200

Observation = tuple[int, NodeId, object, int]
"""Time µs, node, what it observed, trace event id (-1 without a recorder)."""
Progress = Callable[[int, int], None]


@dataclass(slots=True)
class RunResult:
    """What a run gave: verdicts, figures, the digest of its trace, and all that led to them."""

    scenario: Scenario
    seed: int
    plan: Plan
    cluster: Cluster
    observations: list[Observation]
    usage: list[Usage]
    end_us: int
    wall_s: float = 0.0
    checks: list[tuple[str, Result]] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    attached: dict[str, Any] = field(default_factory=dict)  # what checks watched, by their id

    @property
    def digest(self) -> str | None:
        """Digest of the trace, or None if the run was not recorded."""
        recorder = self.cluster.recorder
        return None if recorder is None else recorder.digest

    @property
    def history(self) -> list[OperationRecord]:
        """The client operations."""
        return self.cluster.history

    @property
    def unused(self) -> list[Usage]:
        """Faults of the plan that touched nothing."""
        return [usage for usage in self.usage if not usage.touched]

    @property
    def verdict(self) -> Result:
        """All checks as one. A fault of the file that touched nothing is never part of a pass.

        Faults that the nemesis draws may miss (a crash of a leader when there is none): they are
        reported as unused, but the verdict stands.
        """
        result = combine(found for _, found in self.checks)
        written = [u for u in self.unused if u.fault in self.scenario.faults.faults]
        if written and result.verdict == "ok":
            texts = "; ".join(describe(usage.fault) for usage in written)
            return Unknown(f"the checks hold, but a fault touched nothing: {texts}")
        return result

    def to_json(self) -> dict[str, Any]:
        """The run as JSON-like data, schema ``splitbrain.run/1``."""
        network = self.cluster.network
        return {
            "schema": SCHEMA,
            "version": __version__,
            "scenario": self.scenario.name,
            "seed": self.seed,
            "digest": self.digest,
            "verdict": self.verdict.verdict,
            "why": self.verdict.why,
            "checks": [{"check": name, **found.to_json()} for name, found in self.checks],
            "metrics": self.metrics,
            "faults": [
                {"fault": describe(u.fault), "touched": u.touched, "targets": list(u.targets)}
                for u in self.usage
            ],
            "unused_faults": [describe(usage.fault) for usage in self.unused],
            "simulated_us": self.end_us,
            "messages": {
                "sent": network.sent,
                "delivered": self.cluster.delivered,
                "duplicated": network.duplicated,
                "dropped": network.drops(),
            },
        }


def header(scenario: Scenario, seed: int, plan: Plan) -> dict[str, Any]:
    """The first line of the trace: all that decides what the run does."""
    return {
        "version": __version__,
        "name": scenario.name,
        "scenario": dict(scenario.raw),
        "seed": seed,
        "nodes": list(scenario.nodes),
        "parameters": dict(scenario.parameters),
        "plan": to_values(plan),
        "code": code_digest(scenario.protocol),
    }


def full_plan(scenario: Scenario, cluster: Cluster) -> Plan:
    """The faults of the file, and those that the nemesis draws from the seed."""
    if scenario.nemesis is None:
        return scenario.faults
    topology = scenario.topology
    drawn = draw_plan(
        scenario.nemesis,
        scenario.nodes,
        cluster.streams["nemesis-plan"],
        racks={name: topology.members("rack", name) for name in topology.names("rack")},
        zones={name: topology.members("zone", name) for name in topology.names("zone")},
        regions={name: topology.members("region", name) for name in topology.names("region")},
        roles=registry.roles(scenario.protocol),
    )
    return Plan((*scenario.faults.faults, *drawn.faults))


def build(scenario: Scenario, seed: int) -> Cluster:
    """The cluster of the scenario, not started."""
    cluster = Cluster(seed=seed, topology=scenario.topology, random_ties=scenario.random_ties)
    protocol = registry.resolve(scenario.protocol)
    make = registry.bind(protocol, scenario.parameters, scenario.nodes, scenario.topology)
    for node in scenario.nodes:
        made = cluster.add(node, make(node))
        if scenario.service is not None:
            made.service = scenario.service.sampler(cluster.streams["service"])
        if scenario.disk_sync is not None:
            made.own_disk().sync_us = scenario.disk_sync.sampler(cluster.streams["disk"])
        if node in scenario.clocks:
            made.clock = NodeClock(*scenario.clocks[node])
        made.refresh()
    return cluster


def run_scenario(
    scenario: Scenario,
    seed: int,
    *,
    trace: bool = True,
    plan: Plan | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Run ``scenario`` once. ``plan`` replaces its faults and nemesis (a replay, a shrink)."""
    began = time.perf_counter()
    cluster = build(scenario, seed)
    plan = full_plan(scenario, cluster) if plan is None else plan
    if trace:
        cluster.record(Recorder(header(scenario, seed, plan)))
    observations: list[Observation] = []
    nodes = cluster.nodes

    def note(now: int, node: NodeId, observation: object) -> None:
        observations.append((now, node, observation, nodes[node].step_cause))

    cluster.observers.append(note)
    injector = Injector(
        cluster, plan.faults, [describe(x) for x in plan.faults], subjects=scenario.nodes
    )
    attached = attach(cluster, scenario)
    schedule(cluster, scenario)
    if scenario.traffic is not None:
        stream = cluster.streams["traffic"]
        add_clients(cluster, scenario.traffic, stream, servers=scenario.nodes)
    cluster.start()
    work_us = scenario.duration_us * (1 + len(further_seeds(scenario, seed)))
    _advance(cluster, scenario.duration_us, progress and _part_of(progress, 0, work_us))
    wall_s = time.perf_counter() - began
    result = RunResult(
        scenario, seed, plan, cluster, observations, injector.settle(), scenario.duration_us
    )
    result.attached = attached
    result.checks = judge(result)
    rest = progress and _part_of(progress, scenario.duration_us, work_us)
    result.metrics = measure(result, rest)
    result.wall_s = wall_s
    return result


def _part_of(progress: Progress, done_us: int, work_us: int) -> Progress:
    """The progress of one run among several that follow each other."""
    return lambda now_us, _: progress(done_us + now_us, work_us)


def _advance(cluster: Cluster, end_us: int, progress: Progress | None) -> None:
    if progress is None:
        cluster.run_until(end_us)
        return
    for part in range(1, SLICES + 1):
        until = end_us * part // SLICES
        cluster.run_until(until)
        progress(until, end_us)


def plan_from(values: list[Mapping[str, Any]], scenario: Scenario) -> Plan:
    """The plan in a trace header, read back for a replay."""
    from scenarios.loader import parse_scenario_plan

    return parse_scenario_plan(values, scenario)


def artefacts(folder: Path) -> dict[str, str]:
    """Where :meth:`write_run` put what."""
    return {
        "folder": str(folder),
        "trace": str(folder / "trace.jsonl.gz"),
        "result": str(folder / "result.json"),
    }
