"""Reading latency laws from scenario files; the laws themselves are in `sim.latency_laws`.

A law is written as "10ms", as "30ms..40ms" or as one form with its parameters, and every law
writes itself back with `to_value()`. Both modules are one subject: import all names from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from sim.fields import FieldError, FieldErrors, Fields, unknown_name
from sim.latency_laws import (
    Constant,
    Empirical,
    Exponential,
    Latency,
    LogNormal,
    Normal,
    Pareto,
    Shifted,
    Uniform,
)
from sim.units import parse_duration

__all__ = [
    "LATENCY_FORMS",
    "Constant",
    "Empirical",
    "Exponential",
    "Latency",
    "LogNormal",
    "Normal",
    "Pareto",
    "Shifted",
    "Uniform",
    "parse_latency",
]

_LATENCY = (
    'a latency such as "10ms", "30ms..40ms", {exponential: {mean: 20ms}}; the forms are '
    "constant, uniform, normal, exponential, lognormal, pareto, empirical, shifted"
)


def parse_latency(value: object) -> Latency:
    """A latency from plain data: "10ms", "30ms..40ms" or one form `{name: parameters}`.

    {uniform: [30ms, 40ms]}, {normal: {mean, sd, min}}, {exponential: {mean, min}},
    {lognormal: {median, sigma, min}}, {pareto: {scale, alpha, cap}}, {empirical: [1ms, 2ms]},
    {constant: 10ms}, {shifted: {base, offset}}. A `Latency` is returned as it is.
    FieldError (with all mistakes in `errors`) names the path, what was given and what is allowed.
    """
    if isinstance(value, Latency):
        return value
    if isinstance(value, Mapping):
        return _parse_form(value)
    if isinstance(value, str) and ".." in value:
        return _parse_range(value)
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return Constant(parse_duration(value))
    raise FieldError(value, _LATENCY)


def _parse_form(value: Mapping[object, object]) -> Latency:
    if len(value) != 1:
        raise FieldError(dict(value), _LATENCY, hint="give exactly one form")
    ((name, parameters),) = value.items()
    if not isinstance(name, str) or name not in LATENCY_FORMS:
        raise unknown_name(name, LATENCY_FORMS, "a form of latency", (str(name),))
    try:
        return LATENCY_FORMS[name](parameters)
    except FieldError as error:
        raise error.under(name) from None


def _parse_range(value: str) -> Latency:
    low, _, high = value.partition("..")
    return Uniform(parse_duration(low), parse_duration(high))


def _parse_constant(value: object) -> Latency:
    return Constant(parse_duration(value))


def _parse_uniform(value: object) -> Latency:
    if isinstance(value, str) and ".." in value:
        return _parse_range(value)
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise FieldError(value, "[low, high] such as [30ms, 40ms]")
    return Uniform(*_durations(value))


def _parse_empirical(value: object) -> Latency:
    if not isinstance(value, (list, tuple)):
        raise FieldError(
            value,
            "a list of recorded delays such as [1ms, 2ms, 7ms]",
            hint="scenario files stay self-contained: write the samples into the list",
        )
    return Empirical(_durations(value))


def _durations(values: list[object] | tuple[object, ...]) -> tuple[int, ...]:
    found: list[int] = []
    errors: list[FieldError] = []
    for index, value in enumerate(values):
        try:
            found.append(parse_duration(value))
        except FieldError as error:
            errors.append(error.under(index))
    if errors:
        raise FieldErrors(errors)
    return tuple(found)


def _number(value: object, allowed: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise FieldError(value, allowed, hint="a plain number, without a unit")


_A_DURATION = 'a duration such as "10ms"'
_SIGMA = partial(_number, allowed="a number from 0 to 10 such as 0.5")
_ALPHA = partial(_number, allowed="a number from 0.1 to 1000 such as 2.5")


def _parse_normal(value: object) -> Latency:
    fields = Fields(value, ("mean", "sd", "min"), "normal")
    mean_us = fields.need("mean", parse_duration, _A_DURATION)
    sd_us = fields.need("sd", parse_duration, _A_DURATION)
    min_us = fields.read("min", parse_duration, 0)
    return fields.build(lambda: Normal(mean_us, sd_us, min_us))


def _parse_exponential(value: object) -> Latency:
    fields = Fields(value, ("mean", "min"), "exponential")
    mean_us = fields.need("mean", parse_duration, _A_DURATION)
    min_us = fields.read("min", parse_duration, 0)
    return fields.build(lambda: Exponential(mean_us, min_us))


def _parse_lognormal(value: object) -> Latency:
    fields = Fields(value, ("median", "sigma", "min"), "lognormal")
    median_us = fields.need("median", parse_duration, _A_DURATION)
    sigma = fields.need("sigma", _SIGMA, "a number from 0 to 10 such as 0.5")
    min_us = fields.read("min", parse_duration, 0)
    return fields.build(lambda: LogNormal(median_us, sigma, min_us))


def _parse_pareto(value: object) -> Latency:
    fields = Fields(value, ("scale", "alpha", "cap"), "pareto")
    scale_us = fields.need("scale", parse_duration, _A_DURATION)
    alpha = fields.need("alpha", _ALPHA, "a number from 0.1 to 1000 such as 2.5")
    cap_us = fields.read("cap", parse_duration, None)
    return fields.build(lambda: Pareto(scale_us, alpha, cap_us))


def _parse_shifted(value: object) -> Latency:
    fields = Fields(value, ("base", "offset"), "shifted")
    base = fields.need("base", parse_latency, _LATENCY)
    signed = partial(parse_duration, allow_negative=True)
    offset_us = fields.need("offset", signed, 'a duration such as "5ms" or "-5ms"')
    return fields.build(lambda: Shifted(base, offset_us))


LATENCY_FORMS: Mapping[str, Callable[[object], Latency]] = {
    "constant": _parse_constant,
    "uniform": _parse_uniform,
    "normal": _parse_normal,
    "exponential": _parse_exponential,
    "lognormal": _parse_lognormal,
    "pareto": _parse_pareto,
    "empirical": _parse_empirical,
    "shifted": _parse_shifted,
}
