"""The supported Pythons of this machine, each with an environment of the core dependencies only.

The promise "byte-identical on every supported Python" is tested by running the checkout under
each of them. ``python -m tests.interpreters`` makes the environments beforehand.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".venv-interpreters"
VERSIONS = ("3.11", "3.12", "3.13")
_INSTALL_SECONDS = 300


class EnvironmentUnavailable(Exception):
    """An environment could not be made; the message says for which Python and why."""


def interpreters() -> list[Path]:
    """The real binary of each supported Python that this machine has, oldest first."""
    found = (find_interpreter(version) for version in VERSIONS)
    return [path for path in found if path is not None]


@cache
def find_interpreter(version: str) -> Path | None:
    """The binary of Python ``version`` ("3.12"), on PATH or under pyenv; None if there is none."""
    for candidate in _candidates(version):
        if _version_of(candidate) == version:
            return candidate
    return None


def environment_for(interpreter: Path) -> Path:
    """The Python of a cached environment: core dependencies as locked, and this checkout.

    Raises EnvironmentUnavailable if it can't be made, for example without a network.
    """
    version = _version_of(interpreter)
    if version is None:
        raise EnvironmentUnavailable(f"{interpreter} does not run")
    home = CACHE / version
    python = home / "bin" / "python"
    with lock(CACHE / f"{version}.lock"):
        stamp, wanted = home / "stamp", _fingerprint(interpreter)
        if not (stamp.is_file() and stamp.read_text() == wanted):
            _make(interpreter, home)
            stamp.write_text(wanted)
    return python


def core_dependencies() -> list[str]:
    """The requirements of pyproject.toml that every installation has."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        found: list[str] = tomllib.load(file)["project"]["dependencies"]
    return found


def _candidates(version: str) -> Iterator[Path]:
    if on_path := shutil.which(f"python{version}"):
        yield Path(on_path)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(pyenv.glob(f"{version}.*/bin/python{version}"), key=_patch, reverse=True)


def _patch(binary: Path) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", binary.parent.parent.name))


@cache
def _version_of(binary: Path) -> str | None:
    """What ``binary`` says it is, "3.12"; None if it doesn't run, as a shim may not."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([binary, "-c", ask], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _fingerprint(interpreter: Path) -> str:
    locked = (ROOT / "constraints.txt").read_bytes()
    parts = [str(interpreter), str(ROOT), *core_dependencies()]
    return hashlib.sha256("\n".join(parts).encode() + locked).hexdigest()


def _make(interpreter: Path, home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    _run([str(interpreter), "-m", "venv", str(home)])
    pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    locked = ["-c", str(ROOT / "constraints.txt")]
    _run([*pip, "install", "--retries", "1", *locked, *core_dependencies()])
    packages = next(home.glob("lib/python*/site-packages"))
    (packages / "checkout.pth").write_text(f"{ROOT}\n")


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentUnavailable(str(error)) from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise EnvironmentUnavailable(f"{command[0]} ended with {done.returncode}: {said[-1]}")


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Held by one process at a time: the workers of one test run may want one environment."""
    import fcntl  # POSIX only, as the Makefile is

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _main() -> None:
    for version in VERSIONS:
        interpreter = find_interpreter(version)
        if interpreter is None:
            print(f"Python {version}: not on this machine; its tests will be skipped")
            continue
        try:
            print(f"Python {version}: {environment_for(interpreter)}")
        except EnvironmentUnavailable as why:
            print(f"Python {version}: no environment; its tests will be skipped ({why})")


if __name__ == "__main__":
    _main()
