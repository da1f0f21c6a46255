"""``splitbrain trace``: events by filters, causes, cones, clocks, ShiViz."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sim.interop.shiviz import shiviz_text
from sim.trace_query import light_cone, why
from sim.trace_read import Trace, read_trace
from tests.scenarios.cli.conftest import Splitbrain


@pytest.fixture
def run(splitbrain: Splitbrain, tiny: Path) -> Path:
    return Path(json.loads(splitbrain("run", tiny, "--json").stdout)["artifacts"]["folder"])


@pytest.fixture
def trace(run: Path) -> Trace:
    return read_trace(run / "trace.jsonl.gz")


def ids(output: str) -> list[int]:
    """The ids of the events in the output, a line each."""
    return [int(line.partition("#")[2].split()[0]) for line in output.splitlines()]


def test_without_a_filter_every_event_has_its_line(
    splitbrain: Splitbrain, run: Path, trace: Trace
) -> None:
    done = splitbrain("trace", run)
    assert (done.exit_code, done.stderr) == (0, "")
    assert ids(done.stdout) == list(range(len(trace.events)))


def test_all_words_of_a_filter_must_fit(splitbrain: Splitbrain, run: Path, trace: Trace) -> None:
    wanted = [e["id"] for e in trace.events if e["kind"] == "message" and e["node"] == "n1"]
    assert wanted
    assert ids(splitbrain("trace", run, "kind=message", "node=n1").stdout) == wanted
    assert ids(splitbrain("trace", run, "kind=message node=n1").stdout) == wanted


def test_a_text_with_blanks_need_not_be_quoted_twice(splitbrain: Splitbrain, run: Path) -> None:
    bare = splitbrain("trace", run, "text=n2 crashes at")
    quoted = splitbrain("trace", run, 'text="n2 crashes at"')
    assert bare.stdout == quoted.stdout
    assert len(bare.stdout.splitlines()) == 2  # the fault begins, the fault ends


def test_a_limit_is_told(splitbrain: Splitbrain, run: Path, trace: Trace) -> None:
    done = splitbrain("trace", run, "--limit", 3)
    assert ids(done.stdout) == [0, 1, 2]
    assert f"3 of {len(trace.events):,} events" in done.stderr
    assert len(ids(splitbrain("trace", run, "--limit", 0).stdout)) == len(trace.events)


def test_nothing_found_is_said_on_stderr(splitbrain: Splitbrain, run: Path) -> None:
    done = splitbrain("trace", run, "node=n9")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "fits" in done.stderr


def test_why_shows_the_causes(splitbrain: Splitbrain, run: Path, trace: Trace) -> None:
    last = max(e["id"] for e in trace.events if e["kind"] == "message")
    done = splitbrain("trace", run, "--why", last)
    assert ids(done.stdout) == [event["id"] for event in why(trace, last)]
    assert all("because #" in line for line in done.stdout.splitlines()[1:])


def test_a_cone_shows_past_and_future(splitbrain: Splitbrain, run: Path, trace: Trace) -> None:
    middle = next(e["id"] for e in trace.events if e["kind"] == "operation")
    past, future = light_cone(trace, middle)
    lines = splitbrain("trace", run, "--cone", middle).stdout.splitlines()
    assert ids("\n".join(lines)) == [*past, middle, *future]
    words = [line.split()[0] for line in lines]
    assert words == ["past"] * len(past) + ["this"] + ["future"] * len(future)
    chosen = ids(splitbrain("trace", run, "--cone", middle, "kind=message").stdout)
    assert 0 < len(chosen) < len(lines)


def test_clocks_are_shown(splitbrain: Splitbrain, run: Path) -> None:
    done = splitbrain("trace", run, "--clocks", "--limit", 1)
    assert done.stdout.rstrip().endswith("[n1:1]")
    found = json.loads(splitbrain("trace", run, "--clocks", "--json").stdout)
    assert found["events"][0]["clock"] == {"n1": 1}


def test_json_has_the_events_as_they_are(splitbrain: Splitbrain, run: Path, trace: Trace) -> None:
    found = json.loads(splitbrain("trace", run, "kind=timer", "--limit", 2, "--json").stdout)
    timers = [event for event in trace.events if event["kind"] == "timer"]
    assert found["schema"] == "splitbrain.events/1"
    assert found["events"] == timers[:2]
    assert (found["events_matching"], found["events_total"]) == (len(timers), len(trace.events))
    assert found["digest"] == trace.digest


def test_a_log_for_shiviz(splitbrain: Splitbrain, run: Path, trace: Trace) -> None:
    assert splitbrain("trace", run, "--shiviz", "run.log").exit_code == 0
    assert Path("run.log").read_text() == shiviz_text(trace)
    assert splitbrain("trace", run, "--shiviz", "-").stdout == shiviz_text(trace)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--why", 10**9], "no event has the id 1000000000"),
        (["--cone", 10**9], "no event has the id"),
        (["--why", 1, "--cone", 1], "exclude"),
        (["--why", "x"], "--why"),
        (["kind=messagex"], "did you mean 'message'?"),
        (["nod=n1"], "did you mean 'node'?"),
        (["n1"], "text=n1"),
        (["t=5"], "5"),
        (["--shiviz", "x", "kind=drop"], "--shiviz"),
        (["--shiviz", "no/such/folder/.."], ""),
    ],
)
def test_what_makes_no_sense_is_told(
    splitbrain: Splitbrain, run: Path, args: list[object], told: str
) -> None:
    done = splitbrain("trace", run, *args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr
