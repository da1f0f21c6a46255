"""Rows of a sweep on disk: a folder with ``rows.jsonl``, one line a run, written as they come.

The first line says which sweep it is. A finished file holds the rows in the order of the jobs,
whatever the number of workers was; an interrupted one holds what was done, in any order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from scenarios.sweep import Row, Sweep, SweepError
from sim.trace import write_bytes

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Store"]

FORMAT = 1


class Store:
    """The rows of one sweep in ``folder``. Use it with ``with``; then ``keep`` rows.

    ``resume``: go on with the rows that are there. SweepError if they belong to another sweep
    (other settings, seeds, scenario or code), or if there are some and ``resume`` is False.
    """

    def __init__(self, folder: Path, sweep: Sweep, *, resume: bool) -> None:
        self.path = folder / "rows.jsonl"
        self._header = {
            "splitbrain_sweep": FORMAT,
            "scenario": sweep.name,
            "vary": [[path, list(values)] for path, values in sweep.vary],
            "seeds": list(sweep.seeds),
            "digest": sweep.digest,
        }
        self.done: list[Row] = self._read(resume)
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        """Write what is there anew (without a line that was cut off) and wait for rows."""
        self._write(self.done)
        self._file = self.path.open("a", encoding="utf-8", newline="\n")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def keep(self, row: Row) -> None:
        """Add a row; it is in the file when this returns."""
        assert self._file is not None
        self._file.write(_line(row))
        self._file.flush()

    def finish(self, rows: Iterable[Row]) -> None:
        """Write all rows in their final order."""
        self._write(rows)

    def _write(self, rows: Iterable[Row]) -> None:
        text = "".join(map(_line, (self._header, *rows)))
        write_bytes(self.path, text.encode())

    def _read(self, resume: bool) -> list[Row]:
        try:
            lines = self.path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        if not resume:
            raise SweepError(
                f"{self.path}: there are results already; go on with them (--resume), or give "
                "another folder (--out)"
            )
        if not lines or self._parsed(lines[0]) != self._header:
            raise SweepError(
                f"{self.path}: these are results of another sweep (other settings, seeds, "
                "scenario or code); give another folder (--out)"
            )
        rows = {row["job"]: row for line in lines[1:] if (row := self._parsed(line))}
        return [rows[job] for job in sorted(rows) if rows[job]["verdict"] != "error"]

    def _parsed(self, line: bytes) -> dict[str, Any] | None:
        """A line as data; None if the line is cut off or no object."""
        try:
            value = json.loads(line)
        except ValueError:
            return None
        whole = line.endswith(b"\n") and isinstance(value, dict)
        return value if whole else None


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
