"""A client and servers that answer by hand: every effect, in order."""

from collections.abc import Sequence
from typing import Any

import pytest

from protocols.api import MS, SECOND, Context, on_operation, operation
from protocols.client import Outcome, fail, info, ok
from protocols.clients.messages import (
    NO_QUORUM,
    NOT_LEADER,
    OVERLOADED,
    SESSION_EXPIRED,
    SHUTTING_DOWN,
    STEPPED_DOWN,
    Request,
    Response,
)
from protocols.clients.policy import Backoff, ClientOptions
from protocols.clients.session_client import TIMEOUT, ClientStarted, SessionClient
from protocols.clients.timers import DeadlineDue, HedgeDue, QueueDue, RequestTimeout, RetryDue
from protocols.machines.counter import Add, Read
from protocols.step import (
    CancelTimer,
    Effect,
    Fire,
    Invoke,
    Observe,
    Receive,
    Reply,
    Send,
    SetTimer,
    Start,
    durable_state,
    recovered,
    step,
)

OPTIONS = ClientOptions(
    timeout_us=100 * MS,
    deadline_us=1 * SECOND,
    backoff=Backoff(20 * MS, 2, 80 * MS, 0.5),
    queue_limit=2,
    network_duplicates=False,
)
ADD = Add(1)
WAIT = SetTimer(RequestTimeout(), 100 * MS)
NO_WAIT = CancelTimer(RequestTimeout())
PAUSE = SetTimer(RetryDue(), (10 * MS, 20 * MS))


def client(options: ClientOptions = OPTIONS, servers: str = "n1 n2 n3") -> SessionClient:
    made = SessionClient(me="c1", servers=tuple(servers.split()), options=options)
    assert step(made, Start()) == (Observe(ClientStarted(1)),)
    return made


def changed(**options: Any) -> ClientOptions:
    values = {name: getattr(OPTIONS, name) for name in ClientOptions.__slots__}
    return ClientOptions(**{**values, **options})


def request(sequence: int = 1, command: Any = ADD, session: int = 1) -> Request:
    return Request("c1", session, sequence, command, sequence - 1)


def answer(
    c: SessionClient,
    src: str,
    outcome: Outcome,
    leader: str | None = None,
    *,
    to: tuple[int, int] | None = None,
) -> tuple[Effect, ...]:
    session, sequence = to or (c.session, c.sequence)
    return step(c, Receive(src, Response(session, sequence, outcome, leader)))


def last(options: Sequence[Any]) -> Any:
    return options[-1]


def outcome_of(effects: tuple[Effect, ...]) -> Outcome:
    (reply,) = (effect for effect in effects if isinstance(effect, Reply))
    return reply.outcome


def asked_in(effects: tuple[Effect, ...]) -> list[str]:
    return [effect.dst for effect in effects if isinstance(effect, Send)]


# -- the way of a request ------------------------------------------------------------------


def test_an_operation_is_sent_and_its_answer_given_back() -> None:
    c = client()
    assert step(c, Invoke(7, Add(1))) == (
        SetTimer(DeadlineDue(1), 1 * SECOND),
        Send("n1", request()),
        WAIT,
    )
    assert answer(c, "n1", ok(1)) == (Reply(7, ok(1)), NO_WAIT, CancelTimer(DeadlineDue(1)))


def test_the_search_for_a_leader_begins_at_any_server() -> None:
    """§6.2: the client contacts a randomly chosen server."""
    assert asked_in(step(client(), Invoke(1, Add(1)), choose=last)) == ["n3"]


def test_the_leader_that_answered_is_asked_first_next_time() -> None:
    c = client()
    step(c, Invoke(1, Add(1)), choose=last)
    answer(c, "n3", ok(1))
    assert asked_in(step(c, Invoke(2, Add(1)))) == ["n3"]
    answer(c, "n3", ok(2), leader="n2")  # a follower that answered names the leader
    assert asked_in(step(c, Invoke(3, Add(1)))) == ["n2"]


def test_operations_are_numbered_and_acked_in_their_session() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    answer(c, "n1", ok(1))
    (_, send, _) = step(c, Invoke(2, Add(5)))
    assert send == Send("n1", Request("c1", 1, 2, Add(5), 1))


