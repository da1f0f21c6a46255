"""What the documentation shows is executed: the tutorial's files and commands, the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILE = re.compile(r"```\w+ file=(\S+)\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ (splitbrain .*?)(?:\s+# exit (\d+))?$", re.MULTILINE)

MAIN = "import sys; from scenarios.cli import main; sys.exit(main())"


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    files = FILE.findall(text)
    assert len(files) == 4
    for name, content in files:
        (tmp_path / name).write_text(content, encoding="utf-8")
    tests = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."], tmp_path)
    assert tests.returncode == 0, tests.stdout
    commands = COMMAND.findall(text)
    assert len(commands) == 4
    for command, code in commands:
        words = [sys.executable, "-c", MAIN, *command.split()[1:]]
        done = run(words, tmp_path)
        assert done.returncode == int(code or 0), (command, done.stdout, done.stderr)


def test_the_readme_protocol_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(block, scope)
    from protocols.step import Start, step

    pinger = scope["Pinger"](me="n1", peers=("n2",))  # type: ignore[operator]
    assert len(step(pinger, Start())) == 1


@pytest.mark.parametrize("page", [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"])
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["detectors-five-regions", "mistake-never-trusts-again"])
def test_the_readme_shows_what_is_printed(name: str, tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    start = f"```console\n$ splitbrain run {name}\n"
    shown = text[text.index(start) + len(start) :].partition("```")[0].splitlines()
    done = run([sys.executable, "-c", MAIN, "run", name], tmp_path)
    printed = done.stdout.splitlines()
    varies = ("trace:", "folder:", "figure:", "replay:")  # they name the digest, as code does
    wanted = [line.rstrip("…") for line in shown if line and not line.startswith(varies)]
    assert len(wanted) >= 8
    for line in wanted:
        assert any(p.startswith(line) for p in printed) or not line.strip(), line
