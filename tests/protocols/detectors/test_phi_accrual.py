"""One peer's φ: the published scenarios, the guards, and what holds for every history."""

from collections.abc import Sequence
from math import isfinite

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from protocols.canonical import digest, why_mutable
from protocols.detectors.estimator import fed
from protocols.detectors.phi_accrual import Form, PhiAccrual, PhiOptions
from protocols.detectors.phi_presets import (
    akka,
    cassandra,
    chitchat,
    greptime,
    hazelcast,
    pekko_remote_watch,
)
from protocols.values import MS, SECOND


def after(detector: PhiAccrual, beats_ms: Sequence[int]) -> PhiAccrual:
    return fed(detector, (beat * MS for beat in beats_ms))


def available(detector: PhiAccrual, now_ms: int) -> bool:
    return not detector.suspects(now_ms * MS)


# --- scenarios of Pekko's AccrualFailureDetectorSpec (times in ms) -------------------------------


def test_phi_after_one_beat_comes_from_guessed_statistics() -> None:
    """Mean 1000, sd 250: y = 0, 4 and 8."""
    fd = after(akka(acceptable_pause_us=0), [0])
    assert fd.phi(1000 * MS) == pytest.approx(0.3, abs=0.2)
    assert fd.phi(2000 * MS) == pytest.approx(4.5, abs=0.3)
    assert fd.phi(3000 * MS) > 15
    levels = [fd.phi(t * MS) for t in (1000, 2000, 3000)]
    assert levels == pytest.approx([0.30103, 4.7367, 21.2416], abs=5e-5)


def test_a_peer_is_unavailable_when_beats_are_missed() -> None:
    """Threshold 3, beats 0, 1000, 1100. Intervals 750, 1250, 1000, 100: φ = 0.0257, then 109.2."""
    fd = after(akka(acceptable_pause_us=0, threshold=3.0), [0, 1000, 1100])
    assert available(fd, 1200) and not available(fd, 8200)
    assert fd.phi(1200 * MS) == pytest.approx(0.0257, abs=5e-5)
    assert fd.phi(8200 * MS) == pytest.approx(109.2, abs=0.05)


def test_some_configured_missing_beats_are_accepted() -> None:
    """At 7000 the silence is mean + pause: φ = log10(2)."""
    fd = after(akka(), [0, 1000, 2000, 3000])
    assert available(fd, 7000)
    assert fd.phi(7000 * MS) == pytest.approx(0.30103, abs=5e-6)
    assert available(fd.heartbeat(5, 8000 * MS), 9000)


def test_more_missing_beats_than_configured_are_not() -> None:
    """At 11000: mean 1000, sd √(2·250²/8) = 125, y = (5000 - 4000)/125 = 8, φ = 21.24."""
    fd = after(akka(), [0, 1000, 2000, 3000, 4000, 5000])
    assert available(fd, 5500)
    fd = fd.heartbeat(7, 6000 * MS)
    assert not available(fd, 11000)
    assert fd.phi(11000 * MS) == pytest.approx(21.2416, abs=5e-5)


def test_only_the_last_samples_count() -> None:
    """Window 3: intervals of 100, then of 500; at one more interval φ = log10(2) both times."""
    fd = after(akka(window=3, acceptable_pause_us=0), [0, 100, 200, 300])
    first = fd.phi(400 * MS)
    fd = after(fd, [1000, 1500, 2000, 2500])
    assert first == pytest.approx(fd.phi(3000 * MS), abs=1e-9)
    assert first == pytest.approx(0.30103, abs=5e-6)


def test_a_long_pause_does_not_blunt_the_detector() -> None:
    """1000 beats, 5 min of silence, some beats, and 7 s of silence must again be suspicious."""
    fd = after(akka(), [1000 * i for i in range(1000)])
    now = 999_000 + 300_000
    assert not available(fd, now)
    fd = fd.heartbeat(1001, (now + 100) * MS)
    assert available(fd, now + 1000)
    fd = fd.heartbeat(1002, (now + 1100) * MS)
    assert not available(fd, now + 8100)
    fd = fd.heartbeat(1003, (now + 8200) * MS)
    assert available(fd, now + 9100)
    fd = fd.heartbeat(1004, (now + 9200) * MS)
    assert available(fd, now + 10100)
    assert max(fd.window.samples()) <= 1_250 * MS


# --- other systems' tests ------------------------------------------------------------------------


