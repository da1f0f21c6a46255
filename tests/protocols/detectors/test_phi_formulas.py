"""The four formulas: agreement with what they stand for, and good behaviour everywhere."""

from itertools import pairwise
from math import erfc, exp, isfinite, log10, nextafter, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.detectors.phi_formulas import (
    FORMS,
    Form,
    phi_exponential,
    phi_logistic,
    phi_normal,
    phi_ratio,
    standard_logistic,
    standard_normal,
    y_at,
)

FORM_NAMES: tuple[Form, ...] = ("normal", "logistic", "exponential", "ratio")


def ported(t: float, mean: float, sd: float) -> float:
    """Akka's two branches as published (docstring of PhiAccrualFailureDetector.scala)."""
    y = (t - mean) / sd
    e = exp(-y * (1.5976 + 0.070566 * y * y))
    return -log10(e / (1 + e)) if t > mean else -log10(1 - 1 / (1 + e))


@pytest.mark.parametrize("y", [x / 8 for x in range(-40, 161)])
def test_logistic_is_akkas_formula_where_that_has_digits(y: float) -> None:
    assert phi_logistic(y, 0, 1) == pytest.approx(ported(y, 0, 1), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("y", [x / 8 for x in range(-64, 296)])
def test_normal_is_the_exact_tail(y: float) -> None:
    tail = 0.5 * erfc(y / sqrt(2))
    assert phi_normal(y, 0, 1) == pytest.approx(-log10(tail), rel=1e-9, abs=1e-15)


def test_phi_grows_strictly_with_the_silence() -> None:
    """Pekko, AccrualFailureDetectorSpec: strictly increasing in t for t = 0..40 (mean 0, sd 10)."""
    levels = [phi_logistic(t, 0, 10) for t in range(41)]
    assert levels == sorted(set(levels))


def test_larger_deviation_means_lower_phi() -> None:
    """Pekko, same test: phi(1100, 1000, 500) < phi(1100, 1000, 100)."""
    assert phi_logistic(1100, 1000, 500) < phi_logistic(1100, 1000, 100)


def test_healthy_peer_with_a_long_pause_overflows_nothing() -> None:
    """Pause 3 s, sd 100 ms: y = -40 right after a beat; exp(-x) would overflow below -21.24."""
    assert phi_logistic(0, 4000, 100) == 0.0
    assert phi_normal(0, 4000, 100) == 0.0


def test_long_silence_follows_the_asymptote_of_the_exponent() -> None:
    """y = 1e4: x = 1.5976e4 + 0.070566e12, φ = x·log10(e) to the last digit."""
    x = 1e4 * (1.5976 + 0.070566 * 1e8)
    assert phi_logistic(1e4, 0, 1) == pytest.approx(x * log10(exp(1)), rel=1e-15)
    assert phi_normal(1e4, 0, 1) == pytest.approx(0.5e8 * log10(exp(1)), rel=1e-6)


def test_asymptotic_expansion_joins_erfc_without_a_jump() -> None:
    """Both agree to the last digits from where the expansion begins to where erfc underflows."""
    for y in (37.0, 37.1, 37.25, 37.4):
        assert standard_normal(y) == pytest.approx(-log10(0.5 * erfc(y / sqrt(2))), rel=1e-14)
    below, at = nextafter(37.0, 0.0), 37.0
    assert standard_normal(below) <= standard_normal(at) <= standard_normal(nextafter(at, 99.0))


@pytest.mark.parametrize("form", FORM_NAMES)
@pytest.mark.parametrize("around", [-40.0, -21.24, 0.0, 3.2, 21.59, 37.0, 37.6, 38.5])
def test_no_form_falls_near_the_points_where_formulas_change(form: Form, around: float) -> None:
    levels = [FORMS[form](around + step * 1e-6) for step in range(-2000, 2001)]
    assert all(a <= b for a, b in pairwise(levels))


numbers = st.floats(-1e15, 1e15)
positive = st.floats(0, 1e15)


@given(numbers, numbers, positive, positive)
def test_every_formula_is_finite_and_never_falls(
    a: float, b: float, mean: float, sd: float
) -> None:
    early, late = min(a, b), max(a, b)
    for low, high in (
        (phi_normal(early, mean, sd), phi_normal(late, mean, sd)),
        (phi_logistic(early, mean, sd), phi_logistic(late, mean, sd)),
        (phi_exponential(early, mean), phi_exponential(late, mean)),
        (phi_ratio(early, mean), phi_ratio(late, mean)),
    ):
        assert isfinite(low) and isfinite(high) and low >= 0.0
        # erfc and exp of the C library may err by a unit in the last place
        assert low <= high * (1 + 1e-14)


def test_no_deviation_at_all_is_a_step() -> None:
    assert phi_normal(999, 1000, 0) == 0.0
    assert phi_normal(1000, 1000, 0) == pytest.approx(log10(2))
    assert 1e100 < phi_normal(1001, 1000, 0) < float("inf")
    assert phi_exponential(0, 0) == 0.0
    assert 1e90 < phi_exponential(1, 0) < float("inf")


@given(st.sampled_from(FORM_NAMES), st.floats(1e-6, 1e6))
def test_y_at_is_the_least_float_that_reaches_the_threshold(form: Form, threshold: float) -> None:
    y = y_at(form, threshold)
    assert FORMS[form](y) >= threshold > FORMS[form](nextafter(y, -99.0))


@pytest.mark.parametrize(("y", "above"), [(3.0, 0.0139), (5.0, 0.1157), (10.0, 0.6258)])
def test_the_approximation_departs_from_the_exact_law(y: float, above: float) -> None:
    assert standard_logistic(y) / standard_normal(y) - 1 == pytest.approx(above, abs=5e-5)


@pytest.mark.parametrize("y", [x / 16 for x in range(33)])
def test_the_approximation_is_good_to_a_thousandth_up_to_two_deviations(y: float) -> None:
    assert standard_logistic(y) == pytest.approx(standard_normal(y), rel=1e-3)
