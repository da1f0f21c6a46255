"""What a nemesis may do: how much, when, which kinds of fault, and whether all must heal.

Read from a scenario file by `parse_nemesis`; the public way in is :mod:`sim.nemesis`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast, get_args

from sim.fields import FieldError, FieldErrors, Fields, parse_whole, unknown_name
from sim.nemesis_kinds import KINDS, Kind
from sim.units import format_duration, parse_duration, parse_probability

__all__ = ["EXCLUDED_FROM_LIVENESS", "WORDS", "NemesisSpec", "kinds_named", "parse_nemesis"]

Mode = Literal["safety", "liveness"]

EXCLUDED_FROM_LIVENESS: Mapping[str, str] = {
    name: kind.harm for name, kind in KINDS.items() if kind.harm
}
"""Kinds that are never drawn in liveness mode, each with what it would leave behind."""

WORDS = tuple(dict.fromkeys(kind.word for kind in KINDS.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class NemesisSpec:
    """What the nemesis may do; FieldErrors says everything that is wrong with it.

    intensity    in (0, 1]: up to which part of the budget is spent, how long faults last (up to
                 half of it, as a part of the time), how strong they are
    budget       most lines of a drawn plan
    kinds        names of `KINDS`, or fault words for all variants; None: all that the mode permits
    start_us     faults begin from here on and before `stop_us`
    heal_at_us   liveness: every fault has ended by then; None: `stop_us`
    max_down     most nodes down or paused at once; None: a minority, (n - 1) // 2, in liveness
                 mode, no limit in safety mode
    sole_roles   roles that never more than one node holds, by the caller's word: under a limit
                 only these may be crashed or paused by role, since others may hit any number
    """

    stop_us: int
    intensity: float = 0.5
    budget: int = 10
    mode: Mode = "safety"
    kinds: tuple[str, ...] | None = None
    start_us: int = 0
    heal_at_us: int | None = None
    max_down: int | None = None
    sole_roles: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        errors = [*self._amount_errors(), *self._kind_errors(), *self._time_errors()]
        if errors:
            raise FieldErrors(errors)

    def _amount_errors(self) -> Iterable[FieldError]:
        if not 0 < self.intensity <= 1:
            allowed = 'a number above 0 and at most 1, or a share such as "50%"'
            yield FieldError(self.intensity, allowed, path=("intensity",))
        if self.budget < 1:
            yield FieldError(self.budget, "at least 1 fault", path=("budget",))
        if self.max_down is not None and self.max_down < 0:
            yield FieldError(self.max_down, "at least 0 nodes", path=("max_down",))
        if self.mode not in get_args(Mode):
            yield unknown_name(self.mode, get_args(Mode), "a mode", ("mode",))

    def _kind_errors(self) -> Iterable[FieldError]:
        if self.kinds == ():
            yield FieldError([], "at least one kind of fault", path=("kinds",))
        for index, name in enumerate(self.kinds or ()):
            path = ("kinds", index)
            if name not in KINDS and name not in WORDS:
                yield unknown_name(name, (*WORDS, *KINDS), "a kind of fault", path)
            elif self.mode == "liveness" and not any(map(_heals, kinds_named(name))):
                why = "; ".join(dict.fromkeys(kind.harm for kind in kinds_named(name)))
                allowed = "in liveness mode a kind that leaves nothing behind"
                yield FieldError(name, allowed, path=path, hint=f"{name}: {why}")

    def _time_errors(self) -> Iterable[FieldError]:
        if self.start_us < 0:
            yield FieldError(format_duration(self.start_us), "at least 0", path=("start",))
        if self.stop_us <= self.start_us:
            allowed = f"a moment after start, {format_duration(self.start_us)}"
            yield FieldError(format_duration(self.stop_us), allowed, path=("stop",))
        if self.heal_at_us is None:
            return
        given = format_duration(self.heal_at_us)
        if self.mode != "liveness":
            yield FieldError(given, "heal_at only beside mode: liveness", path=("heal_at",))
        if self.heal_at_us < self.stop_us:
            allowed = f"not before stop, {format_duration(self.stop_us)}"
            yield FieldError(given, allowed, path=("heal_at",))

    @property
    def end_us(self) -> int:
        """When all faults that end have ended."""
        return self.stop_us if self.heal_at_us is None else self.heal_at_us

    def most_down(self, nodes: int) -> int | None:
        """How many of so many nodes may be down at once; None: no limit."""
        if self.max_down is not None:
            return min(self.max_down, nodes)
        return (nodes - 1) // 2 if self.mode == "liveness" else None

    def to_value(self) -> dict[str, object]:
        """Plain data for a scenario file, defaults left out; `parse_nemesis` reads it back."""
        heal_at = None if self.heal_at_us is None else format_duration(self.heal_at_us)
        value: dict[str, object] = {
            "intensity": self.intensity,
            "budget": self.budget,
            "mode": self.mode,
            "kinds": None if self.kinds is None else list(self.kinds),
            "start": format_duration(self.start_us),
            "stop": format_duration(self.stop_us),
            "heal_at": heal_at,
            "max_down": self.max_down,
            "sole_roles": list(self.sole_roles) or None,
        }
        return {key: one for key, one in value.items() if one is not None}


def kinds_named(name: str) -> list[Kind]:
    """The kinds that a name of `KINDS` or a fault word stands for."""
    return [kind for kind in KINDS.values() if name in (kind.name, kind.word)]


def _heals(kind: Kind) -> bool:
    return not kind.harm


# -- reading a specification ----------------------------------------------------------------------

_KEYS = (
    *("intensity", "budget", "mode", "kinds", "start", "stop", "heal_at", "max_down"),
    "sole_roles",
)


def parse_nemesis(value: object, *, duration_us: int | None = None) -> NemesisSpec:
    """The specification written as a mapping such as {mode: liveness, budget: 8, heal_at: 30s}.

    Where ``stop`` is missing, faults may begin until ``heal_at``; where both are, during the whole
    run of ``duration_us`` (its first half in liveness mode). FieldErrors holds all mistakes.
    """
    fields = Fields(value, _KEYS, "nemesis")
    heal_at_us = fields.read("heal_at", parse_duration, None)
    safety: Mode = "safety"
    mode = fields.read("mode", _parse_mode, safety)
    found: dict[str, Any] = {
        "mode": mode,
        "heal_at_us": heal_at_us,
        "intensity": fields.read("intensity", parse_probability, 0.5),
        "budget": fields.read("budget", partial(parse_whole, least=1), 10),
        "kinds": fields.read("kinds", _parse_names, None),
        "start_us": fields.read("start", parse_duration, 0),
        "max_down": fields.read("max_down", parse_whole, None),
        "sole_roles": fields.read("sole_roles", _parse_names, None) or (),
        "stop_us": _parse_stop(fields, mode, heal_at_us, duration_us),
    }
    return fields.build(lambda: NemesisSpec(**found))


def _parse_stop(fields: Fields, mode: Mode, heal_at_us: int | None, duration_us: int | None) -> int:
    default = heal_at_us
    if default is None and duration_us is not None:
        default = duration_us // 2 if mode == "liveness" else duration_us
    if default is None:
        return fields.need("stop", parse_duration, 'a moment such as "30s"')
    return fields.read("stop", parse_duration, default)


def _parse_mode(value: object) -> Mode:
    if value not in get_args(Mode):
        raise unknown_name(value, get_args(Mode), "a mode")
    return cast(Mode, value)


def _parse_names(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(one, str) for one in names):
        raise FieldError(value, "a list of names")
    return tuple(names)
