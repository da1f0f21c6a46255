"""The two contexts of the simulator: one acts at once, one lists effects for the careful path.

Both draw timer ranges and choices while the handler runs, from the node's own stream, and send
in the order of the calls, so that a run is the same with and without a recorder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from protocols.api import Context, Delay, ProtocolError
from protocols.client import Outcome
from protocols.step import (
    CancelTimer,
    Effect,
    Observe,
    Reply,
    Send,
    SetTimer,
    check_delay,
    checked,
)
from protocols.values import NodeId
from sim.rules import Envelope

if TYPE_CHECKING:
    from sim.node import Node

T = TypeVar("T")


class SimContext(Context):
    """What both contexts share: local time, choices and the draws of timer ranges."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    def choose(self, options: Sequence[T], /) -> T:
        if not options:
            raise ProtocolError("choose() was given no options")
        return options[int(self.node.rng.random() * len(options))]

    def now(self) -> int:
        node = self.node
        if not node.spec.clock:
            raise ProtocolError("ctx.now() is for a process declared with @process(clock=True)")
        return node.local_time()

    def drawn(self, after: Delay) -> int:
        """The delay itself, or a draw from the range, both ends included."""
        check_delay(after)
        if type(after) is int:
            return after
        low, high = after  # type: ignore[misc]
        return int(low + int(self.node.rng.random() * (high - low + 1)))


class Direct(SimContext):
    """Effects happen as they are called: the path without a recorder, as cheap as can be."""

    __slots__ = ("_call_later", "_last", "_network", "_nodes", "_random", "_rules", "_wires")

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        cluster = node.cluster
        self._network = cluster.network
        self._nodes = cluster.nodes
        self._rules = cluster.network.rules
        self._random: Callable[[], float] = cluster.network.rng.random
        self._call_later = cluster.engine.call_later
        self._wires = node.wires
        self._last: object = None

    def send(self, dst: NodeId, message: object, /) -> None:
        if message is not self._last:  # a broadcast sends one object many times
            self._last = checked(message)
        target = self._nodes.get(dst)
        network = self._network
        if target is None:
            return network.send_to_departed(self.node, dst, message)
        wire = self._wires.get(dst) or network.wire(self.node, dst)
        if wire is None or self._rules or not wire.plain:
            network.transmit(self.node, Envelope(self.node.id, dst, message))
            return
        network.sent += 1
        if wire.loss and self._random() < wire.loss:
            network.lost_plain += 1
            return
        self._call_later(wire.sample(), target.deliver, (self.node.id, message))

    def reply(self, operation: int, outcome: Outcome, /) -> None:
        self.node.cluster.complete(operation, outcome)

    def set_timer(self, timer: object, /, after: Delay) -> None:
        self.node.set_timer(
            timer, after if type(after) is int and after >= 0 else self.drawn(after)
        )

    def cancel_timer(self, timer: object, /) -> None:
        self.node.cancel_timer(timer)

    def observe(self, observation: object, /) -> None:
        self.node.cluster.observed(self.node.id, observation)


class Listing(SimContext):
    """Effects are listed; the node stores what is durable, then carries them out."""

    __slots__ = ("effects",)

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.effects: list[Effect] = []

    def send(self, dst: NodeId, message: object, /) -> None:
        cluster = self.node.cluster
        if dst not in cluster.nodes and dst not in cluster.departed:
            cluster.network.send_to_departed(self.node, dst, message)
        self.effects.append(Send(dst, checked(message)))

    def reply(self, operation: int, outcome: Outcome, /) -> None:
        self.effects.append(Reply(operation, outcome))

    def set_timer(self, timer: object, /, after: Delay) -> None:
        self.effects.append(SetTimer(timer, self.drawn(after)))

    def cancel_timer(self, timer: object, /) -> None:
        self.effects.append(CancelTimer(timer))

    def observe(self, observation: object, /) -> None:
        self.effects.append(Observe(observation))
