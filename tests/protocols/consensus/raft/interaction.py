"""Raft servers moved by hand, with the directives of etcd-io/raft's interaction tests.

A message passes three places: what a server has sent waits at the server until ``process-ready``
puts it on the network, from where ``deliver-msgs`` takes it to its destination; ``stabilize`` does
both until nothing moves. Each server has a clock of its own, which only ``tick-…`` moves.

Two directives have no counterpart here, so something equivalent is done:

``stabilize``            when nothing moves any more, a leader that has not told anybody of its
                         commit index sends heartbeats. (etcd tells by empty appends at once.)
``report-unreachable``   the leader's progress of the node is set back to PROBE. (Our servers are
                         told by nobody that a node is unreachable.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from protocols.api import MS, Log, Map, NodeId
from protocols.client import Outcome
from protocols.clients.messages import Request, Response
from protocols.consensus.raft.admin import TakeSnapshot
from protocols.consensus.raft.configuration import AddLearner, AddVoter, Configuration, Remove
from protocols.consensus.raft.entries import Snapshot
from protocols.consensus.raft.membership import ChangeMembership
from protocols.consensus.raft.options import RaftOptions
from protocols.consensus.raft.progress import Progress
from protocols.consensus.raft.server import RaftServer, Role
from protocols.consensus.raft.state import ElectionTimeout, HeartbeatDue
from protocols.machines.kv import KeyValueStore, Put
from protocols.step import (
    CancelTimer,
    Effect,
    Event,
    Fire,
    Invoke,
    Receive,
    Reply,
    Send,
    SetTimer,
    Start,
    step,
)
from tests.protocols.consensus.raft.datadriven import Block

HEARTBEAT_US = 50 * MS
ELECTION_US = 150 * MS  # three heartbeats, as in those tests
CHANGES = {"v": AddVoter, "l": AddLearner, "r": Remove}
TRANSITIONS = {"auto": None, "implicit": True}

Sent = tuple[NodeId, NodeId, Any]


class Interaction:
    """Servers "1", "2", …, and the messages between them."""

    def __init__(self) -> None:
        self.nodes: dict[NodeId, Any] = {}
        self.clock: dict[NodeId, int] = {}
        self.timers: dict[NodeId, dict[object, int]] = {}
        self.waiting: dict[NodeId, list[Sent]] = {}
        self.network: list[Sent] = []
        self.told: dict[tuple[NodeId, int], int] = {}
        self.answers: list[Outcome] = []
        self.requests = 0

    def run(self, block: Block) -> None:
        """Carry out one directive. KeyError for one that is not known."""
        directives: dict[str, Callable[[Block], object]] = {
            "add-nodes": self.add_nodes,
            "campaign": lambda b: self.campaign(b.words[0]),
            "compact": lambda b: self.compact(b.words[0], int(b.words[1])),
            "deliver-msgs": self.deliver_messages,
            "process-ready": lambda b: self.process_ready(b.words[0]),
            "propose": lambda b: self.propose(b.words[0], b.words[1]),
            "propose-conf-change": self.propose_change,
            "report-unreachable": lambda b: self.report_unreachable(*b.words),
            "stabilize": lambda b: self.stabilize(b.words or tuple(self.nodes)),
            "tick-election": lambda b: self.tick(b.words[0], ELECTION_US),
            "tick-heartbeat": lambda b: self.tick(b.words[0], HEARTBEAT_US),
        }
        directives[block.command](block)

    # -- steps ----------------------------------------------------------------------------

    def do(self, node: NodeId, event: Event) -> tuple[Effect, ...]:
        """One step of a server."""
        effects = step(self.nodes[node], event, now_us=self.clock[node])
        for effect in effects:
            match effect:
                case Send(_, Response(outcome=outcome)) | Reply(outcome=outcome):
                    self.answers.append(outcome)
                case Send(dst, message):
                    self.waiting[node].append((node, dst, message))
                case SetTimer(timer, after):
                    least = after if isinstance(after, int) else after[0]
                    self.timers[node][timer] = self.clock[node] + least
                case CancelTimer(timer):
                    self.timers[node].pop(timer, None)
        return effects

    def fire(self, node: NodeId, timer: object) -> None:
        """Let a timer come due now, if it is set."""
        if self.timers[node].pop(timer, None) is not None:
            self.do(node, Fire(timer))

    def tick(self, node: NodeId, us: int) -> None:
        """Let time pass for one server; its timers fire when they are due."""
        end = self.clock[node] + us
        timers = self.timers[node]
        while timers and min(timers.values()) <= end:
            timer = min(timers, key=lambda t: timers[t])
            self.clock[node] = timers[timer]
            self.fire(node, timer)
        self.clock[node] = end

    def wait(self, us: int) -> None:
        """Let time pass for all servers at once; it ends just before any timer fires."""
        self.clock = {node: now + us for node, now in self.clock.items()}

    # -- directives -----------------------------------------------------------------------

    def add_nodes(self, block: Block) -> None:
        """Servers that begin with a snapshot of term 1 up to ``index``, or with nothing at all."""
        voters, learners = block.arguments.get("voters", ()), block.arguments.get("learners", ())
        careful = block.one("checkquorum", "false") == "true"
        options = RaftOptions(
            election_timeout_us=(ELECTION_US, ELECTION_US),
            heartbeat_us=HEARTBEAT_US,
            pre_vote=block.one("prevote", "false") == "true",
            check_quorum=careful,
            sticky_leader=careful,
            window=int(block.one("inflight", "1000")),
            catch_up_rounds=0,
            reads="log",
        )
        snapshot = None
        if voters:
            start = Configuration(voters, learners)
            snapshot = Snapshot(int(block.one("index")), 1, start, KeyValueStore(), Map())
        for _ in range(int(block.words[0])):
            self.add(str(len(self.nodes) + 1), snapshot, options)

    def add(self, node: NodeId, snapshot: Snapshot | None, options: RaftOptions) -> None:
        """A server with this snapshot."""
        members = (node,) if snapshot is None else snapshot.configuration.members()
        made: Any = RaftServer(me=node, members=members, voters=(), options=options)
        if snapshot is not None:
            made.snapshot, made.log = snapshot, Log(first=snapshot.last_index + 1)
        self.nodes[node] = made
        self.clock[node], self.timers[node], self.waiting[node] = 0, {}, []
        self.do(node, Start())

    def campaign(self, node: NodeId) -> None:
        """As if the election timeout had passed."""
        self.fire(node, ElectionTimeout())

    def compact(self, node: NodeId, index: int) -> None:
        """Take a snapshot of what is applied and drop the log up to ``index``."""
        made = self.nodes[node]
        made.options = replace(made.options, trailing=made.last_applied - index)
        self.do(node, Invoke(0, TakeSnapshot()))

    def propose(self, node: NodeId, data: str) -> None:
        """A client's request."""
        self.requests += 1
        request = Request("client", 1, self.requests, Put("x", data), self.requests - 1)
        self.do(node, Receive("client", request))

    def propose_change(self, block: Block) -> None:
        """A change of members: simple, or joint, as asked for."""
        changes = tuple(CHANGES[t[0]](t[1:]) for t in " ".join(block.input).split())
        joint = TRANSITIONS[block.one("transition", "auto")]
        simple = block.one("v1", "false") == "true"
        operation = ChangeMembership(changes, joint=False if simple else joint)
        self.do(block.words[0], Invoke(0, operation))

    def report_unreachable(self, node: NodeId, peer: NodeId) -> None:
        """The leader does not know any more what of its messages reached the peer."""
        made = self.nodes[node]
        made.progress = made.progress.set(peer, Progress.PROBE)
        made.next_index = made.next_index.set(peer, made.match_index[peer] + 1)

    # -- messages -------------------------------------------------------------------------

    def process_ready(self, node: NodeId) -> bool:
        """What the server sent goes onto the network; whether there was anything."""
        sent, self.waiting[node] = self.waiting[node], []
        self.network += sent
        return bool(sent)

    def deliver_messages(self, block: Block) -> None:
        """Deliver to the named nodes, or lose what is on the way to them."""
        dropped = block.arguments.get("drop", ())
        self.network = [sent for sent in self.network if sent[1] not in dropped]
        for node in block.words:
            self.deliver(node)

    def deliver(self, node: NodeId) -> bool:
        """Deliver what is on the network for a node; whether there was anything."""
        due = [sent for sent in self.network if sent[1] == node]
        self.network = [sent for sent in self.network if sent[1] != node]
        for src, _, message in due:
            self.do(node, Receive(src, message))
        return bool(due)

    def stabilize(self, nodes: Iterable[NodeId]) -> None:
        """Send and deliver among ``nodes`` until nothing moves."""
        for _ in range(1000):
            moved = [self.process_ready(node) for node in nodes]
            moved += [self.deliver(node) for node in nodes]
            if not any(moved) and not any([self.tell(node) for node in nodes]):
                return
        raise AssertionError("the servers don't come to rest")

    def tell(self, node: NodeId) -> bool:
        """A leader whose commit index has grown beats once; whether it did."""
        made = self.nodes[node]
        lead = (node, made.current_term)
        if made.role is not Role.LEADER or made.commit_index <= self.told.get(lead, 0):
            return False
        self.told[lead] = made.commit_index
        self.fire(node, HeartbeatDue())
        return True
