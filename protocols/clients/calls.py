"""The operations that a client has accepted and not yet completed, in order of arrival."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from protocols.api import Map

__all__ = ["Call", "Calls"]


@dataclass(frozen=True, slots=True)
class Call:
    """An operation to complete: its ``id`` and what it asks for."""

    id: int
    command: Any


@dataclass(frozen=True, slots=True)
class Calls:
    """Open calls by ticket: tickets count from 1 in order of arrival, none is given twice.

    A persistent value: every method gives a new one, in a time that doesn't depend on how many
    calls are open. ``first``: no open call has a smaller ticket; ``last``: the newest ticket.
    """

    open: Map[int, Call] = field(default_factory=Map)
    first: int = 1
    last: int = 0

    def __len__(self) -> int:
        return len(self.open)

    def add(self, call: Call) -> Calls:
        """With ``call`` at the end; its ticket is ``last`` of the result."""
        return Calls(self.open.set(self.last + 1, call), self.first, self.last + 1)

    def remove(self, ticket: int) -> Calls:
        """Without the call of ``ticket``; KeyError if it isn't open."""
        rest, first = self.open.delete(ticket), self.first
        while first <= self.last and first not in rest:
            first += 1
        return Calls(rest, first, self.last)
