"""Reading scenarios: what a file says, and that no bytes whatever give anything but an answer."""

from __future__ import annotations

import copy
import json
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.values import SECOND
from scenarios.loader import (
    LIBRARY,
    ScenarioError,
    find,
    from_bytes,
    from_value,
    library,
    load,
    parse_scenario_plan,
    read_raw,
)
from scenarios.model import CheckSpec, Scenario, WorkItem
from sim.faults import Crash, Target
from sim.latency import Constant, Uniform
from sim.plan import to_values

SMALL = b"""\
name: small
title: Two nodes
protocol: rumor
nodes: 2
duration: 10s
"""


def small(**more: Any) -> dict[str, Any]:
    raw = {"name": "small", "title": "Two nodes", "protocol": "rumor", "nodes": 2}
    return {**raw, "duration": "10s", **more}


def problems(raw: object) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        from_value(raw)
    return [str(problem) for problem in caught.value.problems]


# -- what a file says -----------------------------------------------------------------------------


def test_what_is_left_out_has_its_default() -> None:
    scenario = from_bytes(SMALL)
    assert scenario.nodes == ("n1", "n2")
    assert scenario.duration_us == 10 * SECOND
    assert scenario.seeds == (1,)
    assert scenario.topology.uniform is not None
    assert scenario.topology.uniform.latency == Constant(1_000)
    assert (scenario.text, scenario.parameters, scenario.workload) == ("", {}, ())
    assert (scenario.checks, scenario.metrics, len(scenario.faults)) == ((), (), 0)
    assert (scenario.service, scenario.disk_sync, scenario.nemesis) == (None, None, None)
    assert (scenario.random_ties, scenario.source) == (False, None)


def test_everything_that_can_be_said() -> None:
    scenario = from_value(
        small(
            text="two\nlines",
            parameters={"mode": "pull", "k": None, "period": "2s"},
            nodes=["a", "b"],
            link={"loss": "1%"},
            topology={"ring": None, "link": {"latency": "5ms"}},
            service="100us",
            disk={"sync": "1ms..2ms"},
            clocks={"a": {"offset": "-10ms", "ppm": 50}},
            workload=[
                {"at": "1s", "node": "a", "invoke": "Publish", "with": {"rumor": "r"}},
                {
                    **{"at": "2s", "every": "1s", "times": 3, "node": {"random": 1}},
                    **{"invoke": "Publish", "with": {"rumor": "r{i}"}},
                },
            ],
            faults=[{"at": "3s", "for": "1s", "crash": "b"}],
            nemesis={"mode": "liveness", "heal_at": "8s"},
            checks=[{"delivered-to-all": {"bound": "1.5s"}}, "converged"],
            metrics=["gossip", "operations"],
            seeds="3..5",
            random_ties=True,
        )
    )
    link = scenario.topology.link("a", "b")
    assert link is not None
    assert (link.latency, link.loss) == (Constant(5_000), 0.01)
    assert scenario.service == Constant(100)
    assert scenario.disk_sync == Uniform(1_000, 2_000)
    assert scenario.clocks == {"a": (-10_000, 50)}
    assert scenario.workload == (
        WorkItem(SECOND, "Publish", {"rumor": "r"}, "a"),
        WorkItem(2 * SECOND, "Publish", {"rumor": "r{i}"}, None, SECOND, 3),
    )
    crash = Crash(at_us=3 * SECOND, until_us=4 * SECOND, targets=(Target("node", "b"),))
    assert tuple(scenario.faults) == (crash,)
    assert scenario.nemesis is not None
    assert scenario.nemesis.heal_at_us == 8 * SECOND
    assert scenario.checks == (
        CheckSpec("delivered-to-all", {"bound_us": 1_500_000}),
        CheckSpec("converged", {}),
    )
    assert scenario.metrics == ("gossip", "operations")
    assert (scenario.seeds, scenario.random_ties) == ((3, 4, 5), True)


def test_raw_is_the_content_of_the_file_and_reads_again() -> None:
    scenario = load("detectors-five-regions")
    assert json.loads(json.dumps(scenario.raw)) == scenario.raw
    again = from_value(scenario.raw)
    assert (again.checks, again.faults, again.raw) == (
        scenario.checks,
        scenario.faults,
        scenario.raw,
    )


