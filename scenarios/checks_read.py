"""Reading the checks of a scenario: ids of :data:`scenarios.checks.CHECKS` with parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from scenarios.checks import CHECKS, Check
from scenarios.model import CheckSpec
from scenarios.values_read import each, listed
from sim.fields import FieldError, Fields, unknown_name
from sim.units import parse_duration

__all__ = ["parse_checks"]


def parse_checks(value: object) -> tuple[CheckSpec, ...]:
    """The checks in a list of ids and {id: {parameters}}; FieldErrors with all mistakes."""
    return tuple(each(listed(value, "[{strong-completeness: {bound: 10s}}]"), _parse_check))


def _parse_check(value: object) -> CheckSpec:
    """An id alone, or {id: {parameters}}."""
    name, given = value, None
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise FieldError(dict(value), "one check in each line: an id or {id: {bound: 10s}}")
        ((name, given),) = value.items()
    if not isinstance(name, str) or name not in CHECKS:
        path = (str(name),) if isinstance(value, Mapping) else ()
        raise unknown_name(name, CHECKS, "a check", path)
    try:
        return _parse_check_parameters(CHECKS[name], {} if given is None else given)
    except FieldError as error:
        raise error.under(*([name] if isinstance(value, Mapping) else [])) from None


def _parse_check_parameters(check: Check, given: object) -> CheckSpec:
    known = {name.removesuffix("_us"): name for name in check.parameters}
    if not known and given != {}:
        raise FieldError(given, f"nothing: {check.id} has no parameters")
    fields = Fields(given, known, check.id)
    found: dict[str, Any] = {}
    for key, name in known.items():
        default = check.parameters[name]
        read = parse_duration if name.endswith("_us") else partial(_like, default)
        if default is None:
            what = f'a duration, such as {check.id}: {{{key}: "10s"}}'
            found[name] = fields.need(key, read, what)
        elif key in fields.value:
            found[name] = fields.attempt(key, read)
    fields.done()
    return CheckSpec(check.id, found)


def _like(default: object, value: object) -> object:
    """A value of the kind of the default: text, whole number or number."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise FieldError(value, "a text or a number")
    if isinstance(default, str) != isinstance(value, str):
        raise FieldError(value, "a text" if isinstance(default, str) else "a number")
    if isinstance(default, int) and not isinstance(value, int):
        raise FieldError(value, "a whole number")
    return value
