"""Faults in plain English, one line each: for reports, traces and the viewer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sim.faults import (
    ClockDrift,
    ClockOffset,
    ClockStep,
    Crash,
    CrashLoop,
    Disk,
    Fault,
    Hold,
    Link,
    Partition,
    Pause,
    Recover,
    Release,
    Resume,
    Slow,
    Target,
    Targets,
)
from sim.units import format_duration as t

__all__ = ["describe"]


def describe(fault: Fault) -> str:
    """``fault`` in plain English: "n1 crashes at 5s and recovers at 8s"."""
    return _SAY[type(fault)](fault)


# -- whom and when --------------------------------------------------------------------------------


def _one(target: Target) -> str:
    if target.kind == "node":
        return target.name
    if target.kind == "role":
        return f"whoever is {target.name}"
    if target.kind == "all":
        return "every node"
    if target.kind == "random":
        return "a random node" if target.count == 1 else f"{target.count} random nodes"
    return f"{target.kind} {target.name}"


def _who(targets: Targets) -> str:
    *first, last = [_one(target) for target in targets]
    return f"{', '.join(first)} and {last}" if first else last


def _many(targets: Targets) -> bool:
    return len(targets) > 1 or targets[0].count > 1


def _does(targets: Targets, verb: str) -> str:
    """``n1 crashes``, ``n1 and n2 crash``."""
    ending = "" if _many(targets) else "es" if verb.endswith("sh") else "s"
    return f"{_who(targets)} {verb}{ending}"


def _while(fault: Fault) -> str:
    until = " on" if fault.until_us is None else f" to {t(fault.until_us)}"
    return f"from {t(fault.at_us)}{until}"


def _then(fault: Fault, targets: Targets, verb: str) -> str:
    if fault.until_us is None:
        return ""
    return f" and {verb}{'' if _many(targets) else 's'} at {t(fault.until_us)}"


# -- nodes ----------------------------------------------------------------------------------------


def _crash(fault: Crash) -> str:
    back = _then(fault, fault.targets, "recover")
    if fault.escape is None:
        return f"{_does(fault.targets, 'crash')} at {t(fault.at_us)}{back}"
    left = "no message has left"
    if fault.escape:
        left = f"{fault.escape} message{' has' if fault.escape == 1 else 's have'} left"
    step = f"inside the first step from {t(fault.at_us)} on, when {left}"
    return f"{_does(fault.targets, 'crash')} {step}{',' if back else ''}{back}"


def _crash_loop(fault: CrashLoop) -> str:
    rhythm = f"{t(fault.down_us)} down, {t(fault.up_us)} up"
    return f"{_while(fault)} {_does(fault.targets, 'crash')} again and again: {rhythm}"


def _pause(fault: Pause) -> str:
    back = _then(fault, fault.targets, "resume")
    return f"{_does(fault.targets, 'pause')} at {t(fault.at_us)}{back}"


def _slow(fault: Slow) -> str:
    need = _does(fault.targets, "need")
    return f"{_while(fault)} {need} {fault.factor} times as long for every step"


def _recover(fault: Recover) -> str:
    return f"{_does(fault.targets, 'recover')} at {t(fault.at_us)}"


def _resume(fault: Resume) -> str:
    return f"{_does(fault.targets, 'resume')} at {t(fault.at_us)}"


# -- clocks and disks -----------------------------------------------------------------------------


def _clock_offset(fault: ClockOffset) -> str:
    way = "ahead" if fault.by_us >= 0 else "behind"
    return f"{_while(fault)} the clock of {_who(fault.targets)} is {t(abs(fault.by_us))} {way}"


def _clock_drift(fault: ClockDrift) -> str:
    way = "fast" if fault.ppm >= 0 else "slow"
    return f"{_while(fault)} the clock of {_who(fault.targets)} runs {abs(fault.ppm)} ppm too {way}"


def _clock_step(fault: ClockStep) -> str:
    way = "ahead" if fault.by_us >= 0 else "back"
    jump = f"jumps {t(abs(fault.by_us))} {way}"
    return f"at {t(fault.at_us)} the clock of {_who(fault.targets)} {jump}"


def _disk(fault: Disk) -> str:
    disk = f"the disk of {_who(fault.targets)}"
    if fault.kind == "wipe":
        return f"at {t(fault.at_us)} {disk} loses everything"
    if fault.kind == "corrupt":
        found = "recovery finds it" if fault.detected else "nobody notices"
        until = "" if fault.until_us is None else f" until {t(fault.until_us)}"
        return f"at {t(fault.at_us)} {disk} damages one stored field and {found}{until}"
    does = {
        "lose-unsynced": "acknowledges syncs that it doesn't do",
        "torn": "leaves the last write half done at a crash",
        "full": "is full: storing something crashes the node",
        "slow": f"takes {t(fault.delay_us)} more for each sync",
    }
    return f"{_while(fault)} {disk} {does[fault.kind]}"


# -- the network ----------------------------------------------------------------------------------


def _partition(fault: Partition) -> str:
    kept = " (messages in flight still arrive)" if fault.keep_in_flight else ""
    return f"{_while(fault)} {_PARTS[fault.shape](fault.groups)}{kept}"


Groups = tuple[Targets, ...]


def _groups(groups: Groups) -> str:
    parts = [", ".join(_one(target) for target in group) for group in groups]
    others = ["the others"] if len(parts) == 1 else []
    return f"the network is split: {' | '.join(parts + others)}"


def _isolate(groups: Groups) -> str:
    are = "are each" if _many(groups[0]) else "is"
    return f"{_who(groups[0])} {are} cut off from all others"


def _bridge(groups: Groups) -> str:
    through = _who(groups[0]) if groups else "a random node"
    return f"two random halves reach each other only through {through}"


def _side(name: str) -> Callable[[Groups], str]:
    return lambda groups: f"{_does(groups[0], 'stay')} with a random {name}, cut off from the rest"


_PARTS: Mapping[str, Callable[[Groups], str]] = {
    "groups": _groups,
    "one_way": lambda groups: f"nothing gets from {_who(groups[0])} to {_who(groups[1])}",
    "isolate": _isolate,
    "majority": _side("majority"),
    "minority": _side("minority"),
    "ring": lambda groups: "each node reaches only its two neighbours",
    "bridge": _bridge,
    "halves": lambda groups: "the network is split into two random halves",
}


def _between(fault: Link | Hold) -> str:
    everyone = (Target("all"),)
    if fault.src == fault.dst == everyone:
        return "all messages"
    if fault.both and fault.dst == everyone:
        return f"messages to and from {_who(fault.src)}"
    if fault.both:
        return f"messages between {_who(fault.src)} and {_who(fault.dst)}"
    return f"messages from {_who(fault.src)} to {_who(fault.dst)}"


def _effects(fault: Link) -> list[str]:
    corrupt = "damaged and dropped" if fault.corrupt_mode == "drop" else "damaged and delivered"
    shares = [
        (fault.loss, "lost"),
        (fault.duplicate, "doubled"),
        (fault.corrupt, corrupt),
        (fault.reorder, f"delayed by up to {t(fault.reorder_us)} to be overtaken"),
    ]
    found = [f"{share * 100:.6g}% {what}" for share, what in shares if share]
    if fault.delay_us:
        found.append(f"all {t(fault.delay_us)} later")
    if fault.jitter_us:
        found.append(f"all up to {t(fault.jitter_us)} {'more' if fault.delay_us else 'later'}")
    return found or ["nothing changes"]


def _link(fault: Link) -> str:
    return f"{_while(fault)} {_between(fault)}: {', '.join(_effects(fault))}"


def _hold(fault: Hold) -> str:
    return f"{_while(fault)} {_between(fault)} are held back"


def _release(fault: Release) -> str:
    return f"at {t(fault.at_us)} everything held back is delivered"


_SAY: Mapping[type[Fault], Callable[[Any], str]] = {
    Crash: _crash,
    Recover: _recover,
    CrashLoop: _crash_loop,
    Pause: _pause,
    Resume: _resume,
    Slow: _slow,
    ClockOffset: _clock_offset,
    ClockDrift: _clock_drift,
    ClockStep: _clock_step,
    Partition: _partition,
    Link: _link,
    Hold: _hold,
    Release: _release,
    Disk: _disk,
}
