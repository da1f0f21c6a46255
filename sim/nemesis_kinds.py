"""What the nemesis can do: one way of drawing for each kind of fault.

A kind is a fault word (``pause``) or a word and a variant (``partition:ring``). Each draws its
targets, times and sizes with the :class:`~sim.nemesis_dice.Dice`, and says what it leaves behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from protocols.values import MS
from sim.faults import (
    ClockDrift,
    ClockOffset,
    ClockStep,
    Crash,
    CrashLoop,
    Disk,
    DiskKind,
    Fault,
    Hold,
    Link,
    Partition,
    Pause,
    Recover,
    Release,
    Resume,
    Shape,
    Slow,
    Targets,
)
from sim.nemesis_dice import Dice, pick
from sim.plan_targets import ALL

__all__ = ["KINDS", "Kind"]

Draw = Callable[[Dice], tuple[Fault, ...]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One thing the nemesis can do.

    ``lines`` of the plan it takes; ``nodes`` it needs at least; ``down``: it takes nodes down.
    ``harm`` says what it leaves behind, and so why it isn't done in liveness mode.
    """

    name: str
    draw: Draw
    nodes: int = 1
    lines: int = 1
    down: bool = False
    harm: str = ""

    @property
    def word(self) -> str:
        """The fault word, without the variant."""
        return self.name.partition(":")[0]


# -- nodes and clocks -----------------------------------------------------------------------------


def _crash(dice: Dice) -> tuple[Fault, ...]:
    return (Crash(**dice.lasting(), targets=dice.targets(dice.most_down)),)


def _escape(dice: Dice) -> tuple[Fault, ...]:
    escape = dice.rng.randrange(len(dice.nodes))
    return (Crash(**dice.lasting(), targets=dice.targets(dice.most_down), escape=escape),)


