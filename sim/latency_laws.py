"""How long a message is under way: latency laws as values, in whole microseconds.

A law is a frozen dataclass: it can be compared, hashed, written into a scenario file and read back.
`sampler(rng)` gives the fast closure that the network calls for each message. A draw is the
continuous law rounded half up to whole microseconds, and never negative; `cdf` is the exact
distribution of that rounded draw, `expected_us` the mean before rounding (the two differ by less
than half a microsecond). Samplers use `random()` and `gauss()` of the stream they are given and
nothing else, so that a seed means the same on every supported Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import erfc, exp, expm1, floor, inf, log, log1p, pi, sqrt
from random import Random

from sim.fields import FieldError
from sim.units import format_duration

__all__ = [
    "Constant",
    "Empirical",
    "Exponential",
    "Latency",
    "LogNormal",
    "Normal",
    "Pareto",
    "Shifted",
    "Uniform",
]

MAX_DRAWS = 32
"""How often a truncated law draws again before it settles for its bound."""


class Latency(ABC):
    """The law of one link's delay. All values in microseconds."""

    __slots__ = ()

    @abstractmethod
    def sampler(self, rng: Random) -> Callable[[], int]:
        """A closure that draws one delay: whole microseconds, never negative."""

    @property
    @abstractmethod
    def expected_us(self) -> float:
        """The analytic mean of the law before rounding; `inf` where it has none."""

    @property
    @abstractmethod
    def least_us(self) -> int:
        """No draw is below this."""

    @abstractmethod
    def cdf(self, x_us: float) -> float:
        """P(draw <= x_us), exactly, rounding to whole microseconds included."""

    @abstractmethod
    def to_value(self) -> object:
        """Plain data for a scenario file; `parse_latency` gives back an equal law."""


@dataclass(frozen=True, slots=True)
class Constant(Latency):
    """Always `us`."""

    us: int

    def __post_init__(self) -> None:
        _check_whole("constant", self.us)

    def sampler(self, rng: Random) -> Callable[[], int]:
        us = self.us
        return lambda: us

    @property
    def expected_us(self) -> float:
        return float(self.us)

    @property
    def least_us(self) -> int:
        return self.us

    def cdf(self, x_us: float) -> float:
        return float(x_us >= self.us)

    def to_value(self) -> object:
        return format_duration(self.us)


@dataclass(frozen=True, slots=True)
class Uniform(Latency):
    """Every whole microsecond from `low_us` to `high_us`, both included, equally likely."""

    low_us: int
    high_us: int

    def __post_init__(self) -> None:
        _check_whole("low", self.low_us)
        _check_whole("high", self.high_us)
        if self.high_us < self.low_us:
            given = f"{format_duration(self.low_us)}..{format_duration(self.high_us)}"
            raise FieldError(given, "low..high with low <= high", hint="swap the two")

    def sampler(self, rng: Random) -> Callable[[], int]:
        low, count, random = self.low_us, self.high_us - self.low_us + 1, rng.random
        # random() <= 1 - 2**-53, so the product stays below count for any count up to 2**53.
        return lambda: low + int(random() * count)

    @property
    def expected_us(self) -> float:
        return (self.low_us + self.high_us) / 2

    @property
    def least_us(self) -> int:
        return self.low_us

    def cdf(self, x_us: float) -> float:
        if x_us >= self.high_us:
            return 1.0
        below = floor(x_us) - self.low_us + 1
        return max(0.0, below / (self.high_us - self.low_us + 1))

    def to_value(self) -> object:
        return f"{format_duration(self.low_us)}..{format_duration(self.high_us)}"


