"""Measured quantities in words."""

from __future__ import annotations

import pytest

from scenarios.cli.quantities import duration, interval_of, probability


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (None, "–"),
        (0, "0us"),
        (7.4, "7.40us"),
        (999.4, "999us"),
        (999.9, "1.00ms"),
        (1000, "1ms"),
        (14_291, "14.3ms"),
        (2_942_144.75, "2.94s"),
        (12_309_400.9, "12.3s"),
        (105_015_238.0, "105s"),
        (999_400_000, "999s"),
        (1_050_000_000, "17.5min"),
        (86_400_000_000, "24h"),
        (-2_000_000, "-2s"),
    ],
)
def test_times_have_three_digits(us: float | None, text: str) -> None:
    assert duration(us) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0.00000"),
        (0.98985192, "0.98985"),
        (1.0, "1.00000"),
        (0.9999987, "0.999999"),
        (0.99999999, "0.99999999"),
    ],
)
def test_a_probability_below_1_never_looks_like_1(value: float | None, text: str) -> None:
    assert probability(value) == text


def test_an_interval_has_two_ends() -> None:
    interval = {"low": 1_000_000.0, "high": 2_500_000.0}
    assert interval_of({"interval": interval}, duration) == "1s to 2.50s"
    assert interval_of({"interval": None}, duration) == "–"
