"""The command as a process: signals, pipes, full disks, odd encodings, how quickly it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Start = Callable[..., "subprocess.Popen[str]"]


def test_ctrl_c_exits_with_130_and_leaves_nothing_half_written(start: Start, folder: Path) -> None:
    with start("run", "nfd-s", "--set", "duration=500000s", "--seeds", "1..2") as process:
        assert process.stderr is not None
        # Once a second and a quarter of the run are over, it tells so.
        assert "25%" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (stdout, stderr.splitlines()[-1]) == ("", "splitbrain: interrupted")
    assert "Traceback" not in stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "args",
    [["run", "tiny.yaml"], ["list"], ["--help"], ["show", "rumor-push", "--json"], ["schema"]],
    ids=lambda args: args[0],
)
def test_a_reader_that_has_gone_is_no_error(start: Start, tiny: Path, args: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with start(*args, stdout=writing) as process:
        _, stderr = process.communicate(timeout=30)
    os.close(writing)
    assert process.returncode == 141
    assert "Broken" not in stderr and "Traceback" not in stderr


def test_a_full_disk_is_told(start: Start) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with open("/dev/full", "w") as full, start("list", "--json", stdout=full) as process:
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 2
    assert stderr == "splitbrain: input or output failed: No space left on device\n"


def test_a_folder_that_cannot_be_written_is_told(start: Start, tiny: Path) -> None:
    Path("runs").write_text("a file is in the way")
    with start("run", "tiny.yaml", "-q") as process:
        stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout) == (2, "")
    assert "runs" in stderr and "Traceback" not in stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_will_do(environment: dict[str, str], folder: Path, encoding: str) -> None:
    env = {**environment, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for args in (["show", "nfd-s"], ["show", "nfd-s", "--json"], ["run", "nope-\udcff"]):
        command = [sys.executable, "-m", "scenarios.cli", *args]
        done = subprocess.run(command, env=env, capture_output=True)
        assert done.returncode in (0, 2)
        assert b"Traceback" not in done.stderr
        # click writes UTF-8 where the encoding says only ASCII.
        (done.stdout + done.stderr).decode("utf-8" if encoding == "ascii" else encoding)


HEAVY = ("networkx", "matplotlib", "numpy", "rich", "simpy", "ruamel", "msgspec", "sim")


@pytest.mark.parametrize("args", [["--version"], ["--help"], ["run", "--help"], ["rnu"]])
def test_to_tell_the_version_little_is_imported(
    environment: dict[str, str], args: list[str]
) -> None:
    program = (
        "import sys\n"
        "from scenarios.cli import main\n"
        "try:\n"
        f"    main({args!r})\n"
        "except SystemExit:\n"
        f"    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_nothing_is_asked_of_stdin(environment: dict[str, str], tiny: Path) -> None:
    command = [sys.executable, "-m", "scenarios.cli", "run", "tiny.yaml", "-q"]
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 0
    closed = subprocess.run(
        ["sh", "-c", f"{command[0]} -m scenarios.cli list <&-"], env=environment
    )
    assert closed.returncode == 0
