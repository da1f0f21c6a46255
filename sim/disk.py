"""A node's stable storage: what is written, what is really synced, and what a crash leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

Changes = Mapping[str, Any]


class Disk:
    """Durable fields of one node. A write is synced ``sync_us`` later (group commit).

    ``stored`` is what a crash leaves. ``unsynced`` are writes whose sync has not ended; while
    the disk lies, syncs end but their writes only wait in ``acknowledged``: a crash loses both.
    """

    __slots__ = (
        "acknowledged",
        "corrupt_detected",
        "extra_us",
        "full",
        "lying",
        "stored",
        "sync_us",
        "syncs",
        "torn",
        "unsynced",
        "usages",
    )

    def __init__(self, sync: Callable[[], int] | None = None) -> None:
        self.sync_us = sync
        self.extra_us = 0
        self.stored: dict[str, Any] = {}
        self.unsynced: list[Changes] = []
        self.acknowledged: list[Changes] = []
        self.lying = 0
        self.torn = 0
        self.full = 0
        self.corrupt_detected: str | None = None
        self.syncs = 0
        self.usages: list[tuple[str, Any]] = []  # (kind of fault, what counts its bites)

    def bite(self, kind: str, count: int = 1) -> None:
        """A fault of this kind made a difference."""
        for fault, usage in self.usages:
            if fault == kind:
                usage.touched += count

    def latency_us(self) -> int:
        """How long the next sync takes."""
        base = self.sync_us() if self.sync_us is not None else 0
        if self.extra_us:
            self.bite("slow")
        return base + self.extra_us

    def write(self, changes: Changes) -> None:
        """Changed fields go to the disk, unsynced."""
        self.unsynced.append(changes)

    def sync(self, writes: int) -> None:
        """The sync of the oldest ``writes`` writes has ended; safe if the disk is honest."""
        self.syncs += 1
        done, self.unsynced = self.unsynced[:writes], self.unsynced[writes:]
        if self.lying:
            self.acknowledged += done
            return
        for changes in done:
            self.stored.update(changes)

    def settle(self) -> None:
        """The disk stops lying: all that was acknowledged becomes real."""
        for changes in self.acknowledged:
            self.stored.update(changes)
        self.acknowledged.clear()

    def lose_power(self) -> int:
        """A crash: forget what isn't safe, or tear the last write; the number of writes lost."""
        lost = len(self.unsynced) + len(self.acknowledged)
        if self.acknowledged:
            self.bite("lose-unsynced", len(self.acknowledged))
        if self.torn and self.unsynced:
            self.tear()
        self.unsynced.clear()
        self.acknowledged.clear()
        return lost

    def tear(self) -> None:
        """Of the last write only the first half of its fields reaches the platter."""
        for changes in self.unsynced[:-1]:
            self.stored.update(changes)
        self.bite("torn")
        last = self.unsynced[-1]
        names = list(last)
        self.stored.update({name: last[name] for name in names[: len(names) // 2]})

    def wipe(self) -> None:
        """Everything stored so far is gone."""
        self.stored.clear()
        self.unsynced.clear()
        self.acknowledged.clear()

    def corrupt(self, rng: Random, *, detected: bool) -> str | None:
        """Damage one stored field; its name, or None if nothing is stored."""
        if not self.stored:
            return None
        name = rng.choice(sorted(self.stored))
        if detected:
            self.corrupt_detected = name
        else:
            del self.stored[name]
        return name
