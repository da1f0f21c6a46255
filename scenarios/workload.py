"""Driving client operations of a scenario: calls at fixed times, as the file lists them."""

from __future__ import annotations

from typing import Any

from protocols.spec import spec_of
from scenarios import registry
from scenarios.model import Scenario, WorkItem
from sim.cluster import Cluster
from sim.fields import unknown_name


def operation_class(protocol: type, name: str) -> type:
    """The operation of that name which the protocol handles; FieldError if there is none."""
    known = {cls.__name__: cls for cls in spec_of(protocol).operations}
    if name not in known:
        raise unknown_name(name, known, f"an operation of {protocol.__name__}")
    return known[name]


def schedule(cluster: Cluster, scenario: Scenario) -> None:
    """Put all calls of the workload on the engine's queue."""
    protocol = registry.resolve(scenario.protocol).cls
    for item in scenario.workload:
        cls = operation_class(protocol, item.invoke)
        for number in range(item.times):
            at = item.at_us + number * item.every_us
            cluster.engine.call_at(at, _Call(cluster, scenario, item, cls, number + 1), None)


class _Call:
    """One call of a work item, made when its time comes."""

    __slots__ = ("cls", "cluster", "item", "number", "scenario")

    def __init__(
        self, cluster: Cluster, scenario: Scenario, item: WorkItem, cls: type, number: int
    ) -> None:
        self.cluster, self.scenario, self.item = cluster, scenario, item
        self.cls, self.number = cls, number

    def __call__(self, _: object) -> None:
        node = self.item.node
        if node is None:
            node = self.cluster.streams["workload"].choice(self.scenario.nodes)
        arguments = {k: self._filled(v) for k, v in self.item.arguments.items()}
        self.cluster.invoke(node, self.cls(**arguments))

    def _filled(self, value: Any) -> Any:
        return value.replace("{i}", str(self.number)) if isinstance(value, str) else value
