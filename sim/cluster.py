"""A cluster: nodes on a network, one clock, one seed; and what can be done to it.

    cluster = Cluster(seed=7, topology=Topology.full_mesh(("n1", "n2"), LinkSpec(Constant(5 * MS))))
    for node in ("n1", "n2"):
        cluster.add(node, Pinger(me=node, peers=tuple(n for n in ("n1", "n2") if n != node)))
    cluster.start()
    cluster.run_until(10 * SECOND)

Faults are normally values in a plan (:mod:`sim.inject`); the methods here are what it calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from protocols.client import Outcome
from protocols.values import NodeId
from sim.engine import Engine
from sim.network import Network
from sim.node import Node
from sim.rng import Streams
from sim.rules import Envelope
from sim.stepping import Careful
from sim.topology import Topology
from sim.trace import Recorder

Observer = Callable[[int, NodeId, object], None]
Completed = Callable[["OperationRecord"], None]


@dataclass(slots=True)
class OperationRecord:
    """One client operation: when it was invoked, when and how it ended (None: never)."""

    id: int
    node: NodeId
    call: object
    invoked_us: int
    completed_us: int | None = None
    outcome: Outcome | None = None


class Cluster:
    """Nodes, network, clock, random streams, observers, history, and the recorder if any."""

    def __init__(
        self,
        *,
        seed: int = 0,
        topology: Topology,
        recorder: Recorder | None = None,
        random_ties: bool = False,
    ) -> None:
        self.streams = Streams(seed)
        self.engine = Engine(tie_break=self.streams["tie-break"] if random_ties else None)
        self.nodes: dict[NodeId, Node] = {}
        self.departed: dict[NodeId, None] = {}
        self.topology = topology
        self.recorder = recorder
        self.network = Network(self, topology)
        self.observers: list[Observer] = []
        self.history: list[OperationRecord] = []
        self.on_complete: list[Completed] = []
        self.lifecycle: list[tuple[int, NodeId, str]] = []

    # -- building -------------------------------------------------------------------------

    def add(self, node: NodeId, process: Any) -> Node:
        """Add a node that hosts ``process``; it starts with :meth:`start` or :meth:`join`."""
        if node in self.nodes:
            raise ValueError(f"there is a node {node!r} already; ids are unique")
        self.departed.pop(node, None)
        made = self.nodes[node] = Node(self, node, process)
        if self.recorder is not None:
            made.trace(self.recorder)
        return made

    def careful(self, node: NodeId) -> Careful:
        """Make the node list its effects at every step (recording, disk faults, escapes)."""
        made = self.nodes[node]
        if made.stepping is None:
            made.stepping = Careful(made)
            made.refresh()
        return made.stepping

    def record(self, recorder: Recorder) -> None:
        """Record everything from now on; before :meth:`start`, so that the trace is whole."""
        self.recorder = recorder
        for node in self.nodes.values():
            node.trace(recorder)

    def start(self) -> None:
        """Boot all nodes, in the order in which they were added."""
        for node in list(self.nodes.values()):
            if not node.up:
                node.start()

    def join(self, node: NodeId, process: Any) -> None:
        """Add a node to a running cluster and boot it."""
        self.add(node, process)
        cause = self.note_node(node, "join")
        self.nodes[node].start(cause)

    def leave(self, node: NodeId) -> None:
        """Take a node away; messages to it are dropped."""
        gone = self._node(node)
        gone.crash()
        self.note_node(node, "leave")
        del self.nodes[node]
        self.departed[node] = None

    # -- running --------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """True time, µs."""
        return self.engine.now

    def run_until(self, until_us: int) -> None:
        """Process all events up to and including ``until_us``; the clock then shows it."""
        self.engine.run_until_us(until_us)

    @property
    def delivered(self) -> int:
        """Messages handled so far by all nodes."""
        return sum(node.delivered for node in self.nodes.values())

    # -- what can be done to a node -------------------------------------------------------

    def _node(self, node: NodeId) -> Node:
        found = self.nodes.get(node)
        if found is None:
            known = ", ".join(list(self.nodes)[:8])
            raise ValueError(f"there is no node {node!r}; the nodes are {known}")
        return found

    def crash(self, node: NodeId, *, why: str = "fault", cause: int = -1) -> bool:
        """Crash a node; False if it is down already."""
        target = self._node(node)
        if not target.up:
            return False
        lost = target.crash()
        self.note_node(node, "crash", cause, why=why, **({"lost_writes": lost} if lost else {}))
        return True

    def recover(self, node: NodeId, *, cause: int = -1) -> bool:
        """Boot a crashed node from its disk; False if it is up, or its disk is found corrupt."""
        target = self._node(node)
        if target.up:
            return False
        if target.disk is not None and target.disk.corrupt_detected is not None:
            field = target.disk.corrupt_detected
            self.note_node(node, "disk", cause, why=f"stays down: {field} is corrupt on disk")
            return False
        number = self.note_node(node, "recover", cause)
        target.start(number if number >= 0 else cause)
        return True

    def pause(self, node: NodeId, *, cause: int = -1) -> None:
        """Let a node stand still."""
        self._node(node).pause()
        self.note_node(node, "pause", cause)

    def resume(self, node: NodeId, *, cause: int = -1) -> bool:
        """Let a paused node go on; False if it wasn't paused."""
        target = self._node(node)
        if not target.paused or not target.up:
            return False
        self.note_node(node, "resume", cause)
        target.resume()
        return True

    # -- operations -----------------------------------------------------------------------

    def invoke(self, node: NodeId, call: object, *, cause: int = -1) -> int:
        """A client calls ``call`` at ``node``; the operation's id, its index in ``history``."""
        target = self._node(node)
        number = len(self.history)
        self.history.append(OperationRecord(number, node, call, self.engine.now))
        target.invoke(number, call, cause)
        return number

    def complete(self, operation: int, outcome: Outcome) -> None:
        """An operation ends; only the first reply counts.

        ``on_complete`` hears of it, in the middle of a step: whoever wants to invoke another
        operation then puts that on the engine's queue (``engine.call_later``).
        """
        record = self.history[operation]
        if record.outcome is None:
            record.outcome, record.completed_us = outcome, self.engine.now
            for hear in self.on_complete:
                hear(record)

    def refuse(self, operation: int, reason: str) -> None:
        """An operation could not even begin: it surely had no effect."""
        self.complete(operation, Outcome("fail", reason))

    # -- telling --------------------------------------------------------------------------

    def observed(self, node: NodeId, observation: object) -> None:
        """A process tells something; observers hear it."""
        now = self.engine.now
        for observer in self.observers:
            observer(now, node, observation)

    def note_node(self, node: NodeId, kind: str, cause: int = -1, **more: Any) -> int:
        """Something happened to a node; the trace event's id, or -1 if nobody records."""
        self.lifecycle.append((self.engine.now, node, kind))
        if self.recorder is None:
            return -1
        return self.recorder.event(self.engine.now, node, kind, cause, **more)

    def note_message(self, kind: str, envelope: Envelope, **more: Any) -> None:
        """Something happened to a message on its way."""
        if self.recorder is not None:
            if envelope.whole is not None:  # on one hop of its way
                more = {**more, "hop": (envelope.src, envelope.dst)}
                envelope = envelope.whole
            self.recorder.message_event(self.engine.now, kind, envelope, more)
