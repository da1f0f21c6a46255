"""Each known-wrong detector is caught by a scenario that the right one passes."""

from collections.abc import Callable

import pytest

from protocols.detectors.estimator import fed
from protocols.detectors.heartbeat import Heartbeat, PushHeartbeat
from protocols.detectors.observations import Suspect, Trust
from protocols.detectors.phi_accrual import PhiAccrual, PhiOptions
from protocols.detectors.phi_presets import akka, cassandra, hazelcast
from protocols.detectors.timeouts import FixedTimeout
from protocols.mistakes.detectors import (
    NeverTrustsAgain,
    PauseForgives,
    PauseRecorded,
    PauseUnguarded,
    SenderClockTrusted,
    StaleCounted,
    StampedHeartbeat,
    TimerNotRearmed,
    UnclampedVariance,
    UnguardedFormula,
    WaitsForSecondBeat,
    cassandra_with_wrong_unit,
)
from protocols.values import SECOND
from tests.protocols.detectors.alone import Alone

Make = type[PushHeartbeat]
DAY = 86_400 * SECOND


def node(make: Make, **options) -> Alone:
    options = {"detectors": (("hb", FixedTimeout(3 * SECOND)),)} | options
    return Alone(make(me="n1", peers=("n2",), **options))


def beats(alone: Alone, first: int, last: int) -> None:
    """Heartbeats number first..last, each at its number in seconds."""
    for sequence in range(first, last + 1):
        alone.advance(sequence * SECOND)
        alone.hear("n2", Heartbeat(1, sequence))


def convicted(alone: Alone) -> bool:
    return ("hb", "n2") in alone.process.suspected


# --- estimators ------------------------------------------------------------------------------


def test_unclamped_variance() -> None:
    """1000 beats of 0.123456 s: E[x²] - E[x]² = -3.5e-18."""
    arrivals = [i * 123_456 for i in range(1000)]

    def detect(options: type[PhiOptions]) -> int | None:
        fresh = PhiAccrual(options(form="logistic", first_heartbeat_estimate_us=None))
        return fed(fresh, arrivals).deadline_us()

    assert detect(PhiOptions) == arrivals[-1] + 123_456 + 522_599
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        detect(UnclampedVariance)


@pytest.mark.parametrize(
    ("quiet_s", "error"), [(0, OverflowError), (30, (ValueError, ZeroDivisionError))]
)
def test_unguarded_formula(quiet_s: int, error: type[Exception]) -> None:
    """Right after a beat y = -40: exp overflows. After 30 s y = 260: log10(0)."""
    arrivals = range(0, 100 * SECOND, SECOND)
    right = fed(akka(), arrivals)
    wrong = fed(UnguardedFormula(right.options), arrivals)
    now = 99 * SECOND + quiet_s * SECOND
    assert right.suspects(now) is (quiet_s == 30)
    with pytest.raises(error):
        wrong.suspects(now)


def silence_s(detector: PhiAccrual) -> float:
    """From the last beat to suspicion, after 200 beats, 300 s of silence and 10 beats."""
    arrivals = [*range(0, 200 * SECOND, SECOND), *range(499 * SECOND, 509 * SECOND, SECOND)]
    fd = fed(detector, arrivals)
    deadline = fd.deadline_us()
    assert deadline is not None and fd.last_us is not None
    return (deadline - fd.last_us) / SECOND


def test_pause_recorded() -> None:
    """Hazelcast: 61.6 s; with one gap of 300 s in the 200 samples 184.8 s."""
    right = hazelcast()
    assert silence_s(right) == pytest.approx(61.58, abs=0.01)
    assert silence_s(PauseRecorded(right.options)) == pytest.approx(184.8, abs=0.5)


def test_waits_for_second_beat() -> None:
    right = akka().heartbeat(1, 0)
    wrong = WaitsForSecondBeat(right.options).heartbeat(1, 0)
    assert right.suspects(10 * SECOND)
    assert not wrong.suspects(10**15) and wrong.deadline_us() is None
    assert wrong.heartbeat(2, SECOND).suspects(60 * SECOND)


