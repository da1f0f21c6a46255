"""The JSON Schema of a scenario file, for editors: what to complete, what to underline.

It says what can be said without knowing the nodes, the topology and the times; the loader says
the rest. Whatever the loader accepts, the schema accepts.
"""

from __future__ import annotations

from typing import Any

from scenarios import registry
from scenarios.checks import CHECKS, Check
from scenarios.metrics import METRICS
from scenarios.reading import KEYS
from scenarios.schema_parts import Schema, mapping, parts, ref
from scenarios.traffic_read import TRAFFIC_KEYS
from scenarios.values_read import MAX_NODES, NAME, NODE_ID
from scenarios.workload_read import MAX_CALLS, operations_of
from sim.plan import plan_schema

__all__ = ["schema"]

_TEXT: Schema = {"type": "string"}
_REQUIRED = ("name", "title", "protocol", "nodes", "duration")


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario file, as JSON-like data."""
    fault = plan_schema()
    definitions = {**fault.pop("$defs"), **parts()}
    fault.pop("$schema")
    definitions["fault"] = fault
    keys = _keys()
    assert keys.keys() == set(KEYS)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "splitbrain scenario",
        "description": "A protocol, a network, what goes wrong, and how the run is judged.",
        "type": "object",
        "properties": keys,
        "required": list(_REQUIRED),
        "additionalProperties": False,
        "allOf": [_bundled(protocol) for protocol in registry.PROTOCOLS.values()],
        "$defs": definitions,
    }


def _keys() -> dict[str, Schema]:
    protocols = list(registry.PROTOCOLS)
    said: dict[str, tuple[str, Schema]] = {
        "name": (
            "How the scenario is called: words joined by hyphens.",
            {**_TEXT, "pattern": f"^{NAME}$", "maxLength": 80},
        ),
        "title": ("One line.", {**_TEXT, "pattern": r"^\s*\S([^\n]*\S)?\s*$"}),
        "text": ("For humans: what happens and what to look at.", _TEXT),
        "protocol": (
            "A bundled protocol or package.module:Class.",
            {"anyOf": [{"enum": protocols}, {**_TEXT, "pattern": r"^[^:\s]+:[^:\s]+$"}]},
        ),
        "parameters": ("Of the protocol; a time x_us is written x: 1s.", _nullable("object")),
        "nodes": ("How many (n1, n2, ...), or their ids.", _nodes()),
        "topology": ("Who can talk to whom.", ref("topology")),
        "link": ("Every link that says nothing else.", ref("link")),
        "service": ("How long a step keeps a node busy.", ref("latency")),
        "disk": ("How long a sync takes.", mapping({"sync": ref("latency")})),
        "clocks": (
            "Offset and drift by node.",
            {"type": "object", "additionalProperties": ref("clock")},
        ),
        "workload": ("Client operations.", {"type": "array", "items": _work_item()}),
        "traffic": (
            "Clients that keep the servers busy.",
            {"type": ["object", "null"], "propertyNames": {"enum": list(TRAFFIC_KEYS)}},
        ),
        "faults": ("What goes wrong.", {"anyOf": [_list_of(ref("fault")), {"type": "null"}]}),
        "nemesis": ("Random faults.", {"anyOf": [ref("nemesis"), {"type": "null"}]}),
        "checks": ("What must hold.", _list_of(_check())),
        "metrics": ("What to measure.", _list_of({"enum": list(METRICS)})),
        "duration": ("How long the run is.", ref("positive_duration")),
        "seeds": ("Which runs belong to the scenario.", _seeds()),
        "random_ties": (
            "Draw the order of simultaneous events.",
            {"type": "boolean"},
        ),
    }
    return {key: {"description": text, **one} for key, (text, one) in said.items()}


def _nullable(kind: str) -> Schema:
    return {"type": [kind, "null"]}


def _list_of(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _nodes() -> Schema:
    ids = {**_TEXT, "pattern": f"^{NODE_ID}$", "not": {"const": "all"}}
    listed = {"type": "array", "items": ids, "minItems": 1, "uniqueItems": True}
    return {"anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_NODES}, listed]}


def _seeds() -> Schema:
    seed = {"type": "integer", "minimum": 0}
    listed = {"type": "array", "items": seed, "minItems": 1, "uniqueItems": True}
    span = {**_TEXT, "pattern": r"^\s*[0-9]{1,18}\s*\.\.\s*[0-9]{1,18}\s*$"}
    return {"anyOf": [seed, listed, span]}


def _work_item() -> Schema:
    random = mapping({"random": {"const": 1}})
    required = {
        "at": ref("duration"),
        "node": {"anyOf": [_TEXT, random]},
        "invoke": _TEXT,
    }
    optional: dict[str, Schema] = {
        "every": ref("positive_duration"),
        "times": {"type": "integer", "minimum": 1, "maximum": MAX_CALLS},
        "with": _nullable("object"),
    }
    together = {"every": ["times"], "times": ["every"]}
    return {**mapping(required, optional), "dependentRequired": together}


def _check() -> Schema:
    """An id alone where nothing is required, or {id: {parameters}}."""
    bare = [check.id for check in CHECKS.values() if None not in check.parameters.values()]
    forms = [
        {"title": check.id, "description": check.text, **mapping({check.id: _parameters(check)})}
        for check in CHECKS.values()
    ]
    return {"anyOf": [{"enum": bare}, *forms]}


def _parameters(check: Check) -> Schema:
    required: dict[str, Schema] = {}
    optional: dict[str, Schema] = {}
    for name, default in check.parameters.items():
        kind = ref("duration") if name.endswith("_us") else _kind_of(default)
        (required if default is None else optional)[name.removesuffix("_us")] = kind
    made = mapping(required, optional)
    return made if required else {"anyOf": [made, {"type": "null"}]}


def _kind_of(default: object) -> Schema:
    if isinstance(default, str):
        return _TEXT
    return {"type": "integer" if isinstance(default, int) else "number"}


def _bundled(protocol: registry.Protocol) -> Schema:
    """What parameters and operations there are, if the protocol is this one."""
    chosen = {"properties": {"protocol": {"const": protocol.name}}, "required": ["protocol"]}
    parameters = registry.parameters_schema(protocol)
    operations = {"enum": list(operations_of(protocol.cls))}
    then: Schema = {
        "properties": {
            "parameters": {"anyOf": [parameters, {"type": "null"}]},
            "workload": {"items": {"properties": {"invoke": operations}}},
        }
    }
    return {"if": chosen, "then": then}