def test_raw_is_a_copy() -> None:
    raw = small(link={"loss": "1%"})
    scenario = from_value(raw)
    raw["link"]["loss"] = "2%"
    assert scenario.raw["link"] == {"loss": "1%"}


def test_json_is_read_as_well(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(json.dumps(small(), indent=1))
    scenario = load(file)
    assert (scenario.name, scenario.source) == ("small", file)


def test_a_file_may_begin_with_a_byte_order_mark() -> None:
    assert from_bytes(b"\xef\xbb\xbf" + SMALL).name == "small"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("off", "off"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("-7", -7),
        ("1_000", "1_000"),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("~", None),
        ("", None),
        ("2024-01-01", "2024-01-01"),
        ("12:30:00", "12:30:00"),
        ('"1"', "1"),
        ("True", True),
        ("1e5", 100_000.0),
        ("=", "="),
    ],
)
def test_plain_values_are_those_of_yaml_1_2(text: str, value: object) -> None:
    from scenarios.yaml_read import read_yaml

    found = read_yaml(f"a: {text}\n".encode()).value
    assert found == {"a": value}
    assert type(found["a"]) is type(value)


def test_keys_are_text() -> None:
    from scenarios.yaml_read import read_yaml

    assert read_yaml(b"1: a\ntrue: b\nnull: c\n").value == {"1": "a", "true": "b", "null": "c"}


def test_durations_are_exact() -> None:
    assert from_value(small(duration="0.100001s")).duration_us == 100_001


@pytest.mark.parametrize(("seeds", "found"), [(7, (7,)), ([3, 1], (3, 1)), ("2..4", (2, 3, 4))])
def test_seeds(seeds: object, found: tuple[int, ...]) -> None:
    assert from_value(small(seeds=seeds)).seeds == found


# -- mistakes -------------------------------------------------------------------------------------


def test_a_mistake_in_full() -> None:
    with pytest.raises(ScenarioError) as caught:
        from_bytes(SMALL.replace(b"10s", b"10") + b"sedes: [1]\n", Path("x.yaml"))
    assert str(caught.value).splitlines() == [
        "x.yaml:5:11: duration: given 10, allowed: a duration with a unit (us, ms, s, m, h, d) "
        'such as "150ms", or 0; add a unit: "10ms"',
        "x.yaml:6:1: sedes: given 'sedes', allowed: the keys of a scenario: name, title, text, "
        "protocol, parameters, nodes, topology, link, service, disk, clocks, workload, traffic, "
        "faults, "
        "nemesis, checks, metrics, duration, seeds, random_ties; did you mean 'seeds'?",
    ]


def test_a_mistake_in_plain_data_has_no_line() -> None:
    assert problems(small(nodes=0)) == [
        "<scenario>: nodes: given 0, allowed: a whole number, at least 1 and at most 100000"
    ]


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        "x",
        {1: 2},
        small(text=b"x"),
        small(text=float("nan")),
        small(clocks={None: {}}),
        small(nodes={"n1"}),
    ],
)
def test_what_is_no_plain_data_is_refused(raw: object) -> None:
    assert len(problems(raw)) == 1


def test_data_that_contains_itself_is_refused() -> None:
    raw = small()
    raw["parameters"] = raw
    assert "at most 40 levels" in problems(raw)[0]


def test_errors_survive_a_process_boundary() -> None:
    with pytest.raises(ScenarioError) as caught:
        from_value(small(nodes=0))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.problems) == (str(caught.value), caught.value.problems)


def test_an_alias_spoils_only_its_own_value() -> None:
    with pytest.raises(ScenarioError) as caught:
        from_bytes(SMALL.replace(b"10s", b"&d 10") + b"text: *d\n")
    assert [problem.field for problem in caught.value.problems] == ["duration", "text"]


# -- finding --------------------------------------------------------------------------------------


def test_the_library_is_found_by_name() -> None:
    assert find("detectors-five-regions") == LIBRARY / "detectors-five-regions.yaml"
    assert "detectors-five-regions" in library()
    assert library() == sorted(library())


