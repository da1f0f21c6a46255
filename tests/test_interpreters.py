"""The environments of the supported Pythons hold what they should, and nothing else."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests import interpreters


def ask(python: Path, program: str, cwd: Path) -> str:
    command = [str(python), "-I", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=True)
    return done.stdout.strip()


def test_each_found_interpreter_is_a_supported_version() -> None:
    found = interpreters.interpreters()
    assert found, "not even the Python that runs this test was found"
    versions = [interpreters._version_of(path) for path in found]
    assert versions == [v for v in interpreters.VERSIONS if v in versions]


def test_a_binary_that_does_not_run_is_not_an_interpreter(tmp_path: Path) -> None:
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert interpreters._version_of(shim) is None
    with pytest.raises(interpreters.EnvironmentUnavailable, match="does not run"):
        interpreters.environment_for(shim)


@pytest.mark.slow
def test_an_environment_imports_this_checkout(every_interpreter: Path, tmp_path: Path) -> None:
    where = ask(every_interpreter, "import protocols; print(protocols.__file__)", tmp_path)
    assert Path(where) == interpreters.ROOT / "protocols" / "__init__.py"


@pytest.mark.slow
def test_an_environment_has_the_core_and_no_more(every_interpreter: Path, tmp_path: Path) -> None:
    program = (
        "from importlib.metadata import distributions\n"
        "print(*(d.metadata['Name'].lower() for d in distributions()))"
    )
    installed = set(ask(every_interpreter, program, tmp_path).split())
    core = {re.split(r"[<>=]", need)[0] for need in interpreters.core_dependencies()}
    assert core <= installed
    assert installed.isdisjoint({"pytest", "numpy", "matplotlib", "rich", "hypothesis"})
