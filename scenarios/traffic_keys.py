"""Which key an operation is about: all alike, or a few of them most of the time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from sim.fields import FieldError, Fields, unknown_name

__all__ = ["Evenly", "KeyDistribution", "Zipf", "parse_distribution"]

_ALLOWED = "uniform, zipf or {zipf: exponent} such as {zipf: 1.2}"
_SCALE = 1 << 40


class KeyDistribution(ABC):
    """The law by which one of ``keys`` keys is drawn."""

    __slots__ = ()

    @abstractmethod
    def sampler(self, keys: int, rng: Random) -> Callable[[], int]:
        """A closure that draws a key, from 0 to ``keys`` - 1."""


@dataclass(frozen=True, slots=True)
class Evenly(KeyDistribution):
    """Every key as often as any other."""

    def sampler(self, keys: int, rng: Random) -> Callable[[], int]:
        """A closure that draws a key, from 0 to ``keys`` - 1."""
        return lambda: rng.randrange(keys)


@dataclass(frozen=True, slots=True)
class Zipf(KeyDistribution):
    """Key r (from 0) in proportion to 1 / (r + 1) ** exponent.

    The default exponent is that of YCSB (Cooper et al., "Benchmarking Cloud Serving Systems with
    YCSB", SoCC 2010, §5.1 and its source). FieldError unless it is above 0 and at most 10.
    """

    exponent: float = 0.99

    def __post_init__(self) -> None:
        if not 0 < self.exponent <= 10:
            raise FieldError(self.exponent, "an exponent above 0 and at most 10, such as 1.2")

    def sampler(self, keys: int, rng: Random) -> Callable[[], int]:
        """A closure that draws a key, from 0 to ``keys`` - 1.

        Weights are whole numbers, so that a last digit of the platform's power function that
        differs does not shift a draw.
        """
        weights = (int(_SCALE * rank**-self.exponent) for rank in range(1, keys + 1))
        ends = list(accumulate(weights))
        return lambda: bisect_right(ends, rng.randrange(ends[-1]))


def parse_distribution(value: object) -> KeyDistribution:
    """A law from "uniform", "zipf" or {zipf: exponent}; FieldError otherwise."""
    if isinstance(value, KeyDistribution):
        return value
    if isinstance(value, Mapping):
        fields = Fields(value, ("zipf",), "a distribution")
        law = fields.need("zipf", _parse_zipf, "an exponent such as 1.2")
        fields.done()
        return law
    if value == "uniform":
        return Evenly()
    if value == "zipf":
        return Zipf()
    if isinstance(value, str):
        raise unknown_name(value, ("uniform", "zipf"), "a distribution")
    raise FieldError(value, _ALLOWED)


def _parse_zipf(value: object) -> KeyDistribution:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Zipf(value)
    raise FieldError(value, "an exponent above 0 and at most 10, such as 1.2")
