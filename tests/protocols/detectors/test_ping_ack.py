"""The asking process: one test per sentence of what it promises."""

from typing import Any

from protocols.detectors.observations import Suspect, Trust
from protocols.detectors.ping_ack import Ack, AnswerDue, Ping, PingAck, PingDue
from protocols.step import (
    CancelTimer,
    Fire,
    Observe,
    Receive,
    Send,
    SetTimer,
    Start,
    durable_state,
    recovered,
    step,
)
from protocols.values import MS, SECOND
from tests.protocols.detectors.alone import Alone


def asker(**options) -> PingAck:
    given: dict[str, Any] = {"me": "n1", "peers": ("n2",), "first_ping_us": 0} | options
    return PingAck(**given)


def asking(**options) -> PingAck:
    process = asker(**options)
    step(process, Start())
    step(process, Fire(PingDue()), now_us=0)
    return process


def test_the_first_round_comes_at_a_random_time_within_an_interval() -> None:
    assert step(asker(first_ping_us=None), Start()) == (SetTimer(PingDue(), (0, SECOND)),)


def test_a_round_asks_every_peer() -> None:
    process = asker(peers=("n2", "n3"))
    step(process, Start())
    assert step(process, Fire(PingDue())) == (
        Send("n2", Ping(1, 1)),
        SetTimer(AnswerDue("n2"), 500 * MS),
        Send("n3", Ping(1, 1)),
        SetTimer(AnswerDue("n3"), 500 * MS),
        SetTimer(PingDue(), SECOND),
    )


def test_a_question_is_answered() -> None:
    assert step(asking(), Receive("n2", Ping(7, 9))) == (Send("n2", Ack(7, 9)),)


def test_an_answer_ends_the_wait() -> None:
    process = asking()
    assert step(process, Receive("n2", Ack(1, 1)), now_us=20 * MS) == (
        CancelTimer(AnswerDue("n2")),
    )
    assert process.probes["n2"].tries == 0
    assert process.probes["n2"].round_trip.smoothed_us == 20 * MS


def test_a_missed_answer_makes_it_ask_again() -> None:
    assert step(asking(), Fire(AnswerDue("n2")), now_us=500 * MS) == (
        Send("n2", Ping(1, 2)),
        SetTimer(AnswerDue("n2"), 500 * MS),
    )


def test_after_the_retries_the_peer_is_suspected() -> None:
    """retries = 2: three pings in a row, 500 ms each."""
    node = Alone(asker())
    node.advance(1500 * MS - 1)
    assert node.observations() == []
    node.advance(1500 * MS)
    assert node.observed == [(1500 * MS, Suspect("ping-ack", "n2"))]
    assert [at for at, _, _ in node.sent] == [0, 500 * MS, 1000 * MS]


def test_no_retries_means_one_ping() -> None:
    node = Alone(asker(retries=0))
    node.advance(500 * MS)
    assert node.observations() == [Suspect("ping-ack", "n2")]


def test_a_round_does_not_disturb_a_row_under_way() -> None:
    process = asking()
    assert step(process, Fire(PingDue()), now_us=SECOND) == (SetTimer(PingDue(), SECOND),)


def test_a_suspected_peer_is_still_asked_suspected_once_and_trusted_when_it_answers() -> None:
    node = Alone(asker())
    node.advance(6 * SECOND)
    assert node.observations() == [Suspect("ping-ack", "n2")]
    node.hear("n2", Ack(1, node.process.probes["n2"].asked))
    assert node.observations() == [Trust("ping-ack", "n2")]


def test_a_late_answer_to_an_earlier_ping_of_the_row_counts_but_gives_no_round_trip() -> None:
    process = asking()
    step(process, Fire(AnswerDue("n2")), now_us=500 * MS)
    assert step(process, Receive("n2", Ack(1, 1)), now_us=600 * MS) == (
        CancelTimer(AnswerDue("n2")),
    )
    assert process.probes["n2"].round_trip.timeout_us() is None


def test_old_foreign_and_impossible_answers_do_not_count() -> None:
    process = asking()
    step(process, Receive("n2", Ack(1, 1)))
    step(process, Fire(PingDue()), now_us=SECOND)
    for stale in (Ack(1, 1), Ack(0, 2), Ack(2, 2), Ack(1, 3)):
        assert step(process, Receive("n2", stale), now_us=SECOND) == ()
    assert step(process, Receive("n9", Ack(1, 2)), now_us=SECOND) == ()


def test_an_adaptive_timeout_follows_the_round_trip_within_its_bounds() -> None:
    process = asking(adaptive=True)
    step(process, Receive("n2", Ack(1, 1)), now_us=20 * MS)  # 20 ms + 4·10 ms
    effects = step(process, Fire(PingDue()), now_us=SECOND)
    assert effects[1] == SetTimer(AnswerDue("n2"), 60 * MS)
    low = asking(adaptive=True, timeout_min_us=100 * MS)
    step(low, Receive("n2", Ack(1, 1)), now_us=20 * MS)
    assert step(low, Fire(PingDue()), now_us=SECOND)[1] == SetTimer(AnswerDue("n2"), 100 * MS)
    high = asking(adaptive=True, timeout_us=50 * MS)
    step(high, Receive("n2", Ack(1, 1)), now_us=20 * MS)
    assert step(high, Fire(PingDue()), now_us=SECOND)[1] == SetTimer(AnswerDue("n2"), 50 * MS)


def test_a_fixed_timeout_ignores_the_round_trip() -> None:
    process = asking()
    step(process, Receive("n2", Ack(1, 1)), now_us=20 * MS)
    assert SetTimer(AnswerDue("n2"), 500 * MS) in step(process, Fire(PingDue()), now_us=SECOND)


def test_a_new_life_trusts_everybody_and_knows_its_own_questions() -> None:
    process = asking()
    again = recovered(process, durable_state(process))
    assert step(again, Start()) == (
        Observe(Trust("ping-ack", "n2")),
        SetTimer(PingDue(), 0),
    )
    assert step(again, Fire(PingDue()))[0] == Send("n2", Ping(2, 1))
    assert step(again, Receive("n2", Ack(1, 1))) == ()
