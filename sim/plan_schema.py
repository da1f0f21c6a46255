"""The JSON Schema of one line of a fault plan, made from the table in :mod:`sim.plan_forms`.

Editors use it to complete and check scenario files while they are written. It says everything
that can be said without knowing the scenario; names of nodes and the order of times are left to
`sim.plan.parse_plan`.
"""

from __future__ import annotations

from typing import Any

from sim.plan_forms import FORMS, Form
from sim.plan_targets import BARE_SHAPES, KEYED_SHAPES

__all__ = ["plan_schema"]

Schema = dict[str, Any]

_NUMBER = r"[0-9]{1,18}(\.[0-9]{1,18})?"
_UNITS = "(us|µs|μs|ms|s|m|h|d)"
_ZERO = {"const": 0}


def plan_schema() -> Schema:
    """One fault as a JSON Schema (draft 2020-12): ``oneOf`` with one branch per fault word."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "splitbrain fault",
        "description": "One line of a fault plan: what goes wrong, at whom, from when until when.",
        "type": "object",
        "oneOf": [_branch(word, form) for word, form in FORMS.items()],
        "$defs": _definitions(),
    }


def _branch(word: str, form: Form) -> Schema:
    ends = ("until", "for") if form.lasting else ()
    properties: Schema = {"at": _ref("duration")}
    properties |= {"until": _ref("positive_duration")} if ends else {}
    properties |= {"for": _ref("positive_duration")} if ends else {}
    properties[word] = form.subject.schema
    properties |= {option.key: option.schema for option in form.options}
    needed = [option.key for option in form.options if option.needed]
    branch: Schema = {
        "title": word,
        "description": _summary(form),
        "properties": properties,
        "required": ["at", word, *needed],
        "additionalProperties": False,
    }
    if ends:
        branch["not"] = {"required": list(ends)}
    return branch | (form.rules or {})


def _summary(form: Form) -> str:
    """The first paragraph of the fault's docstring, in one line."""
    paragraph = (form.fault.__doc__ or "").split("\n\n")[0]
    return " ".join(paragraph.replace("``", "").split())


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _text(pattern: str) -> Schema:
    return {"type": "string", "pattern": rf"^\s*{pattern}\s*$"}


def _one_key(key: str, value: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {key: value},
        "required": [key],
        "additionalProperties": False,
    }


def _definitions() -> Schema:
    zero_text = _text(r"[+-]?0(\.0+)?")
    duration = {"anyOf": [_text(rf"\+?{_NUMBER}\s*{_UNITS}"), zero_text, _ZERO]}
    positive = _text(rf"\+?(?=[0-9.]*[1-9]){_NUMBER}\s*{_UNITS}")
    signed = {"anyOf": [_text(rf"[+-]?{_NUMBER}\s*{_UNITS}"), zero_text, _ZERO]}
    share = _text(rf"({_NUMBER}\s*%|{_NUMBER})")
    return {
        "duration": duration,
        "positive_duration": positive,
        "signed_duration": signed,
        "probability": {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, share]},
        **_target_definitions(),
    }


def _target_definitions() -> Schema:
    name: Schema = {"type": "string", "minLength": 1}
    named = [_one_key(kind, name) for kind in ("role", "rack", "zone", "region")]
    random = _one_key("random", {"type": "integer", "minimum": 1})
    group = {"type": "array", "items": _ref("target"), "minItems": 1, "uniqueItems": True}
    ends = {
        "type": "object",
        "properties": {"from": _ref("targets"), "to": _ref("targets")},
        "required": ["from", "to"],
        "additionalProperties": False,
    }
    shapes = [_one_key(shape, _ref("targets")) for shape in KEYED_SHAPES]
    groups = {"type": "array", "items": group, "minItems": 1}
    return {
        "target": {"anyOf": [name, *named, random]},
        "targets": {"anyOf": [_ref("target"), group]},
        "ends": {"anyOf": [_ref("targets"), ends]},
        "partition": {"anyOf": [groups, ends, *shapes, {"enum": list(BARE_SHAPES)}]},
    }
