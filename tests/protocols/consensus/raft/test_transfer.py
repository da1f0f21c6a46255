"""Leadership transfer, dissertation §3.10."""

from __future__ import annotations

from typing import Any

from protocols.api import MS
from protocols.client import fail, info, ok
from protocols.clients.messages import Response
from protocols.consensus.raft.admin import Admin, AdminReply, TransferLeadership
from protocols.consensus.raft.messages import RequestVote, TimeoutNow
from protocols.consensus.raft.server import Role
from protocols.consensus.raft.state import TransferDue
from protocols.step import CancelTimer, Invoke, Reply, Send, SetTimer, step
from tests.protocols.consensus.raft.alone import (
    WAIT,
    accept,
    append,
    elected,
    fire,
    hear,
    put,
    sent,
    server,
)

TIMER = SetTimer(TransferDue(), 300 * MS)


def leader(**options: Any) -> Any:
    s = elected(server(**options))
    accept(s, "n2", 1)
    return s


def transfer(s: Any, to: str, number: int = 7) -> Any:
    return step(s, Invoke(number, TransferLeadership(to)))


def test_an_up_to_date_target_is_told_at_once() -> None:
    """Step 3: TimeoutNow."""
    s = leader()
    assert transfer(s, "n2") == (TIMER, Send("n2", TimeoutNow(1)))


def test_a_target_that_lags_is_brought_up_to_date_first() -> None:
    """Step 2: its log must match the leader's."""
    s = leader()
    assert transfer(s, "n3") == (TIMER,)
    assert accept(s, "n3", 1)[-1] == Send("n3", TimeoutNow(1))
    assert TimeoutNow(1) not in sent(accept(s, "n3", 1))


def test_the_leader_takes_no_requests_meanwhile() -> None:
    """Step 1; the hint names the target."""
    s = leader()
    transfer(s, "n2")
    refused = Response(1, 1, fail("not-leader"), "n2")
    assert hear(s, "c1", put(1)) == (Send("c1", refused),)


def test_the_target_starts_an_election_without_pre_vote_that_overrules_restraint() -> None:
    s = server(1)
    hear(s, "n3", append(1, (1, 1)))
    ask = RequestVote(2, 1, 1, transfer=True)
    assert hear(s, "n3", TimeoutNow(1)) == (WAIT, Send("n2", ask), Send("n3", ask))
    assert s.role is Role.CANDIDATE


def test_timeout_now_of_an_older_term_or_to_a_learner_does_nothing() -> None:
    s = server(1, term=2)
    assert hear(s, "n3", TimeoutNow(1)) == ()
    learner = server(1, given={"learners": ("n1",)})
    assert hear(learner, "n3", TimeoutNow(1)) == ()


def test_the_asker_hears_when_the_target_leads() -> None:
    s = leader()
    transfer(s, "n2")
    hear(s, "n2", RequestVote(2, 1, 1, transfer=True))
    done = hear(s, "n2", append(2, (1, 1)))
    assert done[:2] == (CancelTimer(TransferDue()), Reply(7, ok()))


def test_the_asker_hears_when_another_leads() -> None:
    s = leader()
    transfer(s, "n2")
    hear(s, "n3", RequestVote(2, 1, 1, transfer=True))
    done = hear(s, "n3", append(2, (1, 1)))
    assert Reply(7, info("n3 leads instead of n2")) in done


def test_after_an_election_timeout_the_leader_goes_on() -> None:
    s = leader()
    transfer(s, "n3")
    ended = (CancelTimer(TransferDue()), Reply(7, fail("n3 took too long")))
    assert fire(s, TransferDue()) == ended
    assert sent(hear(s, "c1", put(1)), "n2")
    transfer(s, "n2")
    accept(s, "n2", s.last_index)
    assert Reply(7, info("n2 took too long")) in fire(s, TransferDue())


def test_what_is_refused() -> None:
    s = leader()
    assert transfer(s, "n1") == (Reply(7, ok()),)
    assert transfer(s, "n9") == (Reply(7, fail("n9 is no voter of this cluster")),)
    transfer(s, "n3")
    again = Reply(8, fail("leadership is being transferred to n3"))
    assert transfer(s, "n2", 8) == (again,)
    refused = AdminReply(1, fail("not-leader"))
    assert hear(server(), "c1", Admin(1, TransferLeadership("n2"))) == (Send("c1", refused),)
