"""The promise: same scenario, seed and code give the same trace, byte for byte. Anywhere."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from scenarios.cli.replay import rerun
from scenarios.loader import library, load
from scenarios.runner import RunResult, run_scenario
from sim.trace_read import parse_trace
from tests.interpreters import ROOT

QUICK = ("anti-entropy-partition", "gc-pause-local-pause-guard", "rumor-push-pull")
"""Short ones, of three protocols; these are not marked slow."""

Print = tuple[str, str]
"""The digest of the trace, and one of everything that was judged and measured."""


def quick_or_slow(names: list[str]) -> list[object]:
    slow = pytest.mark.slow
    return [name if name in QUICK else pytest.param(name, marks=slow) for name in names]


def run(name: str) -> RunResult:
    return run_scenario(load(name), 1)


def fingerprint(run: RunResult) -> Print:
    assert run.digest is not None
    judged = json.dumps(run.to_json(), sort_keys=True, ensure_ascii=False)
    return run.digest, hashlib.sha256(judged.encode()).hexdigest()


@cache
def ours(name: str) -> Print:
    return fingerprint(run(name))


PROGRAM = """
import hashlib, json, sys
from scenarios.loader import load
from scenarios.runner import run_scenario

found = {}
for name in sys.argv[1:]:
    run = run_scenario(load(name), 1)
    judged = json.dumps(run.to_json(), sort_keys=True, ensure_ascii=False)
    found[name] = [run.digest, hashlib.sha256(judged.encode()).hexdigest()]
print(json.dumps(found))
"""


def elsewhere(python: str | Path, names: list[str], hash_seed: str) -> dict[str, Print]:
    """The fingerprints that another process of ``python`` finds."""
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    command = [str(python), "-c", PROGRAM, *names]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    return {name: (digest, judged) for name, (digest, judged) in json.loads(done.stdout).items()}


def test_the_quick_ones_are_in_the_library() -> None:
    assert set(QUICK) < set(library())


@pytest.mark.parametrize("name", quick_or_slow(library()))
def test_a_scenario_runs_the_same_twice(name: str) -> None:
    assert fingerprint(run(name)) == ours(name)


@pytest.mark.parametrize("name", quick_or_slow(library()))
def test_another_seed_gives_another_run(name: str) -> None:
    other = run_scenario(load(name), 2)
    assert other.digest != ours(name)[0]
    # More than the seed in the header differs: the dice do fall otherwise.
    assert other.cluster.recorder is not None
    ones, others = run(name).cluster.recorder, other.cluster.recorder
    assert ones is not None
    assert ones.events() != others.events()


@pytest.mark.parametrize("name", quick_or_slow(library()))
def test_a_trace_can_be_replayed(name: str) -> None:
    recorder = run(name).cluster.recorder
    assert recorder is not None
    trace = parse_trace(recorder.lines())
    assert rerun(trace, Path("trace")).digest == trace.digest == ours(name)[0]


@pytest.mark.parametrize("name", quick_or_slow(library()))
def test_looking_on_changes_nothing(name: str) -> None:
    """Progress reports cut the run into pieces; a run without a recorder takes other paths."""
    seen: list[int] = []
    told = run_scenario(load(name), 1, progress=lambda now, end: seen.append(now))
    assert len(seen) > 10
    assert fingerprint(told) == ours(name)
    untraced = run_scenario(load(name), 1, trace=False)
    plain = [(t, node, repr(what)) for t, node, what, _ in untraced.observations]
    assert plain == [(t, node, repr(what)) for t, node, what, _ in told.observations]
    assert untraced.to_json()["messages"] == told.to_json()["messages"]
    assert untraced.metrics == told.metrics


EACH_SIZE = [
    pytest.param(list(QUICK), id="quick"),
    pytest.param(library(), id="library", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
@pytest.mark.parametrize("names", EACH_SIZE)
def test_another_process_finds_the_same(names: list[str], hash_seed: str) -> None:
    """Sets and dicts of texts are ordered otherwise there."""
    assert elsewhere(sys.executable, names, hash_seed) == {name: ours(name) for name in names}


@pytest.mark.parametrize("names", EACH_SIZE)
def test_every_supported_python_finds_the_same(every_interpreter: Path, names: list[str]) -> None:
    found = elsewhere(every_interpreter, names, "random")
    assert found == {name: ours(name) for name in names}
