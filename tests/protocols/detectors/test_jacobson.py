from hypothesis import given
from hypothesis import strategies as st

from protocols.detectors.jacobson import RoundTrip


def test_the_first_sample_is_the_mean_and_half_of_it_the_deviation() -> None:
    first = RoundTrip().sample(100)
    assert (first.smoothed_us, first.timeout_us()) == (100, 100 + 4 * 50)


def test_gains_of_an_eighth_and_a_quarter() -> None:
    """100, then 180: mean 100 + 80/8 = 110; deviation 50 + (80 - 50)/4 = 57.5; 110 + 230."""
    second = RoundTrip().sample(100).sample(180)
    assert (second.smoothed_us, second.timeout_us()) == (110, 110 + 230)


def test_nothing_is_known_before_the_first_sample() -> None:
    assert RoundTrip().timeout_us() is None


@given(st.lists(st.integers(0, 10**12), min_size=1))
def test_a_timeout_is_never_below_the_smoothed_round_trip(samples: list[int]) -> None:
    known = RoundTrip()
    for took in samples:
        known = known.sample(took)
        timeout = known.timeout_us()
        assert timeout is not None and timeout >= known.smoothed_us >= 1


def test_a_steady_round_trip_gives_a_tight_timeout() -> None:
    known = RoundTrip()
    for _ in range(100):
        known = known.sample(1000)
    assert known.smoothed_us == 1000
    assert known.timeout_us() in range(1000, 1005)
