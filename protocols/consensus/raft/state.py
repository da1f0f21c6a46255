"""The state of a Raft server: the box "State" of figure 2, and what the options add to it.

Each further module is a chapter: a class that adds handlers to this state. ``server.py`` puts the
chapters together. What one chapter calls in another is listed at the end of the class.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from protocols.api import Context, Log, Map, NodeId, durable, process, timer, volatile
from protocols.client import Outcome
from protocols.clients.messages import Request
from protocols.consensus.raft.admin import Asker
from protocols.consensus.raft.configuration import Configuration
from protocols.consensus.raft.entries import Entry, Snapshot
from protocols.consensus.raft.options import RaftOptions
from protocols.consensus.raft.progress import Incoming, Progress, Sending, Staging, Transfer
from protocols.consensus.raft.read_queue import GrantedRead, WaitingRead
from protocols.consensus.raft.sessions import Session
from protocols.machines.kv import KeyValueStore
from protocols.machines.machine import Machine

__all__ = ["UNKNOWN", "BatchDue", "ElectionTimeout", "HeartbeatDue", "QuorumDue", "RaftState"]
__all__ += ["Role", "TransferDue"]

UNKNOWN = -1
"""The term of an entry that the log does not hold."""


class Role(Enum):
    """What a server is at the moment (figure 4); a learner is a follower without a vote."""

    FOLLOWER = 1
    PRE_CANDIDATE = 2
    CANDIDATE = 3
    LEADER = 4


@timer
class ElectionTimeout:
    """Nothing was heard from a leader for an election timeout (§5.2)."""


@timer
class HeartbeatDue:
    """Time for the leader's next heartbeat (§5.2)."""


@timer
class QuorumDue:
    """Time for the leader to look whether a quorum still follows it (dissertation §6.2)."""


@timer
class BatchDue:
    """Time to send the entries gathered in a batch (dissertation §10.2.2)."""


@timer
class TransferDue:
    """A transfer of leadership has taken too long (dissertation §3.10)."""