def test_a_path_wins_over_nothing(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_bytes(SMALL)
    assert find(file) == find(str(file)) == file


@pytest.mark.parametrize(
    "name", ["detectors-five-region", "no/such/file.yaml", "", "a\0b", "x" * 999]
)
def test_an_unknown_name_lists_the_library(name: str) -> None:
    with pytest.raises(ScenarioError, match="a scenario of the library: anti-entropy"):
        load(name)


def test_an_unknown_name_is_compared_with_the_library() -> None:
    with pytest.raises(ScenarioError, match="did you mean 'detectors-five-regions'"):
        find("detector-five-regions")


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.yaml"
    file.write_bytes(SMALL)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ScenarioError, match="given 'Permission denied', allowed: a file to read"):
        load(file)


def test_raw_data_for_overrides() -> None:
    assert read_raw("nfd-s")["nodes"] == 2


def test_raw_data_of_a_broken_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_bytes(SMALL + b"nodes: 3\n")
    with pytest.raises(ScenarioError, match=r":6:1: nodes: given 'nodes', allowed: each key once"):
        read_raw(file)
    file.write_bytes(b"- 1\n")
    with pytest.raises(ScenarioError, match="a mapping with name"):
        read_raw(file)


# -- plans ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", library())
def test_a_plan_reads_back_as_it_was_written(name: str) -> None:
    scenario = load(name)
    assert parse_scenario_plan(to_values(scenario.faults), scenario) == scenario.faults


def test_a_wrong_plan_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"faults\[0\].crash: given 'n3'"):
        parse_scenario_plan([{"at": "1s", "crash": "n3"}], from_value(small()))


# -- any bytes at all -----------------------------------------------------------------------------


@cache
def content(name: str) -> bytes:
    return (LIBRARY / f"{name}.yaml").read_bytes()


def answered(data: bytes) -> None:
    """A scenario or a ScenarioError, which can be said; anything else fails the test."""
    try:
        found = from_bytes(data)
    except ScenarioError as error:
        assert error.problems
        str(error).encode()
    else:
        assert isinstance(found, Scenario)


names = st.sampled_from(library())


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(data: bytes) -> None:
    answered(data)


@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    answered(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=120)
@given(names, st.data())
def test_files_with_lines_gone_doubled_and_swapped_are_answered(name: str, data: Any) -> None:
    lines = content(name).splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        to = data.draw(st.integers(0, len(lines) - 1))
        what = data.draw(st.sampled_from(["gone", "doubled", "swapped", "indented"]))
        if what == "gone":
            lines[at] = b""
        elif what == "doubled":
            lines[at] = lines[at] + lines[at]
        elif what == "swapped":
            lines[at], lines[to] = lines[to], lines[at]
        else:
            lines[at] = b"  " + lines[at]
    answered(b"".join(lines))


@settings(max_examples=80)
@given(names, st.data())
def test_files_with_random_bytes_in_them_are_answered(name: str, data: Any) -> None:
    text = bytearray(content(name))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.binary(max_size=3) | st.sampled_from([b"[", b"]", b"{", b"}", b": ", b"&a ", b"*a"])
        )
    answered(bytes(text))


odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([10**17, -(10**17), 0.5, -1.5, 1e300]),
    st.sampled_from(["", "n1", "all", "5s", "0", "-5ms", "50%", "1..3", "2s..1s", "rumor", "x:y"]),
    st.sampled_from(["leader", "ring", "fixed", "qos", "Publish", "{i}", "converged", "ä\n"]),
    st.recursive(
        st.none() | st.integers(0, 5) | st.sampled_from(["n1", "5s", "a"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["n1", "at", "link", "use", "1"]), inner, max_size=3)
        ),
        max_leaves=6,
    ),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values of a tree but its root."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [p for key, one in inner for p in [(*path, key), *places(one, (*path, key))]]


@cache
def tree(name: str) -> dict[str, Any]:
    return read_raw(name)


@settings(max_examples=300)
@given(names, st.data())
def test_trees_with_values_of_other_kinds_are_answered(name: str, data: Any) -> None:
    raw = copy.deepcopy(tree(name))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(places(raw)))
        inside = raw
        for step in way:
            inside = inside[step]
        inside[last] = data.draw(odd_values)
    try:
        assert isinstance(from_value(raw), Scenario)
    except ScenarioError as error:
        assert error.problems
        str(error).encode()
