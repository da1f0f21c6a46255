"""Deterministic state machines for replicated logs: key-value store, bank, locks, counter."""

from __future__ import annotations

from typing import Any

from protocols.machines.bank import Bank
from protocols.machines.counter import Counter
from protocols.machines.kv import KeyValueStore
from protocols.machines.lock import LockService
from protocols.machines.machine import Machine

__all__ = [
    "COMMANDS",
    "MACHINES",
    "READS",
    "Bank",
    "Counter",
    "KeyValueStore",
    "LockService",
    "Machine",
    "read_only",
]

MACHINES: dict[str, type[Machine]] = {
    "kv": KeyValueStore,
    "bank": Bank,
    "lock": LockService,
    "counter": Counter,
}
"""The machines by the names that scenario files use."""
COMMANDS: tuple[type, ...] = tuple(cls for made in MACHINES.values() for cls in made.commands)
"""The command classes of all these machines."""
READS: tuple[type, ...] = tuple(cls for made in MACHINES.values() for cls in made.reads)
"""The command classes that never change a machine."""


def read_only(command: Any) -> bool:
    """Whether ``command`` of any of these machines surely leaves its machine as it is."""
    return isinstance(command, READS)