def test_hazelcast() -> None:
    """PhiAccrualFailureDetectorTest: threshold 1, pause 1 s, sd and first estimate 100 ms."""
    fresh = hazelcast(
        threshold=1.0,
        window=100,
        acceptable_pause_us=SECOND,
        first_heartbeat_estimate_us=100 * MS,
    )
    assert not fresh.suspects(0) and fresh.phi(0) == 0.0
    fd = fresh.heartbeat(1, 0)
    # The JVM's 1 - 1/(1 + e) rounds to 0 here; ours keeps the tail, 10^-48.
    assert fd.phi(0) < 1e-40
    assert available(fd, 0) and available(fd, 500) and not available(fd, 2000)


def test_cassandra_starts_from_twice_the_gossip_interval() -> None:
    """Before the second beat the mean is 2 s: suspected after 8·ln(10)·2 s = 36.84 s."""
    fd = cassandra().heartbeat(1, 0)
    assert fd.deadline_us() == 36_841_362  # 16 · 2.302585093 s, rounded up


def test_cassandra_ignores_intervals_above_its_cap() -> None:
    fd = after(cassandra(), [0, 1000, 2000, 4001])
    assert fd.window.samples() == (2 * SECOND, SECOND, SECOND)
    assert fd.last_us == 4001 * MS


def test_chitchat_is_dead_until_an_interval_is_known() -> None:
    fresh = chitchat()
    assert fresh.suspects(0) and fresh.phi(0) == 8.0 and fresh.level(0) is None
    once = fresh.heartbeat(1, 0)
    assert once.suspects(0) and once.suspects(10**9) and once.deadline_us() == 0
    twice = once.heartbeat(2, SECOND)
    assert not twice.suspects(SECOND)
    # (1 + 5·5)/6 s is the smoothed mean; 8 of them are borne.
    assert twice.deadline_us() == SECOND + 34_666_667


def test_chitchat_needs_two_more_beats_after_a_death() -> None:
    alive = after(chitchat(), [0, 1000, 2000])
    back = alive.heartbeat(4, 60 * SECOND)
    assert back.suspects(60 * SECOND) and back.window.count == 0
    assert not back.heartbeat(5, 61 * SECOND).suspects(61 * SECOND)


def test_greptime_drops_a_beat_from_the_past() -> None:
    fd = after(greptime(), [0, 1000, 2000])
    assert fd.heartbeat(4, 1999 * MS) is fd


def test_pekko_remote_watch() -> None:
    options = pekko_remote_watch().options
    assert (options.window, options.threshold) == (200, 10.0)
    assert options.acceptable_pause_us == 10 * SECOND


# --- pitfalls ------------------------------------------------------------------------------------


def test_identical_intervals_give_no_variance_and_no_nan() -> None:
    fd = fed(akka(min_std_us=0), range(0, 1000 * 123_456, 123_456))
    assert isfinite(fd.phi(fd.last_us or 0)) and not fd.suspects(1000 * 123_456)


def test_a_node_that_dies_after_one_beat_is_suspected() -> None:
    """akka-core #526: old Akka ignored the first beats. Guessed statistics: 1 s ± 250 ms.

    Mean + pause + y·sd = 4 s + 5.2259861·250 ms = 5306.49653 ms.
    """
    assert akka().heartbeat(1, 0).deadline_us() == 5_306_497


def test_without_a_guess_one_beat_gives_no_ground() -> None:
    fd = akka(first_heartbeat_estimate_us=None).heartbeat(1, 0)
    assert fd.deadline_us() is None and fd.level(10**9) is None and not fd.suspects(10**9)
    assert fd.heartbeat(2, SECOND).deadline_us() is not None


@pytest.mark.parametrize(
    ("policy", "longest"), [("skip", 1_250 * MS), ("record", 600 * SECOND), ("forget", SECOND)]
)
def test_the_gap_that_ends_a_suspicion(policy: str, longest: int) -> None:
    fd = after(akka(suspected_gap=policy), [0, 1000, 2000, 602_000, 603_000])
    assert max(fd.window.samples()) == longest


def test_a_gap_below_suspicion_is_always_recorded() -> None:
    fd = after(akka(), [0, 1000, 4000])
    assert fd.window.samples()[-1] == 3 * SECOND


def test_time_that_stands_still_is_harmless() -> None:
    for detector in (akka(), akka(min_std_us=0), cassandra(), chitchat()):
        fd = fed(detector, [5] * 50)
        assert isfinite(fd.phi(5)) and isfinite(fd.phi(10**12))
        assert fd.suspects(10**12)


