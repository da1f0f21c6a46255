"""Histories of client operations: what was asked, what came back, and when."""

from __future__ import annotations

from sim.history.errors import HistoryError
from sim.history.jsonl import history_lines, write_history
from sim.history.read import FORMATS, parse_history, read_history
from sim.history.records import from_records
from sim.history.values import History, Operation

__all__ = [
    "FORMATS",
    "History",
    "HistoryError",
    "Operation",
    "from_records",
    "history_lines",
    "parse_history",
    "read_history",
    "write_history",
]
