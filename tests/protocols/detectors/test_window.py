import statistics
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from protocols.detectors.window import Window

samples = st.lists(st.integers(-(10**13), 10**13), min_size=1, max_size=200)


@given(samples, st.integers(1, 100))
def test_holds_the_last_samples_and_their_exact_statistics(given_: list[int], size: int) -> None:
    window = Window(size)
    for sample in given_:
        window = window.append(sample)
    kept = given_[-size:]
    assert window.samples() == tuple(kept)
    assert (window.count, window.total) == (len(kept), sum(kept))
    assert window.squares == sum(s * s for s in kept)
    assert window.mean == sum(kept) / len(kept)
    exact = statistics.pvariance([Fraction(s) for s in kept])
    assert window.variance == float(exact) >= 0.0


def test_an_append_leaves_the_old_value_alone() -> None:
    first = Window(2).append(1).append(2)
    second = first.append(3)
    assert (first.samples(), second.samples()) == ((1, 2), (2, 3))


def test_equal_beats_have_no_variance_at_all() -> None:
    """1000 times 0.123456 s: E[x²] - E[x]² in floating point gives -3.5e-18."""
    window = Window(1000)
    for _ in range(1000):
        window = window.append(123_456)
    assert window.variance == 0.0


def test_old_chunks_are_let_go() -> None:
    window = Window(10)
    for sample in range(1000):
        window = window.append(sample)
    assert window.samples() == tuple(range(990, 1000))
    assert sum(map(len, window.chunks)) + len(window.tail) <= 10 + 2 * 32
