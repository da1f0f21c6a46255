"""The recorder: everything that happened in a run, as JSON Lines with a running digest.

The first line is the header, then one line per event, then an end line with the digest. The
format is described in ``docs/trace.md``; :mod:`sim.trace_read` reads it. Nothing here costs
anything while no recorder is attached.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sim.rules import Envelope
from sim.shown import quoted, shown, to_text

FORMAT = 1
Event = dict[str, Any]


BLOCK = 512


class Names(dict[str, str]):
    """Senders → the middle of a message's line, made when first asked for."""

    def __missing__(self, name: str) -> str:
        text = self[name] = f',"src":{quoted(name)},"index":'
        return text


class Recorder:
    """Records the events of one run in memory; ``digest`` covers all of them.

    Lines are hashed in blocks. ``pending`` holds those of the block that isn't full yet; a step
    takes its id first, and its line goes before those of what happened during the step.
    """

    def __init__(self, header: Mapping[str, Any] | None = None, *, keep: bool = True) -> None:
        self.header: dict[str, Any] = {"splitbrain_trace": FORMAT, **(header or {})}
        self.next_id = 0
        self.pending: list[str] = [to_text(self.header) + "\n"]
        self.names = Names()
        self._keep = keep
        self._blocks: list[bytes] = []
        self._hash = hashlib.blake2b(digest_size=16)

    def flush(self) -> None:
        """Hash and keep the lines so far; not while a step is under way."""
        data = "".join(self.pending).encode()
        self.pending.clear()
        self._hash.update(data)
        if self._keep:
            self._blocks.append(data)

    def take_id(self) -> int:
        """Take the next event id; its line goes where ``pending`` ends now."""
        number = self.next_id
        self.next_id = number + 1
        return number

    def event(self, t: int, node: str | None, kind: str, cause: int, **more: Any) -> int:
        """Record an event; its id. ``cause`` < 0 means none."""
        number = self.take_id()
        because = cause if cause >= 0 else None
        line = {"id": number, "t": t, "node": node, "kind": kind, "cause": because, **more}
        self.pending.append(to_text(line) + "\n")
        return number

    def message_event(self, t: int, kind: str, envelope: Envelope, more: Mapping[str, Any]) -> int:
        """Record what became of a message on its way."""
        e = envelope
        number = self.take_id()
        because = e.cause if e.cause >= 0 else "null"
        text = e.shown or shown(e.message)
        extra = "".join(f',"{name}":{shown(value)}' for name, value in more.items())
        self.pending.append(
            f'{{"id":{number},"t":{t},"node":{quoted(e.dst)},"kind":"{kind}","cause":{because},'
            f'"src":{quoted(e.src)},"index":{e.index},"value":{text}{extra}}}\n'
        )
        return number

    @property
    def digest(self) -> str:
        """128-bit digest of header and events so far, in hex."""
        self.flush()
        return self._hash.hexdigest()

    def end_line(self, t: int) -> bytes:
        """The line that closes a trace file."""
        end = {"end": {"t": t, "events": self.next_id, "digest": self.digest}}
        return to_text(end).encode() + b"\n"

    def lines(self) -> Iterable[bytes]:
        """Header and event lines, as bytes."""
        self.flush()
        return (line for block in self._blocks for line in block.splitlines(keepends=True))

    def events(self) -> list[Event]:
        """The events, decoded."""
        return [msgspec.json.decode(line) for line in list(self.lines())[1:]]

    def write(self, path: Path, t: int) -> None:
        """Write the trace to ``path`` (gzip if it ends in .gz), by renaming a temporary file."""
        end = self.end_line(t)
        data = b"".join((*self._blocks, end))
        if path.suffix == ".gz":
            data = gzip.compress(data, compresslevel=6, mtime=0)
        write_bytes(path, data)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: to a temporary name, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
