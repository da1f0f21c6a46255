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

from protocols.canonical import plain
from protocols.step import CancelTimer, Effect, Observe, Reply, Send, SetTimer

FORMAT = 1
_encoder = msgspec.json.Encoder()
Event = dict[str, Any]


BLOCK = 512


class Recorder:
    """Records the events of one run in memory; ``digest`` covers all of them.

    Lines are encoded and hashed in blocks, so that an event costs little more than its dict.
    """

    def __init__(self, header: Mapping[str, Any] | None = None, *, keep: bool = True) -> None:
        self.header: dict[str, Any] = {"splitbrain_trace": FORMAT, **(header or {})}
        self.next_id = 0
        self._keep = keep
        self._blocks: list[bytes] = []
        self._pending: list[Event] = [self.header]
        self._hash = hashlib.blake2b(digest_size=16)

    def _flush(self) -> None:
        data = _encoder.encode_lines(self._pending)
        self._pending.clear()
        self._hash.update(data)
        if self._keep:
            self._blocks.append(data)

    def line(self, t: int, node: str | None, cause: int, kind: str = "") -> Event:
        """A new event, to be filled and handed to :meth:`add`. ``cause`` < 0 means none."""
        return {
            "id": self.next_id,
            "t": t,
            "node": node,
            "kind": kind,
            "cause": cause if cause >= 0 else None,
        }

    def add(self, line: Event) -> int:
        """Record an event; its id."""
        number = self.next_id
        self.next_id = number + 1
        pending = self._pending
        pending.append(line)
        if len(pending) >= BLOCK:
            self._flush()
        return number

    def event(self, t: int, node: str | None, kind: str, cause: int, **more: Any) -> int:
        """Record an event; its id. ``cause`` < 0 means none."""
        line = self.line(t, node, cause, kind)
        line.update(more)
        return self.add(line)

    @property
    def digest(self) -> str:
        """128-bit digest of header and events so far, in hex."""
        self._flush()
        return self._hash.hexdigest()

    def end_line(self, t: int) -> bytes:
        """The line that closes a trace file."""
        end = {"end": {"t": t, "events": self.next_id, "digest": self.digest}}
        return _encoder.encode(end) + b"\n"

    def lines(self) -> Iterable[bytes]:
        """Header and event lines, as bytes."""
        self._flush()
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


def plain_effects(effects: Iterable[Effect]) -> list[dict[str, Any]]:
    """Effects as the trace shows them."""
    return [_EFFECTS[type(effect)](effect) for effect in effects]


_EFFECTS: dict[type, Any] = {
    Send: lambda e: {"send": e.dst, "value": plain(e.message)},
    SetTimer: lambda e: {"set": plain(e.timer), "after": e.after},
    CancelTimer: lambda e: {"cancel": plain(e.timer)},
    Observe: lambda e: {"observe": plain(e.observation)},
    Reply: lambda e: {"reply": e.id, "outcome": e.outcome.kind, "value": plain(e.outcome.value)},
}
