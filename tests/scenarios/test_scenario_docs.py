"""docs/scenarios.md: every example is read, every table is complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from protocols.detectors.catalogue import KINDS
from scenarios import registry
from scenarios.checks import CHECKS
from scenarios.loader import ScenarioError, from_bytes, from_value, library, load
from scenarios.metrics import METRICS
from scenarios.overrides import parse_assignment, with_overrides
from scenarios.reading import KEYS
from scenarios.runner import run_scenario
from scenarios.workload_read import operations_of
from scenarios.yaml_read import read_yaml
from sim.latency import LATENCY_FORMS
from sim.shapes import SHAPES

PAGE = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```([^\n]*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FIRST = next(text for kind, text in BLOCKS if kind == "yaml scenario")


def blocks(kind: str) -> list[tuple[str, str]]:
    """(the word after the kind, the text) of all blocks that begin with ``kind``."""
    begin = f"yaml {kind}"
    return [(info[len(begin) :].strip(), text) for info, text in BLOCKS if info.startswith(begin)]


def scenario_with(**more: Any) -> None:
    raw = {"name": "x", "title": "X", "protocol": "heartbeat", "nodes": 6, "duration": "20s"}
    from_value({**raw, **more})


def value(text: str) -> Any:
    document = read_yaml(text.encode())
    assert not document.flaws
    return document.value


def test_the_first_scenario_runs_and_its_checks_hold() -> None:
    scenario = from_bytes(FIRST.encode())
    for seed in scenario.seeds:
        assert run_scenario(scenario, seed, trace=False).verdict.verdict == "ok"


@pytest.mark.parametrize(("protocol", "text"), blocks("parameters"))
def test_parameters(protocol: str, text: str) -> None:
    scenario_with(protocol=protocol, parameters=value(text))


@pytest.mark.parametrize("key", ["link", "topology", "checks"])
def test_values_of_a_key(key: str) -> None:
    assert blocks(key)
    for _, text in blocks(key):
        scenario_with(**{key: value(text)})


@pytest.mark.parametrize(("protocol", "text"), blocks("workload"))
def test_workloads(protocol: str, text: str) -> None:
    scenario_with(protocol=protocol, workload=value(text))


def test_the_wrong_file_is_told_so_word_by_word() -> None:
    at = next(at for at, (kind, _) in enumerate(BLOCKS) if kind == "yaml wrong")
    with pytest.raises(ScenarioError) as caught:
        from_bytes(BLOCKS[at][1].encode(), Path("mine.yaml"))
    assert f"{caught.value}\n" == BLOCKS[at + 1][1]


def test_single_values_can_be_set() -> None:
    (lines,) = [text for kind, text in BLOCKS if kind == "set"]
    changes = dict(map(parse_assignment, lines.splitlines()))
    assert len(changes) == len(lines.splitlines())
    from_value(with_overrides(value(FIRST), changes))


def test_the_own_protocol_is_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = [text for kind, text in BLOCKS if kind == "python"]
    (tmp_path / "docs_own.py").write_text(f"from protocols.api import NodeId, process\n\n{code}")
    monkeypatch.syspath_prepend(tmp_path)
    scenario_with(protocol="docs_own:Table", parameters={"a": "1"})


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = section[section.index("\n|") :].strip().split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table]


def test_the_tables_are_complete() -> None:
    assert [row[0] for row in rows("Keys")] == [f"`{key}`" for key in KEYS]
    assert [row[:2] for row in rows("Checks and metrics")] == [
        [f"`{check.id}`", check.text] for check in CHECKS.values()
    ]
    assert [row for row in rows("The library")] == [
        [f"`{name}`", load(name).title] for name in library()
    ]


def test_protocols_and_their_operations() -> None:
    assert rows("Protocols and parameters") == [
        [
            f"`{protocol.name}`",
            protocol.summary,
            ", ".join(f"`{name}`" for name in operations_of(protocol.cls)),
        ]
        for protocol in registry.PROTOCOLS.values()
    ]


def test_check_parameters() -> None:
    for row, check in zip(rows("Checks and metrics"), CHECKS.values(), strict=True):
        assert re.findall(r"`([a-z]+)`", re.sub(r"\(.*?\)", "", row[2])) == [
            name.removesuffix("_us") for name in check.parameters
        ]


@pytest.mark.parametrize(
    "names",
    [KINDS, METRICS, LATENCY_FORMS, SHAPES, registry.AUTOMATIC],
    ids=["detectors", "metrics", "latencies", "shapes", "automatic"],
)
def test_lists_are_complete(names: Any) -> None:
    assert [name for name in names if f"`{name}`" not in PAGE] == []
