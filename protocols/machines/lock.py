"""A lock service with fencing tokens.

Whoever acquires a lock is given a token, a number larger than any given out before. A resource
that refuses smaller tokens than it has seen is safe from a former holder that, paused for long,
still believes that it holds the lock (the *sequencer* of Burrows, "The Chubby Lock Service",
OSDI 2006, §2.4).

A lock may be taken for a lease: it is free again once the machine's time is past its end. That
time is the latest ``now_us`` of the commands applied so far, Acquires and Releases; it never goes
back, whatever the clocks of successive leaders say, and is the same on every replica. Reads do
not move it: they tell what the last command left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from protocols.api import Map, operation
from protocols.machines.machine import Machine, chunks, unknown_command

__all__ = ["Acquire", "Held", "Holder", "LockService", "Release"]


@operation
class Acquire:
    """Take lock ``name`` for ``owner``, for ``lease_us`` µs from now (0: until it is released).

    Answer: the fencing token; None if someone else holds the lock. The holder itself gets the
    token that it has, and a new lease, so that it may ask again when an answer was lost.
    """

    name: str
    owner: str
    lease_us: int = 0


@operation
class Release:
    """Give lock ``name`` back. Answer: whether ``owner`` held it with that ``token``."""

    name: str
    owner: str
    token: int


@operation
class Holder:
    """Answer: ``(owner, token)`` of who holds lock ``name``; None if it is free."""

    name: str


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that is held: by whom, with which token, until when (None: until released)."""

    owner: str
    token: int
    until_us: int | None = None


@dataclass(frozen=True, slots=True)
class LockService(Machine):
    """Locks by name. Invariants: a lock has one holder at most; tokens strictly increase.

    A command costs the same at 10 and at 100,000 locks. Parts: ``(issued, time_us)``, then
    tuples of (name, owner, token, until_us) in the order of the names.
    """

    held: Map[str, Held] = field(default_factory=Map)
    issued: int = 0
    time_us: int = 0

    commands: ClassVar[tuple[type, ...]] = (Acquire, Release, Holder)
    reads: ClassVar[tuple[type, ...]] = (Holder,)

    def apply(self, command: Any, now_us: int = 0) -> tuple[Self, Any]:
        """The locks after ``command``, and the answer that its class describes."""
        now_us = max(now_us, self.time_us)
        match command:
            case Acquire(name, owner, lease_us):
                return self._acquire(name, owner, lease_us, now_us)
            case Release(name, owner, token):
                return self._release(name, owner, token, now_us)
            case Holder(name):
                held = self._holder(name, self.time_us)
                return self, None if held is None else (held.owner, held.token)
        unknown_command(self, command)

    def _holder(self, name: str, now_us: int) -> Held | None:
        held = self.held.get(name)
        if held is None or held.until_us is None or now_us < held.until_us:
            return held
        return None

    def _acquire(
        self, name: str, owner: str, lease_us: int, now_us: int
    ) -> tuple[Self, int | None]:
        held = self._holder(name, now_us)
        if held is not None and held.owner != owner:
            return self._at(now_us), None
        issued = self.issued if held is not None else self.issued + 1
        token = held.token if held is not None else issued
        taken = Held(owner, token, now_us + lease_us if lease_us else None)
        return type(self)(self.held.set(name, taken), issued, now_us), token

    def _release(self, name: str, owner: str, token: int, now_us: int) -> tuple[Self, bool]:
        held = self._holder(name, now_us)
        if held is None or (held.owner, held.token) != (owner, token):
            return self._at(now_us), False
        return type(self)(self.held.delete(name), self.issued, now_us), True

    def _at(self, now_us: int) -> Self:
        if now_us == self.time_us:
            return self
        return type(self)(self.held, self.issued, now_us)

    def parts(self, size: int) -> tuple[Any, ...]:
        """The scalars, then tuples of ``size`` locks, in the order of the names."""
        rows = ((name, x.owner, x.token, x.until_us) for name, x in self.held.items())
        return ((self.issued, self.time_us), *chunks(rows, size))

    @classmethod
    def from_parts(cls, parts: Iterable[Any]) -> Self:
        """The lock service with all the locks."""
        (issued, time_us), *rest = parts
        held = ((row[0], Held(*row[1:])) for part in rest for row in part)
        return cls(Map(held), issued, time_us)
