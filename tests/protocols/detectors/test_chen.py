from hypothesis import given
from hypothesis import strategies as st

from protocols.detectors.chen import NfdE, NfdS
from protocols.detectors.estimator import fed
from protocols.detectors.window import Window
from protocols.values import MS, SECOND


def test_nfd_s_suspects_until_the_first_beat() -> None:
    fd = NfdS(eta_us=SECOND, delta_us=SECOND)
    assert fd.suspects(0) and fd.suspects(10 * SECOND)


def test_nfd_s_trusts_in_an_interval_iff_its_beat_or_a_later_one_has_come() -> None:
    """Figure 6: beat 3 makes everything fresh up to τ_4 = 4η + δ."""
    fd = NfdS(eta_us=SECOND, delta_us=500 * MS).heartbeat(3, 3 * SECOND + 20 * MS)
    assert not fd.suspects(4_500_000 - 1) and fd.suspects(4_500_000)


def test_nfd_s_is_not_moved_by_an_overtaken_beat() -> None:
    fd = NfdS(eta_us=SECOND, delta_us=0).heartbeat(3, 3 * SECOND)
    assert fd.heartbeat(2, 4 * SECOND) is fd


def test_nfd_s_stays_suspicious_when_a_beat_comes_after_its_interval() -> None:
    """Beat 1, due to be fresh until τ_2 = 2.5 s, comes at 2.6 s."""
    fd = NfdS(eta_us=SECOND, delta_us=500 * MS).heartbeat(1, 2_600_000)
    assert fd.suspects(2_600_000)


@given(st.integers(1, 10**6), st.integers(0, 10**7), st.integers(1, 1000), st.integers(0, 10**9))
def test_nfd_s_detects_within_delta_plus_eta(eta: int, delta: int, last: int, late: int) -> None:
    """Theorem 4: T_D ≤ δ + η, whatever the delay of the last beat (sent at last·η)."""
    crash = last * eta  # right after sending, the latest crash with this last beat
    fd = NfdS(eta_us=eta, delta_us=delta).heartbeat(last, crash + late)
    assert fd.deadline_us() == crash + eta + delta


def test_nfd_e_expects_the_mean_of_past_offsets() -> None:
    """Offsets A_i - iη: 100, 140, 120 ms; EA_4 = 4 s + 120 ms; τ_4 = EA_4 + α."""
    fd = fed(NfdE(SECOND, 200 * MS), (1_100_000, 2_140_000, 3_120_000))
    assert fd.deadline_us() == 4_320_000


def test_nfd_e_rounds_the_expected_arrival_up() -> None:
    assert fed(NfdE(10, 0), (11, 20)).deadline_us() == 31  # offsets 1 and 0: EA_3 = 30.5


def test_nfd_e_bridges_lost_beats() -> None:
    """Beat 3 is lost: after beat 4 the next expected is beat 5, at the same offsets."""
    fd = fed(NfdE(SECOND, 100 * MS), (SECOND, 2 * SECOND)).heartbeat(4, 4 * SECOND)
    assert fd.deadline_us() == 5_100_000


def test_nfd_e_forgets_all_but_the_last_n() -> None:
    fd = fed(NfdE(SECOND, 0, Window(2)), (1_900_000, 2_000_000, 3_000_000))
    assert fd.deadline_us() == 4 * SECOND


def test_nfd_e_needs_no_common_clock() -> None:
    """Moving the receiver's clock moves the deadline by as much."""
    beats = (1_010_000, 2_050_000, 3_020_000)
    here = fed(NfdE(SECOND, 0), beats).deadline_us()
    there = fed(NfdE(SECOND, 0), (b - 86_400 * SECOND for b in beats)).deadline_us()
    assert here is not None and there is not None
    assert here - there == 86_400 * SECOND


def test_nfd_e_does_not_bear_a_slow_beat_twice() -> None:
    """§1: a timeout from the receipt of a beat 0.9 s late adds 0.9 s; NFD-E adds its 1/n share."""
    regular = [i * SECOND for i in range(1, 33)]
    fd = fed(NfdE(SECOND, SECOND, Window(33)), regular).heartbeat(33, 33_900_000)
    deadline = fd.deadline_us()
    assert deadline == 35 * SECOND + 27_273  # 34η + α + 0.9 s/33
