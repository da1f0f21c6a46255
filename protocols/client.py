"""Client operations and their outcomes: ``invoke → ok | fail | info``, as in Jepsen's histories.

*fail* means that the operation surely had no effect; *info* that nobody knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an operation ended. ``value`` is the answer (ok) or the reason (fail, info)."""

    kind: Literal["ok", "fail", "info"]
    value: Any = None


def ok(value: Any = None) -> Outcome:
    """The operation took effect; ``value`` is its answer."""
    return Outcome("ok", value)


def fail(reason: str) -> Outcome:
    """The operation surely did not and will not take effect."""
    return Outcome("fail", reason)


def info(reason: str) -> Outcome:
    """Unknown: the operation may have taken effect, may yet, or never will."""
    return Outcome("info", reason)