def _crash_loop(dice: Dice) -> tuple[Fault, ...]:
    window = dice.lasting()
    length = (window["until_us"] or dice.end_us) - window["at_us"]
    period = max(2, length // dice.grain_us // (2 + dice.rng.randrange(7)))
    down = 1 + dice.rng.randrange(period - 1)
    times = {"down_us": down * dice.grain_us, "up_us": (period - down) * dice.grain_us}
    return (CrashLoop(**window, targets=dice.targets(dice.most_down), **times),)


def _pause(dice: Dice) -> tuple[Fault, ...]:
    return (Pause(**dice.lasting(), targets=dice.targets(dice.most_down)),)


def _pair(
    first: type[Crash] | type[Pause], second: type[Recover] | type[Resume], dice: Dice
) -> tuple[Fault, ...]:
    at_us, until_us = dice.window()
    targets = dice.targets(dice.most_down, fixed=True)
    return first(at_us=at_us, targets=targets), second(at_us=until_us, targets=targets)


def _slow(dice: Dice) -> tuple[Fault, ...]:
    return (Slow(**dice.lasting(), targets=dice.anyone(), factor=1 + dice.scaled(99)),)


def _clock_offset(dice: Dice) -> tuple[Fault, ...]:
    by_us = dice.signed(MS * dice.magnitude(4))
    return (ClockOffset(**dice.lasting(), targets=dice.anyone(), by_us=by_us),)


def _clock_drift(dice: Dice) -> tuple[Fault, ...]:
    ppm = dice.signed(10 * dice.magnitude(4))
    return (ClockDrift(**dice.lasting(), targets=dice.anyone(), ppm=ppm),)


def _clock_step(dice: Dice) -> tuple[Fault, ...]:
    by_us = dice.signed(MS * dice.magnitude(4))
    return (ClockStep(at_us=dice.moment(), targets=dice.anyone(), by_us=by_us),)


# -- the network ----------------------------------------------------------------------------------


def _groups(dice: Dice) -> tuple[Targets, ...]:
    nodes = dice.shuffled()
    parts = 3 if len(nodes) > 2 and dice.chance(4) else 2
    cuts = sorted(dice.rng.sample(range(1, len(nodes)), parts - 1))
    bounds = zip([0, *cuts], [*cuts, len(nodes)], strict=True)
    return tuple(dice.named(nodes[low:high]) for low, high in bounds)


def _one_way(dice: Dice) -> tuple[Targets, ...]:
    nodes = dice.shuffled()
    cut = 1 + dice.rng.randrange(len(nodes) - 1)
    end = cut + 1 + dice.rng.randrange(len(nodes) - cut)
    return dice.named(nodes[:cut]), dice.named(nodes[cut:end])


_PARTS: Mapping[Shape, tuple[int, Callable[[Dice], tuple[Targets, ...]]]] = {
    "groups": (2, _groups),
    "one_way": (2, _one_way),
    "isolate": (2, lambda dice: (dice.anyone(),)),
    "majority": (3, lambda dice: (dice.one(),)),
    "minority": (3, lambda dice: (dice.one(),)),
    "ring": (4, lambda dice: ()),
    "bridge": (3, lambda dice: (dice.one(),) if dice.chance(2) else ()),
    "halves": (2, lambda dice: ()),
}
"""For each shape how many nodes it takes to cut anything, and how its groups are drawn."""


def _partition(shape: Shape, dice: Dice) -> tuple[Fault, ...]:
    groups = _PARTS[shape][1](dice)
    keep = dice.chance(4)
    return (Partition(**dice.lasting(), shape=shape, groups=groups, keep_in_flight=keep),)


def _ends(dice: Dice) -> dict[str, Any]:
    """The fields ``src``, ``dst`` and ``both`` of a Link or Hold."""
    where = pick(dice.rng, [("everywhere", 1), ("around", 2), ("between", 2)])
    if where == "everywhere":
        return {"src": (ALL,), "dst": (ALL,)}
    both = not dice.chance(3)
    if where == "around":
        return {"src": dice.anyone(), "dst": (ALL,), "both": both}
    src, dst = dice.rng.sample(dice.nodes, 2)
    return {"src": dice.named([src]), "dst": dice.named([dst]), "both": both}


def _delay(dice: Dice) -> dict[str, Any]:
    delay_us = MS * dice.magnitude(3)
    return {"delay_us": delay_us, "jitter_us": delay_us * dice.rng.randrange(11) // 10}


_EFFECTS: Mapping[str, Callable[[Dice], dict[str, Any]]] = {
    "loss": lambda dice: {"loss": dice.share()},
    "delay": _delay,
    "duplicate": lambda dice: {"duplicate": dice.share()},
    "corrupt": lambda dice: {"corrupt": dice.share()},
    "corrupt-deliver": lambda dice: {"corrupt": dice.share(), "corrupt_mode": "deliver"},
    "reorder": lambda dice: {"reorder": dice.share(), "reorder_us": MS * dice.magnitude(3)},
}


def _link(effect: str, dice: Dice) -> tuple[Fault, ...]:
    return (Link(**dice.lasting(), **_ends(dice), **_EFFECTS[effect](dice)),)


def _hold(dice: Dice) -> tuple[Fault, ...]:
    return (Hold(**dice.lasting(), **_ends(dice)),)


def _release(dice: Dice) -> tuple[Fault, ...]:
    at_us, until_us = dice.window()
    return Hold(at_us=at_us, **_ends(dice)), Release(at_us=until_us)


# -- disks ----------------------------------------------------------------------------------------


def _disk(kind: DiskKind, dice: Dice) -> tuple[Fault, ...]:
    """A lasting disk fault that takes no node down by itself."""
    delay_us = MS * dice.magnitude(3) if kind == "slow" else 0
    return (Disk(**dice.lasting(), targets=dice.anyone(), kind=kind, delay_us=delay_us),)


def _full(dice: Dice) -> tuple[Fault, ...]:
    return (Disk(**dice.lasting(), targets=dice.targets(dice.most_down), kind="full"),)


def _corrupt(dice: Dice) -> tuple[Fault, ...]:
    targets, detected = dice.targets(dice.most_down), dice.chance(2)
    return (Disk(at_us=dice.moment(), targets=targets, kind="corrupt", detected=detected),)


def _wipe(dice: Dice) -> tuple[Fault, ...]:
    return (Disk(at_us=dice.moment(), targets=dice.anyone(), kind="wipe"),)


# -- the table ------------------------------------------------------------------------------------

_OPEN = "its end is a line of its own, which shrinking may take away"
_LOST = "what the disk lost stays lost"
_STAYS_DOWN = "the nodes it crashes stay down"

_ALL_KINDS = (
    Kind("crash", _crash, down=True),
    Kind("crash:escape", _escape, down=True),
    Kind("recover", partial(_pair, Crash, Recover), lines=2, down=True, harm=_OPEN),
    Kind("crash_loop", _crash_loop, down=True),
    Kind("pause", _pause, down=True),
    Kind("resume", partial(_pair, Pause, Resume), lines=2, down=True, harm=_OPEN),
    Kind("slow", _slow),
    Kind("clock_offset", _clock_offset),
    Kind("clock_drift", _clock_drift, harm="what the clock gained stays"),
    Kind("clock_step", _clock_step, harm="the jump stays"),
    *(
        Kind(f"partition:{shape}", partial(_partition, shape), nodes=nodes)
        for shape, (nodes, _) in _PARTS.items()
    ),
    *(
        Kind(f"link:{effect}", partial(_link, effect), nodes=2)
        for effect in _EFFECTS
        if effect != "corrupt-deliver"
    ),
    Kind(
        "link:corrupt-deliver",
        partial(_link, "corrupt-deliver"),
        nodes=2,
        harm="a node may keep a damaged value",
    ),
    Kind("hold", _hold, nodes=2),
    Kind("release", _release, nodes=2, lines=2, harm=_OPEN),
    Kind("disk:slow", partial(_disk, "slow")),
    Kind("disk:lose-unsynced", partial(_disk, "lose-unsynced"), harm=_LOST),
    Kind("disk:torn", partial(_disk, "torn"), harm=_LOST),
    Kind("disk:corrupt", _corrupt, down=True, harm=_LOST),
    Kind("disk:full", _full, down=True, harm=_STAYS_DOWN),
    Kind("disk:wipe", _wipe, harm=_LOST),
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _ALL_KINDS}
"""Everything that can be drawn, by name."""