def test_a_server_that_does_not_lead_says_who_does() -> None:
    """§6.2: a server that isn't the leader rejects the request and says who is."""
    c = client()
    step(c, Invoke(1, Add(1)))
    assert answer(c, "n1", fail(NOT_LEADER), leader="n3") == (NO_WAIT, Send("n3", request()), WAIT)
    assert outcome_of(answer(c, "n3", ok(1))) == ok(1)


def test_a_hint_may_name_a_server_that_joined_later() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    assert asked_in(answer(c, "n1", fail(NOT_LEADER), leader="n9")) == ["n9"]


@pytest.mark.parametrize("reason", [NOT_LEADER, NO_QUORUM, SHUTTING_DOWN])
def test_without_a_hint_the_next_server_is_asked(reason: str) -> None:
    c = client()
    step(c, Invoke(1, Add(1)), choose=last)
    assert answer(c, "n3", fail(reason)) == (NO_WAIT, Send("n1", request()), WAIT)
    assert answer(c, "n1", fail(reason), "n1") == (NO_WAIT, Send("n2", request()), WAIT)


def test_a_round_without_luck_ends_in_a_pause() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    answer(c, "n1", fail(NOT_LEADER))
    answer(c, "n2", fail(NOT_LEADER))
    assert answer(c, "n3", fail(NOT_LEADER)) == (NO_WAIT, PAUSE)
    assert step(c, Fire(RetryDue())) == (Send("n1", request()), WAIT)


def test_servers_that_send_the_client_to_and_fro_do_not_keep_it_busy() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    assert asked_in(answer(c, "n1", fail(NOT_LEADER), "n2")) == ["n2"]
    assert asked_in(answer(c, "n2", fail(NOT_LEADER), "n1")) == ["n1"]
    assert answer(c, "n1", fail(NOT_LEADER), "n2") == (NO_WAIT, PAUSE)


def test_pauses_grow_up_to_the_cap_and_begin_anew_with_the_next_operation() -> None:
    c = client(servers="n1")
    pauses = []
    for number in (1, 2):
        step(c, Invoke(number, Add(1)))
        for _ in range(4):
            effects = answer(c, "n1", fail(NO_QUORUM))
            pauses += [effect.after for effect in effects if isinstance(effect, SetTimer)]
            step(c, Fire(RetryDue()))
        answer(c, "n1", ok(1))
    grown = [(10 * MS, 20 * MS), (20 * MS, 40 * MS), (40 * MS, 80 * MS), (40 * MS, 80 * MS)]
    assert pauses == grown + grown


def test_an_overloaded_leader_is_left_alone_for_a_while_and_asked_again() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    answer(c, "n1", ok(1))
    step(c, Invoke(2, Add(1)))
    assert answer(c, "n1", fail(OVERLOADED)) == (NO_WAIT, PAUSE)
    assert asked_in(step(c, Fire(RetryDue()))) == ["n1"]


def test_a_silent_server_is_followed_by_another_with_the_same_number() -> None:
    """§6.2: if the leader crashes, requests time out; clients try again with another server."""
    c = client()
    step(c, Invoke(1, Add(1)))
    assert step(c, Fire(RequestTimeout())) == (Send("n2", request()), WAIT)


def test_a_hint_to_a_silent_server_is_not_followed_before_the_pause() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    step(c, Fire(RequestTimeout()))
    assert asked_in(answer(c, "n2", fail(NOT_LEADER), "n1")) == ["n3"]
    assert answer(c, "n3", fail(NOT_LEADER), "n1") == (NO_WAIT, PAUSE)
    assert asked_in(step(c, Fire(RetryDue()))) == ["n1"]  # the next in turn
    assert asked_in(answer(c, "n1", fail(NOT_LEADER), "n2")) == ["n2"]


def test_the_leader_died_before_its_answer_came() -> None:
    """S65: committed, answer lost, leader dead; the new leader answers the same number."""
    c = client()
    step(c, Invoke(1, Add(1)))
    answer(c, "n1", ok(1))
    first = step(c, Invoke(2, Add(1)))
    second = step(c, Fire(RequestTimeout()))
    (one,) = (e for e in first if isinstance(e, Send))
    (other,) = (e for e in second if isinstance(e, Send))
    assert (one.dst, other.dst) == ("n1", "n2")
    assert one.message == other.message
    assert outcome_of(answer(c, "n2", ok(2))) == ok(2)


# -- several servers asked -----------------------------------------------------------------


