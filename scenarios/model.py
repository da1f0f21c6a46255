"""What a scenario file says, as values. :mod:`scenarios.loader` reads files into these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protocols.values import NodeId
from scenarios.traffic_spec import Traffic
from sim.latency import Latency
from sim.nemesis import NemesisSpec
from sim.plan import Plan
from sim.topology import Topology


@dataclass(frozen=True, slots=True)
class WorkItem:
    """Client operations: ``times`` calls from ``at_us``, ``every_us`` apart.

    ``node`` is a node id, or None for one drawn from the workload stream. ``{i}`` in the texts
    of ``arguments`` becomes the number of the call, from 1.
    """

    at_us: int
    invoke: str
    arguments: Mapping[str, Any]
    node: NodeId | None = None
    every_us: int = 0
    times: int = 1


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """A check to make at the end: its id and parameters (durations in µs as ``x_us``)."""

    id: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One experiment. ``raw`` is the file's content as plain data: it is what traces carry."""

    name: str
    title: str
    protocol: str
    nodes: tuple[NodeId, ...]
    topology: Topology
    duration_us: int
    raw: Mapping[str, Any]
    text: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    service: Latency | None = None
    disk_sync: Latency | None = None
    clocks: Mapping[NodeId, tuple[int, int]] = field(default_factory=dict)
    workload: tuple[WorkItem, ...] = ()
    traffic: Traffic | None = None
    faults: Plan = field(default_factory=Plan)
    nemesis: NemesisSpec | None = None
    checks: tuple[CheckSpec, ...] = ()
    metrics: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (1,)
    random_ties: bool = False
    source: Path | None = None
