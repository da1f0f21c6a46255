"""Changing a scenario from the command line: ``parameters.interval=500ms``, ``faults.0.for=5s``.

A path names keys and list indexes (from 0), joined by dots; a check may be named by its id
(``checks.strong-completeness.bound``). Only what a scenario file could say can be set.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from scenarios import registry
from scenarios.problems import Problem, ScenarioError, dotted
from scenarios.reading import KEYS
from scenarios.schema_parts import parts
from scenarios.yaml_read import UnreadableError, read_yaml
from sim.fields import FieldError, unknown_name
from sim.links import LINK_KEYS

__all__ = ["parse_assignment", "with_overrides"]

Raw = dict[str, Any]
Path = tuple[str | int, ...]
_SOURCE = "--set"


def parse_assignment(text: str) -> tuple[str, Any]:
    """``nodes=7`` → ("nodes", 7): a path and a value in YAML; ScenarioError if it is neither."""
    path, equals, value = text.partition("=")
    path = path.strip()
    if not equals or not path:
        raise _refused((), text, "path=value such as parameters.interval=500ms")
    try:
        document = read_yaml(value.encode("utf-8", "surrogatepass"))
    except UnreadableError as stop:
        raise _refused((path,), value, stop.error.allowed, stop.error.hint) from None
    for flaw in document.flaws:
        raise _refused((path,), flaw.error.given, flaw.error.allowed, flaw.error.hint)
    return path, document.value


def with_overrides(raw: Mapping[str, Any], changes: Mapping[str, Any]) -> Raw:
    """A copy of a scenario's plain data in which each path has its new value.

    ScenarioError for a path to nothing, naming the keys that there are. Whether the values are
    right is for :func:`scenarios.loader.from_value` to say.
    """
    changed: Raw = deepcopy(dict(raw))
    problems: list[Problem] = []
    for path, value in changes.items():
        try:
            _set(changed, path.split("."), deepcopy(value))
        except FieldError as error:
            problems += _refused(error.path, error.given, error.allowed, error.hint).problems
    if problems:
        raise ScenarioError(problems)
    return changed


def _refused(path: Path, given: object, allowed: str, hint: str = "") -> ScenarioError:
    return ScenarioError([Problem(_SOURCE, 0, 0, dotted(path), given, allowed, hint)])


def _set(raw: Raw, steps: list[str], value: Any) -> None:
    inside: Any = raw
    path: Path = ()
    *others, last = steps
    for step in others:
        if path[:-1] == ("checks",) and step == _id(raw["checks"][path[-1]]):
            continue  # the id after the index says nothing new
        key = _place(raw, inside, path, step)
        path = (*path, key)
        inside = _opened(inside, key, path)
    inside[_place(raw, inside, path, last)] = value


def _place(raw: Raw, inside: Any, path: Path, step: str) -> str | int:
    """The key or index that a step of a path means."""
    if isinstance(inside, list):
        return _index(inside, path, step)
    known = _known(raw, path)
    if step in inside or known is None or step in known:
        return step
    names = dict.fromkeys((*inside, *known))
    where = dotted(path) or "a scenario"
    raise unknown_name(step, names, f"the keys of {where}", (*path, step))


def _index(inside: list[Any], path: Path, step: str) -> int:
    if step.isascii() and step.isdigit() and len(step) < 9 and int(step) < len(inside):
        return int(step)
    ids = [_id(one) for one in inside] if path == ("checks",) else []
    if step in ids:
        return ids.index(step)
    if not inside:
        raise FieldError(step, "nothing: the list is empty", path=(*path, step))
    named = f", or one of {', '.join(map(str, ids))}" if ids else ""
    raise FieldError(step, f"an index from 0 to {len(inside) - 1}{named}", path=(*path, step))


def _id(check: Any) -> Any:
    """The id of a check that may have parameters."""
    return next(iter(check), None) if isinstance(check, dict) else check


def _opened(inside: Any, key: Any, path: Path) -> Any:
    """The collection at ``key``; one is made where nothing or a short form stands."""
    value = inside[key] if isinstance(inside, list) else inside.get(key)
    if path[0] == "checks" and len(path) == 2:
        return _parameters_of_check(inside, key, value)
    if isinstance(value, (dict, list)):
        return value
    if value is not None and path != ("link",):
        raise FieldError(value, "a mapping or a list to go into", path=path)
    made: Raw = {} if value is None else {"latency": value}
    inside[key] = made
    return made


def _parameters_of_check(checks: list[Any], index: int, check: Any) -> Raw:
    """The parameters of the check at ``index``, whose id alone may stand there."""
    name = _id(check)
    if not isinstance(name, str):
        raise FieldError(check, "a check: an id or {id: {parameters}}", path=("checks", index))
    held = check.get(name) if isinstance(check, dict) else None
    parameters: Raw = held if isinstance(held, dict) else {}
    checks[index] = {name: parameters}
    return parameters


def _known(raw: Raw, path: Path) -> tuple[str, ...] | None:
    """The keys that may stand at ``path``; None: the loader says so later."""
    if path == ():
        return KEYS
    if path == ("link",):
        return LINK_KEYS
    if path == ("parameters",):
        return _parameters(raw)
    if path == ("nemesis",):
        return tuple(parts()["nemesis"]["properties"])
    return None


def _parameters(raw: Raw) -> tuple[str, ...] | None:
    try:
        protocol = registry.resolve(raw.get("protocol"))
        return tuple(registry.parameter_names(protocol))
    except FieldError:  # what is wrong with the protocol is said when the scenario is read
        return None