@dataclass(frozen=True, slots=True)
class Normal(Latency):
    """A bell around `mean_us` with deviation `sd_us`, truncated: below `min_us` it draws again.

    After `MAX_DRAWS` draws below `min_us` it settles for `min_us`. Truncation moves the mean up:
    `expected_us` is the mean of what is drawn, not the field `mean_us`.
    """

    mean_us: int
    sd_us: int
    min_us: int = 0

    def __post_init__(self) -> None:
        _check_whole("mean", self.mean_us)
        _check_whole("sd", self.sd_us)
        _check_whole("min", self.min_us)

    def sampler(self, rng: Random) -> Callable[[], int]:
        mean, sd, least, gauss = self.mean_us, self.sd_us, self.min_us, rng.gauss
        if sd == 0:
            return Constant(max(mean, least)).sampler(rng)

        def draw() -> int:
            x = gauss(mean, sd)
            if x >= least:
                return int(x + 0.5)
            for _ in range(MAX_DRAWS - 1):
                x = gauss(mean, sd)
                if x >= least:
                    return int(x + 0.5)
            return least

        return draw

    @property
    def expected_us(self) -> float:
        kept, settled = self._kept(), self._settled()
        if self.sd_us == 0 or kept == 0.0:
            return float(max(self.mean_us, self.min_us))
        a = (self.min_us - self.mean_us) / self.sd_us
        density = exp(-a * a / 2) / sqrt(2 * pi)
        truncated = self.mean_us + self.sd_us * density / kept
        return settled * self.min_us + (1 - settled) * truncated

    @property
    def least_us(self) -> int:
        return self.min_us

    def cdf(self, x_us: float) -> float:
        if x_us < self.min_us:
            return 0.0
        if self.sd_us == 0:
            return float(x_us >= max(self.mean_us, self.min_us))
        kept, settled = self._kept(), self._settled()
        if kept == 0.0:
            return 1.0
        above = _above((floor(x_us) + 0.5 - self.mean_us) / self.sd_us)
        return settled + (1 - settled) * max(0.0, 1 - above / kept)

    def to_value(self) -> object:
        return _form("normal", self.min_us, mean=self.mean_us, sd=self.sd_us)

    def _kept(self) -> float:
        """The probability that one draw is not below `min_us`."""
        if self.sd_us == 0:
            return float(self.mean_us >= self.min_us)
        return _above((self.min_us - self.mean_us) / self.sd_us)

    def _settled(self) -> float:
        """The probability that all draws are below `min_us`."""
        kept = self._kept()
        return 0.0 if kept == 1.0 else exp(MAX_DRAWS * log1p(-kept))


@dataclass(frozen=True, slots=True)
class Exponential(Latency):
    """`min_us` plus an exponential tail whose own mean is `mean_us` (so the mean is their sum)."""

    mean_us: int
    min_us: int = 0

    def __post_init__(self) -> None:
        _check_whole("mean", self.mean_us, least=1)
        _check_whole("min", self.min_us)

    def sampler(self, rng: Random) -> Callable[[], int]:
        mean, start, random = self.mean_us, self.min_us + 0.5, rng.random
        return lambda: int(start - mean * log(1.0 - random()))

    @property
    def expected_us(self) -> float:
        return float(self.min_us + self.mean_us)

    @property
    def least_us(self) -> int:
        return self.min_us

    def cdf(self, x_us: float) -> float:
        tail_us = floor(x_us) + 0.5 - self.min_us
        return -expm1(-tail_us / self.mean_us) if tail_us > 0 else 0.0

    def to_value(self) -> object:
        return _form("exponential", self.min_us, mean=self.mean_us)


@dataclass(frozen=True, slots=True)
class LogNormal(Latency):
    """`min_us` plus a log-normal part with median `median_us`; `sigma` is the sd of its log.

    The median of the delay is min_us + median_us, its mean min_us + median_us exp(sigma^2 / 2).
    """

    median_us: int
    sigma: float
    min_us: int = 0

    def __post_init__(self) -> None:
        _check_whole("median", self.median_us, least=1)
        _check_number("sigma", self.sigma, 0, 10)
        _check_whole("min", self.min_us)

    def sampler(self, rng: Random) -> Callable[[], int]:
        median, sigma, start, gauss = self.median_us, self.sigma, self.min_us + 0.5, rng.gauss
        return lambda: int(start + median * exp(gauss(0.0, sigma)))

    @property
    def expected_us(self) -> float:
        return self.min_us + self.median_us * exp(self.sigma * self.sigma / 2)

    @property
    def least_us(self) -> int:
        return self.min_us

    def cdf(self, x_us: float) -> float:
        part_us = floor(x_us) + 0.5 - self.min_us
        if part_us <= 0:
            return 0.0
        if self.sigma == 0:
            return float(part_us >= self.median_us)
        return 1 - _above(log(part_us / self.median_us) / self.sigma)

    def to_value(self) -> object:
        return _form("lognormal", self.min_us, median=self.median_us, sigma=self.sigma)


