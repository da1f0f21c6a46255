"""Fault plans as data: everything that will go wrong in a run, one line per fault.

A plan is read from a scenario file, drawn by :mod:`sim.nemesis`, edited in the viewer and shrunk
by taking faults out; `parse_plan` and `to_values` are exact opposites, so that none of these loses
anything. ``docs/faults.md`` lists every fault with an example.

    - {at: 5s, until: 15s, partition: [[n1, n2], [n3, n4, n5]]}
    - {at: 20s, for: 3s, crash: leader}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from sim.faults import NAMES, Fault
from sim.fields import FieldError, FieldErrors, Fields, did_you_mean, unknown_name
from sim.plan_forms import FORMS, Form, Option, default_of
from sim.plan_schema import plan_schema
from sim.plan_targets import Setting
from sim.plan_words import describe
from sim.units import format_duration, parse_duration

__all__ = ["Plan", "describe", "parse_plan", "plan_schema", "to_values"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The faults of a run. Their order matters only between faults that begin at the same time."""

    faults: tuple[Fault, ...] = ()

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.faults)

    def __len__(self) -> int:
        return len(self.faults)

    def validate(
        self,
        *,
        nodes: Iterable[str],
        roles: Iterable[str] | None = None,
        racks: Iterable[str] = (),
        zones: Iterable[str] = (),
        regions: Iterable[str] = (),
        duration_us: int | None = None,
    ) -> None:
        """FieldErrors unless the plan could have been written in a file for this setting.

        For plans made or edited in code; what `parse_plan` returns is valid already.
        """
        read = parse_plan(
            to_values(self),
            nodes=nodes,
            roles=roles,
            racks=racks,
            zones=zones,
            regions=regions,
            duration_us=duration_us,
        )
        for index, (mine, theirs) in enumerate(zip(self.faults, read.faults, strict=True)):
            if mine != theirs:
                raise FieldErrors([FieldError(mine, f"the same as {theirs}", path=(index,))])

    def shifted(self, us: int) -> Plan:
        """The same faults ``us`` later (earlier, if negative; ValueError if one began before 0)."""
        first = min((fault.at_us for fault in self.faults), default=0)
        if self.faults and first + us < 0:
            raise ValueError(
                f"a shift by {format_duration(us)} moves the first fault, at "
                f"{format_duration(first)}, before 0; at most {format_duration(-first)} is possible"
            )
        return Plan(tuple(_shifted(fault, us) for fault in self.faults))

    def without(self, index: int) -> Plan:
        """The plan less the fault at ``index`` (from 0); IndexError if there is none."""
        self._check_index(index)
        return Plan(self.faults[:index] + self.faults[index + 1 :])

    def replace(self, index: int, fault: Fault) -> Plan:
        """The plan with another fault at ``index`` (from 0); IndexError if there is none."""
        self._check_index(index)
        return Plan((*self.faults[:index], fault, *self.faults[index + 1 :]))

    def sorted(self) -> Plan:
        """The faults in the order in which they begin; those that begin together keep theirs."""
        return Plan(tuple(sorted(self.faults, key=lambda fault: fault.at_us)))

    def last_end_us(self) -> int:
        """The last moment at which a fault begins or ends, 0 for an empty plan.

        A fault without an end counts with its beginning: nothing changes after it.
        """
        return max((_end_us(fault) for fault in self.faults), default=0)

    def _check_index(self, index: int) -> None:
        if not 0 <= index < len(self.faults):
            raise IndexError(f"no fault {index} in a plan of {len(self.faults)}, counted from 0")


def _shifted(fault: Fault, us: int) -> Fault:
    until_us = None if fault.until_us is None else fault.until_us + us
    return replace(fault, at_us=fault.at_us + us, until_us=until_us)


def _end_us(fault: Fault) -> int:
    return fault.at_us if fault.until_us is None else fault.until_us


# -- writing --------------------------------------------------------------------------------------


def to_values(plan: Plan) -> list[dict[str, object]]:
    """The lines of ``plan`` as plain data for YAML or JSON, which `parse_plan` reads back."""
    return [_fault_value(fault) for fault in plan.faults]


def _fault_value(fault: Fault) -> dict[str, object]:
    word = NAMES[type(fault)]
    form = FORMS[word]
    value: dict[str, object] = {"at": format_duration(fault.at_us)}
    if fault.until_us is not None:
        value["until"] = format_duration(fault.until_us)
    value[word] = form.subject.write(fault)
    for option in form.options:
        if _is_shown(option, fault):
            value[option.key] = option.write(getattr(fault, option.field))
    return value


def _is_shown(option: Option, fault: Fault) -> bool:
    default = default_of(type(fault), option.field)
    return option.needed or getattr(fault, option.field) != default or option.shown(fault)


# -- reading --------------------------------------------------------------------------------------

_WINDOW = ("at", "until", "for")
_MOMENT = 'a moment such as "5s"'
_SAYINGS = {
    "drop": "write link: all, loss: 100%",
    "heal": "a partition heals at its until",
    "kill": "did you mean 'crash'?",
    "restart": "did you mean 'recover'?",
    "start": "did you mean 'recover'?",
    "stop": "did you mean 'crash' or 'pause'?",
}