def test_a_guess_may_be_a_single_sample() -> None:
    fd = akka(first_heartbeat_deviation_us=0).heartbeat(1, 0)
    assert fd.window.samples() == (SECOND,)


def test_state_is_immutable_and_has_a_digest() -> None:
    fd = after(akka(), [0, 1000, 2000])
    assert why_mutable(fd) is None
    assert digest(fd) == digest(after(akka(), [0, 1000, 2000])) != digest(akka())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"threshold": 0}, "threshold = 0"),
        ({"form": "gauss"}, "form = 'gauss': one of normal, logistic, exponential, ratio"),
        ({"window": 0}, "window = 0"),
        ({"min_std_us": -1}, "min_std_us = -1"),
        ({"undefined": "maybe"}, "alive, dead"),
        ({"suspected_gap": "drop"}, "skip, record, forget"),
        ({"form": "ratio", "acceptable_pause_us": 5}, "knows no pause"),
        ({"first_heartbeat_deviation_us": 2 * SECOND}, "at most 1000000"),
    ],
)
def test_options_that_make_no_sense(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PhiOptions(**changed)  # type: ignore[arg-type]


# --- for every history ---------------------------------------------------------------------------

intervals = st.lists(
    st.one_of(st.integers(0, 3), st.integers(0, 5 * SECOND), st.integers(0, 10**12)), max_size=40
)
forms = st.sampled_from(["normal", "logistic", "exponential", "ratio"])
options = st.builds(
    PhiOptions,
    form=forms,
    threshold=st.one_of(st.sampled_from([0.5, 1.0, 8.0]), st.floats(0.01, 50)),
    window=st.integers(1, 50),
    min_std_us=st.sampled_from([0, 1, 100 * MS]),
    first_heartbeat_estimate_us=st.sampled_from([None, 1, 7, SECOND]),
    max_interval_us=st.sampled_from([None, 2 * SECOND]),
    suspected_gap=st.sampled_from(["skip", "record", "forget"]),
    undefined=st.sampled_from(["alive", "dead"]),
    prior_us=st.sampled_from([0, SECOND]),
    prior_weight=st.sampled_from([0, 5]),
)


def history(opts: PhiOptions, gaps: list[int], start: int) -> PhiAccrual:
    times = [start]
    for gap in gaps:
        times.append(times[-1] + gap)
    return fed(PhiAccrual(opts), times)


@given(
    options, intervals, st.integers(-(10**15), 10**15), st.integers(0, 10**13), st.integers(0, 9)
)
def test_phi_is_finite_and_never_falls(
    opts: PhiOptions, gaps: list[int], start: int, wait: int, more: int
) -> None:
    fd = history(opts, gaps, start)
    assert fd.last_us is not None
    levels = [fd.phi(fd.last_us + t) for t in (0, wait, wait + more, 2 * wait + more, 10**18)]
    assert all(isfinite(level) and level >= 0 for level in levels)
    assert levels == sorted(levels)


@given(options, intervals, st.integers(-(10**15), 10**15))
def test_the_deadline_is_the_first_microsecond_of_suspicion(
    opts: PhiOptions, gaps: list[int], start: int
) -> None:
    fd = history(opts, gaps, start)
    deadline = fd.deadline_us()
    assume(fd.due_us is not None)
    assert deadline is not None
    assert fd.suspects(deadline) and not fd.suspects(deadline - 1)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=30), options)
def test_arrivals_in_any_order_and_of_any_size_raise_nothing(
    times: list[int], opts: PhiOptions
) -> None:
    fd = fed(PhiAccrual(opts), times)
    assert isfinite(fd.phi(2**62)) and isfinite(fd.phi(-(2**62)))
    assert fd.last_us == max(
        times[:1] + [t for i, t in enumerate(times) if t >= max(times[: i + 1])]
    )
    assert fd.window.count == 0 or fd.window.variance >= 0.0


@pytest.mark.parametrize("form", ["normal", "logistic", "exponential", "ratio"])
def test_a_deadline_that_falls_on_a_whole_microsecond(form: Form) -> None:
    """Ratio, threshold 8, mean 1 s: 8 s exactly. The others: any mean whose product is whole."""
    opts = PhiOptions(
        form=form, threshold=8.0, first_heartbeat_estimate_us=SECOND, first_heartbeat_deviation_us=0
    )
    fd = PhiAccrual(opts).heartbeat(1, 0)
    deadline = fd.deadline_us()
    assert deadline is not None
    assert fd.phi(deadline) >= 8.0 > fd.phi(deadline - 1)
    if form == "ratio":
        assert deadline == 8 * SECOND
