"""The deterministic state machine that a replicated log is for, as a persistent value.

Source: Schneider, "Implementing Fault-Tolerant Services Using the State Machine Approach",
ACM Computing Surveys 22(4), 1990: replicas that start alike and apply the same commands in the
same order end alike and answer alike.

A machine is a frozen value: ``apply`` gives a new one and shares almost everything with the old
one. So a snapshot is a reference, whatever the size, and nobody can change it afterwards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn, Self

__all__ = ["Machine", "chunks", "unknown_command"]


class Machine(ABC):
    """A deterministic state machine. Subclasses are frozen dataclasses with slots.

    ``commands`` are the command classes that ``apply`` takes, ``reads`` those of them that never
    change the machine, on which clients and servers rely: a read may be done twice, or given up.
    """

    __slots__ = ()

    commands: ClassVar[tuple[type, ...]] = ()
    reads: ClassVar[tuple[type, ...]] = ()

    @abstractmethod
    def apply(self, command: Any, now_us: int = 0) -> tuple[Self, Any]:
        """The machine after ``command``, and the answer; the machine itself if nothing changed.

        A pure function of the machine and the arguments. ``now_us`` is the time that the log
        entry carries, the same on every replica; 0 where the protocol keeps none. A command that
        cannot be carried out (no such account, a wrong expectation) is *answered* so. TypeError
        for a command of another class: that is a bug of the caller.
        """

    def read_only(self, command: Any) -> bool:
        """Whether ``command`` surely leaves the machine as it is."""
        return isinstance(command, self.reads)

    @abstractmethod
    def parts(self, size: int) -> tuple[Any, ...]:
        """The machine in immutable parts of at most ``size`` items, at least one part.

        For snapshots sent in pieces (InstallSnapshot of Raft, with its offset and done). Equal
        machines have equal parts. ValueError unless ``size`` ≥ 1.
        """

    @classmethod
    @abstractmethod
    def from_parts(cls, parts: Iterable[Any]) -> Self:
        """The machine that ``parts`` were taken from; they come in order and complete."""


def chunks(items: Iterable[Any], size: int) -> tuple[tuple[Any, ...], ...]:
    """The items in tuples of ``size`` (the last may be shorter); () for no items."""
    if size < 1:
        raise ValueError(f"parts of {size} items: a part holds at least 1, such as parts(1000)")
    everything = tuple(items)
    return tuple(everything[at : at + size] for at in range(0, len(everything), size))


def unknown_command(machine: Machine, command: object) -> NoReturn:
    """Raise the TypeError for a command that ``machine`` does not have."""
    name = type(machine).__name__
    known = ", ".join(cls.__name__ for cls in machine.commands)
    raise TypeError(f"{name} has no command {command!r}; it applies: {known}")
