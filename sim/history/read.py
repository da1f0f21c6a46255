"""Reading a history of any known format, told apart by its content."""

from __future__ import annotations

import gzip
import os
import zlib
from dataclasses import replace
from io import BytesIO
from typing import Literal, TypeAlias, get_args

from sim.history.errors import HistoryError, shown
from sim.history.jepsen import LOG_MARK, read_edn, read_log
from sim.history.jsonl import HEADER, read_jsonl
from sim.history.values import History

__all__ = ["FORMATS", "MAX_BYTES", "Format", "detect", "parse_history", "read_history"]

Format: TypeAlias = Literal["jsonl", "edn", "log"]
FORMATS: tuple[str, ...] = get_args(Format)
"""jsonl: ours; edn: Jepsen's and Porcupine's maps; log: the lines of a Jepsen test's log."""

MAX_BYTES = 256 * 2**20
"""A longer file is refused (unpacked, if it is gzip)."""
_GZIP_MAGIC = b"\x1f\x8b"


def read_history(
    path: str | os.PathLike[str], *, format: Format | None = None, keyed: bool = False
) -> History:
    """The history in a file, plain or gzip; HistoryError, and nothing else, if there is none.

    ``keyed``: values are ``[key value]`` pairs, as in Jepsen's independent tests.
    """
    name = "".join(c if c.isprintable() else "?" for c in str(path))
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as why:
        reason = (why.strerror if isinstance(why, OSError) else None) or str(why)
        raise HistoryError(f"cannot read it ({reason})", "a file", path=name) from None
    return parse_history(data, name, format=format, keyed=keyed)


def parse_history(
    data: bytes, name: str = "", *, format: Format | None = None, keyed: bool = False
) -> History:
    """The history in the bytes of a file; ``name`` is for messages."""
    try:
        data = _unpacked(data)
        return replace(_parse(data, format or detect(data), keyed), source=name)
    except HistoryError as error:
        raise error.within(name) from None


def detect(data: bytes) -> Format:
    """The format of these bytes; HistoryError if it is none that is known."""
    start = data[:4096].lstrip()
    if start[:1] == b"{" and f'"{HEADER}"'.encode() in start.partition(b"\n")[0]:
        return "jsonl"
    if LOG_MARK.encode() in data:
        return "log"
    if start[:1] in (b"[", b"(", b"{", b";", b"#") and b":process" in data:
        return "edn"
    allowed = (
        f'lines of JSON after {{"{HEADER}": 1}}, EDN maps with :process, or a log with {LOG_MARK}'
    )
    raise HistoryError(f"no known format begins with {shown(bytes(start[:40]))}", allowed)


def _unpacked(data: bytes) -> bytes:
    if data[:2] == _GZIP_MAGIC:
        try:
            data = gzip.GzipFile(fileobj=BytesIO(data)).read(MAX_BYTES + 1)
        except (OSError, EOFError, zlib.error) as why:
            raise HistoryError(f"the gzip data is damaged ({why})") from None
    if len(data) > MAX_BYTES:
        raise HistoryError("the file is too large", f"{MAX_BYTES // 2**20} MiB")
    return data


def _parse(data: bytes, format: Format, keyed: bool) -> History:
    if format == "jsonl":
        return read_jsonl(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as why:
        line = data.count(b"\n", 0, why.start) + 1
        raise HistoryError(f"this is not UTF-8 ({why.reason})", line=line) from None
    reader = {"edn": read_edn, "log": read_log}.get(format)
    if reader is None:
        raise HistoryError(f"unknown format {shown(format)}", ", ".join(FORMATS))
    return reader(text, keyed=keyed)