@dataclass(frozen=True, slots=True)
class Pareto(Latency):
    """A heavy tail: P(X > x) = (scale_us / x)^alpha above `scale_us`; draws above `cap_us` are it.

    Without a cap the mean is infinite for alpha <= 1. Drawn by inverting that formula.
    """

    scale_us: int
    alpha: float
    cap_us: int | None = None

    def __post_init__(self) -> None:
        _check_whole("scale", self.scale_us, least=1)
        _check_number("alpha", self.alpha, 0.1, 1_000)
        if self.cap_us is not None:
            _check_whole("cap", self.cap_us, least=self.scale_us)

    def sampler(self, rng: Random) -> Callable[[], int]:
        scale, power, random = self.scale_us, -1 / self.alpha, rng.random
        if self.cap_us is None:
            return lambda: int(scale * (1.0 - random()) ** power + 0.5)
        cap = self.cap_us
        return lambda: int(min(scale * (1.0 - random()) ** power, cap) + 0.5)

    @property
    def expected_us(self) -> float:
        # E[min(X, cap)] = scale + the integral of (scale / x)^alpha from scale to cap.
        scale, alpha = self.scale_us, self.alpha
        if self.cap_us is None:
            return scale * alpha / (alpha - 1) if alpha > 1 else inf
        stretch = log(self.cap_us / scale)
        if alpha == 1:
            return scale * (1 + stretch)
        return scale * (1 + expm1((1 - alpha) * stretch) / (1 - alpha))

    @property
    def least_us(self) -> int:
        return self.scale_us

    def cdf(self, x_us: float) -> float:
        if x_us < self.scale_us:
            return 0.0
        if self.cap_us is not None and x_us >= self.cap_us:
            return 1.0
        return -expm1(self.alpha * log(self.scale_us / (floor(x_us) + 0.5)))

    def to_value(self) -> object:
        cap = {} if self.cap_us is None else {"cap": format_duration(self.cap_us)}
        scale = format_duration(self.scale_us)
        return {"pareto": {"scale": scale, "alpha": self.alpha, **cap}}


@dataclass(frozen=True, slots=True)
class Empirical(Latency):
    """One of the recorded `samples_us`, each equally likely (repeat a sample to weigh it)."""

    samples_us: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples_us", tuple(self.samples_us))
        if not self.samples_us:
            raise FieldError(self.samples_us, "at least one recorded sample")
        for index, sample_us in enumerate(self.samples_us):
            _check_whole(index, sample_us)

    def sampler(self, rng: Random) -> Callable[[], int]:
        samples, count, random = self.samples_us, len(self.samples_us), rng.random
        return lambda: samples[int(random() * count)]

    @property
    def expected_us(self) -> float:
        return sum(self.samples_us) / len(self.samples_us)

    @property
    def least_us(self) -> int:
        return min(self.samples_us)

    def cdf(self, x_us: float) -> float:
        return sum(sample <= x_us for sample in self.samples_us) / len(self.samples_us)

    def to_value(self) -> object:
        return {"empirical": [format_duration(sample) for sample in self.samples_us]}


@dataclass(frozen=True, slots=True)
class Shifted(Latency):
    """`base` plus `offset_us`, which may be negative but must not take `base` below 0."""

    base: Latency
    offset_us: int

    def __post_init__(self) -> None:
        if not isinstance(self.base, Latency):
            raise FieldError(self.base, "a latency", path=("base",))
        _check_whole("offset", self.offset_us, least=-self.base.least_us)

    def sampler(self, rng: Random) -> Callable[[], int]:
        draw, offset = self.base.sampler(rng), self.offset_us
        return lambda: draw() + offset

    @property
    def expected_us(self) -> float:
        return self.base.expected_us + self.offset_us

    @property
    def least_us(self) -> int:
        return self.base.least_us + self.offset_us

    def cdf(self, x_us: float) -> float:
        return self.base.cdf(x_us - self.offset_us)

    def to_value(self) -> object:
        offset = format_duration(self.offset_us)
        return {"shifted": {"base": self.base.to_value(), "offset": offset}}


def _check_whole(name: str | int, value: object, least: int = 0) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        allowed = f"whole microseconds, at least {least} ({format_duration(least)})"
        raise FieldError(value, allowed, path=(name,))


def _check_number(name: str, value: object, low: float, high: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not low <= value <= high:  # type: ignore[operator]
        raise FieldError(value, f"a number from {low} to {high}", path=(name,))


def _above(z: float) -> float:
    """P(Z > z) of a standard normal Z, precise far out in the upper tail."""
    return erfc(z / sqrt(2)) / 2


def _form(name: str, min_us: int, sigma: float | None = None, **durations_us: int) -> object:
    fields: dict[str, object] = {key: format_duration(us) for key, us in durations_us.items()}
    if sigma is not None:
        fields["sigma"] = sigma
    return {name: fields | ({"min": format_duration(min_us)} if min_us else {})}
