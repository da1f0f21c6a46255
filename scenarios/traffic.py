"""Traffic: clients that keep a cluster of servers busy, as a scenario file describes it.

    {clients: 5, loop: closed, think: 10ms, machine: kv, keys: 10, distribution: zipf,
     mix: {get: 50%, put: 30%, cas: 10%, append: 10%}, from: 1s, until: 20s}
    {clients: 5, loop: open, rate: 50/s, machine: bank, keys: 8, balance: 100, amount: 5}

A *closed* loop calls, waits for the answer, thinks, and calls again; an *open* one calls at a
given rate, whether answers come or not (Schroeder, Wierman and Harchol-Balter, "Open Versus
Closed: A Cautionary Tale", NSDI 2006).

    traffic = parse_traffic({...})
    cluster = ...  # servers that begin with traffic.initial_machine()
    schedule(cluster, traffic, cluster.streams["traffic"])
    cluster.start()

A client that is down makes no calls. Those under way when it crashed never end (anyone may have
done them); its loop goes on when it has recovered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from protocols.api import MS
from protocols.client import info
from protocols.clients.session_client import ClientStarted, SessionClient
from protocols.values import NodeId
from scenarios.traffic_calls import Caller
from scenarios.traffic_read import TRAFFIC_KEYS, parse_traffic
from scenarios.traffic_spec import Traffic
from sim.cluster import Cluster, OperationRecord

__all__ = ["TRAFFIC_KEYS", "Traffic", "parse_traffic", "schedule"]

BREATH_US = 10 * MS
"""The least pause of a closed loop after a call that took no time (it was refused, say)."""


def schedule(
    cluster: Cluster,
    traffic: Traffic,
    rng: Random,
    *,
    servers: Sequence[NodeId] | None = None,
    client: type[SessionClient] = SessionClient,
) -> tuple[NodeId, ...]:
    """Add clients c1, c2, … to a cluster not yet started, and put their calls on its queue.

    ``servers`` None: all nodes that the cluster has so far. Each client draws from a stream of
    its own, seeded from ``rng``, so that what one does never shifts another's draws. The ids of
    the clients are given back.
    """
    known = tuple(cluster.nodes) if servers is None else tuple(servers)
    loops: dict[NodeId, _Loop] = {}
    for index in range(traffic.clients):
        name = f"c{index + 1}"
        cluster.add(name, client(me=name, servers=known, options=traffic.options))
        own = Random(rng.getrandbits(64))
        kind = _ClosedLoop if traffic.loop == "closed" else _OpenLoop
        loops[name] = kind(cluster, traffic, traffic.caller(name, traffic, own), own)
    _listen(cluster, loops)
    for index, loop in enumerate(loops.values()):
        at_us = traffic.from_us + loop.first_us(index)
        cluster.engine.call_at(at_us, loop.call_next, None)
    return tuple(loops)


def _listen(cluster: Cluster, loops: dict[NodeId, _Loop]) -> None:
    def completed(record: OperationRecord) -> None:
        if (loop := loops.get(record.node)) is not None:
            loop.completed(record)

    def observed(now: int, node: NodeId, observation: object) -> None:
        if isinstance(observation, ClientStarted) and node in loops:
            loops[node].restarted()

    cluster.on_complete.append(completed)
    cluster.observers.append(observed)


class _Loop(ABC):
    """What calls one client: when, and with what."""

    def __init__(self, cluster: Cluster, traffic: Traffic, caller: Caller, rng: Random) -> None:
        self.cluster, self.traffic, self.caller, self.rng = cluster, traffic, caller, rng
        self.name = caller.client
        self.under_way: dict[int, Any] = {}
        self.left = traffic.operations

    @abstractmethod
    def pause(self) -> int:
        """How long until the next call, µs."""

    def first_us(self, index: int) -> int:
        """When the first call is due, counted from ``from``; ``index`` counts the clients."""
        return self.pause()

    @abstractmethod
    def call_next(self, _: None) -> None:
        """Call, if the client is up."""

    def restarted(self) -> None:
        """The client has begun (again): the calls under way are lost, and may have been done."""
        lost, self.under_way = self.under_way, {}
        for command in lost.values():
            self.caller.heard(command, info("client crashed"))

    def completed(self, record: OperationRecord) -> None:
        """A call has ended."""
        command = self.under_way.pop(record.id, None)
        if command is not None and record.outcome is not None:
            self.caller.heard(command, record.outcome)

    def over(self) -> bool:
        """Whether no more calls are to be made."""
        until_us = self.traffic.until_us
        late = until_us is not None and self.cluster.now > until_us
        return late or self.left == 0 or self.name not in self.cluster.nodes

    def is_up(self) -> bool:
        """Whether the client is there to be called."""
        return self.cluster.nodes[self.name].up

    def call(self) -> None:
        """Make one call."""
        if self.left is not None:
            self.left -= 1
        command = self.caller.next_command()
        self.under_way[len(self.cluster.history)] = command  # it may end before invoke returns
        self.cluster.invoke(self.name, command)


class _OpenLoop(_Loop):
    """Calls at a rate. What would come while the client is down is left out."""

    def __init__(self, cluster: Cluster, traffic: Traffic, caller: Caller, rng: Random) -> None:
        super().__init__(cluster, traffic, caller, rng)
        assert traffic.rate is not None
        self.interval_us = 1_000_000 * traffic.clients / traffic.rate
        self.even = traffic.arrivals == "even"
        self.numbers = 0

    def pause(self) -> int:
        """The time to the next arrival."""
        if not self.even:
            return round(self.rng.expovariate(1 / float(self.interval_us)))
        number = self.numbers
        self.numbers += 1
        return round((number + 1) * self.interval_us) - round(number * self.interval_us)

    def first_us(self, index: int) -> int:
        """Even arrivals of several clients take turns."""
        if self.even:
            return round(index * self.interval_us / self.traffic.clients)
        return self.pause()

    def call_next(self, _: None) -> None:
        """Call, and put the next call on the queue."""
        if self.over():
            return
        if self.is_up():
            self.call()
        self.cluster.engine.call_later(self.pause(), self.call_next, None)


class _ClosedLoop(_Loop):
    """Calls, waits for the end, thinks, and calls again."""

    def __init__(self, cluster: Cluster, traffic: Traffic, caller: Caller, rng: Random) -> None:
        super().__init__(cluster, traffic, caller, rng)
        self.pause_us: Callable[[], int] = traffic.think.sampler(rng)
        self.waits_for_restart = False

    def pause(self) -> int:
        """The time that the client thinks."""
        return self.pause_us()

    def call_next(self, _: None) -> None:
        """Call; what comes next is decided when the call has ended."""
        if self.over():
            return
        if self.is_up():
            self.call()
        else:
            self.waits_for_restart = True

    def completed(self, record: OperationRecord) -> None:
        """Think, then call again: on the queue, because the client is in the middle of a step."""
        mine = record.id in self.under_way
        super().completed(record)
        if mine:
            at_once = record.completed_us == record.invoked_us
            pause_us = max(self.pause(), BREATH_US) if at_once else self.pause()
            self.cluster.engine.call_later(pause_us, self.call_next, None)

    def restarted(self) -> None:
        """Go on after a crash."""
        stuck = bool(self.under_way) or self.waits_for_restart
        super().restarted()
        self.waits_for_restart = False
        if stuck:
            self.cluster.engine.call_later(self.pause(), self.call_next, None)
