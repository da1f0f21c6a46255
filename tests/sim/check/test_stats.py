"""Intervals against published tables, hand calculation and their own promise: coverage."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.check import distributions as law
from sim.check import stats

# --- the laws: values of printed tables ---------------------------------------------------------

# Student's t, two-sided 95 %, 90 %, 99 % as printed in every textbook.
T_TABLE = [
    (0.975, 1, 12.706),
    (0.975, 2, 4.303),
    (0.975, 5, 2.571),
    (0.975, 10, 2.228),
    (0.975, 19, 2.093),
    (0.975, 30, 2.042),
    (0.975, 120, 1.980),
    (0.95, 4, 2.132),
    (0.995, 8, 3.355),
    (0.9995, 3, 12.924),
]


@pytest.mark.parametrize(("p", "df", "t"), T_TABLE)
def test_student_quantiles_match_the_printed_table(p, df, t):
    assert law.student_quantile(p, df) == pytest.approx(t, abs=5.1e-4)
    assert law.student_quantile(1 - p, df) == pytest.approx(-t, abs=5.1e-4)


def test_student_with_one_and_two_degrees_has_closed_forms():
    # df=1 is Cauchy: t = tan(pi (p - 1/2)). df=2: t = (2p - 1) / sqrt(2 p (1 - p)).
    for p in (0.6, 0.9, 0.975, 0.9999):
        assert law.student_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-9)
        closed = (2 * p - 1) / math.sqrt(2 * p * (1 - p))
        assert law.student_quantile(p, 2) == pytest.approx(closed, rel=1e-9)


def test_student_comes_to_the_normal_law():
    assert law.student_quantile(0.975, 10**7) == pytest.approx(1.959964, abs=1e-6)
    assert law.student_quantile(0.5, 7) == pytest.approx(0, abs=1e-9)


def test_normal_quantiles_match_the_printed_table():
    for p, z in [(0.5, 0), (0.9, 1.281552), (0.975, 1.959964), (0.995, 2.575829)]:
        assert law.normal_quantile(p) == pytest.approx(z, abs=1e-6)
        assert law.normal_quantile(1 - p) == pytest.approx(-z, abs=1e-6)
        assert law.normal_cdf(law.normal_quantile(p)) == pytest.approx(p, rel=1e-12)


def test_gamma_function_is_the_poisson_tail():
    # P(k, x) = P(Poisson(x) >= k) = 1 - sum_{j<k} e^-x x^j / j!
    for k, x in [(1, 0.1), (3, 2.5), (5, 20.0), (40, 30.0)]:
        below = math.fsum(math.exp(-x) * x**j / math.factorial(j) for j in range(k))
        assert law.gamma_regularised(k, x) == pytest.approx(1 - below, rel=1e-9)


@given(st.floats(0.001, 0.999), st.floats(0.5, 500))
def test_gamma_quantile_inverts_the_distribution(p, shape):
    x = law.gamma_quantile(p, shape)
    assert law.gamma_regularised(shape, x) == pytest.approx(p, rel=1e-9)


def test_a_probability_outside_the_open_interval_is_refused():
    for call in (law.normal_quantile, lambda p: law.student_quantile(p, 3)):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            call(1.0)
    with pytest.raises(ValueError, match="degrees of freedom"):
        law.student_quantile(0.9, 0)


# --- means and percentiles ----------------------------------------------------------------------


def test_mean_and_variance_by_hand():
    # 2 4 4 4 5 5 7 9: mean 5, squares off the mean 9+1+1+1+0+0+4+16 = 32, divisor 7
    values = [2, 4, 4, 4, 5, 5, 7, 9]
    assert stats.mean(values) == 5
    assert stats.variance(values) == pytest.approx(32 / 7)
    assert stats.mean([]) is None
    assert stats.variance([3]) is None


def test_percentiles_interpolate_between_ranks():
    # sorted 10 20 30 40; rank of 50 % is 1.5 -> 25; of 90 % is 2.7 -> 30 + 0.7 * 10 = 37
    values = [40, 10, 30, 20]
    assert stats.percentiles(values, (0, 50, 90, 100)) == pytest.approx((10, 25, 37, 40))
    assert stats.percentile([], 50) is None
    assert stats.percentile([7], 99.9) == 7
    with pytest.raises(ValueError, match="between 0 and 100"):
        stats.percentile(values, 101)


# --- intervals: by hand ---------------------------------------------------------------------------


def test_student_interval_by_hand():
    # n=4, mean 25, s² = (225+25+25+225)/3 = 166.667, s/√n = 6.45497; t(3, .975) = 3.18245
    found = stats.student_interval([10, 20, 30, 40])
    half = 3.182446 * 6.454972
    assert (found.low, found.high) == pytest.approx((25 - half, 25 + half), rel=1e-6)
    assert 25 in found
    assert 25 + 1.01 * half not in found


def test_no_interval_without_data_or_spread():
    assert stats.student_interval([3.0]) is None
    assert stats.student_interval([0.1] * 50) is None
    assert stats.batch_means_interval([1.0, 2.0] * 19) is None  # 38 values, 20 batches of 1
    assert stats.batch_means_interval([0.1] * 100) is None
    assert stats.ratio_interval([(1, 2)]) is None
    assert stats.ratio_interval([(0.3, 0.1), (0.9, 0.3), (0.6, 0.2)]) is None  # always 3
    assert stats.ratio_interval([(1, 0), (2, 0)]) is None
    assert stats.wilson_interval(0, 0) is None
    assert stats.poisson_rate_interval(0, 0) is None
    rng = random.Random(1)
    assert stats.bootstrap_interval([1.0, 2.0] * 4, stats.mean, rng) is None  # 8 < 10
    assert stats.bootstrap_interval([5.0] * 20, stats.mean, rng) is None
    # the number of distinct samples only ever falls by resampling: no bias correction exists
    assert stats.bootstrap_interval([*range(20)], lambda s: len(set(s)), rng) is None


def test_wilson_interval_by_hand():
    # 8 of 10, z = 1.959964, z² = 3.841459: centre (8 + 1.920729)/13.841459 = 0.716740,
    # half = z sqrt(8·2/10 + 0.960365)/13.841459 = 1.959964·1.600114/13.841459 = 0.226577
    found = stats.wilson_interval(8, 10)
    assert (found.low, found.high) == pytest.approx((0.490162, 0.943318), abs=2e-6)


def test_wilson_interval_at_the_ends():
    # 0 of n: high = z²/(n + z²) = 3.841459/13.841459
    none, every = stats.wilson_interval(0, 10), stats.wilson_interval(10, 10)
    assert none.low == 0
    assert none.high == pytest.approx(3.841459 / 13.841459, rel=1e-6)
    assert (every.low, every.high) == pytest.approx((1 - none.high, 1))
    with pytest.raises(ValueError, match="11 successes in 10"):
        stats.wilson_interval(11, 10)


# Garwood (1936): exact 95 % limits of a Poisson mean, as printed in epidemiology tables.
GARWOOD = [(0, 0, 3.689), (1, 0.0253, 5.572), (5, 1.623, 11.668), (10, 4.795, 18.390)]


@pytest.mark.parametrize(("events", "low", "high"), GARWOOD)
def test_poisson_interval_matches_the_printed_table(events, low, high):
    found = stats.poisson_rate_interval(events, 1)
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-4)
    longer = stats.poisson_rate_interval(events, 4)
    assert (longer.low, longer.high) == pytest.approx((found.low / 4, found.high / 4))


def test_batch_means_by_hand():
    # 9 values in 2 batches of 4: the first value is dropped; batch means 2.5 and 6.5, mean 4.5,
    # s² = 8, s/√2 = 2, t(1, .975) = 12.7062 -> half 25.4124
    found = stats.batch_means_interval([99, 1, 2, 3, 4, 5, 6, 7, 8], batches=2)
    assert (found.low, found.high) == pytest.approx((4.5 - 25.41241, 4.5 + 25.41241), rel=1e-6)
    assert found.method == "batch means, 2 batches of 4, Student t"


def test_ratio_interval_by_hand():
    # (1,1) (2,1) (6,2): ratio 9/4, mean x 4/3; residuals y - 2.25 x = -1.25, -.25, 1.5, over 4/3:
    # -.9375, -.1875, 1.125; squares .87890625 + .03515625 + 1.265625 = 2.1796875, s² = 1.08984375,
    # s/√3 = .602727; t(2, .975) = 4.302653 -> half 2.593325
    found = stats.ratio_interval([(1, 1), (2, 1), (6, 2)])
    assert (found.low, found.high) == pytest.approx((2.25 - 2.593325, 2.25 + 2.593325), abs=1e-5)


def test_lag1_autocorrelation_by_hand():
    # 1 2 3: off the mean -1 0 1: (-1·0 + 0·1) / 2 = 0. 1 -1 1 -1: (-1-1-1)/4 = -.75
    assert stats.lag1_autocorrelation([1, 2, 3]) == 0
    assert stats.lag1_autocorrelation([1, -1, 1, -1]) == -0.75
    assert stats.lag1_autocorrelation([1, 1, 1]) is None


def test_bootstrap_is_a_function_of_the_stream():
    values = [float(x * x % 37) for x in range(25)]
    one, two, other = (
        stats.bootstrap_interval(values, stats.mean, random.Random(seed)) for seed in (3, 3, 4)
    )
    assert one == two != other


def test_bootstrap_corrects_towards_the_long_tail():
    rng = random.Random(11)
    values = [rng.expovariate(1.0) ** 2 for _ in range(40)]
    plain = stats.bootstrap_interval(values, stats.mean, random.Random(2), method="percentile")
    bca = stats.bootstrap_interval(values, stats.mean, random.Random(2))
    assert plain.low < bca.low
    assert plain.high < bca.high


def test_bad_arguments_say_what_is_allowed():
    with pytest.raises(ValueError, match=r"level is 95"):
        stats.student_interval([1, 2], level=95)
    with pytest.raises(ValueError, match="at least 2"):
        stats.batch_means_interval([1, 2], batches=1)
    with pytest.raises(ValueError, match="'bca' or 'percentile'"):
        stats.bootstrap_interval([1, 2], stats.mean, random.Random(1), method="t")


# --- intervals: their promise ---------------------------------------------------------------------


def assert_nominal(hits, trials, level):
    """The hit count is binomial if the interval keeps its promise: within 3.5 sd of it."""
    sd = math.sqrt(trials * level * (1 - level))
    assert abs(hits - trials * level) <= 3.5 * sd, f"{hits} of {trials} at level {level}"


def test_student_interval_covers_at_its_level():
    rng, trials = random.Random(5), 1000
    samples = ([rng.gauss(10, 3) for _ in range(6)] for _ in range(trials))
    hits = sum(10 in stats.student_interval(s, level=0.9) for s in samples)
    assert_nominal(hits, trials, 0.9)


def autoregressive(rng, n, coefficient):
    """A stationary series of mean 0: x' = c x + noise."""
    x, series = rng.gauss(0, 1) / math.sqrt(1 - coefficient**2), []
    for _ in range(n):
        series.append(x)
        x = coefficient * x + rng.gauss(0, 1)
    return series


