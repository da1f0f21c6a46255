"""Faults as values: what goes wrong, at whom, from when until when.

A plan is a tuple of these (:mod:`sim.plan` reads and writes it as YAML lines, the injector in
:mod:`sim.inject` carries it out). A fault without an end (``until_us`` None) lasts until the end
of the run or until its opposite (``Recover``, ``Resume``, ``Release``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TargetKind = Literal["node", "role", "rack", "zone", "region", "random", "all"]


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a fault hits. Resolved when the fault begins, against the nodes of that moment.

    ``node`` n1 · ``role`` leader (nodes whose process has ``role`` with that name) · ``rack``,
    ``zone``, ``region`` by attribute · ``random`` k nodes drawn from the nemesis stream · ``all``.
    """

    kind: TargetKind
    name: str = ""
    count: int = 1


Targets = tuple[Target, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Common to all faults: begins at ``at_us``, ends at ``until_us`` (None: doesn't end)."""

    at_us: int
    until_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash(Fault):
    """Volatile state is lost; with an end, the node recovers then.

    ``escape`` None: the crash falls between two steps. ``escape`` = k: it falls into the node's
    next step at or after ``at_us``, after its durable changes are stored and its first k
    messages have left.
    """

    targets: Targets
    escape: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recover(Fault):
    """A crashed node starts again from its disk."""

    targets: Targets


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashLoop(Fault):
    """The node crashes at once, stays down for ``down_us``, up for ``up_us``, and again."""

    targets: Targets
    up_us: int
    down_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Fault):
    """The node stands still (a long collection, SIGSTOP): what arrives waits, state is kept."""

    targets: Targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume(Fault):
    """A paused node goes on: what waited is handled now, in order."""

    targets: Targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow(Fault):
    """Every step takes ``factor`` times the node's service time (1 ms if it has none)."""

    targets: Targets
    factor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockOffset(Fault):
    """The local clock shows ``by_us`` more (less, if negative) while the fault lasts."""

    targets: Targets
    by_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockDrift(Fault):
    """The local clock, timers included, gains ``ppm`` µs per second while the fault lasts."""

    targets: Targets
    ppm: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep(Fault):
    """The local clock jumps by ``by_us`` once and for all."""

    targets: Targets
    by_us: int


Shape = Literal["groups", "one_way", "isolate", "majority", "minority", "ring", "bridge", "halves"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition(Fault):
    """Messages between parts of the cluster are dropped, those in flight too.

    ``groups``: only nodes of one group reach each other; nodes in no group form one more.
    ``one_way``: what goes from ``groups[0]`` to ``groups[1]`` is dropped, the way back is open.
    ``isolate``: each node of ``groups[0]`` is cut off from all others.
    ``majority`` / ``minority``: ``groups[0]`` (one node) is kept with a random majority /
    minority, against the rest. ``ring``: each node reaches only its two neighbours in node
    order. ``bridge``: two random halves that only ``groups[0]`` (or one drawn node) reaches.
    ``halves``: two random halves.
    """

    shape: Shape = "groups"
    groups: tuple[Targets, ...] = ()
    keep_in_flight: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Fault):
    """Trouble on the links from ``src`` to ``dst`` (and back, if ``both``).

    Probabilities are per message, in [0, 1]. ``delay_us`` and a uniform draw from 0 to
    ``jitter_us`` are added to every message; ``reorder`` is the share of messages delayed by up
    to ``reorder_us`` more, so that later ones overtake them. A duplicate comes up to
    ``reorder_us`` behind. ``corrupt_mode``: detected and dropped, or delivered with one field
    changed.
    """

    src: Targets
    dst: Targets
    both: bool = True
    loss: float = 0.0
    delay_us: int = 0
    jitter_us: int = 0
    duplicate: float = 0.0
    corrupt: float = 0.0
    corrupt_mode: Literal["drop", "deliver"] = "drop"
    reorder: float = 0.0
    reorder_us: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold(Fault):
    """Messages from ``src`` to ``dst`` (and back, if ``both``) are held until the end, then
    delivered in order.
    """

    src: Targets
    dst: Targets
    both: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Fault):
    """What all ``Hold`` faults hold is delivered now, in order, and holding ends."""


DiskKind = Literal["lose-unsynced", "torn", "corrupt", "full", "slow", "wipe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk(Fault):
    """The disk misbehaves.

    ``lose-unsynced``: syncs are acknowledged but not done; a crash before the end loses them.
    ``torn``: a crash leaves the last write half done (a prefix of its changed fields).
    ``corrupt``: one stored field, drawn from the nemesis stream, is damaged; recovery detects it
    and the node stays down (``detected``; an end repairs it), or silently reads the default.
    ``full``: a step that would store something crashes the node instead.
    ``slow``: each sync takes ``delay_us`` more. ``wipe``: everything stored so far is gone.
    """

    targets: Targets
    kind: DiskKind
    delay_us: int = 0
    detected: bool = True


FAULTS: dict[str, type[Fault]] = {
    "crash": Crash,
    "recover": Recover,
    "crash_loop": CrashLoop,
    "pause": Pause,
    "resume": Resume,
    "slow": Slow,
    "clock_offset": ClockOffset,
    "clock_drift": ClockDrift,
    "clock_step": ClockStep,
    "partition": Partition,
    "link": Link,
    "hold": Hold,
    "release": Release,
    "disk": Disk,
}
"""The word that names each fault in a scenario file."""

NAMES: dict[type[Fault], str] = {cls: name for name, cls in FAULTS.items()}
