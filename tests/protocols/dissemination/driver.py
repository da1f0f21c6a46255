"""A few processes and a queue: enough of a network to run a protocol through ``step``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from random import Random
from typing import Any

from protocols.step import (
    CancelTimer,
    Effect,
    Event,
    Fire,
    Invoke,
    Observe,
    Receive,
    Reply,
    Send,
    SetTimer,
    Start,
    step,
)


class Driver:
    """Runs processes; every message takes ``latency_us``. Draws come from one seeded stream."""

    def __init__(
        self,
        processes: Mapping[str, Any],
        *,
        seed: int = 0,
        latency_us: int = 1_000,
        lost: Callable[[str, Send], bool] = lambda src, sent: False,
    ) -> None:
        self.nodes = dict(processes)
        self.rng = Random(seed)
        self.latency_us = latency_us
        self.lost = lost
        self.now_us = 0
        self.down: frozenset[str] = frozenset()
        self.observed: list[tuple[int, str, object]] = []
        self.replies: list[Reply] = []
        self.sends: list[tuple[str, str, Any]] = []
        self._due: dict[tuple[str, object], int] = {}
        self._queue: list[tuple[int, int, str, Event]] = []
        self._number = 0
        for node in self.nodes:
            self.do(node, Start())

    def do(self, node: str, event: Event) -> tuple[Effect, ...]:
        """One step of one node, now."""
        effects = step(self.nodes[node], event, now_us=self.now_us, choose=self._choose)
        for effect in effects:
            self._carry_out(node, effect)
        return effects

    def invoke(self, node: str, operation: object) -> Any:
        """A client operation; the value of its outcome."""
        self.do(node, Invoke(len(self.replies), operation))
        return self.replies[-1].outcome

    def run_until(self, until_us: int) -> None:
        while self._queue and self._queue[0][0] <= until_us:
            self.now_us, number, node, event = heappop(self._queue)
            if isinstance(event, Fire) and self._due.get((node, event.timer)) != number:
                continue
            if node not in self.down:
                self.do(node, event)
        self.now_us = until_us

    @property
    def quiet(self) -> bool:
        """Whether nothing is left to happen."""
        return not self._queue

    def _choose(self, options: Any) -> Any:
        return options[int(self.rng.random() * len(options))]

    def _push(self, delay_us: int, node: str, event: Event) -> int:
        self._number += 1
        heappush(self._queue, (self.now_us + delay_us, self._number, node, event))
        return self._number

    def _carry_out(self, node: str, effect: Effect) -> None:
        match effect:
            case Send(dst, message):
                self.sends.append((node, dst, message))
                if not self.lost(node, effect):
                    self._push(self.latency_us, dst, Receive(node, message))
            case SetTimer(timer, (low, high)):
                self._set(node, timer, self.rng.randrange(low, high + 1))
            case SetTimer(timer, after):
                self._set(node, timer, after)
            case CancelTimer(timer):
                self._due.pop((node, timer), None)
            case Observe(observation):
                self.observed.append((self.now_us, node, observation))
            case Reply():
                self.replies.append(effect)

    def _set(self, node: str, timer: object, after_us: int) -> None:
        self._due[node, timer] = self._push(after_us, node, Fire(timer))
