"""What is wrong with a scenario file: every mistake with its place, and how it is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sim.fields import FieldError

__all__ = ["Problem", "ScenarioError", "dotted", "field_errors"]

Path = tuple[str | int, ...]
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. ``line`` and ``column`` count from 1; 0 where there is no file to point into.

    ``field`` is the dotted path to the value, such as ``faults[2].until`` ("" for the whole file).
    ``given`` None means that something is missing.
    """

    file: str
    line: int
    column: int
    field: str
    given: object
    allowed: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        field = f" {self.field}:" if self.field else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{place}:{field} given {shown(self.given)}, allowed: {self.allowed}{hint}"


class ScenarioError(ValueError):
    """A scenario that cannot be used. ``problems`` holds all its mistakes, one line each in str."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: list[Problem] = list(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[object, ...]:
        return ScenarioError, (self.problems,)


def shown(given: object) -> str:
    """``given`` in one short line of printable ASCII and Unicode letters."""
    text = "nothing" if given is None else repr(given)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def dotted(path: Path) -> str:
    """The path as one writes it: ``faults[2].until``."""
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{_word(step)}" for step in path)
    return steps.removeprefix(".")


def _word(step: str) -> str:
    return step if step.isprintable() and len(step) <= _SHOWN else shown(step)


def field_errors(error: FieldError, prefix: Sequence[str | int] = ()) -> list[FieldError]:
    """The single mistakes of ``error``, each with ``prefix`` before its path."""
    return [single.under(*prefix) for single in error.errors]
