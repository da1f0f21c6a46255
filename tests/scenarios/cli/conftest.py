"""The command line in a folder of its own, in this process or in another one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from scenarios.cli import figures, main
from tests.interpreters import ROOT

Splitbrain = Callable[..., Result]

TINY = """\
name: tiny
title: Three sites that agree
protocol: anti-entropy
parameters: {period: 500ms}
nodes: 3
link: {latency: 5ms..10ms}
workload:
  - {at: 1s, node: n1, invoke: Put, with: {key: color, value: red}}
faults:
  - {at: 2s, for: 1s, crash: n2}
checks:
  - converged: {field: store}
duration: 6s
seeds: [1, 2, 3]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder; no variable of the environment leaks in."""
    monkeypatch.chdir(tmp_path)
    for name in ("SPLITBRAIN_RUNS", "SPLITBRAIN_TRACEBACK", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.fixture
def tiny(folder: Path) -> Path:
    """A small scenario that holds, in ``tiny.yaml``."""
    path = folder / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture
def without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_installed", lambda: False)


@pytest.fixture
def splitbrain() -> Splitbrain:
    """Runs the command line in this process; an exception that escapes fails the test."""

    def call(*args: object, **extra: Any) -> Result:
        result = CliRunner().invoke(main, [str(arg) for arg in args], **extra)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert "Traceback" not in result.output or "TRACEBACK" in str(extra)
        return result

    return call


@pytest.fixture
def environment() -> dict[str, str]:
    """What a subprocess needs to find this checkout."""
    ours = ("PYTHON", "PYTEST", "COVERAGE", "SPLITBRAIN")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**env, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def start(environment: dict[str, str]) -> Callable[..., subprocess.Popen[str]]:
    """Starts the command in a process of its own."""

    def begin(*args: str, **extra: Any) -> subprocess.Popen[str]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **extra}
        command = [sys.executable, "-m", "scenarios.cli", *args]
        return subprocess.Popen(command, env=environment, text=True, **options)

    return begin
