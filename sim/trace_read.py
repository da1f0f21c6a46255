"""Reading traces: JSON Lines, plain or gzip, checked line by line while they stream in.

A trace comes from a run, or from somebody's editor, disk or mail: whatever the bytes are, the
answer is a :class:`Trace` or a :class:`~sim.trace_check.TraceError` that names the line.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

import msgspec

from sim.trace_check import (
    KINDS,
    Event,
    EventChecker,
    TraceError,
    check_end,
    check_header,
    shown,
)

__all__ = ["KINDS", "Event", "Trace", "TraceError", "iter_events", "parse_trace", "read_trace"]

MAX_LINE_BYTES = 64 * 2**20
"""A longer line is refused: no event is so large, but a gzip of nothing but zeros is."""
MAX_DEPTH = 100
"""Lists and objects may be nested so deep, so that whoever walks a value may recurse."""

_GZIP_MAGIC = b"\x1f\x8b"
_decode = msgspec.json.Decoder().decode
PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Trace:
    """One recorded run: ``header``, ``events`` in order of their ids, digest of both in hex.

    ``end_us``: when the run ended, µs; None if the trace has no end line.
    """

    header: Mapping[str, Any]
    events: Sequence[Event]
    digest: str
    end_us: int | None = None

    def event(self, number: int) -> Event:
        """The event with that id; ValueError names the ids that there are."""
        if type(number) is int and 0 <= number < len(self.events):
            return self.events[number]
        there = f"0 to {len(self.events) - 1}" if self.events else "none: the trace has no events"
        raise ValueError(f"no event has the id {shown(number)}; ids are {there}")

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes of the header, then those that appear later, in order of appearance."""
        seen = dict.fromkeys(self.header.get("nodes", ()))
        seen.update(dict.fromkeys(e["node"] for e in self.events if e["node"] is not None))
        return tuple(seen)


def read_trace(path: PathLike) -> Trace:
    """The trace in a ``.jsonl`` or ``.jsonl.gz`` file (told apart by content, not by name).

    TraceError, and nothing else, if the file cannot be opened, decompressed, decoded or trusted.
    """
    with _open(path) as file:
        return _Reader(_file_lines(file), _printable(path)).trace()


def parse_trace(lines: Iterable[bytes], name: str = "") -> Trace:
    r"""The trace in lines that are in memory, each with its ``\n``; ``name`` is for errors."""
    return _Reader(lines, name).trace()


def iter_events(path: PathLike) -> Iterator[Event]:
    """The events of a trace file one by one, checked, without keeping them.

    The digest can only be compared at the end: a TraceError may come after the last event.
    """
    with _open(path) as file:
        yield from _Reader(_file_lines(file), _printable(path)).events()


# -- bytes ------------------------------------------------------------------------------------


def _open(path: PathLike) -> BufferedReader:
    try:
        return open(path, "rb")
    except (OSError, ValueError) as why:
        hint = "give the path of a .jsonl or .jsonl.gz file"
        error = TraceError(f"cannot open the trace ({_reason(why)})", hint=hint)
        raise error.at(0, _printable(path)) from None


def _printable(path: PathLike) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(path))


def _file_lines(file: BufferedReader) -> Iterator[bytes]:
    """The lines of a file; a line that is too long comes cut off, one byte over the limit."""
    try:
        packed = file.peek(2)[:2] == _GZIP_MAGIC
        yield from _lines(gzip.GzipFile(fileobj=file, mode="rb") if packed else file)
    except EOFError:
        raise TraceError("the gzip data is cut off", hint="copy or record it again") from None
    except (gzip.BadGzipFile, zlib.error) as why:
        raise TraceError(f"the gzip data is damaged ({why})", hint="copy it again") from None
    except OSError as why:
        raise TraceError(f"cannot read the trace ({_reason(why)})") from None


def _reason(why: Exception) -> str:
    return (why.strerror if isinstance(why, OSError) else None) or str(why)


def _lines(file: BufferedReader | gzip.GzipFile) -> Iterator[bytes]:
    while line := file.readline(MAX_LINE_BYTES + 1):
        yield line
        if len(line) > MAX_LINE_BYTES:
            return


# -- lines ------------------------------------------------------------------------------------


class _Reader:
    """Turns lines into a header and events, with a running digest."""

    def __init__(self, lines: Iterable[bytes], path: str) -> None:
        self._lines = iter(lines)
        self._path = path
        self._hash = hashlib.blake2b(digest_size=16)
        self._line = 0
        self.end_us: int | None = None

    def trace(self) -> Trace:
        """Everything, in memory."""
        try:
            header = self._header()
            events = list(self._events())
        except TraceError as error:
            raise error.at(self._line, self._path) from None
        return Trace(header, events, self._hash.hexdigest(), self.end_us)

    def events(self) -> Iterator[Event]:
        """The events as they come."""
        try:
            self._header()
            yield from self._events()
        except TraceError as error:
            raise error.at(self._line, self._path) from None

    def _next(self) -> bytes | None:
        """The next line, without its end and not yet decoded; None after the last."""
        self._line += 1
        line = next(self._lines, None)
        if line is None:
            self._line -= 1
        return line

    def _header(self) -> dict[str, Any]:
        line = self._next()
        if line is None:
            allowed = "a header, events and an end line"
            raise TraceError("the trace is empty", "", "no line", allowed)
        header = check_header(_decoded(line))
        _check_whole(line)
        self._hash.update(line)
        return header

    def _events(self) -> Iterator[Event]:
        checker = EventChecker()
        update, check = self._hash.update, checker.check
        while (line := self._next()) is not None:
            value = _decoded(line)
            if isinstance(value, dict) and "end" in value and "id" not in value:
                self._end(value["end"], checker)
                return
            _check_whole(line)
            event = check(value)
            update(line)
            yield event

    def _end(self, end: object, checker: EventChecker) -> None:
        digest = self._hash.hexdigest()
        self.end_us = check_end(end, events=checker.count, t=checker.t, digest=digest)
        if self._next() is not None:
            hint = "are these two traces in one file?"
            raise TraceError("there is a line after the end line", hint=hint)


def _check_whole(line: bytes) -> None:
    if not line.endswith(b"\n"):
        raise _cut_off(line)


def _cut_off(line: bytes) -> TraceError:
    hint = "the file was not written to its end; copy or record it again"
    return TraceError("the last line is cut off", "", _start(line), hint=hint)


def _start(line: bytes) -> str:
    return f"{len(line)} bytes beginning with {ascii(line[:40])[1:]}"


def _decoded(line: bytes) -> Any:
    if len(line) > MAX_LINE_BYTES:
        given, allowed = f"more than {MAX_LINE_BYTES} bytes", f"at most {MAX_LINE_BYTES} bytes"
        raise TraceError("the line is too long", "", given, allowed)
    try:
        value = _decode(line)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as why:  # all of msgspec's errors are
        if line.startswith(b"{") and not line.endswith(b"\n"):
            raise _cut_off(line) from None
        what = f"the line is not JSON ({why})"
        raise TraceError(what, "", _start(line), "one object in UTF-8") from None
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise _too_deep()
    return value


def _too_deep() -> TraceError:
    allowed = f"at most {MAX_DEPTH} lists and objects in each other"
    return TraceError("the line is nested too deep", allowed=allowed)


def _deeper(value: object, limit: int) -> bool:
    """Whether more than ``limit`` lists and objects lie in each other. Level by level."""
    level: list[Any] = [value]
    for _ in range(limit):
        level = [part for outer in level for part in _parts(outer)]
        if not level:
            return False
    return any(isinstance(part, (dict, list)) for part in level)


def _parts(value: object) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
