"""``splitbrain replay`` and ``diff``: the same, or where it is not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sim.trace import Recorder
from sim.trace_read import read_trace
from tests.scenarios.cli.conftest import Splitbrain

pytestmark = pytest.mark.usefixtures("without_matplotlib")


@pytest.fixture
def run(splitbrain: Splitbrain, tiny: Path) -> Path:
    """The folder of a run."""
    return Path(json.loads(splitbrain("run", tiny, "--json").stdout)["artifacts"]["folder"])


def rewrite(run: Path, old: bytes, new: bytes) -> Path:
    """A trace in which something is otherwise, with an end line that fits."""
    trace = read_trace(run / "trace.jsonl.gz")
    lines = gzip.decompress((run / "trace.jsonl.gz").read_bytes()).splitlines(keepends=True)[:-1]
    changed = [line.replace(old, new) for line in lines]
    assert changed != lines
    recorder = Recorder()
    recorder.pending = [line.decode() for line in changed]
    recorder.next_id = len(lines) - 1
    path = run.parent / "changed.jsonl.gz"
    assert trace.end_us is not None
    recorder.write(path, trace.end_us)
    return path


def test_a_folder_and_its_trace_are_replayed(splitbrain: Splitbrain, run: Path) -> None:
    for given in (run, run / "trace.jsonl.gz"):
        done = splitbrain("replay", given)
        assert done.exit_code == 0
        assert "IDENTICAL: tiny seed 1" in done.stdout
        assert read_trace(run / "trace.jsonl.gz").digest in done.stdout


def test_json_of_a_replay(splitbrain: Splitbrain, run: Path) -> None:
    done = splitbrain("replay", run, "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, done.stderr, found["schema"]) == (0, "", "splitbrain.replay/1")
    assert found["identical"] and found["code"]["same"] and found["divergence"] is None
    assert found["digest"]["recorded"] == found["digest"]["replayed"]


def test_faults_come_from_the_trace_and_not_from_dice(splitbrain: Splitbrain) -> None:
    done = splitbrain("run", "random-nemesis-liveness", "--json")
    folder = json.loads(done.stdout)["artifacts"]["folder"]
    assert splitbrain("replay", folder).exit_code == 0


def test_overrides_are_part_of_the_trace(splitbrain: Splitbrain, tiny: Path) -> None:
    done = splitbrain("run", tiny, "--set", "link.loss=30%", "--seed", 9, "--json")
    tiny.unlink()
    assert splitbrain("replay", json.loads(done.stdout)["artifacts"]["folder"]).exit_code == 0


def test_another_run_shows_where_it_parts(splitbrain: Splitbrain, run: Path) -> None:
    done = splitbrain("replay", rewrite(run, b'"kind":"crash"', b'"kind":"leave"'))
    assert done.exit_code == 1
    assert "DIFFERENT" in done.stdout
    assert "the code is another" not in done.stdout
    assert "the first different event is #" in done.stdout
    assert "in the recorded run" not in done.stdout
    assert "a is the recorded run, b is the replay" in done.stdout


def test_another_code_is_said(splitbrain: Splitbrain, run: Path) -> None:
    code = read_trace(run / "trace.jsonl.gz").header["code"]
    other = rewrite(run, f'"code":"{code}"'.encode(), b'"code":"0123456789abcdef"')
    done = splitbrain("replay", other)
    assert done.exit_code == 1
    assert f"recorded by 0123456789abcdef (version 0.1.0), this is {code}" in done.stdout
    assert "all events are the same" in done.stdout
    found = json.loads(splitbrain("replay", other, "--json").stdout)
    assert not found["identical"] and not found["code"]["same"]
    assert [one["path"] for one in found["divergence"]["header"]] == ["code"]


@pytest.mark.parametrize("command", ["replay", "trace"])
def test_what_is_no_run_is_told_apart(
    splitbrain: Splitbrain, tiny: Path, run: Path, command: str
) -> None:
    Path("empty").mkdir()
    (run / "cut.jsonl.gz").write_bytes((run / "trace.jsonl.gz").read_bytes()[:200])
    splitbrain("run", tiny, "--no-trace")
    for given, told in (
        ("nowhere", "allowed: the folder of a run"),
        (f"{run}x", f"did you mean '{run.name}'?"),
        ("empty", "there is no trace.jsonl.gz in it"),
        (tiny, "line 1"),
        (run / "cut.jsonl.gz", "cut off"),
        ("runs/tiny-seed1-untraced", "--no-trace"),
        ("runs", run.name),
    ):
        done = splitbrain(command, given)
        assert (done.exit_code, done.stdout) == (2, "")
        assert told in done.stderr


def test_a_trace_without_a_scenario_is_not_replayed(splitbrain: Splitbrain, tmp_path: Path) -> None:
    header = {"version": "1", "name": "x", "scenario": None, "seed": 1}
    more = {"nodes": [], "parameters": {}, "plan": [], "code": "0"}
    Recorder({**header, **more}).write(tmp_path / "x.jsonl", 0)
    done = splitbrain("replay", tmp_path / "x.jsonl")
    assert done.exit_code == 2
    assert "holds no scenario" in done.stderr


def test_diff_of_a_run_with_itself(splitbrain: Splitbrain, run: Path) -> None:
    done = splitbrain("diff", run, run)
    assert done.exit_code == 0 and "IDENTICAL" in done.stdout
    found = json.loads(splitbrain("diff", run, run, "--json").stdout)
    assert (found["identical"], found["divergence"]) == (True, None)


def test_diff_of_two_seeds(splitbrain: Splitbrain, tiny: Path, run: Path) -> None:
    other = json.loads(splitbrain("run", tiny, "--seed", 2, "--json").stdout)
    done = splitbrain("diff", run, other["artifacts"]["folder"])
    assert done.exit_code == 1
    assert "seed: 1 in a, 2 in b" in done.stdout
    assert "the first different event is #" in done.stdout
    found = json.loads(splitbrain("diff", run, other["artifacts"]["folder"], "--json").stdout)
    assert found["schema"] == "splitbrain.diff/1" and not found["identical"]
    assert found["divergence"]["a"]["id"] == found["divergence"]["event"]
    assert {"path": "seed", "a": 1, "b": 2} in found["divergence"]["header"]
