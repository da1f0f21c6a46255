"""ShiViz logs: parsed with ShiViz's rules, as its own sample log can be."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.interop.shiviz import PARSER, shiviz_log, shiviz_text
from sim.trace_order import vector_clocks
from sim.trace_read import Trace
from tests.sim.synthetic_traces import Settings, make_trace, traces

SAMPLE = r"\[akka://Broadcast/user/(?<host>\S+)\] (?<clock>\{.*?\}) (?<event>.*)"


class Logged(NamedTuple):
    host: str
    clock: dict[str, int]
    event: str


def parse(text: str, parser: str) -> list[Logged]:
    """What ShiViz's parser gives: every match of the expression, wherever it is in the text."""
    pattern = re.compile(re.sub(r"\(\?<(\w+)>", r"(?P<\1>", parser))
    return [Logged(m["host"], json.loads(m["clock"]), m["event"]) for m in pattern.finditer(text)]


def mistakes(log: list[Logged]) -> list[str]:
    """What ShiViz refuses: own clocks that do not count from 1, names or times of no event."""
    found: list[str] = []
    counts: dict[str, int] = {}
    for entry in log:
        counts[entry.host] = counts.get(entry.host, 0) + 1
        if entry.clock.get(entry.host) != counts[entry.host]:
            found.append(f"own clock {entry.clock} of {entry.host}, expected {counts[entry.host]}")
    for entry in log:
        for host, time in entry.clock.items():
            if not 1 <= time <= counts.get(host, 0):
                found.append(f"{entry.clock} names {host}:{time}")
    return found


def body(text: str) -> str:
    parser, delimiter, log = text.split("\n", 2)
    assert (parser, delimiter) == (PARSER, "")
    return log


@given(traces(), st.booleans())
def test_the_log_obeys_the_rules_of_shiviz(trace: Trace, environment: bool) -> None:
    log = parse(body(shiviz_text(trace, environment=environment)), PARSER)
    assert mistakes(log) == []
    lines = len(list(shiviz_log(trace, environment=environment)))
    assert len(log) * 2 == lines
    if environment:
        assert len(log) == len(trace.events)


@given(traces())
def test_the_clocks_are_the_vector_clocks_of_the_trace(trace: Trace) -> None:
    off_node = ("fault", "heal", "drop", "duplicate", "delay", "hold", "corrupt")
    clocks = vector_clocks(trace)
    expected = [c for c, e in zip(clocks, trace.events, strict=True) if e["kind"] not in off_node]
    log = parse(body(shiviz_text(trace)), PARSER)
    assert [entry.clock for entry in log] == expected


def test_a_small_log() -> None:
    value = {"$": "Ping", "number": 1}
    events: list[dict[str, Any]] = [
        {"id": 0, "t": 0, "node": "n1", "kind": "start", "cause": None},
        {"id": 1, "t": 0, "node": "n 2%", "kind": "start", "cause": None},
        {"id": 2, "t": 1_500, "node": "n 2%", "kind": "message", "cause": 0}
        | {"src": "n1", "index": 0, "value": value},
        {"id": 3, "t": 2_000, "node": "n 2%", "kind": "drop", "cause": 0}
        | {"src": "n1", "index": 1, "value": "a\nb", "reason": "loss"},
        {
            "id": 4,
            "t": 2_500,
            "node": None,
            "kind": "fault",
            "cause": None,
            "fault": 0,
            "text": "x",
        },
        {"id": 5, "t": 2_500, "node": "n1", "kind": "crash", "cause": 4},
    ]
    trace = Trace({}, events, "")
    assert list(shiviz_log(trace)) == [
        '0 n1 {"n1":1}',
        "start",
        '0 n%202%25 {"n%202%25":1}',
        "start",
        '1500 n%202%25 {"n%202%25":2,"n1":1}',
        "message Ping(number=1) from n1",
        '2500 n1 {"n1":2}',
        "crash",
    ]
    assert list(shiviz_log(trace, environment=True))[6:] == [
        '2000 (network) {"n1":1,"(network)":1}',
        "drop a\\nb from n1 (loss)",
        '2500 (nemesis) {"(nemesis)":1}',
        "fault 0: x",
        '2500 n1 {"n1":2,"(nemesis)":1}',
        "crash",
    ]


def test_a_node_that_joins_again_is_another_host() -> None:
    trace = make_trace(Settings(events=60, faults=[(500, "leave", "n1")]))
    hosts = [entry.host for entry in parse(body(shiviz_text(trace)), PARSER)]
    assert "n1#2" in hosts


def test_mistakes_are_seen() -> None:
    good = [Logged("a", {"a": 1}, ""), Logged("b", {"a": 1, "b": 1}, "")]
    assert mistakes(good) == []
    assert mistakes([Logged("a", {"a": 2}, "")])
    assert mistakes([*good, Logged("b", {"b": 3}, "")])
    assert mistakes([*good, Logged("b", {"b": 2, "a": 2}, "")])
    assert mistakes([*good, Logged("b", {"b": 2, "c": 1}, "")])


def sample() -> str:
    root = Path(__file__).resolve().parents[2]
    data = Path(os.environ.get("SPLITBRAIN_SHARED_DATA", root.parent / "shared" / "data"))
    path = data / "shiviz" / "simple-reliable-broadcast.log"
    if not path.exists():
        pytest.skip(f"third-party sample log not found in {data}")
    return path.read_text(encoding="utf-8")


def test_the_sample_of_shiviz_has_the_same_structure() -> None:
    theirs = parse(sample(), SAMPLE)
    assert len(theirs) > 30
    assert mistakes(theirs) == []
    ours = parse(body(shiviz_text(make_trace())), PARSER)
    for log in (theirs, ours):
        received = [entry for entry in log if len(entry.clock) > 1]
        assert received  # clocks grow by what was received, one line names one host
        assert all(entry.host in entry.clock for entry in log)
