"""Measured distances: a matrix of round-trip times between regions, and jitter around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from sim.fields import FieldError, Fields, parse_whole, unknown_name
from sim.latency import Constant, Exponential, Latency, LogNormal, Normal
from sim.units import parse_duration, parse_probability

__all__ = ["Jitter", "RttMatrix", "parse_jitter", "parse_rtt_matrix"]


@dataclass(frozen=True, slots=True)
class RttMatrix:
    """Round-trip times in µs between the regions `names`; row = from, column = to.

    The diagonal is the round trip inside a region (between its zones), `zone_rtt_us` that inside
    one zone (None: as inside the region). The matrix need not be symmetric: each direction is half
    of the round trip measured from its own end.
    """

    names: tuple[str, ...]
    rtt_us: tuple[tuple[int, ...], ...]
    zone_rtt_us: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "rtt_us", tuple(map(tuple, self.rtt_us)))
        if not self.names or len(dict.fromkeys(self.names)) != len(self.names):
            raise FieldError(self.names, "one or more names, each once", path=("names",))
        self._check_shape()
        for i, row in enumerate(self.rtt_us):
            for j, rtt_us in enumerate(row):
                _check_rtt(rtt_us, ("rtt", i, j))
        if self.zone_rtt_us is not None:
            _check_rtt(self.zone_rtt_us, ("zone",))

    def _check_shape(self) -> None:
        sizes = [len(row) for row in self.rtt_us]
        if sizes != [len(self.names)] * len(self.names):
            n = len(self.names)
            raise FieldError(
                f"rows of {sizes} figures", f"{n} rows of {n} for {n} names", path=("rtt",)
            )

    def one_way_us(self, src: str, dst: str, *, same_zone: bool = False) -> int:
        """Half the round trip from region `src` to `dst`, rounded half up to whole µs."""
        i, j = self._at(src), self._at(dst)
        inside = same_zone and i == j and self.zone_rtt_us is not None
        rtt_us = cast(int, self.zone_rtt_us) if inside else self.rtt_us[i][j]
        return (rtt_us + 1) // 2

    def _at(self, name: str) -> int:
        if name not in self.names:
            raise unknown_name(name, self.names, "a region of the matrix")
        return self.names.index(name)


def _check_rtt(value: object, path: tuple[str | int, ...]) -> None:
    try:
        parse_whole(value)
    except FieldError as error:
        raise error.under(*path) from None


JitterForm = Literal["normal", "exponential", "lognormal"]


@dataclass(frozen=True, slots=True)
class Jitter:
    """How far delays scatter around a one-way time, as a `share` of it (0.05 is 5 %).

    normal       the one-way time is the mean, the share is the standard deviation, none below 0
    exponential  the one-way time is the least, the share is the mean of the tail on top
    lognormal    the one-way time is the least, the share is the median of the part on top,
                 whose logarithm has the deviation `sigma`
    """

    share: float = 0.0
    form: JitterForm = "normal"
    sigma: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise FieldError(self.share, "a share from 0 to 1")
        if self.form not in _JITTER_FORMS:
            raise unknown_name(self.form, _JITTER_FORMS, "a form of jitter")

    def around(self, one_way_us: int) -> Latency:
        """The law of a delay of `one_way_us` with this jitter (constant where it rounds to 0)."""
        spread_us = round(self.share * one_way_us)
        if spread_us == 0:
            return Constant(one_way_us)
        if self.form == "normal":
            return Normal(one_way_us, spread_us)
        if self.form == "exponential":
            return Exponential(spread_us, min_us=one_way_us)
        return LogNormal(spread_us, self.sigma, min_us=one_way_us)


_JITTER_FORMS = ("normal", "exponential", "lognormal")


def parse_jitter(value: object) -> Jitter:
    """Jitter from a share ("5%": normal), {exponential: 5%} or {lognormal: {median, sigma}}."""
    if isinstance(value, Jitter):
        return value
    if not isinstance(value, Mapping):
        return Jitter(parse_probability(value))
    fields = Fields(value, _JITTER_FORMS, "jitter")
    if len(value) != 1:
        fields.errors.append(FieldError(dict(value), "exactly one form of jitter"))
    fields.done()
    ((form, share),) = value.items()
    if form == "lognormal" and isinstance(share, Mapping):
        return fields.attempt_done("lognormal", _parse_lognormal)
    return Jitter(fields.attempt_done(form, parse_probability), form)


def _parse_lognormal(value: object) -> Jitter:
    fields = Fields(value, ("median", "sigma"), "lognormal")
    share = fields.need("median", parse_probability, 'a share such as "5%"')
    sigma = fields.read("sigma", _parse_sigma, 1.0)
    return fields.build(lambda: Jitter(share, "lognormal", sigma))


def _parse_sigma(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 10:
        return float(value)
    raise FieldError(value, "a number from 0 to 10 such as 0.5")


def parse_rtt_matrix(value: object) -> RttMatrix:
    """A matrix by the name of a preset, or {names: [...], rtt: [[...], ...], zone: 90us}."""
    if isinstance(value, RttMatrix):
        return value
    if isinstance(value, str):
        from sim.presets import rtt_matrix

        return rtt_matrix(value)
    fields = Fields(value, ("names", "rtt", "zone"), "matrix")
    names = fields.need("names", _parse_names, "a list of region names")
    rtt_us = fields.need("rtt", _parse_rows, "a list of rows of durations")
    zone_us = fields.read("zone", parse_duration, None)
    return fields.build(lambda: RttMatrix(names, rtt_us, zone_us))


def _items(value: object, allowed: str) -> Sequence[object]:
    if isinstance(value, (list, tuple)):
        return value
    raise FieldError(value, allowed)


def _parse_names(value: object) -> tuple[str, ...]:
    return tuple(map(str, _items(value, "a list of region names")))


def _parse_rows(value: object) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(_cell(cell, i, j) for j, cell in enumerate(_items(row, "a row of durations")))
        for i, row in enumerate(_items(value, "a list of rows of durations"))
    )


def _cell(value: object, i: int, j: int) -> int:
    try:
        return parse_duration(value)
    except FieldError as error:
        raise error.under(i, j) from None
