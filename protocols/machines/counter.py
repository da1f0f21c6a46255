"""A counter: the smallest machine on which doing a command twice shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from protocols.api import operation
from protocols.machines.machine import Machine, chunks, unknown_command

__all__ = ["Add", "Counter", "Read"]


@operation
class Add:
    """Add ``by``, of either sign. Answer: the count now."""

    by: int = 1


@operation
class Read:
    """Answer: the count."""


@dataclass(frozen=True, slots=True)
class Counter(Machine):
    """A count. Invariant: it is the sum of what was added, each command counted once."""

    count: int = 0

    commands: ClassVar[tuple[type, ...]] = (Add, Read)
    reads: ClassVar[tuple[type, ...]] = (Read,)

    def apply(self, command: Any, now_us: int = 0) -> tuple[Self, Any]:
        """The counter after ``command``, and the count."""
        match command:
            case Add(by):
                return type(self)(self.count + by), self.count + by
            case Read():
                return self, self.count
        unknown_command(self, command)

    def parts(self, size: int) -> tuple[Any, ...]:
        """One part, ``(count,)``."""
        return chunks((self.count,), size)

    @classmethod
    def from_parts(cls, parts: Iterable[Any]) -> Self:
        """The counter with the count of the only part."""
        ((count,),) = parts
        return cls(count)
