"""Exactly once: client sessions, dissertation §6.3."""

from __future__ import annotations

from typing import Any

from protocols.api import SECOND, Map
from protocols.client import fail, ok
from protocols.clients.messages import Request, Response
from protocols.consensus.raft.sessions import (
    EXPIRED,
    FRESH,
    STALE,
    Session,
    Verdict,
    expire,
    judge,
    remember,
)
from protocols.machines.kv import Append
from protocols.step import Send
from tests.protocols.consensus.raft.alone import accept, append, elected, hear, sent, server


def ask(sequence: int, *, session: int = 1, acked: int = 0, text: str = "a") -> Request:
    return Request("c1", session, sequence, Append("x", text), acked)


def alone(**options: Any) -> Any:
    return elected(server(n=1, **options))


def answer(s: Any, request: Request, now_us: int = 0) -> Any:
    (message,) = sent(hear(s, "c1", request, now_us=now_us))
    return message.outcome


def test_a_repeated_request_has_one_effect_and_one_answer() -> None:
    """§6.3: a number that was executed is answered and not executed again."""
    s = alone()
    assert answer(s, ask(1)) == answer(s, ask(1)) == ok("a")
    assert answer(s, ask(2, acked=1)) == ok("aa")
    assert len(s.log) == 3  # a no-op and two commands: the copy was answered from memory


def test_two_copies_in_the_log_have_one_effect() -> None:
    s = elected(server())
    accept(s, "n2", 1)
    hear(s, "c1", ask(1))
    hear(s, "c1", ask(1))
    assert len(s.log) == 3
    twice = accept(s, "n2", 3)
    assert twice == (Send("c1", Response(1, 1, ok("a"), "n1")),) * 2
    assert s.machine.items["x"] == "a"


def test_a_new_leader_answers_a_retry_from_the_replicated_sessions() -> None:
    """S65: committed, the reply lost, the leader dead: the next one knows the answer."""
    old = elected(server())
    accept(old, "n2", 1)
    hear(old, "c1", ask(1))
    new = server(me="n2")
    hear(new, "n1", append(1, (0, 0)))
    new.log = old.log
    hear(new, "n1", append(1, (2, 1), commit=2))
    elected(new)
    accept(new, "n3", 3)
    assert sent(hear(new, "c1", ask(1))) == [Response(1, 1, ok("a"), "n2")]
    assert new.machine.items["x"] == "a"


def test_acknowledged_answers_are_forgotten_and_their_requests_refused() -> None:
    """§6.3: a client says up to where it has all answers."""
    s = alone()
    for sequence in (1, 2, 3):
        answer(s, ask(sequence, acked=sequence - 1))
    assert dict(s.sessions["c1"].answers) == {3: ok("aaa").value}
    assert hear(s, "c1", ask(2)) == ()
    assert s.machine.items["x"] == "aaa"


def test_numbers_may_have_gaps_and_come_late() -> None:
    s = alone()
    assert answer(s, ask(5)) == ok("a")
    assert answer(s, ask(2)) == ok("aa")
    assert answer(s, ask(5)) == ok("a")


def test_a_newer_session_replaces_the_older_one() -> None:
    s = alone()
    answer(s, ask(1))
    assert answer(s, ask(1, session=2)) == ok("aa")
    assert answer(s, ask(1, session=1)) == fail("session-expired")
    assert s.sessions["c1"].number == 2


def test_sessions_expire_by_the_time_in_the_log() -> None:
    """§6.3: by the leader's time in the entries, so that all servers agree."""
    s = alone(session_lifetime_us=10 * SECOND)
    answer(s, ask(1), now_us=SECOND)
    assert answer(s, ask(1), now_us=60 * SECOND) == ok("a")  # no entry says that time passed
    hear(s, "c2", Request("c2", 1, 1, Append("y", "b"), 0), now_us=60 * SECOND)
    assert answer(s, ask(1), now_us=60 * SECOND) == fail("session-expired")
    assert answer(s, ask(2), now_us=60 * SECOND) == fail("session-expired")
    assert answer(s, ask(1, session=2), now_us=60 * SECOND) == ok("aa")


def test_the_time_in_the_log_never_goes_back() -> None:
    s = alone()
    hear(s, "c1", ask(1), now_us=SECOND)
    hear(s, "c1", ask(2), now_us=5)
    assert [entry.time_us for entry in s.log] == [0, SECOND, SECOND]


def test_a_sweep_frees_memory_and_changes_no_verdict() -> None:
    sessions = remember(remember(Map(), ask(1), "a", 0), ask(3), "aa", 5)
    now, lifetime = 20, 10
    swept = expire(sessions, now, lifetime)
    assert swept["c1"] == Session(1, active_us=5, closed=True)
    for request in (ask(1), ask(2), ask(9), ask(1, session=2)):
        assert judge(sessions, request, now, lifetime) is judge(swept, request, now, lifetime)
    assert expire(sessions, 15, lifetime) == sessions


def test_verdicts() -> None:
    sessions = remember(Map(), ask(4, session=3, acked=2), "a", 0)
    assert judge(sessions, ask(4, session=3), 0, 0) == Verdict("known", "a")
    assert judge(sessions, ask(3, session=3), 0, 0) is FRESH
    assert judge(sessions, ask(2, session=3), 0, 0) is STALE
    assert judge(sessions, ask(1, session=4), 0, 0) is FRESH
    assert judge(sessions, ask(9, session=2), 0, 0) is EXPIRED
    assert judge(sessions, ask(9, session=3), 10**12, 0) is FRESH  # lifetime 0: never
