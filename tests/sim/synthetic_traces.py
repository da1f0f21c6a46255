"""Well-formed traces of a small invented message-passing system, to test readers of traces.

Nodes tick, send each other ``Ping`` and answer ``Pong`` over a wire that loses, delays,
duplicates, corrupts and holds; faults crash, pause, skew and remove nodes; clients call
operations. Independent of the simulator: it knows only the format.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from hypothesis import strategies as st

from sim.trace_read import Trace, parse_trace

Fault = tuple[int, str, str]  # at (µs), what, node


@dataclass
class Settings:
    seed: int = 1
    nodes: int = 3
    events: int = 60
    trouble: float = 0.3  # the share of messages to which the wire does something
    faults: list[Fault] = field(default_factory=list)
    extra_delay: dict[tuple[int, int], int] = field(default_factory=dict)  # (cause, index): µs
    lost: frozenset[tuple[int, int]] = frozenset()
    code: str = "c0de"
    name: str = "synthetic"


class Model:
    """One run; ``lines`` are those of the trace."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.names = [f"n{i + 1}" for i in range(settings.nodes)]
        self.rng = Random(f"nodes {settings.seed}")
        self.wire = Random(f"wire {settings.seed}")
        self.events: list[dict[str, Any]] = []
        self.queue: list[tuple[int, int, Callable[[], None]]] = []
        self.order = itertools.count()
        self.t = 0
        self.up = dict.fromkeys(self.names, False)
        self.life = dict.fromkeys(self.names, 0)
        self.count = dict.fromkeys(self.names, 0)
        self.operations = 0

    # -- running --------------------------------------------------------------------------

    def run(self) -> Model:
        for node in self.names:
            self.at(0, partial(self.start, node, None))
        for number, fault in enumerate(self.settings.faults):
            self.at(fault[0], partial(self.fault, number, fault))
        for k in range(3):
            self.at(1_500 * k + 700, self.call)
        while self.queue and len(self.events) < self.settings.events:
            self.t, _, act = heapq.heappop(self.queue)
            act()
        del self.events[self.settings.events :]
        return self

    def at(self, t: int, act: Callable[[], None]) -> None:
        heapq.heappush(self.queue, (t, next(self.order), act))

    def put(self, node: str | None, kind: str, cause: int | None, **more: Any) -> int:
        number = len(self.events)
        line = {"id": number, "t": self.t, "node": node, "kind": kind, "cause": cause}
        self.events.append({**line, **more})
        return number

    # -- steps ----------------------------------------------------------------------------

    def start(self, node: str, cause: int | None) -> None:
        self.up[node] = True
        self.life[node] += 1
        self.step(node, "start", cause)

    def step(self, node: str, kind: str, cause: int | None, **more: Any) -> None:
        effects: list[dict[str, Any]] = []
        chance = self.rng.random
        if kind in ("start", "timer"):
            effects.append({"set": {"$": "Tick"}, "after": 500 + self.rng.randrange(1_000)})
            for dst in self.names:
                if dst != node and chance() < 0.7:
                    effects.append(
                        {"send": dst, "value": {"$": "Ping", "number": self.count[node]}}
                    )
        elif kind == "message" and more["value"]["$"] == "Ping":
            effects.append({"send": more["src"], "value": {"$": "Pong", "number": 0}})
        elif kind == "operation":
            reply = {"reply": more["operation"], "outcome": "ok", "value": self.count[node]}
            effects.append(reply)
        if chance() < 0.2:
            effects.append({"observe": {"$": "Seen", "what": None}})
        if chance() < 0.5:
            self.count[node] += 1
            more["delta"] = {"count": self.count[node]}
        if effects:
            more["effects"] = effects
        self.carry_out(node, effects, self.put(node, kind, cause, **more))

    def carry_out(self, node: str, effects: list[dict[str, Any]], number: int) -> None:
        for index, effect in enumerate(effects):
            if "send" in effect:
                self.send(node, effect["send"], effect["value"], number, index)
            elif "set" in effect:
                self.set(node, effect["set"], effect["after"], number)

    def set(self, node: str, value: dict[str, Any], after: int, number: int) -> None:
        life = self.life[node]

        def fire() -> None:
            if self.up[node] and self.life[node] == life:
                self.step(node, "timer", number, value=value)

        self.at(self.t + after, fire)

    def call(self) -> None:
        node = self.rng.choice(self.names)
        if self.up[node]:
            self.operations += 1
            self.step(node, "operation", None, operation=self.operations - 1, value={"$": "Get"})

    # -- wire -----------------------------------------------------------------------------

    def send(self, src: str, dst: str, value: dict[str, Any], number: int, index: int) -> None:
        message = {"src": src, "index": index, "value": value}
        delay = 100 + self.wire.randrange(900) + self.settings.extra_delay.get((number, index), 0)
        fate = self.wire.choice(["loss", "delay", "duplicate", "corrupt", "hold"])
        trouble = self.wire.random() < self.settings.trouble
        if (number, index) in self.settings.lost or (trouble and fate == "loss"):
            self.put(dst, "drop", number, **message, reason="loss")
            return
        if trouble and fate == "delay":
            self.put(dst, "delay", number, **message, by=250)
            delay += 250
        elif trouble and fate == "duplicate":
            self.put(dst, "duplicate", number, **message, by=40)
            self.at(self.t + delay + 40, lambda: self.arrive(dst, number, message))
        elif trouble and fate == "corrupt":
            message = {**message, "value": {**value, "number": -1}}
            self.put(dst, "corrupt", number, **message)
        elif trouble:
            self.put(dst, "hold", number, **message)
            delay += 3_000
        self.at(self.t + delay, lambda: self.arrive(dst, number, message))

    def arrive(self, dst: str, number: int, message: dict[str, Any]) -> None:
        if self.up[dst]:
            self.step(dst, "message", number, **message)
        else:
            self.put(dst, "drop", number, **message, reason="destination down")

    # -- faults ---------------------------------------------------------------------------

    def fault(self, number: int, fault: Fault) -> None:
        _, what, node = fault
        text = f"{what} {node}"
        cause = self.put(None, "fault", None, fault=number, text=text)
        heal_in = 2_000
        if what == "crash" and self.up[node]:
            self.up[node] = False
            self.put(node, "crash", cause, why="fault", lost_writes=1)
            self.at(self.t + heal_in, lambda: self.heal(number, text, node, "recover"))
        elif what == "leave" and self.up[node]:
            self.up[node] = False
            self.put(node, "leave", cause)
            self.at(self.t + heal_in, lambda: self.heal(number, text, node, "join"))
        elif what == "clock":
            self.put(node, "clock", cause, by=-300)
        elif what == "disk":
            self.put(node, "disk", cause, why="wipe")

    def heal(self, number: int, text: str, node: str, how: str) -> None:
        cause = self.put(None, "heal", None, fault=number, text=text)
        self.start(node, self.put(node, how, cause))

    # -- lines ----------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        s = self.settings
        plan = [{"at": f"{at}us", what: [node]} for at, what, node in s.faults]
        return {
            "splitbrain_trace": 1,
            "version": "0.1.0",
            "scenario": None,
            "name": s.name,
            "seed": s.seed,
            "nodes": self.names,
            "parameters": {"trouble": s.trouble},
            "plan": plan,
            "code": s.code,
        }


