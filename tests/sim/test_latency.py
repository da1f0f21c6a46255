"""Latency laws: samplers follow their own cdf and mean, and laws survive the scenario file."""

from __future__ import annotations

import random
from itertools import pairwise
from math import inf, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.fields import FieldError
from sim.latency import (
    Constant,
    Empirical,
    Exponential,
    Latency,
    LogNormal,
    Normal,
    Pareto,
    Shifted,
    Uniform,
    parse_latency,
)

N = 20_000

LAWS = [
    Constant(10_000),
    Uniform(30_000, 40_000),
    Uniform(3, 5),
    Normal(10_000, 2_000),
    Normal(10_000, 2_000, min_us=9_000),
    Normal(1_000, 1_000, min_us=3_500),  # draws again about 160 times on average: the bound bites
    Normal(10, 0, min_us=20),
    Exponential(20_000, min_us=1_000),
    Exponential(1),  # rounding is most of the law
    LogNormal(20_000, 0.5),
    LogNormal(20_000, 1.0, min_us=5_000),
    LogNormal(7, 0.0),
    Pareto(1_000, 4.0),
    Pareto(1_000, 1.0, cap_us=50_000),
    Pareto(1_000, 0.5, cap_us=50_000),
    Empirical((1_000, 2_000, 2_000, 9_000)),
    Shifted(Uniform(3_000, 5_000), -3_000),
    Shifted(Exponential(2_000), 500),
]


