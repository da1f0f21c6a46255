"""The injector: carries out the faults of a plan, and reports which of them touched nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from protocols.values import NodeId
from sim import faults as f
from sim.cluster import Cluster
from sim.disk import Disk
from sim.rules import Rule
from sim.wire_faults import Cut, Holding, Trouble

Undo = Callable[[int], None]


@dataclass(slots=True)
class Usage:
    """What one fault of the plan did. ``touched`` 0: it bit nothing, and proves nothing."""

    index: int
    fault: f.Fault
    touched: int = 0
    targets: tuple[NodeId, ...] = ()


class Injector:
    """Schedules the faults of a plan on a cluster. Make it before :meth:`Cluster.start`."""

    def __init__(
        self,
        cluster: Cluster,
        plan: Sequence[f.Fault],
        texts: Sequence[str] = (),
        *,
        subjects: Sequence[NodeId] | None = None,
    ) -> None:
        self.cluster = cluster
        self.rng = cluster.streams["nemesis"]
        self.usage = [Usage(index, fault) for index, fault in enumerate(plan)]
        self.texts = list(texts) or [repr(fault) for fault in plan]
        self._subjects = subjects
        self._rules: dict[int, Rule] = {}
        self._down: dict[NodeId, list[Usage]] = {}
        self._still: dict[NodeId, list[Usage]] = {}
        for node in self._need_care(plan):
            cluster.careful(node)
        for usage in self.usage:
            if usage.fault.at_us == 0 and isinstance(usage.fault, _SURROUNDINGS):
                self._begin(usage)
            else:
                cluster.engine.call_at(usage.fault.at_us, self._begin, usage)

    @property
    def nodes(self) -> list[NodeId]:
        """The nodes that faults may hit: all but clients."""
        present = self.cluster.nodes
        return (
            list(present) if self._subjects is None else [n for n in self._subjects if n in present]
        )

    def _need_care(self, plan: Sequence[f.Fault]) -> list[NodeId]:
        """Disk faults and crashes inside a step need nodes that list their effects."""
        careful = any(
            isinstance(fault, f.Disk) or (isinstance(fault, f.Crash) and fault.escape is not None)
            for fault in plan
        )
        disks = any(isinstance(fault, f.Disk) for fault in plan)
        for node in self.cluster.nodes.values() if disks else ():
            node.own_disk()
        return list(self.cluster.nodes) if careful else []

    # -- beginning and ending -------------------------------------------------------------

    def _begin(self, usage: Usage) -> None:
        cause = self._note(usage, "fault")
        undo = _BEGIN[type(usage.fault)](self, usage, cause)
        until = usage.fault.until_us
        if until is not None and undo is not None:
            self.cluster.engine.call_at(until, self._end, (usage, undo))

    def _end(self, ending: tuple[Usage, Undo]) -> None:
        usage, undo = ending
        undo(self._note(usage, "heal"))

    def _note(self, usage: Usage, kind: str) -> int:
        recorder = self.cluster.recorder
        if recorder is None:
            return -1
        text = self.texts[usage.index]
        return recorder.event(self.cluster.now, None, kind, -1, fault=usage.index, text=text)

    def settle(self) -> list[Usage]:
        """At the end of the run: count what rules touched; all usages."""
        for index, rule in self._rules.items():
            self.usage[index].touched = rule.touched
        return self.usage

    def unused(self) -> list[Usage]:
        """Faults that touched nothing."""
        return [usage for usage in self.settle() if not usage.touched]

    # -- whom -----------------------------------------------------------------------------

    def resolve(self, targets: f.Targets) -> list[NodeId]:
        """The nodes that the targets mean right now, each once, in node order."""
        wanted: dict[NodeId, None] = {}
        for target in targets:
            wanted.update(dict.fromkeys(self._one(target)))
        return [node for node in self.cluster.nodes if node in wanted]

    def _one(self, target: f.Target) -> list[NodeId]:
        nodes = self.nodes
        if target.kind == "node":
            return [target.name] if target.name in self.cluster.nodes else []
        if target.kind == "all":
            return nodes
        if target.kind == "random":
            return self.rng.sample(nodes, min(target.count, len(nodes)))
        if target.kind == "role":
            return [n for n in nodes if self.cluster.nodes[n].up and self._role(n) == target.name]
        members = set(self.cluster.topology.members(target.kind, target.name))
        return [n for n in nodes if n in members]

    def _role(self, node: NodeId) -> str | None:
        role = getattr(self.cluster.nodes[node].process, "role", None)
        return role.name.lower() if isinstance(role, Enum) else role

    def _touch(self, usage: Usage, nodes: Sequence[NodeId], count: int | None = None) -> None:
        usage.touched += len(nodes) if count is None else count
        usage.targets = tuple(nodes)

    # -- nodes ----------------------------------------------------------------------------

    # A node that several faults hold down, or hold still, comes back when the last of them ends;
    # a recover or resume fault ends them all.

    def _keep_down(self, node: NodeId, usage: Usage, cause: int) -> int:
        """This fault holds the node down from now on; 1 if it was up."""
        self._down.setdefault(node, []).append(usage)
        return int(self.cluster.crash(node, cause=cause))

    def _let_up(self, node: NodeId, usage: Usage, cause: int) -> None:
        """This fault no longer holds the node down."""
        holders = self._down.get(node, [])
        if usage in holders:
            holders.remove(usage)
            if not holders and node in self.cluster.nodes:
                self.cluster.recover(node, cause=cause)

    def _crash(self, usage: Usage, cause: int) -> Undo:
        fault: Any = usage.fault
        hit = self.resolve(fault.targets)
        if fault.escape is None:
            self._touch(usage, hit, sum(self._keep_down(n, usage, cause) for n in hit))
        else:
            self._touch(usage, hit, 0)
            for node in hit:
                self._down.setdefault(node, []).append(usage)
                self.cluster.careful(node).escapes.append((fault.escape, usage))

        def recover(end: int) -> None:
            for node in hit:
                stepping = self.cluster.nodes[node].stepping if node in self.cluster.nodes else None
                if stepping is not None:
                    stepping.escapes = [e for e in stepping.escapes if e[1] is not usage]
                self._let_up(node, usage, end)

        return recover

    def _recover(self, usage: Usage, cause: int) -> None:
        hit = self.resolve(_fixed(usage.fault))
        for node in hit:
            self._down.pop(node, None)
        self._touch(usage, [n for n in hit if self.cluster.recover(n, cause=cause)])

    def _crash_loop(self, usage: Usage, cause: int) -> Undo:
        fault: Any = usage.fault
        hit = self.resolve(fault.targets)
        usage.targets = tuple(hit)
        live = [True]

        def down(cause: int) -> None:
            if live[0]:
                usage.touched += sum(self._keep_down(n, usage, cause) for n in hit)
                self.cluster.engine.call_later(fault.down_us, up, cause)

        def up(cause: int) -> None:
            if live[0]:
                for node in hit:
                    self._let_up(node, usage, cause)
                self.cluster.engine.call_later(fault.up_us, down, cause)

        def stop(end: int) -> None:
            live[0] = False
            for node in hit:
                self._let_up(node, usage, end)

        down(cause)
        return stop

    def _pause(self, usage: Usage, cause: int) -> Undo:
        hit = [n for n in self.resolve(_fixed(usage.fault)) if self.cluster.nodes[n].up]
        for node in hit:
            self._still.setdefault(node, []).append(usage)
            if not self.cluster.nodes[node].paused:
                self.cluster.pause(node, cause=cause)
        self._touch(usage, hit)

        def resume(end: int) -> None:
            for node in hit:
                holders = self._still.get(node, [])
                if usage in holders:
                    holders.remove(usage)
                    if not holders and node in self.cluster.nodes:
                        self.cluster.resume(node, cause=end)

        return resume

    def _resume(self, usage: Usage, cause: int) -> None:
        hit = self.resolve(_fixed(usage.fault))
        for node in hit:
            self._still.pop(node, None)
        self._touch(usage, [n for n in hit if self.cluster.resume(n, cause=cause)])

    def _slow(self, usage: Usage, cause: int) -> Undo:
        fault: Any = usage.fault
        hit = self.resolve(fault.targets)
        slowed = [self.cluster.nodes[node] for node in hit]
        for node in slowed:
            node.slow_down(fault.factor)
        before_boot = self.cluster.now == 0
        self._touch(usage, hit, sum(node.up or before_boot for node in slowed))

        def stop(end: int) -> None:
            for node in slowed:
                node.speed_up(fault.factor)

        return stop

    # -- clocks ---------------------------------------------------------------------------

    def _clock(self, usage: Usage, cause: int) -> Undo:
        fault: Any = usage.fault
        hit = self.resolve(fault.targets)
        drift = isinstance(fault, f.ClockDrift)
        amount = fault.ppm if drift else fault.by_us
        self._change_clocks(hit, amount, drift, cause)
        self._touch(usage, hit, 0 if amount == 0 else None)

        def stop(end: int) -> None:
            if not isinstance(fault, f.ClockStep):
                self._change_clocks(hit, -amount, drift, end)

        return stop

    def _change_clocks(self, nodes: list[NodeId], amount: int, drift: bool, cause: int) -> None:
        now = self.cluster.now
        for node in (n for n in nodes if n in self.cluster.nodes):
            clock = self.cluster.nodes[node].own_clock()
            (clock.drift if drift else clock.step)(now, amount)
            self.cluster.note_node(node, "clock", cause, **{"ppm" if drift else "by": amount})

    # -- the wire -------------------------------------------------------------------------

    def _rule(self, usage: Usage, rule: Rule, ending: Callable[[], None] | None = None) -> Undo:
        self.cluster.network.rules.append(rule)
        self._rules[usage.index] = rule

        def stop(end: int) -> None:
            if rule in self.cluster.network.rules:
                self.cluster.network.rules.remove(rule)
            if ending is not None:
                ending()

        return stop

    def _partition(self, usage: Usage, cause: int) -> Undo:
        fault: Any = usage.fault
        groups = [self.resolve(targets) for targets in fault.groups]
        usage.targets = tuple(n for group in groups for n in group)
        cut = Cut.of_shape(fault.shape, groups, self.nodes, self.rng)
        cut.reason = f"partition ({usage.index})"
        cut.keep_in_flight = fault.keep_in_flight
        return self._rule(usage, cut)

    def _link(self, usage: Usage, cause: int) -> Undo:
        fault: Any = usage.fault
        pairs = self._pairs(fault)
        rule = Trouble(fault, pairs, self.cluster.streams["faults"], f"fault ({usage.index})")
        return self._rule(usage, rule)

    def _hold(self, usage: Usage, cause: int) -> Undo:
        rule = Holding(self._pairs(usage.fault))
        return self._rule(usage, rule, lambda: self._let_go(rule))

    def _let_go(self, rule: Holding) -> None:
        for envelope in sorted(rule.held, key=lambda e: e.number):  # in the order of sending
            self.cluster.network.go_on(envelope)
        rule.held.clear()

    def _release(self, usage: Usage, cause: int) -> None:
        for rule in [r for r in self.cluster.network.rules if isinstance(r, Holding)]:
            usage.touched += len(rule.held)
            self.cluster.network.rules.remove(rule)
            self._let_go(rule)

    def _pairs(self, fault: Any) -> frozenset[tuple[NodeId, NodeId]]:
        src, dst = self.resolve(fault.src), self.resolve(fault.dst)
        pairs = {(a, b) for a in src for b in dst if a != b}
        return frozenset(pairs | {(b, a) for a, b in pairs} if fault.both else pairs)

    # -- disks ----------------------------------------------------------------------------

    def _disk(self, usage: Usage, cause: int) -> Undo:
        fault: Any = usage.fault
        hit = self.resolve(fault.targets)
        usage.targets = tuple(hit)
        for node in hit:
            disk = self.cluster.nodes[node].own_disk()
            self.cluster.note_node(node, "disk", cause, why=fault.kind)
            self._turn(disk, usage, on=True)

        def stop(end: int) -> None:
            for node in (n for n in hit if n in self.cluster.nodes):
                self.cluster.note_node(node, "disk", end, why=f"{fault.kind} ends")
                self._turn(self.cluster.nodes[node].own_disk(), usage, on=False)

        return stop

    def _turn(self, disk: Disk, usage: Usage, *, on: bool) -> None:
        fault: Any = usage.fault
        by = 1 if on else -1
        if fault.kind == "lose-unsynced":
            disk.lying += by
            if not disk.lying:
                disk.settle()
        elif fault.kind == "torn":
            disk.torn += by
        elif fault.kind == "full":
            disk.full += by
        elif fault.kind == "slow":
            disk.extra_us += by * fault.delay_us
        elif on and fault.kind == "wipe":
            usage.touched += len(disk.stored)
            disk.wipe()
        elif on:
            usage.touched += disk.corrupt(self.rng, detected=fault.detected) is not None
        elif fault.kind == "corrupt":
            disk.corrupt_detected = None
        if on and fault.kind in _DISK_STATES:
            disk.usages.append((fault.kind, usage))
        elif not on:
            disk.usages = [pair for pair in disk.usages if pair[1] is not usage]


# At time 0 these are in force before the nodes boot; a crash or a pause needs a node that is up.
_SURROUNDINGS = (
    *(f.Partition, f.Link, f.Hold, f.Disk, f.Slow),
    *(f.ClockOffset, f.ClockDrift, f.ClockStep),
)
_DISK_STATES = ("lose-unsynced", "torn", "full", "slow")


def _fixed(fault: Any) -> f.Targets:
    targets: f.Targets = fault.targets
    return targets


_BEGIN: Mapping[type[f.Fault], Callable[[Injector, Usage, int], Undo | None]] = {
    f.Crash: Injector._crash,
    f.Recover: Injector._recover,
    f.CrashLoop: Injector._crash_loop,
    f.Pause: Injector._pause,
    f.Resume: Injector._resume,
    f.Slow: Injector._slow,
    f.ClockOffset: Injector._clock,
    f.ClockDrift: Injector._clock,
    f.ClockStep: Injector._clock,
    f.Partition: Injector._partition,
    f.Link: Injector._link,
    f.Hold: Injector._hold,
    f.Release: Injector._release,
    f.Disk: Injector._disk,
}