def test_wrong_unit() -> None:
    """Without the gap of 300 s the mean is 1.0 s: 18.5 s; with it in the window, 44 s."""
    assert silence_s(cassandra()) == pytest.approx(18.5, abs=0.1)
    assert silence_s(cassandra_with_wrong_unit()) > 40


# --- processes -------------------------------------------------------------------------------


def resurrected(make: Make) -> bool:
    """n2 crashed after beat 5; the network delivers beat 3 once more. Is n2 trusted for it?"""
    alone = node(make)
    beats(alone, 1, 5)
    alone.advance(20 * SECOND)
    assert alone.observations() == [Suspect("hb", "n2")]
    alone.hear("n2", Heartbeat(1, 3))
    return alone.observations() == [Trust("hb", "n2")]


def convicts_the_skewed(make: Make, skew_us: int) -> tuple[bool, bool]:
    """Is a live peer whose clock is off suspected, and is it once it has crashed?"""
    alone = node(make)
    alone.advance(10 * SECOND)
    for sequence in range(1, 6):
        alone.advance((10 + sequence) * SECOND)
        stamped = StampedHeartbeat(1, sequence, alone.now_us + skew_us)
        alone.hear("n2", stamped if make is SenderClockTrusted else Heartbeat(1, sequence))
    live = convicted(alone)
    alone.advance(3600 * SECOND)
    return live, convicted(alone)


@pytest.mark.parametrize(("skew", "wrong"), [(-DAY, (True, True)), (DAY, (False, False))])
def test_sender_clock_trusted(skew: int, wrong: tuple[bool, bool]) -> None:
    assert convicts_the_skewed(PushHeartbeat, skew) == (False, True)
    assert convicts_the_skewed(SenderClockTrusted, skew) == wrong


def convicts_after_own_pause(make: Make) -> bool:
    """This node stands still for 30 s while n2 goes on; its beats wait in the inbox."""
    alone = node(make, max_local_pause_us=5 * SECOND)
    beats(alone, 1, 10)
    alone.pause(40 * SECOND)
    beats(alone, 40, 60)
    return Suspect("hb", "n2") in alone.observations()


def misses_the_crash_between_pauses(make: Make) -> bool:
    """n2 is dead; this node stands still for 6 s in every 12. Does it never notice?"""
    alone = node(make, max_local_pause_us=2 * SECOND, detectors=(("hb", FixedTimeout(9 * SECOND)),))
    beats(alone, 1, 5)
    for round_ in range(1, 20):
        alone.pause((12 * round_ + 6) * SECOND)
        alone.advance((12 * round_ + 12) * SECOND)
    return not convicted(alone)


def stays_suspicious(make: Make) -> bool:
    """n2's beats 5 to 9 were lost; it has long been heard again."""
    alone = node(make)
    beats(alone, 1, 4)
    beats(alone, 10, 30)
    return convicted(alone)


def misses_the_second_crash(make: Make) -> bool:
    """n2 was suspected by mistake, was heard again once, and then crashed."""
    alone = node(make)
    beats(alone, 1, 4)
    beats(alone, 10, 10)
    alone.advance(1000 * SECOND)
    return not convicted(alone)


@pytest.mark.parametrize(
    ("wrong", "goes_wrong"),
    [
        (StaleCounted, resurrected),
        (PauseUnguarded, convicts_after_own_pause),
        (PauseForgives, misses_the_crash_between_pauses),
        (NeverTrustsAgain, stays_suspicious),
        (TimerNotRearmed, misses_the_second_crash),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_wrong_process_is_caught(wrong: Make, goes_wrong: Callable[[Make], bool]) -> None:
    assert not goes_wrong(PushHeartbeat)
    assert goes_wrong(wrong)
