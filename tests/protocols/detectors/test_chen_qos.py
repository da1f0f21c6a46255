"""The closed forms against brute force, and the configurators against their own promises."""

from math import exp, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.detectors.chen_qos import (
    configure_known_law,
    configure_unknown_law,
    qos_nfd_s,
)

DAY = 86_400.0


def exponential(mean: float):
    return lambda x: 1 - exp(-x / mean) if x > 0 else 0.0


def test_certain_network_makes_no_mistake() -> None:
    q = qos_nfd_s(1.0, 0.5, 0.0, lambda x: 1.0 if x >= 0.1 else 0.0)
    assert (q.recurrence, q.duration, q.accuracy, q.mistake) == (inf, 0.0, 1.0, 0.0)
    assert q.detection_max == 1.5


def test_loss_alone() -> None:
    """No delay, η = 1, δ = 1/2, so k = 1, by hand.

    p_0 = loss. p_1(x) = 1 while δ + x - η < 0 (beat 1 has not been sent), that is for x < 1/2, and
    loss after. ∫u = (loss + loss²)/2, u(0) = loss, p_s = (1 - loss)·loss.
    """
    loss = 0.1
    q = qos_nfd_s(1.0, 0.5, loss, lambda x: 1.0 if x >= 0 else 0.0)
    assert q.mistake == pytest.approx((1 - loss) * loss)
    assert q.recurrence == pytest.approx(1 / (0.9 * 0.1))
    assert q.accuracy == pytest.approx(1 - (loss + loss * loss) / 2, abs=1e-9)
    assert q.duration == pytest.approx((loss + loss * loss) / 2 / (0.9 * 0.1), abs=1e-8)


@given(st.floats(0.2, 3), st.floats(0.0, 0.5), st.floats(0.01, 0.5))
def test_metrics_are_consistent(delta: float, loss: float, mean: float) -> None:
    """P_A = 1 - E(T_M)/E(T_MR): Chen et al. 2002, theorem 1."""
    q = qos_nfd_s(1.0, delta, loss, exponential(mean))
    if q.mistake > 1e-9:
        assert q.accuracy == pytest.approx(1 - q.duration / q.recurrence, abs=1e-9)


@given(
    st.floats(0.0, 0.2),
    st.floats(0.01, 0.5),
    st.sampled_from([3.0, 10.0, 30.0]),
    st.sampled_from([60.0, DAY, 30 * DAY]),
    st.sampled_from([0.5, 5.0, 60.0]),
)
def test_a_known_law_choice_keeps_its_promises(
    loss: float, mean: float, detection: float, recurrence: float, duration: float
) -> None:
    law = exponential(mean)
    choice = configure_known_law(detection, recurrence, duration, loss, law)
    assert choice is not None and choice.eta > 0 and choice.delta >= 0
    q = qos_nfd_s(choice.eta, choice.delta, loss, law)
    assert q.detection_max == pytest.approx(detection)
    assert q.recurrence >= recurrence * (1 - 1e-6)
    assert q.duration <= duration * (1 + 1e-6)


@given(st.floats(0.0, 0.2), st.floats(0.01, 0.3))
def test_an_unknown_law_choice_keeps_its_promises_for_a_law_with_these_moments(
    loss: float, mean: float
) -> None:
    choice = configure_unknown_law(10.0, DAY, 30.0, loss, mean, mean * mean)
    assert choice is not None
    q = qos_nfd_s(choice.eta, choice.delta, loss, exponential(mean))
    assert q.recurrence >= DAY and q.duration <= 30.0


def test_not_knowing_the_law_costs_heartbeats() -> None:
    known = configure_known_law(30, 30 * DAY, 60, 0.01, exponential(0.02))
    unknown = configure_unknown_law(30, 30 * DAY, 60, 0.01, 0.02, 0.02)
    assert known is not None and unknown is not None and unknown.eta < known.eta


def test_what_no_choice_can_do() -> None:
    assert configure_known_law(1.0, DAY, 1.0, 0.01, lambda x: 0.0) is None
    assert configure_unknown_law(1.0, DAY, 1.0, 0.01, 2.0, 0.1) is None


def test_bad_arguments_say_what_is_allowed() -> None:
    with pytest.raises(ValueError, match=r"loss = 1\.5"):
        qos_nfd_s(1.0, 1.0, 1.5, exponential(1.0))
    with pytest.raises(ValueError, match="eta > 0"):
        qos_nfd_s(0.0, 1.0, 0.5, exponential(1.0))
    with pytest.raises(ValueError, match="positive, finite"):
        configure_known_law(1.0, inf, 1.0, 0.5, exponential(1.0))