def hedging() -> SessionClient:
    c = client(changed(hedge_us=30 * MS))
    assert step(c, Invoke(1, Add(1)))[1:] == (
        Send("n1", request()),
        WAIT,
        SetTimer(HedgeDue(), 30 * MS),
    )
    assert step(c, Fire(HedgeDue())) == (Send("n2", request()),)
    return c


def test_a_late_answer_makes_a_second_server_be_asked_the_same() -> None:
    c = hedging()
    effects = answer(c, "n2", ok(1))
    assert effects[:3] == (Reply(1, ok(1)), NO_WAIT, CancelTimer(HedgeDue()))
    assert answer(c, "n1", ok(1), to=(1, 1)) == ()


def test_a_refusal_of_one_leaves_the_other_its_time() -> None:
    c = hedging()
    assert answer(c, "n2", fail(NOT_LEADER), "n1") == ()
    assert answer(c, "n1", fail(NOT_LEADER)) == (
        NO_WAIT,
        CancelTimer(HedgeDue()),
        Send("n3", request()),
        WAIT,
        SetTimer(HedgeDue(), 30 * MS),
    )


def test_a_hint_of_the_second_server_to_a_third_is_followed() -> None:
    c = hedging()
    assert asked_in(answer(c, "n2", fail(NOT_LEADER), "n3")) == ["n3"]
    assert c.asked == ("n1", "n3")
    assert c.unrefused == 2


def test_two_silent_servers_are_not_asked_again_at_once() -> None:
    c = hedging()
    assert asked_in(step(c, Fire(RequestTimeout()))) == ["n3"]
    assert c.silent == ("n1", "n2")


def test_no_server_is_asked_twice_at_a_time() -> None:
    c = client(changed(hedge_us=30 * MS), servers="n1")
    step(c, Invoke(1, Add(1)))
    assert step(c, Fire(HedgeDue())) == ()


# -- the queue -----------------------------------------------------------------------------


def test_one_operation_is_under_way_and_the_others_wait_in_order() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    assert step(c, Invoke(2, Add(2))) == (SetTimer(DeadlineDue(2), 1 * SECOND),)
    step(c, Invoke(3, Add(3)))
    effects = answer(c, "n1", ok(1))
    assert effects[0] == Reply(1, ok(1))
    assert effects[3:] == (Send("n1", request(2, Add(2))), WAIT)
    assert answer(c, "n1", ok(3))[3:] == (Send("n1", request(3, Add(3))), WAIT)


def test_a_full_queue_refuses_at_once_and_surely() -> None:
    c = client()  # queue_limit = 2
    for number in (1, 2, 3):
        step(c, Invoke(number, Add(1)))
    assert step(c, Invoke(4, Add(1))) == (Reply(4, fail(OVERLOADED)),)
    answer(c, "n1", ok(1))
    assert step(c, Invoke(5, Add(1))) == (SetTimer(DeadlineDue(4), 1 * SECOND),)


def test_an_operation_that_never_left_surely_failed_at_its_deadline() -> None:
    c = client(changed(network_duplicates=True))
    for number in (1, 2, 3):
        step(c, Invoke(number, Add(number)))
    assert step(c, Fire(DeadlineDue(2)))[0] == Reply(2, fail(TIMEOUT))
    assert asked_in(answer(c, "n1", ok(1))) == ["n1"]
    assert (c.sequence, c.command) == (2, Add(3))


def test_an_operation_that_waited_too_long_to_be_sent_surely_failed() -> None:
    c = client(changed(queue_us=200 * MS))
    step(c, Invoke(1, Add(1)))
    for number in (2, 3):
        waiting = step(c, Invoke(number, Add(number)))
        assert waiting[1:] == (SetTimer(QueueDue(number), 200 * MS),)
    assert step(c, Fire(QueueDue(2))) == (Reply(2, fail(TIMEOUT)), CancelTimer(DeadlineDue(2)))
    effects = answer(c, "n1", ok(1))
    assert effects[3:] == (CancelTimer(QueueDue(3)), Send("n1", request(2, Add(3))), WAIT)


# -- honesty -------------------------------------------------------------------------------


def at_deadline(c: SessionClient) -> Outcome:
    return outcome_of(step(c, Fire(DeadlineDue(1))))


def test_a_request_without_an_answer_may_take_effect_yet() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    assert at_deadline(c) == info(TIMEOUT)