def draws(law: Latency, n: int = N, seed: int = 7) -> list[int]:
    draw = law.sampler(random.Random(seed))
    return [draw() for _ in range(n)]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_samples_follow_the_cdf(law: Latency) -> None:
    """Dvoretzky-Kiefer-Wolfowitz (Massart 1990): P(sup |F_n - F| > e) <= 2 exp(-2 n e^2).

    At the two-sided 5 sigma level, 5.7e-7, and n = 20,000: e = sqrt(ln(2/5.7e-7)/(2n)) = 0.0194.
    """
    bound = sqrt(log(2 / 5.7e-7) / (2 * N))
    samples = sorted(draws(law))
    last = {value: at + 1 for at, value in enumerate(samples)}
    worst, below = 0.0, 0
    for value, upto in last.items():
        assert type(value) is int
        worst = max(worst, abs(upto / N - law.cdf(value)), abs(below / N - law.cdf(value - 1)))
        below = upto
    assert worst < bound
    assert samples[0] >= law.least_us >= 0


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_cdf_is_a_distribution_with_the_declared_mean(law: Latency) -> None:
    """E[D] = sum over k >= 0 of P(D > k); rounding moves the mean by at most half a µs.

    Integrated up to where less than 1e-9 is left, in steps (trapezoid) for wide laws.
    """
    top = 1
    while law.cdf(top) < 1 - 1e-9:
        top *= 2
    step = max(1, top // 40_000)
    tail = [1 - law.cdf(k) for k in range(0, top, step)]
    assert all(0 <= b <= a <= 1 for a, b in pairwise(tail))
    assert law.cdf(law.least_us - 1) == 0.0
    mean = sum(tail) * step
    # Left sums of a falling function are too high by less than one step times its fall (1); the
    # rest beyond `top` is below 1e-4 of the mean for every law listed.
    assert law.expected_us - 0.5 - 2e-4 * law.expected_us <= mean
    assert mean <= law.expected_us + 0.5 + step + 2e-4 * law.expected_us


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_sample_means(law: Latency) -> None:
    """The standard error of the mean is s/sqrt(n), s estimated from the samples; 5 of them.

    Rounding moves the mean by at most half a µs. All laws listed have a finite variance
    (Pareto(4): 2 alpha/(alpha-2) moments exist; the others are capped or light-tailed).
    """
    samples = draws(law)
    mean = sum(samples) / N
    sd = sqrt(sum((x - mean) ** 2 for x in samples) / (N - 1))
    assert abs(mean - law.expected_us) <= 5 * sd / sqrt(N) + 0.5


def test_known_means() -> None:
    assert Uniform(30, 40).expected_us == 35
    assert Exponential(20, min_us=1).expected_us == 21
    assert LogNormal(100, 1.0).expected_us == pytest.approx(164.872, abs=1e-3)  # 100 e^0.5
    assert Pareto(100, 3.0).expected_us == 150  # alpha s/(alpha-1)
    assert Pareto(100, 1.0).expected_us == inf
    assert Pareto(100, 1.0, cap_us=200).expected_us == pytest.approx(
        169.315, abs=1e-3
    )  # 100(1+ln2)
    # A half-normal: mean + sd sqrt(2/pi) = 10 + 2 * 0.797885 when cut at its mean.
    assert Normal(10, 2, min_us=10).expected_us == pytest.approx(11.59577, abs=1e-5)


def test_known_probabilities() -> None:
    assert Uniform(3, 5).cdf(3) == pytest.approx(1 / 3)
    assert Uniform(3, 5).cdf(3.9) == pytest.approx(1 / 3)
    assert Normal(10_000, 2_000).cdf(12_000) == pytest.approx(0.8413, abs=1e-3)  # Phi(1)
    assert Exponential(20_000).cdf(20_000) == pytest.approx(0.6321, abs=1e-4)  # 1 - 1/e
    assert LogNormal(20_000, 0.7).cdf(20_000) == pytest.approx(0.5, abs=1e-4)  # the median
    assert Pareto(1_000, 2.0).cdf(2_000) == pytest.approx(0.75, abs=1e-3)  # 1 - (1/2)^2
    assert Pareto(1_000, 2.0, cap_us=1_500).cdf(1_500) == 1.0
    assert Empirical((1, 2, 2, 9)).cdf(2) == 0.75


def test_samples_are_pinned() -> None:
    """The same seed means the same delays, on every supported Python."""
    # The first random() of seed 7 is 0.3238328: 30,000 + floor(10,001 * 0.3238328) = 33,238, and
    # 1,000 (1 - 0.3238328)^(-1/2) = 1,216.1. The others were taken on 3.11 and agree on 3.12, 3.13.
    pinned = {
        Uniform(30_000, 40_000): [33_238, 31_508, 36_509, 30_724, 35_359],
        Normal(10_000, 2_000, 9_000): [9_488, 11_023, 9_548, 9_370, 9_573],
        Exponential(20_000, 1_000): [8_826, 4_270, 22_050, 2_504, 16_352],
        LogNormal(20_000, 0.5): [17_598, 25_828, 17_862, 17_085, 12_563],
        Pareto(1_000, 2.0): [1_216, 1_085, 1_693, 1_038, 1_468],
        Empirical((1, 2, 3)): [1, 1, 2, 1, 2],
    }
    for law, expected in pinned.items():
        assert draws(law, n=5) == expected


def test_one_draw_of_the_stream_per_sample() -> None:
    for law in (Uniform(1, 9), Exponential(5), Pareto(5, 2.0), Empirical((1, 2, 3))):
        ours, plain = random.Random(3), random.Random(3)
        law.sampler(ours)()
        plain.random()
        assert ours.getstate() == plain.getstate()


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_laws_round_trip_and_hash(law: Latency) -> None:
    again = parse_latency(law.to_value())
    assert again == law
    assert hash(again) == hash(law)


durations = st.integers(1, 10**9)


@given(
    st.one_of(
        st.builds(Constant, durations),
        st.builds(lambda a, b: Uniform(min(a, b), max(a, b)), durations, durations),
        st.builds(Normal, durations, durations, st.integers(0, 10**6)),
        st.builds(Exponential, durations, st.integers(0, 10**6)),
        st.builds(LogNormal, durations, st.floats(0, 10), st.integers(0, 10**6)),
        st.builds(Pareto, durations, st.floats(0.1, 100)),
        st.builds(lambda xs: Empirical(tuple(xs)), st.lists(durations, min_size=1)),
        st.builds(lambda us, by: Shifted(Constant(us), by - us), durations, st.integers(0, 10**9)),
    ),
    st.integers(),
)
def test_any_law_round_trips_and_draws_whole_non_negative(law: Latency, seed: int) -> None:
    assert parse_latency(law.to_value()) == law
    for us in draws(law, n=20, seed=seed):
        assert type(us) is int
        assert us >= law.least_us >= 0
    assert law.cdf(-1) == 0.0


@pytest.mark.parametrize(
    ("value", "law"),
    [
        ("10ms", Constant(10_000)),
        (0, Constant(0)),
        ("30ms..40ms", Uniform(30_000, 40_000)),
        ("30ms .. 1.5s", Uniform(30_000, 1_500_000)),
        ({"constant": "10ms"}, Constant(10_000)),
        ({"uniform": ["30ms", "40ms"]}, Uniform(30_000, 40_000)),
        ({"uniform": "30ms..40ms"}, Uniform(30_000, 40_000)),
        ({"normal": {"mean": "10ms", "sd": "2ms", "min": "1ms"}}, Normal(10_000, 2_000, 1_000)),
        ({"exponential": {"mean": "20ms", "min": "1ms"}}, Exponential(20_000, 1_000)),
        ({"lognormal": {"median": "20ms", "sigma": 0.5}}, LogNormal(20_000, 0.5)),
        ({"pareto": {"scale": "1ms", "alpha": 2, "cap": "1s"}}, Pareto(1_000, 2, 1_000_000)),
        ({"empirical": ["1ms", "2ms"]}, Empirical((1_000, 2_000))),
        (
            {"shifted": {"base": "1ms..2ms", "offset": "-1ms"}},
            Shifted(Uniform(1_000, 2_000), -1_000),
        ),
    ],
)
def test_forms(value: object, law: Latency) -> None:
    assert parse_latency(value) == law


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        (10, (), 'add a unit: "10ms"'),
        ("30..40ms", (), "add a unit"),
        ("40ms..30ms", (), "low <= high"),
        (None, (), "a latency such as"),
        ([1], (), "a latency such as"),
        (True, (), "a latency such as"),
        ({}, (), "exactly one form"),
        ({"constant": "1ms", "uniform": "1ms..2ms"}, (), "exactly one form"),
        ({"exponental": {}}, ("exponental",), "did you mean 'exponential'?"),
        ({"normal": {"mean": "10ms", "sdd": "1ms"}}, ("normal", "sdd"), "did you mean 'sd'?"),
        ({"normal": {"sd": "1ms"}}, ("normal", "mean"), "add this key"),
        ({"normal": "10ms"}, ("normal",), "a mapping with the keys mean, sd, min"),
        ({"uniform": ["1ms", 2]}, ("uniform", 1), "add a unit"),
        ({"uniform": ["1ms"]}, ("uniform",), "[low, high]"),
        ({"lognormal": {"median": "1ms", "sigma": -1}}, ("lognormal", "sigma"), "from 0 to 10"),
        ({"lognormal": {"median": "1ms", "sigma": "1ms"}}, ("lognormal", "sigma"), "a number"),
        ({"pareto": {"scale": "1ms", "alpha": 0}}, ("pareto", "alpha"), "from 0.1 to 1000"),
        (
            {"pareto": {"scale": "9ms", "alpha": 1, "cap": "1ms"}},
            ("pareto", "cap"),
            "at least 9000",
        ),
        ({"empirical": []}, ("empirical",), "at least one"),
        ({"empirical": {"file": "x.csv"}}, ("empirical",), "self-contained"),
        (
            {"shifted": {"base": {"normal": {}}, "offset": "1ms"}},
            ("shifted", "base", "normal", "mean"),
            "add this key",
        ),
        ({"shifted": {"base": "1ms", "offset": "-2ms"}}, ("shifted", "offset"), "at least -1000"),
    ],
)
def test_refused(value: object, path: tuple[str | int, ...], says: str) -> None:
    with pytest.raises(FieldError) as caught:
        parse_latency(value)
    assert caught.value.path == path
    assert says in str(caught.value)


def test_several_mistakes_of_one_form_are_all_named() -> None:
    with pytest.raises(FieldError) as caught:
        parse_latency({"normal": {"mean": 10, "sd": "2x"}})
    assert [e.path for e in caught.value.errors] == [("normal", "sd"), ("normal", "mean")][::-1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(1.5),  # type: ignore[arg-type]
        lambda: Constant(True),
        lambda: Constant(-1),
        lambda: Exponential(0),
        lambda: Shifted(Constant(1), -2),
        lambda: Empirical((1, -1)),
    ],
)
def test_wrong_arguments_are_refused(make: object) -> None:
    with pytest.raises(FieldError, match="whole microseconds"):
        make()  # type: ignore[operator]


def test_a_truncated_law_settles_for_its_bound_after_32_draws() -> None:
    class AlwaysBelow(random.Random):
        calls = 0

        def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
            self.calls += 1
            return mu - 1

    rng = AlwaysBelow()
    assert Normal(10, 1, min_us=10).sampler(rng)() == 10
    assert rng.calls == 32
