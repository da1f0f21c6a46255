"""``splitbrain new protocol``: a protocol of one's own to begin with, its test and a scenario."""

from __future__ import annotations

import keyword
import os
import re
import shlex
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import click

from scenarios.cli.common import examples, note, say
from scenarios.cli.guard import Refusal

__all__ = ["command"]

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_OURS = ("grpc_demo", "protocols", "scenarios", "sim", "tests")
_PUBLIC = ("Announce", "Highest", "Propose")
_WORDS = (
    *_PUBLIC,
    *("Context", "Fire", "Invoke", "NodeId", "Path", "Receive", "Reply", "Send", "Start"),
)
"""Names in the skeleton that the process must not take."""


@click.group()
def command() -> None:
    """Begin something of your own."""


@command.command(
    epilog=examples(
        "splitbrain new protocol lamport_mutex",
        "splitbrain new protocol lamport_mutex --dir src",
    )
)
@click.argument("name")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Where to write. [default: here]",
)
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
def protocol(name: str, folder: Path, force: bool) -> None:
    """Write NAME.py, a working protocol to change, with test_NAME.py and NAME.yaml.

    NAME is the name of a Python module: words in small letters joined by _. All three files are
    written, or none.
    """
    _check_name(name)
    contents = skeleton(name)
    taken = [file for file in contents if (folder / file).exists()]
    if taken and not force:
        raise Refusal(f"{', '.join(taken)} in {folder} would be overwritten; add --force if so")
    write_all(folder, contents)
    for file in contents:
        say(str(folder / file))
    where = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    note(f"\nNext: {where}python -m pytest test_{name}.py && splitbrain run {name}.yaml")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > 60:
        allowed = "words of a-z and 0-9 joined by _, beginning with a letter"
        raise Refusal(f"{name!r} cannot be the name; allowed: {allowed}{_try(name)}")
    if keyword.iskeyword(name) or name in sys.stdlib_module_names or name in _OURS:
        what = "a word of Python" if keyword.iskeyword(name) else "a module that exists already"
        raise Refusal(f"{name!r} is {what}; try {name}_protocol")


def _try(name: str) -> str:
    """A name that is allowed, made from one that isn't."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    words = (
        "_".join(re.findall(r"[a-z0-9]+", parted.lower())).lstrip("0123456789_")[:60].rstrip("_")
    )
    return f"; try {words}" if words else ""


def skeleton(name: str) -> Mapping[str, str]:
    """File name → content."""
    cls = "".join(word.capitalize() for word in name.split("_"))
    cls = f"{cls}Process" if cls in _WORDS else cls
    public = sorted((cls, *_PUBLIC), key=lambda word: (not word.isupper(), word))
    filled = {
        "name": name,
        "class": cls,
        "scenario": name.replace("_", "-"),
        "imported": ", ".join(public),
        "exported": ", ".join(f'"{word}"' for word in public),
    }
    made = {f"{name}.py": "protocol", f"test_{name}.py": "check", f"{name}.yaml": "scenario"}
    return {file: _fill(template, filled) for file, template in made.items()}


def _fill(template: str, filled: Mapping[str, str]) -> str:
    folder = files("scenarios") / "skeleton"
    text = (folder / f"{template}.txt").read_text(encoding="utf-8")
    for key, value in filled.items():
        text = text.replace(f"<<{key}>>", value)
    return text


def write_all(folder: Path, contents: Mapping[str, str]) -> None:
    """Write all files or none: first under other names, then renamed; undone if that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = {file: folder / f".{file}.{os.getpid()}.tmp" for file in contents}
    before: dict[Path, bytes | None] = {}
    try:
        for file, text in contents.items():
            temporary[file].write_text(text, encoding="utf-8")
        for file in contents:
            final = folder / file
            before[final] = final.read_bytes() if final.exists() else None
            temporary[file].replace(final)
    except BaseException:
        _undo(before)
        raise
    finally:
        for path in temporary.values():
            path.unlink(missing_ok=True)


def _undo(before: Mapping[Path, bytes | None]) -> None:
    for path, content in before.items():
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(content)