def parse_plan(
    values: object,
    *,
    nodes: Iterable[str],
    roles: Iterable[str] | None = None,
    racks: Iterable[str] = (),
    zones: Iterable[str] = (),
    regions: Iterable[str] = (),
    duration_us: int | None = None,
) -> Plan:
    """The plan written as a list of mappings, one per fault (None: an empty plan).

    ``nodes``, ``racks``, ``zones``, ``regions`` are the names that may be aimed at, in the order
    in which errors list them. ``roles`` None accepts any word that doesn't look like a node.
    FieldErrors holds every mistake in every line, each with its path such as (2, "until").
    """
    setting = Setting(
        tuple(nodes),
        None if roles is None else tuple(roles),
        tuple(racks),
        tuple(zones),
        tuple(regions),
        duration_us,
    )
    if not isinstance(values, (list, tuple, type(None))):
        raise FieldErrors([FieldError(values, "a list of faults, one per line")])
    return Plan(tuple(_parse_all(values or (), setting)))


def _parse_all(values: Iterable[object], setting: Setting) -> list[Fault]:
    faults: list[Fault] = []
    errors: list[FieldError] = []
    for index, value in enumerate(values):
        try:
            faults.append(_parse_fault(value, setting))
        except FieldError as error:
            errors.append(error.under(index))
    if errors:
        raise FieldErrors(errors)
    return faults


def _parse_fault(value: object, setting: Setting) -> Fault:
    if not isinstance(value, Mapping):
        raise FieldError(value, "a mapping such as {at: 5s, crash: n1}")
    words = [word for word in FORMS if word in value]
    if len(words) != 1:
        return _refuse(value, words, setting)
    form = FORMS[words[0]]
    fields = _fields(value, words[0], form)
    found = _parse_window(fields, setting) | _parse_parts(fields, words[0], form, setting)
    form.check(fields)
    return fields.build(lambda: form.fault(**found))


def _fields(value: Mapping[object, object], word: str, form: Form) -> Fields:
    """The line as Fields, without the end that a fault of one moment cannot have."""
    ends = {key: value[key] for key in ("until", "for") if key in value and not form.lasting}
    window = _WINDOW if form.lasting else ("at",)
    keys = (*window, word, *(option.key for option in form.options))
    fields = Fields({key: one for key, one in value.items() if key not in ends}, keys, word)
    allowed = f"no end: {word} happens at one moment"
    fields.errors += [FieldError(given, allowed, path=(key,)) for key, given in ends.items()]
    return fields


def _parse_parts(fields: Fields, word: str, form: Form, setting: Setting) -> dict[str, Any]:
    """Whom the fault hits and its options, by the names of the fields."""
    parts = fields.attempt(word, lambda value: form.subject.parse(value, setting)) or {}
    for option in form.options:
        if option.needed:
            parts[option.field] = fields.need(option.key, option.parse, option.allowed)
        elif option.key in fields.value:
            parts[option.field] = fields.attempt(option.key, option.parse)
    return parts


def _parse_window(fields: Fields, setting: Setting) -> dict[str, Any]:
    """``at_us`` and ``until_us``; mistakes are noted in ``fields``."""
    at_us = cast("int | None", fields.need("at", parse_duration, _MOMENT))
    if at_us is not None and setting.duration_us is not None and at_us > setting.duration_us:
        allowed = f"at most the duration of the run, {format_duration(setting.duration_us)}"
        fields.errors.append(FieldError(fields.value["at"], allowed, path=("at",)))
    if "until" in fields.value and "for" in fields.value:
        hint = "keep one of them"
        error = FieldError(fields.value["for"], "for or until, not both", path=("for",), hint=hint)
        fields.errors.append(error)
    until_us = fields.read("until", parse_duration, None)
    for_us = fields.read("for", parse_duration, None)
    if at_us is not None and until_us is not None and until_us <= at_us:
        allowed = f"a moment after at, {format_duration(at_us)}"
        fields.errors.append(FieldError(fields.value["until"], allowed, path=("until",)))
    if for_us == 0:
        error = FieldError(fields.value["for"], 'a duration above 0 such as "3s"', path=("for",))
        fields.errors.append(error)
    if at_us is not None and for_us is not None:
        until_us = at_us + for_us
    return {"at_us": at_us, "until_us": until_us}


def _refuse(value: Mapping[object, object], words: list[str], setting: Setting) -> Fault:
    """Raise what is wrong with a line that has no fault word, or several."""
    if words:
        hint = "write one line for each"
        errors = [FieldError(words, "one fault in a line", hint=hint)]
    else:
        errors = _wordless(value)
    window = Fields({key: value[key] for key in _WINDOW if key in value}, _WINDOW, "a fault")
    _parse_window(window, setting)
    raise FieldErrors([*errors, *window.errors])


def _wordless(value: Mapping[object, object]) -> list[FieldError]:
    beside = _option_owners()
    others = [key for key in value if key not in _WINDOW]
    unknown = [key for key in others if key not in beside]
    if unknown:
        return [_unknown_fault(key) for key in unknown]
    hint = f"{others[0]} stands beside {beside[str(others[0])]}" if others else ""
    return [FieldError(dict(value), f"a line with a fault: {', '.join(FORMS)}", hint=hint)]


def _unknown_fault(key: object) -> FieldError:
    path = (key if isinstance(key, int) else str(key),)
    if key in _SAYINGS and not did_you_mean(key, FORMS):
        allowed = f"a fault: {', '.join(FORMS)}"
        return FieldError(key, allowed, path=path, hint=_SAYINGS[str(key)])
    return unknown_name(key, FORMS, "a fault", path)


def _option_owners() -> dict[str, str]:
    """For each option the fault words beside which it may stand."""
    owners: dict[str, list[str]] = {}
    for word, form in FORMS.items():
        for option in form.options:
            owners.setdefault(option.key, []).append(word)
    return {key: " or ".join(words) for key, words in owners.items()}
