"""Setting single values of a scenario by their path."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios.loader import ScenarioError, from_value, read_raw
from scenarios.overrides import parse_assignment, with_overrides

RAW = read_raw("detectors-five-regions")


def changed(**changes: Any) -> dict[str, Any]:
    return with_overrides(RAW, {path.replace("__", "."): value for path, value in changes.items()})


def refused(path: str, value: Any = 1, raw: dict[str, Any] = RAW) -> str:
    with pytest.raises(ScenarioError) as caught:
        with_overrides(raw, {path: value})
    return str(caught.value)


def test_a_value_is_replaced_and_the_rest_is_kept() -> None:
    again = with_overrides(RAW, {"parameters.interval": "500ms", "nodes": 6})
    assert again["parameters"]["interval"] == "500ms"
    assert again["parameters"]["detectors"] == RAW["parameters"]["detectors"]
    assert again["nodes"] == 6
    assert RAW["parameters"]["interval"] == "1s"


def test_lists_are_indexed_from_0() -> None:
    again = with_overrides({**RAW, "seeds": [1, 2, 3]}, {"faults.1.loss": "50%", "seeds.0": 9})
    assert again["faults"][1]["loss"] == "50%"
    assert again["seeds"] == [9, 2, 3]


def test_a_key_that_may_be_there_is_added() -> None:
    again = with_overrides(RAW, {"parameters.max_local_pause": "4s", "disk.sync": "1ms"})
    assert again["disk"] == {"sync": "1ms"}
    assert from_value(again).disk_sync is not None


def test_a_short_link_is_opened() -> None:
    raw = {**RAW, "link": "5ms"}
    assert with_overrides(raw, {"link.loss": "5%"})["link"] == {"latency": "5ms", "loss": "5%"}


def test_nothing_is_opened() -> None:
    raw = {key: value for key, value in RAW.items() if key != "link"}
    assert with_overrides(raw, {"link.loss": "5%"})["link"] == {"loss": "5%"}
    assert with_overrides({**raw, "link": None}, {"link.loss": "5%"})["link"] == {"loss": "5%"}


def test_a_check_is_named_by_its_id_its_index_or_both() -> None:
    for path in ("0.strong-completeness.bound", "0.bound", "strong-completeness.bound"):
        again = with_overrides(RAW, {f"checks.{path}": "3s"})
        assert again["checks"][0] == {"strong-completeness": {"bound": "3s"}}


def test_a_bare_check_gets_parameters() -> None:
    again = with_overrides({**RAW, "checks": ["converged"]}, {"checks.converged.field": "store"})
    assert again["checks"] == [{"converged": {"field": "store"}}]


def test_a_whole_list_is_replaced() -> None:
    value = [{"at": "1s", "crash": "n1"}]
    again = with_overrides(RAW, {"faults": value})
    assert again["faults"] == value
    assert again["faults"] is not value


def test_an_unknown_key_lists_the_keys() -> None:
    assert refused("parametrs.interval", raw={"name": "x", "nodes": 3}) == (
        "--set: parametrs: given 'parametrs', allowed: the keys of a scenario: name, nodes, title, "
        "text, protocol, parameters, topology, link, service, disk, clocks, workload, "
        "traffic, faults, "
        "nemesis, checks, metrics, duration, seeds, random_ties; did you mean 'parameters'?"
    )


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("parameters.intervall", "the keys of parameters: interval, "),
        ("parameters.intervall", "did you mean 'interval'?"),
        ("link.losss", "the keys of link: loss, latency, burst, "),
        ("nemesis.modus", "the keys of nemesis: intensity, budget, mode, "),
        ("faults.9.loss", "faults.9: given '9', allowed: an index from 0 to 4"),
        ("faults.x.loss", "faults.x: given 'x', allowed: an index from 0 to 4"),
        ("checks.converged.field", "or one of strong-completeness, eventual-strong-accuracy"),
        ("duration.x", "duration: given '240s', allowed: a mapping or a list to go into"),
        ("parameters.interval.x", "given '1s', allowed: a mapping or a list to go into"),
        ("", "given ''"),
        ("a..b", "given 'a'"),
    ],
)
def test_a_path_to_nothing(path: str, words: str) -> None:
    assert words in refused(path)


def test_an_empty_list_has_no_index() -> None:
    assert "the list is empty" in refused("faults.0.loss", raw={**RAW, "faults": []})


def test_a_check_that_is_none() -> None:
    assert "a check: an id" in refused("checks.0.bound", raw={**RAW, "checks": [[1]]})


def test_all_wrong_paths_at_once() -> None:
    with pytest.raises(ScenarioError) as caught:
        with_overrides(RAW, {"nods": 3, "duration": "1s", "seds": [1]})
    assert [problem.field for problem in caught.value.problems] == ["nods", "seds"]


def test_an_unknown_protocol_is_left_to_the_loader() -> None:
    raw = with_overrides({**RAW, "protocol": "no"}, {"parameters.anything": 1})
    assert raw["parameters"]["anything"] == 1


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("nodes=7", "nodes", 7),
        ("parameters.interval=500ms", "parameters.interval", "500ms"),
        ("seeds=[1, 2]", "seeds", [1, 2]),
        ("link={loss: 5%}", "link", {"loss": "5%"}),
        ("text=a=b", "text", "a=b"),
        (" random_ties = true", "random_ties", True),
        ("parameters.k=null", "parameters.k", None),
        ("parameters.k=", "parameters.k", None),
    ],
)
def test_assignments_are_yaml(text: str, path: str, value: object) -> None:
    assert parse_assignment(text) == (path, value)


@pytest.mark.parametrize(
    "text", ["nodes", "=7", " =7", "nodes=[1", "nodes=*a", "nodes=!!x 1", "n=\ud800"]
)
def test_what_is_no_assignment(text: str) -> None:
    with pytest.raises(ScenarioError):
        parse_assignment(text)


def test_overrides_are_checked_by_the_loader() -> None:
    with pytest.raises(ScenarioError, match=r"parameters\.interval: given 5, allowed: a duration"):
        from_value(with_overrides(RAW, {"parameters.interval": 5}))
