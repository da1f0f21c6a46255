"""The JSON Schemas of what stands in several places: latencies, links, topologies, the nemesis."""

from __future__ import annotations

from typing import Any, get_args

from sim.latency import LATENCY_FORMS
from sim.links import LINK_KEYS
from sim.nemesis_spec import WORDS, Mode
from sim.presets import RTT_PRESETS
from sim.shapes import SHAPES

__all__ = ["Schema", "mapping", "parts", "ref"]

Schema = dict[str, Any]

_NUMBER = r"[0-9]{1,18}(\.[0-9]{1,18})?"
_BARE_SHAPES = ("full", "ring", "line", "star", "grid", "tree")
_WHOLE: Schema = {"type": "integer", "minimum": 0}
_COUNT: Schema = {"type": "integer", "minimum": 1}
_NULL: Schema = {"type": "null"}


def ref(name: str) -> Schema:
    """A reference to the definition of that name."""
    return {"$ref": f"#/$defs/{name}"}


def mapping(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """A mapping with these keys and no others."""
    made: Schema = {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "additionalProperties": False,
    }
    return made | ({"required": list(required)} if required else {})


def parts() -> dict[str, Schema]:
    """The definitions, by name. They need those of :func:`sim.plan.plan_schema`."""
    return {
        "latency": _latency(),
        "range": {"type": "string", "pattern": rf"^\s*{_NUMBER}.*\.\..*{_NUMBER}"},
        "link": _link(),
        "topology": _topology(),
        "nemesis": _nemesis(),
        "clock": mapping({}, {"offset": ref("signed_duration"), "ppm": {"type": "integer"}}),
    }


def _one_form(forms: dict[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": forms,
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }


def _latency() -> Schema:
    duration, number = ref("duration"), {"type": "number"}
    pair = {"type": "array", "items": duration, "minItems": 2, "maxItems": 2}
    forms: dict[str, Schema] = {
        "constant": duration,
        "uniform": {"anyOf": [ref("range"), pair]},
        "normal": mapping({"mean": duration, "sd": duration}, {"min": duration}),
        "exponential": mapping({"mean": duration}, {"min": duration}),
        "lognormal": mapping({"median": duration, "sigma": number}, {"min": duration}),
        "pareto": mapping({"scale": duration, "alpha": number}, {"cap": duration}),
        "empirical": {"type": "array", "items": duration, "minItems": 1},
        "shifted": mapping({"base": ref("latency"), "offset": ref("signed_duration")}),
    }
    assert forms.keys() == LATENCY_FORMS.keys()
    return {
        "description": "A delay: 10ms, 30ms..40ms, or one law such as {exponential: {mean: 20ms}}.",
        "anyOf": [duration, ref("range"), _one_form(forms)],
    }


def _link() -> Schema:
    share = ref("probability")
    burst = {
        "anyOf": [
            mapping({"loss": share, "length": {"type": "number", "minimum": 1}}),
            mapping(
                {"p_good_to_bad": share, "p_bad_to_good": share},
                {"loss_good": share, "loss_bad": share},
            ),
            _NULL,
        ]
    }
    reorder = {"anyOf": [share, mapping({"probability": share}, {"extra": ref("latency")})]}
    quantity = {"anyOf": [{"type": "string", "pattern": rf"^\s*{_NUMBER}"}, {"const": 0}, _NULL]}
    keys: dict[str, Schema] = {
        "latency": ref("latency"),
        "loss": share,
        "burst": burst,
        "duplicate": share,
        "reorder": reorder,
        "corrupt": share,
        "corrupt_mode": {"enum": ["drop", "deliver"]},
        "bandwidth": quantity,
        "queue": quantity,
        "fifo": {"type": "boolean"},
    }
    assert tuple(keys) == LINK_KEYS
    return {
        "description": "A directed link: its latency alone, or what it does to messages.",
        "anyOf": [ref("latency"), mapping({}, keys)],
    }


def _topology() -> Schema:
    node, seed = {"type": "string"}, _WHOLE
    nothing = {"anyOf": [_NULL, {"type": "object", "maxProperties": 0}]}
    edge = {"type": "array", "prefixItems": [node, node, ref("link")], "minItems": 2, "maxItems": 3}
    groups = {
        "type": "object",
        "additionalProperties": {"type": "array", "items": node},
    }
    share = ref("probability")
    shapes: dict[str, Schema] = {
        "full": nothing,
        "ring": nothing,
        "line": nothing,
        "star": nothing,
        "grid": {"anyOf": [_NULL, mapping({}, {"width": _COUNT})]},
        "tree": {"anyOf": [_NULL, mapping({}, {"branching": _COUNT})]},
        "random_regular": mapping({"degree": _WHOLE}, {"seed": seed}),
        "erdos_renyi": mapping({"p": share}, {"seed": seed}),
        "watts_strogatz": mapping({"k": {"type": "integer"}, "p": share}, {"seed": seed}),
        "barabasi_albert": mapping({"m": _COUNT}, {"seed": seed}),
        "edges": {"type": "array", "items": edge},
        "regions": _regions(),
    }
    assert shapes.keys() == {"full", *SHAPES, "edges", "regions"}
    options: dict[str, Schema] = {
        "link": ref("link"),
        "zones": groups,
        "racks": groups,
        "mode": {"enum": ["links", "hops"]},
        "weight": {"enum": ["latency", "hops", None]},
    }
    pairs = [{"required": [a, b]} for a in shapes for b in shapes if a < b]
    return {
        "description": "Who can talk to whom: one shape, and options.",
        "anyOf": [
            _NULL,
            {"enum": list(_BARE_SHAPES)},
            {**mapping({}, {**shapes, **options}), "not": {"anyOf": pairs}},
        ],
    }


def _regions() -> Schema:
    listed = {"type": "array", "minItems": 1}
    places = {"anyOf": [listed, {"type": "object"}]}
    rows = {"type": "array", "items": {"type": "array", "items": ref("duration")}}
    own = mapping({"names": listed, "rtt": rows}, {"zone": ref("duration")})
    share = ref("probability")
    lognormal = mapping({"median": share}, {"sigma": {"type": "number"}})
    laws: dict[str, Schema] = {
        "normal": share,
        "exponential": share,
        "lognormal": {"anyOf": [share, lognormal]},
    }
    jitter = {"anyOf": [share, _one_form(laws)]}
    given = {"matrix": {"anyOf": [{"enum": list(RTT_PRESETS)}, own]}, "jitter": jitter}
    return {"anyOf": [listed, mapping({"place": places}, given)]}


def _nemesis() -> Schema:
    moment, names = ref("duration"), {"type": "array", "items": {"type": "string"}, "minItems": 1}
    keys: dict[str, Schema] = {
        "intensity": ref("probability"),
        "budget": _COUNT,
        "mode": {"enum": list(get_args(Mode))},
        "kinds": {
            "description": f"Fault words ({', '.join(WORDS)}) or finer names.",
            "anyOf": [{"type": "string"}, names],
        },
        "start": moment,
        "stop": moment,
        "heal_at": moment,
        "max_down": _WHOLE,
        "sole_roles": {"anyOf": [{"type": "string"}, {"type": "array"}]},
    }
    return {"description": "Draws random faults, added to those listed.", **mapping({}, keys)}
