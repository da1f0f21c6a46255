"""The heartbeat process: one test per sentence of what it promises, on whole effect lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.detectors.chen import NfdS
from protocols.detectors.heartbeat import (
    BeatDue,
    Expire,
    Heartbeat,
    PushHeartbeat,
    SampleDue,
)
from protocols.detectors.observations import Suspect, SuspicionLevel, Trust
from protocols.detectors.phi_presets import akka, chitchat
from protocols.detectors.timeouts import FixedTimeout
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
    state_digest,
    step,
)
from protocols.values import MS, SECOND
from tests.protocols.detectors.alone import Alone

FIXED = (("hb", FixedTimeout(3 * SECOND)),)


def monitor(**options) -> PushHeartbeat:
    options = {"me": "n1", "peers": ("n2", "n3"), "detectors": FIXED} | options
    return PushHeartbeat(**options)


def started(**options) -> PushHeartbeat:
    process = monitor(**options)
    step(process, Start())
    return process


# --- sending ---------------------------------------------------------------------------------


def test_a_start_waits_for_a_random_phase_and_for_every_peer() -> None:
    assert step(monitor(), Start()) == (
        SetTimer(BeatDue(), (0, SECOND)),
        SetTimer(Expire("hb", "n2"), 10 * SECOND),
        SetTimer(Expire("hb", "n3"), 10 * SECOND),
    )


def test_the_first_beat_may_be_at_a_given_time() -> None:
    assert step(monitor(first_beat_us=SECOND), Start())[0] == SetTimer(BeatDue(), SECOND)


def test_a_beat_goes_to_every_peer_and_the_next_one_is_due_an_interval_later() -> None:
    assert step(started(), Fire(BeatDue()), now_us=300 * MS) == (
        Send("n2", Heartbeat(1, 1)),
        Send("n3", Heartbeat(1, 1)),
        SetTimer(BeatDue(), SECOND),
    )


def test_beats_are_numbered() -> None:
    process = started()
    step(process, Fire(BeatDue()), now_us=0)
    assert Send("n2", Heartbeat(1, 2)) in step(process, Fire(BeatDue()), now_us=SECOND)


@pytest.mark.parametrize(
    ("late", "wait"),
    [
        (0, SECOND),
        (1, SECOND - 1),  # a late beat doesn't shift those after it
        (3 * SECOND + 400 * MS, 600 * MS),  # missed ones are left out
        (-5 * SECOND - 100 * MS, 100 * MS),  # the clock was set back
    ],
)
def test_the_pace_has_no_drift(late: int, wait: int) -> None:
    process = started()
    step(process, Fire(BeatDue()), now_us=300 * MS)
    effects = step(process, Fire(BeatDue()), now_us=1300 * MS + late)
    assert effects[-1] == SetTimer(BeatDue(), wait)


def test_monitors_may_differ_from_those_who_get_beats() -> None:
    process = monitor(peers=("n2",), monitors=("n3",))
    assert step(process, Start())[1:] == (SetTimer(Expire("hb", "n3"), 10 * SECOND),)
    assert step(process, Fire(BeatDue()))[:-1] == (Send("n2", Heartbeat(1, 1)),)
    assert step(process, Receive("n2", Heartbeat(1, 1))) == ()


# --- judging ---------------------------------------------------------------------------------


def test_a_heartbeat_moves_the_deadline() -> None:
    process = started()
    assert step(process, Receive("n2", Heartbeat(1, 1)), now_us=5) == (
        SetTimer(Expire("hb", "n2"), 3 * SECOND),
    )
    assert step(process, Receive("n2", Heartbeat(1, 2)), now_us=6) == (
        SetTimer(Expire("hb", "n2"), 3 * SECOND),
    )


def test_every_detector_sees_the_same_arrival() -> None:
    process = started(detectors=(*FIXED, ("phi", akka())))
    assert step(process, Receive("n3", Heartbeat(1, 1))) == (
        SetTimer(Expire("hb", "n3"), 3 * SECOND),
        SetTimer(Expire("phi", "n3"), 5_306_497),
    )
    known = process.watched["n3"].estimators
    assert {name: estimator.last_us for name, estimator in known.items()} == {"hb": 0, "phi": 0}


def test_silence_up_to_the_deadline_is_suspicious() -> None:
    process = started()
    step(process, Receive("n2", Heartbeat(1, 1)))
    assert step(process, Fire(Expire("hb", "n2")), now_us=3 * SECOND) == (
        Observe(Suspect("hb", "n2")),
    )
    assert process.suspected == {("hb", "n2")}


def test_a_suspected_peer_that_is_heard_is_trusted_again() -> None:
    process = started()
    step(process, Receive("n2", Heartbeat(1, 1)))
    step(process, Fire(Expire("hb", "n2")), now_us=3 * SECOND)
    assert step(process, Receive("n2", Heartbeat(1, 2)), now_us=4 * SECOND) == (
        Observe(Trust("hb", "n2")),
        SetTimer(Expire("hb", "n2"), 3 * SECOND),
    )
    assert process.suspected == frozenset()


def test_one_detectors_suspicion_is_not_anothers() -> None:
    process = started(detectors=(*FIXED, ("phi", akka())))
    step(process, Receive("n2", Heartbeat(1, 1)))
    step(process, Fire(Expire("hb", "n2")), now_us=3 * SECOND)
    assert process.suspected == {("hb", "n2")}
    effects = step(process, Receive("n2", Heartbeat(1, 2)), now_us=4 * SECOND)
    assert [e for e in effects if isinstance(e, Observe)] == [Observe(Trust("hb", "n2"))]


@pytest.mark.parametrize("stale", [Heartbeat(1, 2), Heartbeat(1, 1), Heartbeat(0, 9)])
def test_a_heartbeat_that_has_not_advanced_does_not_count(stale: Heartbeat) -> None:
    process = started()
    step(process, Receive("n2", Heartbeat(1, 2)))
    before = state_digest(process)
    assert step(process, Receive("n2", stale), now_us=SECOND) == ()
    assert state_digest(process) == before


def test_a_lost_heartbeat_leaves_a_gap_that_does_not_matter() -> None:
    process = started()
    step(process, Receive("n2", Heartbeat(1, 1)))
    assert step(process, Receive("n2", Heartbeat(1, 4)), now_us=9) != ()


def test_a_new_life_is_news_and_its_statistics_start_afresh() -> None:
    process = started(detectors=(("phi", akka()),))
    for sequence in range(1, 9):
        step(process, Receive("n2", Heartbeat(1, sequence)), now_us=sequence * SECOND)
    step(process, Receive("n2", Heartbeat(2, 1)), now_us=20 * SECOND)
    assert process.watched["n2"].estimators["phi"] == akka().heartbeat(1, 20 * SECOND)


def test_a_stranger_is_ignored() -> None:
    assert step(started(), Receive("n9", Heartbeat(1, 1))) == ()


def test_a_peer_that_is_never_heard_is_suspected_after_the_grace() -> None:
    node = Alone(monitor(initial_grace_us=5 * SECOND))
    node.advance(5 * SECOND - 1)
    assert node.observations() == []
    node.advance(5 * SECOND)
    assert node.observations() == [Suspect("hb", "n2"), Suspect("hb", "n3")]


def test_without_grace_it_is_not() -> None:
    node = Alone(monitor(initial_grace_us=None))
    node.advance(1000 * SECOND)
    assert node.observations() == []


def test_estimators_that_begin_with_suspicion_suspect_at_once() -> None:
    node = Alone(
        monitor(peers=("n2",), detectors=(("nfd", NfdS(SECOND, SECOND)), ("c", chitchat())))
    )
    assert node.observations() == [Suspect("nfd", "n2"), Suspect("c", "n2")]
    node.advance(SECOND)
    node.hear("n2", Heartbeat(1, 1))
    assert node.observations() == [Trust("nfd", "n2")]
    node.advance(2 * SECOND)
    node.hear("n2", Heartbeat(1, 2))
    assert node.observations() == [Trust("c", "n2")]


def test_a_beat_that_comes_after_its_freshness_ended_is_no_reason_to_trust() -> None:
    """NFD-S: beat 1 is fresh until 3 s. The timer of a trust that ends with it is taken back."""
    process = started(peers=("n2",), detectors=(("nfd", NfdS(SECOND, SECOND)),))
    assert step(process, Receive("n2", Heartbeat(1, 1)), now_us=4 * SECOND) == (
        CancelTimer(Expire("nfd", "n2")),
    )
    assert process.suspected == {("nfd", "n2")}


def test_a_crashed_peer_is_suspected_for_good() -> None:
    node = Alone(monitor(peers=("n2",), detectors=(*FIXED, ("phi", akka()))))
    for sequence in range(1, 20):
        node.advance(sequence * SECOND)
        node.hear("n2", Heartbeat(1, sequence))
    node.advance(1000 * SECOND)
    assert node.observed == [
        (22 * SECOND, Suspect("hb", "n2")),
        # 20 samples, deviation below its floor of 100 ms: 4 s + 5.226·100 ms after the last beat
        (19 * SECOND + 4_522_599, Suspect("phi", "n2")),
    ]


def test_a_recovered_monitor_says_that_it_trusts_again_and_begins_a_new_life() -> None:
    process = started(first_beat_us=0)
    step(process, Receive("n2", Heartbeat(1, 1)))
    step(process, Fire(Expire("hb", "n2")), now_us=3 * SECOND)
    again = recovered(process, durable_state(process))
    assert durable_state(process) == {"generation": 1}
    assert step(again, Start(), now_us=9 * SECOND) == (
        SetTimer(BeatDue(), 0),
        Observe(Trust("hb", "n2")),
        SetTimer(Expire("hb", "n2"), 10 * SECOND),
        Observe(Trust("hb", "n3")),
        SetTimer(Expire("hb", "n3"), 10 * SECOND),
    )
    assert Send("n2", Heartbeat(2, 1)) in step(again, Fire(BeatDue()), now_us=9 * SECOND)


# --- the local clock -------------------------------------------------------------------------


def guarded() -> Alone:
    """Hears n2 every second up to 10 s; guard of 5 s."""
    node = Alone(monitor(peers=("n2",), max_local_pause_us=5 * SECOND))
    for sequence in range(1, 11):
        node.advance(sequence * SECOND)
        node.hear("n2", Heartbeat(1, sequence))
    return node


def test_after_a_local_pause_nobody_is_convicted_for_as_long_again() -> None:
    node = guarded()
    node.pause(25 * SECOND)
    node.advance(30 * SECOND - 1)
    assert node.observations() == []
    node.advance(30 * SECOND)
    assert node.observations() == [Suspect("hb", "n2")]


def test_a_peer_heard_during_the_grace_is_not_convicted() -> None:
    node = guarded()
    node.pause(25 * SECOND)
    node.hear("n2", Heartbeat(1, 11))
    node.advance(28 * SECOND - 1)
    assert node.observations() == []


def test_a_pause_within_the_limit_is_no_excuse() -> None:
    node = guarded()
    node.pause(14 * SECOND)
    assert node.observations() == [Suspect("hb", "n2")]


def test_without_the_guard_a_pause_convicts() -> None:
    node = Alone(monitor(peers=("n2",)))
    node.advance(SECOND)
    node.hear("n2", Heartbeat(1, 1))
    node.pause(60 * SECOND)
    assert node.observations() == [Suspect("hb", "n2")]


def test_a_clock_set_back_does_not_make_the_monitor_blind() -> None:
    """A day back: the next heartbeat starts the statistics afresh and sets a timer of 3 s."""
    process = started()
    step(process, Receive("n2", Heartbeat(1, 1)), now_us=86_400 * SECOND)
    assert step(process, Receive("n2", Heartbeat(1, 2)), now_us=7) == (
        SetTimer(Expire("hb", "n2"), 3 * SECOND),
    )


def test_a_timer_is_believed_even_if_the_clock_was_set_back() -> None:
    process = started(max_local_pause_us=SECOND)
    step(process, Receive("n2", Heartbeat(1, 1)), now_us=86_400 * SECOND)
    assert step(process, Fire(Expire("hb", "n2")), now_us=8) == (Observe(Suspect("hb", "n2")),)


def test_a_grace_ends_when_the_clock_is_set_back() -> None:
    node = guarded()
    node.pause(25 * SECOND)
    assert node.process.leniency_us(26 * SECOND) == 4 * SECOND
    assert node.process.leniency_us(-86_400 * SECOND) == 0


# --- samples ---------------------------------------------------------------------------------


def test_levels_are_sampled_for_plots() -> None:
    process = monitor(sample_every_us=500 * MS, detectors=(*FIXED, ("phi", akka())))
    assert SetTimer(SampleDue(), 500 * MS) in step(process, Start())
    step(process, Receive("n2", Heartbeat(1, 1)))
    assert step(process, Fire(SampleDue()), now_us=4 * SECOND) == (
        Observe(SuspicionLevel("hb", "n2", 1333)),  # 4 s of 3 s
        Observe(SuspicionLevel("phi", "n2", 301)),  # the mean plus the pause: log10(2)
        SetTimer(SampleDue(), 500 * MS),
    )


def test_no_samples_unless_asked_for() -> None:
    assert all(e.timer != SampleDue() for e in step(monitor(), Start()) if isinstance(e, SetTimer))


# --- for every course of events --------------------------------------------------------------

events = st.lists(
    st.one_of(
        st.tuples(st.just("hear"), st.integers(1, 3), st.integers(1, 30)),
        st.tuples(st.just("advance"), st.integers(0, 20 * SECOND), st.none()),
        st.tuples(st.just("pause"), st.integers(0, 20 * SECOND), st.none()),
    ),
    max_size=30,
)


@given(events, st.sampled_from([None, 2 * SECOND]))
def test_outputs_alternate_and_whoever_is_trusted_is_waited_for(
    course: list[tuple[str, int, int | None]], guard: int | None
) -> None:
    detectors = (*FIXED, ("phi", akka()), ("nfd", NfdS(SECOND, SECOND)), ("chitchat", chitchat()))
    node = Alone(monitor(peers=("n2",), detectors=detectors, max_local_pause_us=guard))
    for what, number, sequence in course:
        if sequence is not None:
            node.hear("n2", Heartbeat(number, sequence))
        elif what == "advance":
            node.advance(node.now_us + number)
        else:
            node.pause(node.now_us + number)
        for name, _ in detectors:
            waits = Expire(name, "n2") in node.timers
            assert waits is ((name, "n2") not in node.process.suspected)
    for name, _ in detectors:
        outputs = [type(o) for _, o in node.observed if o.detector == name]
        assert outputs == [Suspect, Trust] * (len(outputs) // 2) + [Suspect] * (len(outputs) % 2)
    node.advance(node.now_us + 100 * SECOND)
    assert {name for name, _ in node.process.suspected} == {name for name, _ in detectors}
