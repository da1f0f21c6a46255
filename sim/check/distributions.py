"""The few probability laws that confidence intervals need, from the standard library alone.

Quantiles are found by bisection on the distribution function: simple, as exact as the function
itself (about 1e-12 relative), and slow (about a millisecond), so the last ones asked are kept.

Sources: the incomplete beta and gamma functions are the series and continued fractions of
Abramowitz and Stegun, 6.5.29, 6.5.31, 26.5.8, evaluated by Lentz's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

_TINY = 1e-300
_EPSILON = 1e-15
_MAX_TERMS = 1_000_000


def normal_cdf(x: float) -> float:
    """Return P(Z <= x) for a standard normal Z."""
    return math.erfc(-x / math.sqrt(2)) / 2


@lru_cache(maxsize=256)
def normal_quantile(p: float) -> float:
    """Return x with P(Z <= x) = p, for 0 < p < 1."""
    _check_probability(p)
    if p > 0.5:
        return -normal_quantile(1 - p)
    return -_bisect(lambda x: normal_cdf(-x) <= p)


def student_tail(t: float, df: float) -> float:
    """Return P(T > t) for Student's t with ``df`` > 0 degrees of freedom."""
    half = 0.5 * beta_regularised(df / 2, 0.5, df / (df + t * t))
    return half if t >= 0 else 1 - half


@lru_cache(maxsize=256)
def student_quantile(p: float, df: float) -> float:
    """Return t with P(T <= t) = p for Student's t with ``df`` > 0 degrees of freedom."""
    _check_probability(p)
    if df <= 0:
        raise ValueError(f"degrees of freedom are {df}; they must be above 0")
    if p < 0.5:
        return -student_quantile(1 - p, df)
    return _bisect(lambda t: student_tail(t, df) <= 1 - p)


@lru_cache(maxsize=256)
def gamma_quantile(p: float, shape: float) -> float:
    """Return x with P(G <= x) = p for a gamma variable of ``shape`` > 0 and scale 1."""
    _check_probability(p)
    if shape <= 0:
        raise ValueError(f"the shape is {shape}; it must be above 0")
    return _bisect(lambda x: gamma_regularised(shape, x) >= p)


def beta_regularised(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), 0 <= x <= 1."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on this side only
        return 1 - beta_regularised(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log_front + a * math.log(x) + b * math.log1p(-x)) / a

    def coefficient(j: int) -> float:
        m = j // 2
        if j % 2:
            return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))

    return front / _fraction(1.0, coefficient, lambda j: 1.0, start=1)


def gamma_regularised(a: float, x: float) -> float:
    """Return the regularised lower incomplete gamma function P(a, x) (a > 0).

    P(k, x) is also the probability that a Poisson variable of mean x is at least k.
    """
    if x <= 0:
        return 0.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        return front * _gamma_series(a, x)
    fraction = _fraction(x + 1 - a, lambda j: -j * (j - a), lambda j: x + 1 - a + 2 * j, start=1)
    return 1 - front / fraction


def _gamma_series(a: float, x: float) -> float:
    term = total = 1 / a
    for j in range(1, _MAX_TERMS):
        term *= x / (a + j)
        total += term
        if term < total * _EPSILON:
            return total
    raise ArithmeticError(f"the gamma series did not converge for a={a}, x={x}")


def _fraction(
    b0: float, a: Callable[[int], float], b: Callable[[int], float], *, start: int
) -> float:
    """Evaluate b0 + a1/(b1 + a2/(b2 + ...)) by the modified Lentz method."""
    value = c = b0 or _TINY
    d = 0.0
    for j in range(start, _MAX_TERMS):
        d = 1 / ((b(j) + a(j) * d) or _TINY)
        c = (b(j) + a(j) / c) or _TINY
        value *= c * d
        if abs(c * d - 1) < _EPSILON:
            return value
    raise ArithmeticError("a continued fraction did not converge; please report the arguments")


def _bisect(reached: Callable[[float], bool]) -> float:
    """Return the least x >= 0 where the monotone ``reached`` turns true, to the last float."""
    low, high = 0.0, 1.0
    if reached(low):
        return low
    while not reached(high):
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if middle in (low, high) or high - low < 1e-14 * high:
            return high
        low, high = (low, middle) if reached(middle) else (middle, high)


def _check_probability(p: float) -> None:
    if not 0 < p < 1:
        raise ValueError(f"the probability is {p}; it must lie strictly between 0 and 1")
