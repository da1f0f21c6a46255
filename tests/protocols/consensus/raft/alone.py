"""One Raft server in a given state, and its steps: no network, no time but what the test says."""

from __future__ import annotations

from typing import Any

from protocols.api import MS
from protocols.clients.messages import Request
from protocols.consensus.raft.entries import Entry
from protocols.consensus.raft.messages import (
    AppendEntries,
    AppendReply,
    PreVoteReply,
    RequestPreVote,
    RequestVote,
    VoteReply,
)
from protocols.consensus.raft.options import RaftOptions
from protocols.consensus.raft.server import RaftServer, Role
from protocols.consensus.raft.state import ElectionTimeout, HeartbeatDue
from protocols.machines.kv import Put
from protocols.step import (
    CancelTimer,
    Effect,
    Fire,
    Receive,
    Send,
    SetTimer,
    Start,
    durable_state,
    recovered,
    step,
)
from protocols.values import Log

ELECTION = (150 * MS, 300 * MS)
WAIT = SetTimer(ElectionTimeout(), ELECTION)
STOP_WAITING = CancelTimer(ElectionTimeout())
BEAT = SetTimer(HeartbeatDue(), 50 * MS)
FIGURE_2: dict[str, Any] = {  # the paper's figure 2 and nothing else
    **{"pre_vote": False, "check_quorum": False, "sticky_leader": False, "noop": False},
    **{"fast_backup": False, "reads": "log"},
}


def put(number: int, client: str = "c1") -> Request:
    """The ``number``-th request of a client."""
    return Request(client, 1, number, Put("x", number), number - 1)


def entries(*terms: int, first: int = 1) -> tuple[Entry, ...]:
    """Entries of these terms; the command says the index."""
    return tuple(Entry(term, put(index)) for index, term in enumerate(terms, first))


def server(
    *terms: int,
    me: str = "n1",
    n: int = 3,
    term: int | None = None,
    voted_for: str | None = None,
    given: Any = None,
    **options: Any,
) -> Any:
    """A server that has started with a log of these terms, in ``term`` (that of the last entry)."""
    members = tuple(f"n{i}" for i in range(1, n + 1))
    made = RaftServer(me=me, members=members, options=RaftOptions(**options), **(given or {}))
    made.current_term = max((*terms, 0)) if term is None else term
    made.voted_for = voted_for
    made.log = Log(entries(*terms))
    step(made, Start())
    return made


def figure2(*terms: int, **more: Any) -> Any:
    """A server with figure 2 and nothing else."""
    return server(*terms, **{**FIGURE_2, **more})


def elected(made: Any, *, now_us: int = 0) -> Any:
    """The same server after it has won an election of its next term."""
    fire(made, ElectionTimeout(), now_us=now_us)
    for phase in (RequestPreVote, RequestVote):
        for peer in made.others:
            if phase is RequestPreVote and made.role is Role.PRE_CANDIDATE:
                hear(made, peer, PreVoteReply(made.current_term + 1, True), now_us=now_us)
            elif phase is RequestVote and made.role is Role.CANDIDATE:
                hear(made, peer, VoteReply(made.current_term, True), now_us=now_us)
    assert made.role is Role.LEADER
    return made


def hear(made: Any, src: str, message: object, *, now_us: int = 0) -> tuple[Effect, ...]:
    """A message arrives; what the server does."""
    return step(made, Receive(src, message), now_us=now_us)


def fire(made: Any, timer: object, *, now_us: int = 0) -> tuple[Effect, ...]:
    """A timer fires; what the server does."""
    return step(made, Fire(timer), now_us=now_us)


def sent(effects: tuple[Effect, ...], to: str | None = None) -> list[Any]:
    """The messages in a list of effects, to one node or to all."""
    sends = [effect for effect in effects if isinstance(effect, Send)]
    return [effect.message for effect in sends if to in (None, effect.dst)]


def accept(made: Any, src: str, index: int, *, now_us: int = 0) -> tuple[Effect, ...]:
    """Follower ``src`` matches up to ``index``."""
    return hear(made, src, AppendReply(made.current_term, True, index, made.round), now_us=now_us)


def append(
    term: int, prev: tuple[int, int], *terms: int, commit: int = 0, round: int = 0
) -> AppendEntries:
    """AppendEntries after entry ``prev`` = (index, term)."""
    index, prev_term = prev
    new = entries(*terms, first=index + 1)
    return AppendEntries(term, index, prev_term, new, commit, round)


def crashed(made: Any, *, now_us: int = 0) -> Any:
    """The server after a crash and a restart."""
    again: RaftServer = recovered(made, durable_state(made))
    step(again, Start(), now_us=now_us)
    return again


def terms_of(made: Any) -> list[int]:
    """The terms of its log."""
    return [entry.term for entry in made.log]
