"""Reads files of test vectors in the "datadriven" form of etcd-io/raft's tests.

A block is a line ``command key=value key=(value,…) word``, lines of input, a line ``----`` and the
expected output, which ends at an empty line. ``#`` begins a comment line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ARGUMENT = re.compile(r"([\w-]+)(?:=(\([^)]*\)|\S+))?")


@dataclass(frozen=True)
class Block:
    """One command, its input lines and what is expected of it."""

    file: str
    line: int
    command: str
    words: tuple[str, ...]
    arguments: dict[str, tuple[str, ...]]
    input: tuple[str, ...]
    expected: tuple[str, ...]

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"

    def one(self, name: str, default: str = "") -> str:
        """The only value of an argument."""
        (value,) = self.arguments.get(name, (default,))
        return value

    def numbers(self, name: str) -> tuple[int, ...]:
        """The values of an argument as numbers; none if it isn't given."""
        return tuple(int(value) for value in self.arguments.get(name, ()))


def blocks(path: Path) -> Iterator[Block]:
    """The blocks of a file, in order. ValueError for text that isn't one."""
    lines = path.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith("#"):
            at += 1
            continue
        rule = lines.index("----", at)
        end = next((i for i in range(rule, len(lines)) if not lines[i].strip()), len(lines))
        head, *given = lines[at:rule]
        made = _block(path.name, at + 1, head, tuple(given), tuple(lines[rule + 1 : end]))
        if not made.expected or any(not line.strip() for line in given):
            raise ValueError(f"{made.where}: no block: {head!r}")
        yield made
        at = end


def _block(
    file: str, line: int, head: str, given: tuple[str, ...], expected: tuple[str, ...]
) -> Block:
    command, _, rest = head.partition(" ")
    words: list[str] = []
    arguments: dict[str, tuple[str, ...]] = {}
    for name, value in _ARGUMENT.findall(rest):
        if value:
            arguments[name] = tuple(v.strip() for v in value.strip("()").split(","))
        else:
            words.append(name)
    return Block(file, line, command, tuple(words), arguments, given, expected)
