"""The network: messages from node to node through links with latency, loss, rules and faults.

The common case, a link with latency and independent loss and no rule in force, costs one draw
each and one entry in the engine's queue; :meth:`sim.context.Direct.send` does it in line.
Everything else goes through :meth:`Network.transmit`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from protocols.values import NodeId
from sim.corruption import corrupted
from sim.latency import Constant
from sim.links import BandwidthQueue, FifoClock, GilbertElliottState, LinkSpec
from sim.rules import PASS, Deliver, Drop, Duplicate, Envelope, Held, Rule
from sim.sizes import message_size
from sim.topology import DEFAULT_LINK

if TYPE_CHECKING:
    from sim.cluster import Cluster
    from sim.node import Node
    from sim.topology import Topology


class Wire:
    """What carries messages from one node to another: one link, or several hops in a row.

    ``plain`` wires have latency and independent loss only, no state of their own, so that one
    object serves all pairs with the same :class:`LinkSpec`.
    """

    __slots__ = ("bursts", "fifo", "hops", "loss", "plain", "queues", "sample", "specs")

    def __init__(
        self,
        specs: tuple[LinkSpec, ...],
        hops: tuple[tuple[NodeId, NodeId], ...],
        samplers: tuple[Callable[[], int], ...],
        rng: Random,
    ) -> None:
        self.specs = specs
        self.hops = hops
        self.sample = (
            samplers[0] if len(samplers) == 1 else lambda: sum(draw() for draw in samplers)
        )
        arrives = 1.0
        for spec in specs:
            arrives *= 1.0 - spec.loss
        self.loss = 1.0 - arrives if len(specs) > 1 else specs[0].loss
        self.bursts = [GilbertElliottState(s.burst, rng) for s in specs if s.burst is not None]
        self.queues = [
            BandwidthQueue(s.bandwidth_bps, s.queue_bytes)
            for s in specs
            if s.bandwidth_bps is not None
        ]
        self.fifo = FifoClock() if any(s.fifo for s in specs) else None
        self.plain = len(specs) == 1 and is_plain(specs[0])


def is_plain(spec: LinkSpec) -> bool:
    """Whether the link has nothing but latency and independent loss."""
    return (
        spec.burst is None
        and spec.bandwidth_bps is None
        and not (spec.fifo or spec.duplicate or spec.reorder or spec.corrupt)
    )


def _loopback() -> Wire:
    return Wire((LinkSpec(Constant(0)),), (), (lambda: 0,), Random(0))


LOOPBACK = _loopback()
"""A node's way to itself: at once, never lost."""