def to_lines(
    header: dict[str, Any], events: list[dict[str, Any]], *, end_us: int | None = -1
) -> list[bytes]:
    """The lines of a trace file. ``end_us`` None: no end line; -1: at the last event."""
    lines = [json.dumps(x, separators=(",", ":")).encode() + b"\n" for x in (header, *events)]
    if end_us is not None:
        t = max(end_us, events[-1]["t"] if events else 0)
        digest = hashlib.blake2b(b"".join(lines), digest_size=16).hexdigest()
        end = {"end": {"t": t, "events": len(events), "digest": digest}}
        lines.append(json.dumps(end).encode() + b"\n")
    return lines


def make_lines(settings: Settings | None = None, **changes: Any) -> list[bytes]:
    model = Model(settings or Settings(**changes)).run()
    return to_lines(model.header(), model.events)


def make_trace(settings: Settings | None = None, **changes: Any) -> Trace:
    return parse_trace(make_lines(settings, **changes))


def faults(nodes: int) -> st.SearchStrategy[list[Fault]]:
    names = [f"n{i + 1}" for i in range(nodes)]
    what = st.sampled_from(["crash", "leave", "clock", "disk", "partition"])
    return st.lists(st.tuples(st.integers(0, 6_000), what, st.sampled_from(names)), max_size=4)


@st.composite
def settings(draw: st.DrawFn, most_events: int = 80) -> Settings:
    nodes = draw(st.integers(2, 4))
    return Settings(
        seed=draw(st.integers(0, 10_000)),
        nodes=nodes,
        events=draw(st.integers(0, most_events)),
        trouble=draw(st.sampled_from([0.0, 0.3, 1.0])),
        faults=draw(faults(nodes)),
    )


def traces(most_events: int = 80) -> st.SearchStrategy[Trace]:
    """Traces of random systems."""
    return settings(most_events).map(make_trace)
