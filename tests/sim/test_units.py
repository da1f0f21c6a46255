"""Units and field errors: exact, round-tripping, and helpful when refused."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.fields import Fields, did_you_mean, parse_whole
from sim.units import (
    FieldError,
    FieldErrors,
    UnitError,
    format_bandwidth,
    format_duration,
    format_size,
    parse_bandwidth,
    parse_duration,
    parse_probability,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("150ms", 150_000),
        ("2s", 2_000_000),
        ("10us", 10),
        ("10µs", 10),  # U+00B5, the micro sign
        ("10μs", 10),  # U+03BC, the Greek letter
        ("1.5s", 1_500_000),
        ("0.001ms", 1),
        ("2m", 120_000_000),
        ("1h", 3_600_000_000),
        ("3d", 259_200_000_000),
        ("0", 0),
        ("0ms", 0),
        (0, 0),
        (0.0, 0),
        (" 7 ms ", 7_000),
        ("+7ms", 7_000),
        ("0.3s", 300_000),  # 0.3 * 10**6 is 300000 exactly only without floats in between
        ("123456789.123456s", 123_456_789_123_456),
    ],
)
def test_duration(text: object, us: int) -> None:
    assert parse_duration(text) == us


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (10, 'add a unit: "10ms"'),
        ("10", 'add a unit: "10ms"'),
        (1.5, "add a unit"),
        (True, "a duration with a unit"),
        (None, "given nothing"),
        ("", "a duration with a unit"),
        ("fast", "a duration with a unit"),
        ("1.5us", "not a whole number of µs"),
        ("10 sec", "did you mean 's'"),
        ("10 minutes", "did you mean 'm'"),
        ("10MS", "did you mean 'ms'"),
        ("100ns", "the smallest unit is us"),
        ("-5ms", "must not be negative"),
        ("1e3ms", "unknown unit 'e3ms'"),
        ("٣ms", "a duration with a unit"),  # Arabic-Indic digits are not read
        (float("nan"), "add a unit"),
        ([1], "given [1]"),
    ],
)
def test_refused_duration(value: object, says: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse_duration(value)
    assert says in str(caught.value)
    assert caught.value.given is value
    assert "such as" in caught.value.allowed


def test_negative_duration_on_request() -> None:
    assert parse_duration("-1.5s", allow_negative=True) == -1_500_000


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0s"),
        (1, "1us"),
        (999, "999us"),
        (150_000, "150ms"),
        (150_250, "150.25ms"),
        (1_500_000, "1.5s"),
        (1_000_001, "1.000001s"),
        (60_000_000, "1m"),
        (90_000_000, "90s"),
        (7_200_000_000, "2h"),
        (86_400_000_000, "1d"),
        (-1_500_000, "-1.5s"),
    ],
)
def test_format_duration(us: int, text: str) -> None:
    assert format_duration(us) == text


@given(st.integers(-(10**17), 10**17))
def test_durations_round_trip(us: int) -> None:
    assert parse_duration(format_duration(us), allow_negative=True) == us


@given(st.integers(1, 10**15))
def test_sizes_and_bandwidths_round_trip(amount: int) -> None:
    assert parse_size(format_size(amount)) == amount
    assert parse_bandwidth(format_bandwidth(amount)) == amount


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("10Mbit/s", 10_000_000),
        ("1.5 MB/s", 12_000_000),
        ("9600bps", 9_600),
        ("1Gbps", 10**9),
        ("1KiB/s", 8_192),
        ("56kbit/s", 56_000),
    ],
)
def test_bandwidth(text: str, bps: int) -> None:
    assert parse_bandwidth(text) == bps


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("0bit/s", "above 0"),
        (0, "above 0"),
        (10, 'add a unit: "10Mbit/s"'),
        ("10Mbits", "unknown unit 'Mbits'; did you mean 'Mbit/s'"),
        ("1KB/s", "write kB/s for 1,000 bytes or KiB/s for 1,024"),
        ("0.5bit/s", "not a whole number of bit/s"),
    ],
)
def test_refused_bandwidth(value: object, says: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse_bandwidth(value)
    assert says in str(caught.value)


def test_size() -> None:
    assert [parse_size(text) for text in ("1400B", "64KiB", "1.5kB", 0)] == [1400, 65536, 1500, 0]
    for refused, says in ((1400, 'add a unit: "1400B"'), ("-1B", "negative"), ("1KB", "KiB")):
        with pytest.raises(UnitError, match=says):
            parse_size(refused)
    assert (format_size(0), format_size(1400), format_size(65_536)) == ("0B", "1400B", "64KiB")


@pytest.mark.parametrize(
    ("value", "p"),
    [
        (0, 0.0),
        (1, 1.0),
        (0.01, 0.01),
        ("1%", 0.01),
        ("0.1%", 0.001),
        ("100%", 1.0),
        ("0.25", 0.25),
    ],
)
def test_probability(value: object, p: float) -> None:
    assert parse_probability(value) == p


@pytest.mark.parametrize("value", [-0.1, 1.1, "101%", "x", None, True, float("nan"), float("inf")])
def test_refused_probability(value: object) -> None:
    with pytest.raises(UnitError, match="from 0 to 1"):
        parse_probability(value)


def test_a_percentage_without_its_sign_is_recognised() -> None:
    with pytest.raises(UnitError, match='for 5 percent write "5%"'):
        parse_probability(5)


def test_field_error_names_path_given_allowed_and_survives_pickling() -> None:
    error = FieldError(3, "1 or 2", path=("b", 0), hint="try 1").under("a")
    assert str(error) == "a.b[0]: given 3, allowed: 1 or 2; try 1"
    both = FieldErrors([error, UnitError("x", "y")])
    assert (both.path, both.given, len(both.errors)) == (("a", "b", 0), 3, 2)
    assert [e.path for e in both.under("z").errors] == [("z", "a", "b", 0), ("z",)]
    for one in (error, both):
        again = pickle.loads(pickle.dumps(one))
        assert (type(again), str(again), again.path) == (type(one), str(one), one.path)


def test_fields_gather_every_mistake() -> None:
    fields = Fields({"mean": 10, "sdd": "1ms", "n": -1}, ("mean", "sd", "n"), "normal")
    fields.need("mean", parse_duration, "a duration")
    fields.need("sd", parse_duration, "a duration")
    fields.read("n", parse_whole, 3)
    with pytest.raises(FieldErrors) as caught:
        fields.done()
    assert [e.path for e in caught.value.errors] == [("sdd",), ("mean",), ("sd",), ("n",)]
    assert "did you mean 'sd'?" in str(caught.value)


def test_did_you_mean() -> None:
    assert did_you_mean("Frankfrut", ["Dallas", "Frankfurt"]) == "did you mean 'Frankfurt'?"
    assert did_you_mean("zzz", ["Dallas"]) == ""