class Network:
    """All wires of a cluster, the rules in force, and counters of what became of messages."""

    def __init__(self, cluster: Cluster, topology: Topology) -> None:
        self.cluster = cluster
        self.topology = topology
        self.rules: list[Rule] = []
        self.rng = cluster.streams["network"]
        self.sent = 0
        self.lost_plain = 0  # lost on the direct path, where every attribute counts
        self.dropped: dict[str, int] = {}
        self.duplicated = 0
        self._samplers: dict[LinkSpec, Callable[[], int]] = {}
        self._shared: dict[LinkSpec, Wire] = {}
        self._placed = frozenset(topology.nodes)
        self.uniform = self._uniform_wire()

    def _uniform_wire(self) -> Wire | None:
        spec = self.topology.uniform
        if spec is None or not is_plain(spec):
            return None
        return self._shared_wire(spec)

    def _sampler(self, spec: LinkSpec) -> Callable[[], int]:
        sampler = self._samplers.get(spec)
        if sampler is None:
            sampler = self._samplers[spec] = spec.latency.sampler(self.rng)
        return sampler

    def _shared_wire(self, spec: LinkSpec) -> Wire:
        wire = self._shared.get(spec)
        if wire is None:
            wire = self._shared[spec] = Wire((spec,), (), (self._sampler(spec),), self.rng)
        return wire

    def wire(self, src: Node, dst: NodeId) -> Wire | None:
        """The wire from ``src`` to ``dst``, made on first use; None if the topology has no way."""
        wire = src.wires.get(dst)
        if wire is not None:
            return wire
        if dst == src.id:
            wire = src.wires[dst] = LOOPBACK
        elif self.uniform is not None:
            return self.uniform
        elif (route := self._route(src.id, dst)) is not None:
            wire = src.wires[dst] = self._make_wire(src.id, dst, route)
        return wire

    def _route(self, src: NodeId, dst: NodeId) -> tuple[LinkSpec, ...] | None:
        if src in self._placed and dst in self._placed:
            return self.topology.route(src, dst)
        return (DEFAULT_LINK,)  # a node that joined later, or a client: linked to everybody

    def _make_wire(self, src: NodeId, dst: NodeId, specs: tuple[LinkSpec, ...]) -> Wire:
        if len(specs) == 1 and is_plain(specs[0]):
            return self._shared_wire(specs[0])
        hops: tuple[tuple[NodeId, NodeId], ...] = ()
        if len(specs) > 1:
            path = self.topology.path(src, dst) or (src, dst)
            hops = tuple(pairwise(path))
        return Wire(specs, hops, tuple(map(self._sampler, specs)), self.rng)

    def drops(self) -> dict[str, int]:
        """Messages that never arrived, by reason."""
        found = dict(self.dropped)
        if self.lost_plain:
            found["loss"] = found.get("loss", 0) + self.lost_plain
        return dict(sorted(found.items()))

    # -- the general path -----------------------------------------------------------------

    def transmit(self, src: Node, envelope: Envelope) -> None:
        """Send one message: ask the rules, then the link; schedule, drop, duplicate or hold it."""
        self.sent += 1
        wire = self.wire(src, envelope.dst)
        if wire is None:
            return self.drop(envelope, "no link")
        if wire.plain and not self.rules:  # the common case, in short
            if wire.loss and self.rng.random() < wire.loss:
                return self.drop(envelope, "loss")
            return self.schedule(envelope, wire.sample())
        delay, copies = self._judge_sent(envelope, wire)
        if delay < 0:
            return
        delay = self._through(wire, envelope, delay)
        if delay < 0:
            return
        self.schedule(envelope, delay)
        if copies is not None:
            for after in copies:
                self.duplicated += 1
                self.cluster.note_message("duplicate", envelope, by=after)
                self.schedule(envelope, delay + after)

    def _judge_sent(self, envelope: Envelope, wire: Wire) -> tuple[int, list[int] | None]:
        """Ask all rules; (added delay, copies), or (-1, None) if the message is gone."""
        delay, copies = 0, None
        for rule in self.rules:
            for hop in _hops(envelope, wire):
                verdict = rule.judge(hop, "sent")
                if verdict is PASS:
                    continue
                if isinstance(verdict, Duplicate):
                    copies = [*(copies or ()), verdict.after_us]
                    verdict = verdict.first or PASS
                if isinstance(verdict, Deliver):
                    delay += verdict.after_us
                    if verdict.message is not None:
                        envelope.message, envelope.shown = verdict.message, None
                    self.cluster.note_message(
                        "delay", envelope, by=verdict.after_us, why=verdict.why
                    )
                elif isinstance(verdict, Drop):
                    self.drop(envelope, verdict.reason)
                    return -1, None
                elif isinstance(verdict, Held):
                    self.cluster.note_message("hold", envelope)
                    return -1, None
        return delay, copies

    def _through(self, wire: Wire, envelope: Envelope, delay: int) -> int:
        """The link's own loss, corruption, queueing and latency; -1 if it loses the message."""
        rng = self.rng
        if wire.loss and rng.random() < wire.loss:
            return self._lose(envelope, "loss")
        delay += wire.sample()
        if wire.plain:
            return delay
        for burst in wire.bursts:
            if burst.lost():
                return self._lose(envelope, "burst loss")
        for relay in wire.hops[1:]:
            if not self.cluster.nodes[relay[0]].up:
                return self._lose(envelope, f"relay {relay[0]} down")
        now = self.cluster.engine.now
        for queue in wire.queues:
            queued = queue.enqueue(now, message_size(envelope.message))
            if queued is None:
                return self._lose(envelope, "queue full")
            delay += queued
        for spec in wire.specs:
            delay = self._disturb(spec, envelope, delay)
            if delay < 0:
                return -1
        return wire.fifo.next(now, delay) if wire.fifo is not None else delay

    def _disturb(self, spec: LinkSpec, envelope: Envelope, delay: int) -> int:
        rng = self.rng
        if spec.corrupt and rng.random() < spec.corrupt:
            if spec.corrupt_mode == "drop":
                return self._lose(envelope, "corrupt")
            envelope.message, envelope.shown = corrupted(envelope.message, rng), None
            self.cluster.note_message("corrupt", envelope)
        if spec.reorder and rng.random() < spec.reorder:
            extra = spec.reorder_extra or spec.latency
            delay += extra.sampler(rng)()
        if spec.duplicate and rng.random() < spec.duplicate:
            self.duplicated += 1
            after = spec.latency.sampler(rng)()
            self.cluster.note_message("duplicate", envelope, by=after)
            self.schedule(envelope, delay + after)
        return delay

    def schedule(self, envelope: Envelope, delay: int) -> None:
        """Deliver ``envelope`` in ``delay`` µs, unless a rule says otherwise when it is due."""
        self.cluster.engine.call_later(delay, self.due, envelope)

    def due(self, envelope: Envelope) -> None:
        """A message reaches its destination, unless a rule drops it now."""
        node = self.cluster.nodes.get(envelope.dst)
        if node is None:
            return self.drop(envelope, "destination has left")
        if self.rules and not self.may_arrive(envelope):
            return
        node.receive(envelope)

    def may_arrive(self, envelope: Envelope) -> bool:
        """Ask the rules again, now that the message is due."""
        for rule in self.rules:
            verdict = rule.judge(envelope, "due")
            if isinstance(verdict, Drop):
                self.drop(envelope, verdict.reason)
                return False
            if isinstance(verdict, Held):
                self.cluster.note_message("hold", envelope)
                return False
        return True

    def _lose(self, envelope: Envelope, reason: str) -> int:
        self.drop(envelope, reason)
        return -1

    def drop(self, envelope: Envelope, reason: str) -> None:
        """Count and record a message that will never arrive."""
        kind = reason.partition(" (")[0]
        self.dropped[kind] = self.dropped.get(kind, 0) + 1
        self.cluster.note_message("drop", envelope, reason=reason)


def _hops(envelope: Envelope, wire: Wire) -> tuple[Envelope, ...]:
    """The message as each hop of its way sees it."""
    if not wire.hops:
        return (envelope,)
    e = envelope
    return tuple(Envelope(a, b, e.message, e.cause, e.index) for a, b in wire.hops)