def test_a_request_that_all_refused_surely_failed() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    for server in ("n1", "n2", "n3"):
        answer(c, server, fail(NOT_LEADER))
    assert at_deadline(c) == fail(NOT_LEADER)


def test_one_silent_server_among_refusals_leaves_it_open() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    step(c, Fire(RequestTimeout()))
    answer(c, "n2", fail(NOT_LEADER))
    answer(c, "n3", fail(NOT_LEADER))
    assert at_deadline(c) == info(NOT_LEADER)


def test_a_late_refusal_counts_as_well() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    step(c, Fire(RequestTimeout()))
    answer(c, "n2", fail(NOT_LEADER))
    answer(c, "n3", fail(NOT_LEADER))
    assert answer(c, "n1", fail(NOT_LEADER)) == ()
    assert at_deadline(c) == fail(NOT_LEADER)


def test_one_refusal_of_two_requests_to_one_server_leaves_it_open() -> None:
    c = client(servers="n1")
    step(c, Invoke(1, Add(1)))
    step(c, Fire(RequestTimeout()))
    step(c, Fire(RetryDue()))
    answer(c, "n1", fail(NOT_LEADER))
    assert at_deadline(c) == info(NOT_LEADER)


def test_where_requests_may_come_twice_a_refusal_proves_nothing() -> None:
    c = client(changed(network_duplicates=True))
    step(c, Invoke(1, Add(1)))
    for server in ("n1", "n2", "n3"):
        answer(c, server, fail(NOT_LEADER))
    assert at_deadline(c) == info(NOT_LEADER)


def test_a_leader_that_stepped_down_may_have_committed_it() -> None:
    """S49: the answer is "unknown", not "failed"."""
    c = client()
    step(c, Invoke(1, Add(1)))
    assert asked_in(answer(c, "n1", info(STEPPED_DOWN), "n2")) == ["n2"]
    for server in ("n2", "n3"):
        answer(c, server, fail(NOT_LEADER))
    assert at_deadline(c) == info(NOT_LEADER)


@pytest.mark.parametrize("outcome", [info(STEPPED_DOWN), fail(NO_QUORUM), fail("bad request")])
def test_a_read_that_is_given_up_has_no_effect(outcome: Outcome) -> None:
    c = client(changed(attempts_max=1))
    step(c, Invoke(1, Read()))
    assert outcome_of(answer(c, "n1", outcome)) == fail(outcome.value)
    c = client()
    step(c, Invoke(1, Read()))
    assert at_deadline(c) == fail(TIMEOUT)


def test_a_refusal_that_no_other_server_will_lift_ends_the_operation() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    assert outcome_of(answer(c, "n1", fail("bad request"))) == fail("bad request")
    step(c, Invoke(2, Add(1)))
    assert outcome_of(answer(c, "n1", info("disk full"))) == info("disk full")


def test_attempts_are_limited_if_told_so() -> None:
    c = client(changed(attempts_max=2))
    step(c, Invoke(1, Add(1)))
    step(c, Fire(RequestTimeout()))
    assert outcome_of(step(c, Fire(RequestTimeout()))) == info(TIMEOUT)
    step(c, Invoke(2, Add(1)))
    answer(c, "n3", fail(NOT_LEADER), "n2")
    assert outcome_of(answer(c, "n2", fail(NOT_LEADER))) == fail(NOT_LEADER)


def test_used_up_attempts_leave_a_hedged_request_its_time() -> None:
    c = client(changed(hedge_us=30 * MS, attempts_max=2))
    step(c, Invoke(1, Add(1)))
    step(c, Fire(HedgeDue()))
    assert answer(c, "n1", fail(NOT_LEADER), "n3") == ()
    assert step(c, Fire(HedgeDue())) == ()
    assert outcome_of(answer(c, "n2", ok(1))) == ok(1)


def test_without_a_deadline_it_goes_on_for_ever() -> None:
    c = client(changed(deadline_us=None))
    assert step(c, Invoke(1, Add(1))) == (Send("n1", request()), WAIT)
    for _ in range(100):
        assert len(step(c, Fire(RequestTimeout() if c.asked else RetryDue()))) in (1, 2)
    assert (c.attempts, c.pauses) == (76, 25)  # after 3 requests to 3 servers one pause
    assert answer(c, "n1", ok(1)) == (Reply(1, ok(1)), NO_WAIT)


# -- sessions ------------------------------------------------------------------------------


