"""``splitbrain new protocol``: what it writes works, and it destroys nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.cli import new
from tests.interpreters import ROOT
from tests.scenarios.cli.conftest import Splitbrain

FILES = ["lamport_mutex.py", "lamport_mutex.yaml", "test_lamport_mutex.py"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_three_files_are_written_and_named(splitbrain: Splitbrain, folder: Path) -> None:
    done = splitbrain("new", "protocol", "lamport_mutex")
    assert done.exit_code == 0
    assert sorted(done.stdout.split()) == names(folder) == FILES
    assert "<<" not in "".join(path.read_text() for path in folder.iterdir())


@pytest.mark.parametrize("name", ["lamport_mutex", "highest", "x2"])
def test_its_tests_pass_and_its_scenario_holds(
    splitbrain: Splitbrain, folder: Path, environment: dict[str, str], name: str
) -> None:
    splitbrain("new", "protocol", name, "--dir", "sub")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    done = subprocess.run(
        command, cwd=folder / "sub", env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    ran = splitbrain("run", f"sub/{name}.yaml", "--json")
    assert ran.exit_code == 0
    assert json.loads(ran.stdout)["messages"]["dropped"]["partition"] > 0
    assert splitbrain("run", f"sub/{name}.yaml", "--seeds", "all").exit_code == 0


@pytest.mark.parametrize("tool", [["ruff", "check", "--isolated"], ["mypy", "--strict"]])
def test_it_is_clean_code(
    splitbrain: Splitbrain, folder: Path, environment: dict[str, str], tool: list[str]
) -> None:
    pytest.importorskip(tool[0])
    splitbrain("new", "protocol", "lamport_mutex")
    more = {"MYPYPATH": str(ROOT), "MYPY_CACHE_DIR": str(folder / "cache")}
    files = [path for path in names(folder) if path.endswith(".py")]
    command = [sys.executable, "-m", *tool, *files]
    env = {**environment, **(more if tool[0] == "mypy" else {})}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_is_overwritten_unless_forced(splitbrain: Splitbrain, folder: Path) -> None:
    mine = folder / "test_lamport_mutex.py"
    mine.write_text("# mine")
    done = splitbrain("new", "protocol", "lamport_mutex")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "test_lamport_mutex.py" in done.stderr and "--force" in done.stderr
    assert (names(folder), mine.read_text()) == (["test_lamport_mutex.py"], "# mine")
    assert splitbrain("new", "protocol", "lamport_mutex", "--force").exit_code == 0
    assert mine.read_text() != "# mine"


def test_all_files_or_none(
    splitbrain: Splitbrain, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "lamport_mutex.py").write_text("# mine")
    replace, done = Path.replace, []

    def fails_the_third_time(self: Path, target: Path) -> Path:
        done.append(target)
        if len(done) == 3:
            raise OSError(28, "No space left on device", str(target))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fails_the_third_time)
    result = splitbrain("new", "protocol", "lamport_mutex", "--force")
    assert result.exit_code == 2 and "No space left" in result.stderr
    assert names(folder) == ["lamport_mutex.py"]
    assert (folder / "lamport_mutex.py").read_text() == "# mine"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("LamportMutex", "try lamport_mutex"),
        ("lamport-mutex", "try lamport_mutex"),
        ("2pc", "try pc"),
        ("", "allowed"),
        ("a/b", "try a_b"),
        ("../x", "try x"),
        ("class", "try class_protocol"),
        ("json", "try json_protocol"),
        ("sim", "try sim_protocol"),
        ("größe", "allowed"),
        ("x" * 61, "allowed"),
        ("_x", "try x"),
        ("x\ny", "try x_y"),
    ],
)
def test_a_name_must_be_that_of_a_module(
    splitbrain: Splitbrain, folder: Path, name: str, told: str
) -> None:
    done = splitbrain("new", "protocol", name)
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr
    assert names(folder) == []


def test_a_suggested_name_is_allowed() -> None:
    for name in ("LamportMutex", "2pc", "HTTPServer", "a--b", "Ω-omega"):
        tried = new._try(name).removeprefix("; try ")
        new._check_name(tried)
