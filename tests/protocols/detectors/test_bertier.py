import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.detectors.bertier import Bertier
from protocols.detectors.estimator import fed
from protocols.values import SECOND


def test_the_first_deadline_is_the_expected_arrival_plus_the_first_margin() -> None:
    fd = Bertier(eta_us=SECOND, first_margin_us=300_000).heartbeat(1, 1_050_000)
    assert fd.deadline_us() == 2_050_000 + 300_000


def test_estimates_follow_the_papers_recurrences() -> None:
    """γ = 0.1: first margin 0; beat 2 is 100 ms late: error 100, delay 10, var 10, α = 50 ms.

    EA_3 = mean(0, 100 ms) + 3 s. Beat 3 at 3.05 s: error = 0 - delay = -10,
    delay = 9, var = 10 + 0.1·(10 - 10) = 10, α = 49 ms; EA_4 = 4.05 s.
    """
    fd = fed(Bertier(eta_us=SECOND, first_margin_us=0), (1_000_000, 2_100_000))
    assert (fd.delay_us, fd.variation_us) == pytest.approx((10_000, 10_000))
    assert fd.deadline_us() == 3_050_000 + 50_000
    fd = fd.heartbeat(3, 3_050_000)
    assert (fd.delay_us, fd.variation_us) == pytest.approx((9_000, 10_000))
    assert fd.margin_us() == pytest.approx(49_000, abs=1)
    deadline = fd.deadline_us()
    assert deadline is not None and abs(deadline - 4_099_000) <= 1


def test_on_regular_beats_the_margin_shrinks_by_a_tenth_each() -> None:
    """var starts at η/4; after n errors of 0 it is η/4·0.9ⁿ, and α = η·0.9ⁿ."""
    fd = fed(Bertier(eta_us=SECOND), range(SECOND, 12 * SECOND, SECOND))
    assert fd.margin_us() == pytest.approx(SECOND * 0.9**10, abs=1)


def test_overtaken_beats_are_ignored() -> None:
    fd = fed(Bertier(eta_us=SECOND), (SECOND, 2 * SECOND))
    assert fd.heartbeat(1, 3 * SECOND) is fd


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=50))
def test_deadlines_are_whole_microseconds(arrivals: list[int]) -> None:
    assert type(fed(Bertier(eta_us=SECOND), arrivals).deadline_us()) is int


def test_gains_are_checked() -> None:
    with pytest.raises(ValueError, match="gamma = 0"):
        Bertier(eta_us=SECOND, gamma=0)
