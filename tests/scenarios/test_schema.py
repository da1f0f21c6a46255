"""The JSON Schema against the loader: it accepts what the loader accepts, and refuses structure."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.loader import ScenarioError, from_value, library, read_raw
from scenarios.reading import KEYS
from scenarios.schema import schema
from scenarios.yaml_read import UnreadableError, read_yaml
from tests.scenarios.test_loader import names, odd_values, places, tree

SCHEMA = schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
BAD = Path(__file__).parent / "bad"

# Mistakes that only someone who knows the nodes, the times or the code can see.
NOT_SEEN = {
    "duration-too-exact": "the text has a unit; what it is worth is not a matter of structure",
    "link-queue-alone": "which options go together",
    "monitors-unknown": "names of nodes",
    "nemesis-after-the-end": "order of times",
    "nemesis-too-few-nodes": "how many nodes there are",
    "protocol-no-class": "whether a class exists",
    "protocol-no-module": "whether a module exists",
    "protocol-not-a-process": "what a class is",
    "seeds-backwards": "order of numbers in a text",
    "rumor-refused": "what the protocol itself refuses",
    "topology-racks": "names of nodes",
    "topology-region-fault": "names of regions",
    "topology-unknown-region": "names of regions",
}
# Mistakes in the text of the file, which are gone in the data that a schema sees.
TEXT_ONLY = {
    *("yaml-alias", "yaml-alias-bomb", "yaml-duplicate-key", "yaml-lone-surrogate"),
    "yaml-not-finite",
}


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_it_describes_every_key() -> None:
    assert list(SCHEMA["properties"]) == list(KEYS)
    assert all(one["description"] for one in SCHEMA["properties"].values())


@pytest.mark.parametrize("name", library())
def test_it_accepts_the_library(name: str) -> None:
    VALIDATOR.validate(read_raw(name))


def readable() -> list[str]:
    found = {path.stem for path in BAD.glob("*.yaml") if data_of(path.stem) is not None}
    return sorted(found - TEXT_ONLY)


def data_of(name: str) -> Any:
    """The data of a wrong file as any YAML reader would give it; None if there is none."""
    try:
        return read_yaml((BAD / f"{name}.yaml").read_bytes()).value
    except UnreadableError:
        return None


@pytest.mark.parametrize("name", readable())
def test_it_refuses_what_is_wrong_by_structure(name: str) -> None:
    assert VALIDATOR.is_valid(data_of(name)) == (name in NOT_SEEN)


def test_every_exception_is_a_file() -> None:
    assert {*NOT_SEEN, *TEXT_ONLY} <= {path.stem for path in BAD.glob("*.yaml")}


@settings(max_examples=300)
@given(names, st.data())
def test_it_accepts_whatever_the_loader_accepts(name: str, data: Any) -> None:
    raw = copy.deepcopy(tree(name))
    *way, last = data.draw(st.sampled_from(places(raw)))
    inside = raw
    for step in way:
        inside = inside[step]
    inside[last] = data.draw(odd_values)
    try:
        scenario = from_value(raw)
    except ScenarioError:
        return
    VALIDATOR.validate(dict(scenario.raw))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"protocol": "hartbeat"}, "protocol"),
        ({"parameters": {"intervall": "1s"}}, "parameters"),
        ({"parameters": {"interval": "0s"}}, "parameters"),
        ({"workload": [{"at": "1s", "node": "n1", "invoke": "Publish"}]}, "workload"),
        ({"checks": ["strong-completeness"]}, "checks"),
        ({"faults": [{"at": "1s"}]}, "faults"),
        ({"topology": {"ring": None, "star": None}}, "topology"),
        ({"link": {"latency": {"normal": {"mean": "1ms"}}}}, "link"),
        ({"nemesis": {"mode": "livenes"}}, "nemesis"),
        ({"nodes": []}, "nodes"),
    ],
)
def test_an_error_points_at_the_key(change: dict[str, Any], words: str) -> None:
    raw = {**read_raw("detectors-five-regions"), **change}
    places_of_errors = {error.path[0] for error in VALIDATOR.iter_errors(raw)}
    assert places_of_errors == {words}
