"""The network: messages from node to node through links with latency, loss, rules and faults.

The common case, a link with latency and independent loss and no rule in force, costs one draw
each and one entry in the engine's queue; :meth:`sim.context.Direct.send` does it in line.
Everything else goes through :meth:`Network.transmit`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, TypeVar

from protocols.api import ProtocolError
from protocols.values import NodeId
from sim.corruption import corrupted
from sim.latency import Constant, Latency
from sim.links import BandwidthQueue, FifoClock, GilbertElliottState, LinkSpec
from sim.rules import PASS, Deliver, Drop, Duplicate, Envelope, Held, Rule
from sim.sizes import message_size
from sim.topology import DEFAULT_LINK

if TYPE_CHECKING:
    from sim.cluster import Cluster
    from sim.node import Node
    from sim.topology import Topology

A = TypeVar("A")


class Wire:
    """One link from a node to another, with what it remembers (bursts, queue, order).

    ``plain`` wires have latency and independent loss only, no state of their own, so that one
    object serves all pairs with the same :class:`LinkSpec`. ``path`` is set where the topology
    routes over other nodes: then the message goes hop by hop, each hop over a wire of its own.
    """

    __slots__ = ("burst", "fifo", "loss", "path", "plain", "queue", "sample", "spec")

    def __init__(self, spec: LinkSpec, sample: Callable[[], int], rng: Random) -> None:
        self.spec = spec
        self.sample = sample
        self.loss = spec.loss
        self.plain = is_plain(spec)
        self.path: tuple[NodeId, ...] = ()
        self.burst = None if spec.burst is None else GilbertElliottState(spec.burst, rng)
        self.queue = (
            None
            if spec.bandwidth_bps is None
            else BandwidthQueue(spec.bandwidth_bps, spec.queue_bytes)
        )
        self.fifo = FifoClock() if spec.fifo else None


def is_plain(spec: LinkSpec) -> bool:
    """Whether the link has nothing but latency and independent loss."""
    return (
        spec.burst is None
        and spec.bandwidth_bps is None
        and not (spec.fifo or spec.duplicate or spec.reorder or spec.corrupt)
    )


def _loopback() -> Wire:
    return Wire(LinkSpec(Constant(0)), lambda: 0, Random(0))


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
        self._samplers: dict[Latency, Callable[[], int]] = {}
        self._shared: dict[LinkSpec, Wire] = {}
        self._placed = frozenset(topology.nodes)
        self.uniform = self._uniform_wire()

    def _uniform_wire(self) -> Wire | None:
        spec = self.topology.uniform
        if spec is None or not is_plain(spec):
            return None
        return self._shared_wire(spec)

    def _sampler(self, spec: LinkSpec) -> Callable[[], int]:
        return self._sampler_of(spec.latency)

    def _sampler_of(self, latency: Latency) -> Callable[[], int]:
        sampler = self._samplers.get(latency)
        if sampler is None:
            sampler = self._samplers[latency] = latency.sampler(self.rng)
        return sampler

    def _shared_wire(self, spec: LinkSpec) -> Wire:
        wire = self._shared.get(spec)
        if wire is None:
            wire = self._shared[spec] = Wire(spec, self._sampler(spec), self.rng)
        return wire

    def _link_wire(self, spec: LinkSpec) -> Wire:
        return (
            self._shared_wire(spec) if is_plain(spec) else Wire(spec, self._sampler(spec), self.rng)
        )

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
        if len(specs) == 1:
            return self._link_wire(specs[0])
        over_others = Wire(specs[0], self._sampler(specs[0]), self.rng)
        over_others.plain = False
        over_others.path = self.topology.path(src, dst) or (src, dst)
        return over_others

    def send_to_departed(
        self, src: Node, dst: NodeId, message: object, cause: int = -1, index: int = 0
    ) -> None:
        """A message to a node that isn't there: lost if it has left, else a bug in the protocol."""
        if dst in self.cluster.departed:
            self.sent += 1
            self.drop(Envelope(src.id, dst, message, cause, index), "destination has left")
            return
        known = list(self.cluster.nodes)
        listed = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
        raise ProtocolError(f"{src.id} sends to the unknown node {dst!r}; the nodes are {listed}")

    def drops(self) -> dict[str, int]:
        """Messages that never arrived, by reason."""
        found = dict(self.dropped)
        if self.lost_plain:
            found["loss"] = found.get("loss", 0) + self.lost_plain
        return dict(sorted(found.items()))

    # -- the general path -----------------------------------------------------------------

    def transmit(self, src: Node, envelope: Envelope) -> None:
        """Send one message: ask the rules, then the link; schedule, drop, duplicate or hold it."""
        if envelope.dst not in self.cluster.nodes:
            e = envelope
            return self.send_to_departed(src, e.dst, e.message, e.cause, e.index)
        self.sent += 1
        envelope.number = self.sent
        wire = self.wire(src, envelope.dst)
        if wire is None:
            return self.drop(envelope, "no link")
        if wire.plain and not self.rules:  # the common case, in short
            if wire.loss and self.rng.random() < wire.loss:
                return self.drop(envelope, "loss")
            return self.schedule(envelope, wire.sample())
        if wire.path:
            self._hop((envelope, wire.path, 0))
        else:
            self._send_over(wire, envelope, self.due, envelope)

    def _send_over(
        self, wire: Wire, envelope: Envelope, arrive: Callable[[A], None], what: A
    ) -> None:
        """Send one message, or a copy more, over one link; ``arrive(what)`` at its end."""
        delay, copies = self._judge_sent(envelope)
        if delay < 0:
            return
        if wire.spec.duplicate and self.rng.random() < wire.spec.duplicate:
            copies.append(wire.sample())
        delay = self._through(wire, envelope, delay)
        if delay < 0:
            return
        later = self.cluster.engine.call_later
        later(delay, arrive, what)
        for after in copies:
            self.duplicated += 1
            self.cluster.note_message("duplicate", envelope, by=after)
            behind = delay + after
            if wire.fifo is not None:
                behind = wire.fifo.next(self.cluster.engine.now, behind)
            later(behind, arrive, what)

    def _hop(self, way: tuple[Envelope, tuple[NodeId, ...], int]) -> None:
        """The message stands at ``path[at]``: on to the next node of its path."""
        whole, path, at = way
        here, there = path[at], path[at + 1]
        relay = self.cluster.nodes.get(here)
        if at and (relay is None or not relay.up):
            return self.drop(whole, f"relay {here} down")
        hop = Envelope(here, there, whole.message, whole.cause, whole.index, whole.shown)
        hop.number, hop.whole = whole.number, whole
        hop.then = (self._hop_due, (whole, hop, path, at + 1))
        assert relay is not None
        wire = self.wire(relay, there)
        assert wire is not None
        self._send_over(wire, hop, self._hop_due, (whole, hop, path, at + 1))

    def _hop_due(self, way: tuple[Envelope, Envelope, tuple[NodeId, ...], int]) -> None:
        whole, hop, path, at = way
        if self.rules and not self.may_arrive(hop):
            return
        whole.message, whole.shown = hop.message, hop.shown
        if at + 1 < len(path):
            self._hop((whole, path, at))
        elif (node := self.cluster.nodes.get(whole.dst)) is None:
            self.drop(whole, "destination has left")
        else:
            node.receive(whole)

    def _judge_sent(self, envelope: Envelope) -> tuple[int, list[int]]:
        """Ask all rules; (added delay, copies), the delay -1 if the message is gone."""
        delay = 0
        copies: list[int] = []
        for rule in self.rules:
            verdict = rule.judge(envelope, "sent")
            if isinstance(verdict, Duplicate):
                copies.append(verdict.after_us)
                verdict = verdict.first or PASS
            if isinstance(verdict, Deliver):
                delay += verdict.after_us
                if verdict.message is not None:
                    envelope.message, envelope.shown = verdict.message, None
                kind = "delay" if verdict.message is None else "corrupt"
                self.cluster.note_message(kind, envelope, by=verdict.after_us, why=verdict.why)
            elif isinstance(verdict, Drop):
                return self._lose(envelope, verdict.reason), copies
            elif isinstance(verdict, Held):
                self.cluster.note_message("hold", envelope)
                return -1, copies
        return delay, copies

    def _through(self, wire: Wire, envelope: Envelope, delay: int) -> int:
        """The link's own loss, corruption, queueing and latency; -1 if it loses the message."""
        rng = self.rng
        if wire.loss and rng.random() < wire.loss:
            return self._lose(envelope, "loss")
        delay += wire.sample()
        if wire.plain:
            return delay
        if wire.burst is not None and wire.burst.lost():
            return self._lose(envelope, "burst loss")
        now = self.cluster.engine.now
        if wire.queue is not None:
            queued = wire.queue.enqueue(now, message_size(envelope.message))
            if queued is None:
                return self._lose(envelope, "queue full")
            delay += queued
        delay = self._disturb(wire.spec, envelope, delay)
        return wire.fifo.next(now, delay) if wire.fifo is not None and delay >= 0 else delay

    def _disturb(self, spec: LinkSpec, envelope: Envelope, delay: int) -> int:
        rng = self.rng
        if spec.corrupt and rng.random() < spec.corrupt:
            if spec.corrupt_mode == "drop":
                return self._lose(envelope, "corrupt")
            envelope.message, envelope.shown = corrupted(envelope.message, rng), None
            self.cluster.note_message("corrupt", envelope)
        if spec.reorder and rng.random() < spec.reorder:
            extra = spec.reorder_extra or spec.latency
            delay += self._sampler_of(extra)()
        return delay

    def schedule(self, envelope: Envelope, delay: int) -> None:
        """Deliver ``envelope`` in ``delay`` µs, unless a rule says otherwise when it is due."""
        self.cluster.engine.call_later(delay, self.due, envelope)

    def go_on(self, envelope: Envelope) -> None:
        """A rule lets go of a message that it held: on from where it was."""
        arrive, what = envelope.then or (self.due, envelope)
        self.cluster.engine.call_later(0, arrive, what)

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
