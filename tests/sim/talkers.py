"""Small processes for the tests of the simulator."""

from __future__ import annotations

from enum import Enum

from protocols.api import (
    MS,
    Context,
    Log,
    Map,
    NodeId,
    durable,
    message,
    observation,
    on,
    on_operation,
    on_timer,
    operation,
    process,
    timer,
    volatile,
)
from protocols.client import ok
from sim.cluster import Cluster
from sim.latency import Constant, Latency
from sim.links import LinkSpec
from sim.topology import Topology


class Role(Enum):
    LEADER = 1
    FOLLOWER = 2


@message
class Ping:
    number: int
    text: str = ""


@message
class Pong:
    number: int


@timer
class Due:
    pass


@operation
class Say:
    text: str


@observation
class Heard:
    src: NodeId
    number: int
    local: int = 0


@process(clock=True)
class Talker:
    """Pings its peers every ``every_us``; remembers pings on disk and pongs in memory."""

    me: NodeId
    peers: tuple[NodeId, ...]
    every_us: int = 100 * MS
    role: Role = volatile(Role.FOLLOWER)
    boots: int = durable(0)
    seen: Log[int] = durable(Log())
    last: Map[NodeId, int] = volatile(Map())
    pongs: int = volatile(0)

    def on_start(self, ctx: Context) -> None:
        self.boots += 1
        self.role = Role.LEADER if self.me == "n1" else Role.FOLLOWER
        ctx.set_timer(Due(), after=(0, self.every_us))

    @on_timer(Due)
    def tick(self, ctx: Context, t: Due) -> None:
        ctx.set_timer(t, after=self.every_us)
        for peer in self.peers:
            ctx.send(peer, Ping(self.boots, "hello"))

    @on(Ping)
    def receive_ping(self, ctx: Context, src: NodeId, m: Ping) -> None:
        self.seen = self.seen.append(m.number)
        self.last = self.last.set(src, m.number)
        ctx.send(src, Pong(len(self.seen)))
        ctx.observe(Heard(src, m.number, ctx.now()))

    @on(Pong)
    def receive_pong(self, ctx: Context, src: NodeId, m: Pong) -> None:
        self.pongs += 1

    @on_operation(Say)
    def say(self, ctx: Context, id: int, op: Say) -> None:
        ctx.send(ctx.choose(self.peers), Ping(99, op.text))
        ctx.reply(id, ok(len(self.seen)))


def nodes(n: int) -> tuple[NodeId, ...]:
    return tuple(f"n{i}" for i in range(1, n + 1))


def mesh(n: int = 3, latency: Latency | None = None, **link: object) -> Topology:
    """A full mesh of ``n`` nodes, 5 ms apart unless told otherwise."""
    return Topology.full_mesh(nodes(n), LinkSpec(latency or Constant(5 * MS), **link))  # type: ignore[arg-type]


def talkers(topology: Topology | None = None, seed: int = 1, **more: int) -> Cluster:
    """A cluster of talkers, not started."""
    topology = topology or mesh()
    cluster = Cluster(seed=seed, topology=topology)
    for node in topology.nodes:
        peers = tuple(n for n in topology.nodes if n != node)
        cluster.add(node, Talker(me=node, peers=peers, **more))
    return cluster
