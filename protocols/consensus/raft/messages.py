"""The RPCs of Raft, each as two messages. The sender is known to the receiver: no candidateId.

Sources: figure 2 and figure 13 of the paper (Ongaro, Ousterhout, "In Search of an Understandable
Consensus Algorithm (Extended Version)", 2014); the dissertation where a section is named.
Every message carries its sender's ``term``, unless it says otherwise.
"""

from __future__ import annotations

from protocols.api import message
from protocols.clients.messages import Request
from protocols.consensus.raft.configuration import Configuration
from protocols.consensus.raft.entries import Chunk, Entry

__all__ = [
    "AppendEntries",
    "AppendReply",
    "Forward",
    "InstallSnapshot",
    "PreVoteReply",
    "ReadIndex",
    "ReadIndexReply",
    "RequestPreVote",
    "RequestVote",
    "SnapshotReply",
    "TimeoutNow",
    "VoteReply",
]


@message
class RequestVote:
    """Invoked by candidates to gather votes (§5.2).

    ``transfer``: the leader itself asked for this election (dissertation §4.2.3, §3.10).
    ``priority``: of the candidate, if elections go by priority too.
    """

    term: int
    last_log_index: int
    last_log_term: int
    transfer: bool = False
    priority: int = 0


@message
class VoteReply:
    """``granted``: the candidate received the vote."""

    term: int
    granted: bool


@message
class RequestPreVote:
    """Would you vote for me in ``term``, my next one? (dissertation §9.6)."""

    term: int
    last_log_index: int
    last_log_term: int
    priority: int = 0


@message
class PreVoteReply:
    """``term``: that of the request if granted, else that of the voter."""

    term: int
    granted: bool


@message
class AppendEntries:
    """Invoked by the leader to replicate ``entries`` (§5.3); heartbeat if there are none.

    ``round``: number of the leader's latest heartbeat round in this term; the reply repeats it, so
    that the leader knows when it was still followed (dissertation §6.4).
    """

    term: int
    prev_log_index: int
    prev_log_term: int
    entries: tuple[Entry, ...]
    leader_commit: int
    round: int = 0


@message
class AppendReply:
    """Success: the follower's log matches the leader's up to ``index``.

    No success: the entry at ``prev_log_index`` = ``index`` did not match. Then ``hint_index`` is
    the last place where the logs may agree, and ``hint_term`` the follower's term there (§5.3,
    at its end); both -1 for a message of an old term.
    """

    term: int
    success: bool
    index: int
    round: int = 0
    hint_index: int = -1
    hint_term: int = -1


@message
class InstallSnapshot:
    """Chunk ``number`` (0, 1, …) of the leader's snapshot (figure 13).

    ``done``: it is the last one. ``last_index``, ``last_term``, ``configuration`` and ``time_us``
    are those of the snapshot.
    """

    term: int
    last_index: int
    last_term: int
    configuration: Configuration
    time_us: int
    number: int
    chunk: Chunk
    done: bool
    round: int = 0


@message
class SnapshotReply:
    """The follower has the first ``received`` chunks; ``done``: it holds the whole snapshot."""

    term: int
    last_index: int
    received: int
    done: bool
    round: int = 0


@message
class TimeoutNow:
    """The leader hands over: start an election at once (dissertation §3.10)."""

    term: int


@message
class ReadIndex:
    """A follower asks from which index on it may answer reads (dissertation §6.4).

    ``attempt`` is new in every request of this follower, also after a crash: (life, number).
    """

    term: int
    attempt: tuple[int, int]


@message
class ReadIndexReply:
    """``index``: answer the reads of ``attempt`` once it is applied; -1: not by this server."""

    term: int
    attempt: tuple[int, int]
    index: int


@message
class Forward:
    """A follower passes a client's request on to the leader; it is never passed on again."""

    request: Request