def test_answers_to_other_requests_are_ignored() -> None:
    c = client()
    assert answer(c, "n1", ok(0), to=(1, 0)) == ()
    step(c, Invoke(1, Add(1)))
    answer(c, "n1", ok(1))
    assert answer(c, "n1", ok(1), to=(1, 1)) == ()  # a second copy
    step(c, Invoke(2, Add(1)))
    assert answer(c, "n1", ok(1), to=(1, 1)) == ()
    assert answer(c, "n1", fail(NOT_LEADER), to=(1, 1)) == ()
    assert answer(c, "n1", ok(9), to=(7, 2)) == ()
    assert c.unrefused == 1
    assert outcome_of(answer(c, "n1", ok(2))) == ok(2)


def test_a_new_incarnation_has_a_new_session() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    again = recovered(c, durable_state(c))
    assert step(again, Start()) == (Observe(ClientStarted(2)),)
    assert step(again, Invoke(2, Add(1)))[1] == Send("n1", Request("c1", 2, 1, Add(1), 0))
    assert answer(again, "n1", ok(1), to=(1, 1)) == ()


def test_an_answer_during_the_pause_is_welcome() -> None:
    c = client(servers="n1")
    step(c, Invoke(1, Add(1)))
    assert step(c, Fire(RequestTimeout())) == (PAUSE,)
    assert answer(c, "n1", ok(1)) == (
        Reply(1, ok(1)),
        CancelTimer(RetryDue()),
        CancelTimer(DeadlineDue(1)),
    )


def test_an_expired_session_leaves_a_request_sent_before_open() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    step(c, Fire(RequestTimeout()))
    step(c, Invoke(2, Add(2)))
    effects = answer(c, "n2", fail(SESSION_EXPIRED))
    assert outcome_of(effects) == info(SESSION_EXPIRED)
    assert effects[3:] == (Send("n3", request(1, Add(2), session=2)), WAIT)


def test_a_write_that_was_only_refused_goes_on_in_the_new_session() -> None:
    c = client()
    step(c, Invoke(1, Add(1)))
    answer(c, "n1", ok(1))
    step(c, Invoke(2, Add(1)))
    assert answer(c, "n1", fail(SESSION_EXPIRED)) == (
        NO_WAIT,
        Send("n1", request(1, session=2)),
        WAIT,
    )
    step(c, Fire(RequestTimeout()))
    assert outcome_of(answer(c, "n2", fail(SESSION_EXPIRED))) == info(SESSION_EXPIRED)


@pytest.mark.parametrize("said", [fail(SESSION_EXPIRED), info(SESSION_EXPIRED)])
def test_where_requests_may_come_twice_an_expired_session_leaves_a_write_open(
    said: Outcome,
) -> None:
    c = client(changed(network_duplicates=True))
    step(c, Invoke(1, Add(1)))
    assert outcome_of(answer(c, "n1", said)) == info(SESSION_EXPIRED)
    assert (c.session, c.sequence) == (2, 0)


def test_a_read_goes_on_in_the_new_session() -> None:
    c = client(changed(network_duplicates=True))
    step(c, Invoke(1, Read()))
    step(c, Fire(RequestTimeout()))
    again = request(1, Read(), session=2)
    assert answer(c, "n2", info(SESSION_EXPIRED)) == (NO_WAIT, Send("n2", again), WAIT)
    assert answer(c, "n2", info(SESSION_EXPIRED)) == (NO_WAIT, PAUSE)  # not without end
    assert (c.session, c.sequence) == (3, 1)


# -- its own operations --------------------------------------------------------------------


def test_a_client_of_other_operations_is_a_short_subclass() -> None:
    @operation
    class Look:
        pass

    class Looker(SessionClient):
        @on_operation(Look)
        def look(self, ctx: Context, id: int, op: Look) -> None:
            self.invoke(ctx, id, op)

        def has_no_effect(self, command: Any) -> bool:
            return isinstance(command, Look)

    c = Looker(me="c1", servers=("n1",), options=OPTIONS)
    step(c, Start())
    step(c, Invoke(1, Look()))
    assert at_deadline(c) == fail(TIMEOUT)


def test_a_client_needs_a_server() -> None:
    with pytest.raises(ValueError, match=r"c1: servers = \(\): give at least one server"):
        step(SessionClient(me="c1", servers=()), Start())