@process(clock=True)
class RaftState:
    """Parameters and state of one server.

    ``members``: the nodes of the cluster as it first starts. ``voters``: those of them that vote,
    None for all but ``learners``; a server that joins later is given ``voters=()``. All servers
    that start together must be given the same. ``initial``: the state machine before the first
    command. ``priority``: of this server in elections, with the option ``priorities``.
    """

    me: NodeId
    members: tuple[NodeId, ...]
    voters: tuple[NodeId, ...] | None = None
    learners: tuple[NodeId, ...] = ()
    initial: Machine = KeyValueStore()
    options: RaftOptions = RaftOptions()
    priority: int = 0

    # Persistent state on all servers. A torn write keeps a prefix in this order: a new term with
    # an old vote grants nothing twice; a new snapshot with an old log loses nothing.
    current_term: int = durable(0)
    voted_for: NodeId | None = durable(None)
    snapshot: Snapshot | None = durable(None)
    log: Log[Entry] = durable(Log())
    boots: int = durable(0)  # lives so far; counted for follower reads only

    # Volatile state on all servers.
    role: Role = volatile(Role.FOLLOWER)
    leader: NodeId | None = volatile(None)  # who it believes leads
    commit_index: int = volatile(0)
    last_applied: int = volatile(0)
    machine: Machine = volatile(KeyValueStore())  # set at the start
    sessions: Map[NodeId, Session] = volatile(Map())
    configurations: tuple[tuple[int, Configuration], ...] = volatile(())  # with their indexes
    configuration: Configuration = volatile(Configuration(frozenset()))  # the last of them
    others: tuple[NodeId, ...] = volatile(())  # its members, and staged servers, but me
    heard_us: int | None = volatile(None)  # when a leader was last heard, on the own clock
    incoming: Incoming | None = volatile(None)  # a snapshot of which some chunks have arrived
    asked: Map[int, Request] = volatile(Map())  # reads waiting for a read index, by attempt
    attempts: int = volatile(0)
    granted: tuple[GrantedRead, ...] = volatile(())  # reads waiting for their index to be applied

    # Volatile state on candidates.
    votes: Map[NodeId, bool] = volatile(Map())

    # Volatile state on leaders, fresh in each term.
    next_index: Map[NodeId, int] = volatile(Map())
    match_index: Map[NodeId, int] = volatile(Map())  # the leader's own too
    progress: Map[NodeId, Progress] = volatile(Map())
    sending: Map[NodeId, Sending] = volatile(Map())  # snapshots on their way
    active: frozenset[NodeId] = volatile(frozenset())  # heard since the last QuorumDue
    round: int = volatile(0)  # heartbeat rounds so far
    acked: Map[NodeId, int] = volatile(Map())  # the latest round that each has replied to
    reads: Log[WaitingRead] = volatile(Log())  # reads waiting for a round
    round_times: Log[int] = volatile(Log())  # when rounds began, for the lease
    lease_from_us: int | None = volatile(None)
    batching: bool = volatile(False)
    transfer: Transfer | None = volatile(None)
    handed_over: bool = volatile(False)  # TimeoutNow was sent in this term: no more leases
    staging: Staging | None = volatile(None)
    change_asker: tuple[int, Asker] | None = volatile(None)  # index of a change; who wants to know

    # -- what follows from the state ------------------------------------------------------

    @property
    def last_index(self) -> int:
        """Index of the last entry."""
        return self.log.last_index

    @property
    def last_term(self) -> int:
        """Term of the last entry, 0 if there never was one."""
        return self.term_at(self.log.last_index)

    @property
    def snapshot_index(self) -> int:
        """The last index that the snapshot covers, 0 if there is none."""
        return 0 if self.snapshot is None else self.snapshot.last_index

    @property
    def log_time_us(self) -> int:
        """Time of the last entry."""
        log = self.log
        if log.last_index >= log.first:
            return log[log.last_index].time_us
        return 0 if self.snapshot is None else self.snapshot.time_us

    @property
    def committed_in_own_term(self) -> bool:
        """Whether the leader knows which entries are committed (§8; dissertation §6.4)."""
        return self.term_at(self.commit_index) == self.current_term

    def term_at(self, index: int) -> int:
        """Term of the entry at ``index``; 0 at index 0; `UNKNOWN` if not held (any more)."""
        log = self.log
        if log.first <= index <= log.last_index:
            return log[index].term
        snapshot = self.snapshot
        if snapshot is not None and index == snapshot.last_index:
            return snapshot.last_term
        return 0 if index == 0 else UNKNOWN

    def last_agreement(self, index: int, term: int) -> int:
        """The last index ≤ ``index`` whose entry is of no later term than ``term``."""
        log = self.log
        index = min(index, log.last_index)
        while index >= log.first and log[index].term > term:
            index -= 1
        return index

    # -- what the chapters call in each other ---------------------------------------------

    if TYPE_CHECKING:  # defined in the chapter named
        # election
        def expect_leader(self, ctx: Context) -> None: ...
        def start_election(self, ctx: Context, *, transfer: bool = False) -> None: ...
        def observe_term(self, ctx: Context, term: int) -> None: ...
        def follow(self, ctx: Context, term: int, leader: NodeId | None) -> None: ...

        # leading
        def propose(self, ctx: Context, command: object) -> int:
            raise NotImplementedError

        def lead(self, ctx: Context) -> None: ...
        def lay_down(self, ctx: Context) -> None: ...
        def start_tracking(self, ctx: Context) -> None: ...
        def beat(self, ctx: Context) -> None: ...
        def probe(self, ctx: Context, peer: NodeId, most: int | None = None) -> None: ...
        def hear_follower(self, ctx: Context, peer: NodeId, number: int) -> None: ...
        def matched(self, ctx: Context, peer: NodeId, index: int) -> None: ...

        # following
        def hear_leader(self, ctx: Context) -> None: ...

        # commitment
        def advance_commit(self, ctx: Context) -> None: ...
        def commit_to(self, ctx: Context, index: int) -> None: ...

        # clients
        def respond(self, ctx: Context, request: Request, outcome: Outcome) -> None: ...

        # reads
        def serve_read(self, ctx: Context, request: Request) -> None: ...
        def ask_read_index(self, ctx: Context, request: Request) -> None: ...
        def release_reads(self, ctx: Context) -> None: ...
        def answer_granted(self, ctx: Context) -> None: ...
        def give_up_asked(self, ctx: Context) -> None: ...
        def give_up_reads(self, ctx: Context) -> None: ...
        def confirm_round(self, ctx: Context, peer: NodeId, number: int) -> None: ...

        # snapshots
        def snapshot_if_due(self, ctx: Context) -> None: ...
        def take_snapshot(self, ctx: Context) -> None: ...
        def start_sending(self, ctx: Context, peer: NodeId) -> None: ...
        def load_snapshot(self) -> None: ...
        def send_chunk(self, ctx: Context, peer: NodeId) -> None: ...

        # membership
        def load_configurations(self) -> None: ...
        def leave_joint_if_due(self, ctx: Context) -> None: ...
        def adopt(self, index: int, configuration: Configuration) -> None: ...
        def unadopt_from(self, index: int) -> None: ...
        def configuration_committed(
            self, ctx: Context, index: int, configuration: Configuration
        ) -> None: ...
        def staged_matched(self, ctx: Context, peer: NodeId, index: int) -> None: ...
        def check_staging(self, ctx: Context) -> None: ...
        def give_up_change(self, ctx: Context) -> None: ...

        # transfer
        def target_matched(self, ctx: Context, peer: NodeId, index: int) -> None: ...
        def transfer_settled(self, ctx: Context, leader: NodeId) -> None: ...
