"""A key-value store: Get, Put, Delete, Append, Cas.

Every key is a register of its own, so a history of operations can be judged key by key
(linearizability is local: Herlihy and Wing, "Linearizability", TOPLAS 12(3), 1990, Theorem 1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from protocols.api import Map, operation
from protocols.machines.machine import Machine, chunks, unknown_command

__all__ = ["Append", "Cas", "Delete", "Get", "KeyValueStore", "Put"]


@operation
class Get:
    """Answer: the value of ``key``, None if it has none."""

    key: str


@operation
class Put:
    """Set ``key`` to ``value`` (immutable, not None). Answer: None."""

    key: str
    value: Any


@operation
class Delete:
    """Leave ``key`` without a value. Answer: whether it had one."""

    key: str


@operation
class Append:
    """Append the text ``value`` to that of ``key``; a key without a value counts as "".

    Answer: the whole text now; None, and nothing is changed, if ``key`` holds no text.
    """

    key: str
    value: str


@operation
class Cas:
    """Compare and set: ``new`` becomes the value of ``key`` if that is ``expected``.

    ``expected`` None: the key has no value. Answer: whether it was so.
    """

    key: str
    expected: Any
    new: Any


@dataclass(frozen=True, slots=True)
class KeyValueStore(Machine):
    """A key-value store. A command costs the same at 10 and at 100,000 keys.

    Part: a tuple of (key, value) pairs in the order of the keys.
    """

    items: Map[str, Any] = field(default_factory=Map)

    commands: ClassVar[tuple[type, ...]] = (Get, Put, Delete, Append, Cas)
    reads: ClassVar[tuple[type, ...]] = (Get,)

    def apply(self, command: Any, now_us: int = 0) -> tuple[Self, Any]:
        """The store after ``command``, and the answer that its class describes."""
        match command:
            case Get(key):
                return self, self.items.get(key)
            case Put(key, value):
                return self._with(key, value), None
            case Delete(key):
                return self._delete(key)
            case Append(key, value):
                return self._append(key, value)
            case Cas(key, expected, new):
                as_expected = self.items.get(key) == expected
                return (self._with(key, new) if as_expected else self), as_expected
        unknown_command(self, command)

    def _with(self, key: str, value: Any) -> Self:
        return type(self)(self.items.set(key, value))

    def _delete(self, key: str) -> tuple[Self, bool]:
        if key not in self.items:
            return self, False
        return type(self)(self.items.delete(key)), True

    def _append(self, key: str, value: str) -> tuple[Self, str | None]:
        held = self.items.get(key, "")
        if not isinstance(held, str):
            return self, None
        return self._with(key, held + value), held + value

    def parts(self, size: int) -> tuple[Any, ...]:
        """Tuples of ``size`` (key, value) pairs, in the order of the keys."""
        return chunks(self.items.items(), size) or ((),)

    @classmethod
    def from_parts(cls, parts: Iterable[Any]) -> Self:
        """The store with all the pairs."""
        return cls(Map(pair for part in parts for pair in part))
