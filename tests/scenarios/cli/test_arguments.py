"""Whatever is typed, the answer is an exit code of the list and never a traceback."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from scenarios.artifacts import write_run
from scenarios.cli import group, main
from scenarios.loader import load
from scenarios.runner import run_scenario
from tests.scenarios.cli.conftest import TINY

COMMANDS = [name for name in group.COMMANDS if name not in ("sweep", "reproduce", "plot")]
VALUES = ["tiny.yaml", "tiny", "run", "trace.jsonl.gz", ".", "..", "/dev/null", "-", "--", "x"]
VALUES += ["1", "0", "-1", "1..2", "2..1", "all", "nodes=2", "nodes=", "=", "a.b.c=1", "kind=drop"]
VALUES += ["t=1s..", 'text="a b"', "protocol", "bash", "n o", "", "ü", "\udcff", "💥"]
OPTIONS = ["--json", "--seed", "--seeds", "--set", "--out", "--no-trace", "--plot", "--quiet"]
OPTIONS += ["--why", "--cone", "--clocks", "--limit", "--shiviz", "--force", "--dir", "--source"]
OPTIONS += ["--help", "--version", "--traceback", "-h", "-q", "--", "--nope", "--seed=1", "--seed="]

ARGV = st.characters(codec="utf-8", exclude_characters="\0")  # a process cannot be given a null
WORD = st.sampled_from(VALUES) | st.sampled_from(OPTIONS) | st.text(ARGV, max_size=8)
LINES = st.tuples(
    st.sampled_from([*COMMANDS, "", "xrun"]),
    st.sampled_from([[], ["tiny.yaml"], ["kept"], ["kept", "kept"]]),
    st.lists(WORD, max_size=5),
)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> CliRunner:
    return CliRunner(env={"SPLITBRAIN_RUNS": str(tmp_path_factory.mktemp("runs"))})


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario and a run."""
    folder = tmp_path_factory.mktemp("things")
    (folder / "tiny.yaml").write_text(TINY)
    write_run(run_scenario(load(folder / "tiny.yaml"), 1), folder / "kept")
    return folder


@given(LINES)
def test_no_argument_list_gives_a_traceback(
    runner: CliRunner, things: Path, line: tuple[str, list[str], list[str]]
) -> None:
    command, first, words = line
    with TemporaryDirectory() as folder, chdir(folder):
        copytree(things, folder, dirs_exist_ok=True)
        result = runner.invoke(main, [command, *first, *words])
    assert isinstance(result.exception, SystemExit | None)
    assert result.exit_code in (0, 1, 2, 4)
    assert "Traceback" not in result.output
    assert result.exit_code != 2 or result.output.strip()
