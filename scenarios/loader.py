"""Loading scenarios: from the library by name, from a file, from plain data.

    scenario = load("detectors-five-regions")
    scenario = load("my-scenario.yaml")

Whatever the bytes of a file are, the answer is a `Scenario` or a `ScenarioError` that lists every
mistake with its line. A scenario may name a protocol ``package.module:Class``: that module is
imported, so that loading a stranger's scenario runs a stranger's code only if it is there already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from scenarios import registry
from scenarios.model import Scenario
from scenarios.problems import Problem, ScenarioError, dotted
from scenarios.reading import read_scenario
from scenarios.yaml_read import (
    MAX_BYTES,
    MAX_DEPTH,
    Document,
    Positions,
    UnreadableError,
    read_yaml,
)
from sim.fields import FieldError, FieldErrors, did_you_mean
from sim.plan import Plan, parse_plan

__all__ = [
    "LIBRARY",
    "ScenarioError",
    "find",
    "from_bytes",
    "from_value",
    "library",
    "load",
    "parse_scenario_plan",
    "read_raw",
]

LIBRARY = Path(__file__).parent / "library"
_ENDINGS = (".yaml", ".yml", ".json")
_IN_MEMORY = "<scenario>"


def library() -> list[str]:
    """The names of the scenarios that come with splitbrain, sorted."""
    return sorted(path.stem for path in LIBRARY.glob("*.yaml"))


def find(name_or_path: str | Path) -> Path:
    """The file of a library scenario or of a path; ScenarioError if there is neither."""
    text = str(name_or_path)
    if isinstance(name_or_path, str) and text in library():
        return LIBRARY / f"{text}.yaml"
    path = Path(text)
    if _is_file(path):
        return path
    names = library()
    allowed = f"a file, or a scenario of the library: {', '.join(names)}"
    raise ScenarioError([Problem(text, 0, 0, "", text, allowed, did_you_mean(text, names))])


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, or with a null character
        return False


def load(name_or_path: str | Path) -> Scenario:
    """The scenario of a library name or of a file; ScenarioError with all its mistakes."""
    path = find(name_or_path)
    return from_bytes(_content(path), path)


def read_raw(name_or_path: str | Path) -> dict[str, Any]:
    """The plain data of a scenario file, for overrides; ScenarioError if it can't be read."""
    path = find(name_or_path)
    document = _document(_content(path), str(path))
    if document.flaws or not isinstance(document.value, dict):
        _refuse(document, None, str(path))
    found: dict[str, Any] = document.value
    return found


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        told = error.strerror or str(error)
        raise ScenarioError([Problem(str(path), 0, 0, "", told, "a file to read")]) from None


def from_bytes(data: bytes, source: Path | None = None) -> Scenario:
    """The scenario in the content of a file; ScenarioError with all its mistakes."""
    file = str(source) if source is not None else _IN_MEMORY
    document = _document(data, file)
    if document.flaws:
        _refuse(document, source, file)
    return from_value(document.value, source, document.positions)


def from_value(raw: object, source: Path | None = None, lines: Positions | None = None) -> Scenario:
    """The scenario that plain data says; ``lines`` tells where in ``source`` each value stands."""
    file = str(source) if source is not None else _IN_MEMORY
    try:
        return read_scenario(_as_scenario(raw), source)
    except FieldError as error:
        raise ScenarioError(_problems(error.errors, file, lines)) from None


def _as_scenario(raw: object) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        allowed = "a scenario: a mapping with name, title, protocol, nodes, duration, ..."
        raise FieldError(raw, allowed)
    plain: dict[str, Any] = _plain(raw, 0)
    return plain


def _plain(value: object, depth: int) -> Any:
    """A copy of plain data; FieldError for what no file can say."""
    if depth > MAX_DEPTH:
        raise FieldError("deeper data", f"at most {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {_key(key): _plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one, depth + 1) for one in value]
    finite = not isinstance(value, float) or isfinite(value)
    if finite and isinstance(value, (str, int, float, bool, type(None))):
        return value
    raise FieldError(value, "plain data: mappings, lists, texts, numbers, true, false, null")


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    raise FieldError(key, "texts as keys")


# -- mistakes and their places --------------------------------------------------------------------


def _document(data: bytes, file: str) -> Document:
    try:
        return read_yaml(data)
    except UnreadableError as stop:
        raise ScenarioError([_problem(stop.error, file, stop.place)]) from None


def _refuse(document: Document, source: Path | None, file: str) -> None:
    """Raise what reading found wrong, and what else is wrong in the rest of the file."""
    try:
        read_scenario(_as_scenario(document.value), source)
        errors: Sequence[FieldError] = ()
    except FieldError as error:
        errors = error.errors
    spoiled = [flaw.error.path for flaw in document.flaws]
    others = [e for e in errors if not any(e.path[: len(path)] == path for path in spoiled)]
    found = [_problem(flaw.error, file, flaw.place) for flaw in document.flaws]
    found += _problems(others, file, document.positions)
    raise ScenarioError(_in_order(found))


def _problems(errors: Sequence[FieldError], file: str, lines: Positions | None) -> list[Problem]:
    if lines is None:
        return [_problem(error, file, (0, 0)) for error in errors]
    return _in_order(_problem(e, file, lines.of(e.path, key=_is_key(e))) for e in errors)


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Each problem once, in the order of the file."""
    once = {str(problem): problem for problem in problems}
    return sorted(once.values(), key=lambda problem: (problem.line, problem.column))


def _is_key(error: FieldError) -> bool:
    """Whether the mistake is the key itself (unknown, given twice) and not its value."""
    return bool(error.path) and error.given == error.path[-1]


def _problem(error: FieldError, file: str, place: tuple[int, int]) -> Problem:
    return Problem(file, *place, dotted(error.path), error.given, error.allowed, error.hint)


# -- plans ----------------------------------------------------------------------------------------


def parse_scenario_plan(values: object, scenario: Scenario) -> Plan:
    """The fault plan in ``values`` (of a trace header, an edited file) for ``scenario``.

    ScenarioError with all mistakes.
    """
    topology = scenario.topology
    try:
        return parse_plan(
            values,
            nodes=scenario.nodes,
            roles=registry.roles(scenario.protocol),
            racks=topology.names("rack"),
            zones=topology.names("zone"),
            regions=topology.names("region"),
            duration_us=scenario.duration_us,
        )
    except FieldError as error:
        errors = FieldErrors([error]).under("faults").errors
        raise ScenarioError(_problems(errors, _IN_MEMORY, None)) from None
