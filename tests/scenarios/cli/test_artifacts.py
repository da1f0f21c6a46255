"""A run's folder: whole or not at all, and nothing of anybody else's is touched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.artifacts import default_folder, read_run, write_run, yaml_text
from scenarios.loader import library, load, parse_scenario_plan, read_raw
from scenarios.runner import RunResult, run_scenario
from scenarios.yaml_read import read_yaml
from sim.fields import FieldError

FILES = {"trace.jsonl.gz", "result.json", "scenario.yaml", "plan.yaml"}


def run_of(tiny: Path, seed: int = 1) -> RunResult:
    return run_scenario(load(tiny), seed)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_run_is_written_and_read_back(tiny: Path) -> None:
    run = run_of(tiny)
    folder = default_folder(run)
    result = write_run(run, folder)
    stored = read_run(folder)
    assert names(folder) == FILES
    assert (stored.trace.digest, stored.result) == (run.digest, result)
    assert names(folder.parent) == {folder.name}
    plan = read_yaml((folder / "plan.yaml").read_bytes()).value
    assert parse_scenario_plan(plan, run.scenario) == run.plan


def test_runs_go_where_the_environment_says(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(tiny)
    monkeypatch.setenv("SPLITBRAIN_RUNS", "else/where")
    assert default_folder(run).parent == Path("else/where")


def test_equal_runs_give_equal_files(tiny: Path) -> None:
    contents = []
    for _ in range(2):
        write_run(run_of(tiny), Path("run"))
        contents.append({name: (Path("run") / name).read_bytes() for name in sorted(FILES)})
    assert contents[0] == contents[1]


def test_an_earlier_run_is_replaced_but_not_what_others_put_there(tiny: Path) -> None:
    folder = Path("run")
    write_run(run_of(tiny), folder)
    (folder / "notes.txt").write_text("mine")
    (folder / "sub").mkdir()
    (folder / "sub" / "more.txt").write_text("mine too")
    (folder / "suspicion.svg").write_text("a figure of seed 1")
    write_run(run_of(tiny), folder)
    assert names(folder) == FILES | {"notes.txt", "sub", "suspicion.svg"}
    write_run(run_of(tiny, seed=2), folder)
    assert names(folder) == FILES | {"notes.txt", "sub"}  # the figure showed another run
    assert (folder / "sub" / "more.txt").read_text() == "mine too"
    assert read_run(folder).trace.header["seed"] == 2


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_no_run_is_never_replaced(tiny: Path, folder: Path, kind: str) -> None:
    target = folder / "target"
    if kind == "file":
        target.write_text("precious")
    else:
        (folder / "photos").mkdir()
        (folder / "photos" / "cat.jpg").write_text("precious")
        target.symlink_to("photos") if kind == "link" else (folder / "photos").rename(target)
    before = sorted(path.name for path in folder.rglob("*"))
    with pytest.raises(FieldError, match="a new or empty folder"):
        write_run(run_of(tiny), target)
    assert sorted(path.name for path in folder.rglob("*")) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "full"), MemoryError])
def test_a_failure_leaves_no_trace_of_itself(tiny: Path, folder: Path, error: Any) -> None:
    def fail(at: Path) -> Sequence[str]:
        (at / "half.png").write_text("half a figure")
        raise error

    write_run(run_of(tiny), Path("runs/old"))
    kept = (Path("runs/old") / "result.json").read_bytes()
    for name in ("old", "new"):
        with pytest.raises(type(error) if isinstance(error, Exception) else error):
            write_run(run_of(tiny, seed=2), Path("runs") / name, fail)
    assert names(Path("runs")) == {"old"}
    assert (Path("runs/old") / "result.json").read_bytes() == kept


def test_the_result_is_strict_json(tiny: Path) -> None:
    write_run(run_of(tiny), Path("run"))

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    json.loads((Path("run") / "result.json").read_text(), parse_constant=refuse)


# -- YAML ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", library())
def test_a_scenario_comes_back_from_yaml(name: str) -> None:
    raw = read_raw(name)
    assert read_yaml(yaml_text(raw).encode()).value == raw


WORDS = [
    *("yes", "no", "on", "null", "~", "1e3", "0x1f", "0o17", "1_000", "1:30", ".5", "5ms", "="),
    *("<<", "- a", "a: b", "{i}", "#x", "&a", "*a", "!x", "%", "@", "`", "'", '"', " x ", "a\nb"),
    *("\t", ""),
]
TEXTS = st.sampled_from(WORDS) | st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"]), max_size=20
)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.from_regex("[a-z]{1,8}", fullmatch=True), PLAIN, max_size=5))
def test_plain_data_comes_back_from_yaml(data: dict[str, Any]) -> None:
    found = read_yaml(yaml_text(data).encode())
    assert repr(found.value) == repr(data)
    assert list(found.value) == list(data)