def test_batch_means_cover_a_correlated_series_where_student_does_not():
    # c = 0.8: correlation e-folds in 4.5 values, a batch is 100 long; the variance of the mean is
    # (1+c)/(1-c) = 9 times what independence would give, so plain t covers P(|Z| < 1.96/3) = 49 %.
    rng, trials = random.Random(6), 300
    runs = [autoregressive(rng, 2000, 0.8) for _ in range(trials)]
    assert_nominal(sum(0 in stats.batch_means_interval(run) for run in runs), trials, 0.95)
    naive = sum(0 in stats.student_interval(run) for run in runs)
    assert_nominal(naive, trials, 0.49)
    assert stats.lag1_autocorrelation(runs[0]) == pytest.approx(0.8, abs=0.05)


def test_ratio_interval_covers_at_its_level():
    rng, trials = random.Random(7), 600

    def pair():
        x = 1 + rng.expovariate(1)
        return x * 3 + rng.gauss(0, 1), x

    hits = sum(3 in stats.ratio_interval([pair() for _ in range(40)]) for _ in range(trials))
    assert_nominal(hits, trials, 0.95)


def test_bootstrap_covers_a_skewed_mean_as_far_as_it_can():
    # BCa is exact in the limit only. For the mean of 20 exponential values and 400 resamples an
    # implementation of its own in NumPy covered 90.6 % (30,000 trials); so must this one.
    rng, trials, hits = random.Random(8), 500, 0
    for _ in range(trials):
        values = [rng.expovariate(1.0) for _ in range(20)]
        found = stats.bootstrap_interval(values, lambda s: sum(s) / 20, rng, resamples=400)
        hits += 1 in found
    assert_nominal(hits, trials, 0.906)


def test_poisson_interval_covers_at_least_its_level():
    # Exact coverage by summing the law itself, no sampling.
    for rate in (0.5, 2.0, 7.3):
        weight = [math.exp(-rate) * rate**k / math.factorial(k) for k in range(60)]
        covered = sum(w for k, w in enumerate(weight) if rate in stats.poisson_rate_interval(k, 1))
        assert 0.95 <= covered < 0.995


@given(st.integers(0, 50), st.integers(0, 50))
def test_wilson_interval_holds_the_estimate_and_stays_in_0_1(successes, failures):
    trials = successes + failures
    found = stats.wilson_interval(successes, trials)
    if trials:
        assert 0 <= found.low <= successes / trials <= found.high <= 1
