"""One process with its timers and a clock that the test moves: no network, no randomness."""

from __future__ import annotations

from typing import Any

from protocols.step import CancelTimer, Fire, Observe, Receive, Send, SetTimer, Start, step


class Alone:
    """Runs the steps of ``process``; ranges of delays give their lower end."""

    def __init__(self, process: Any, *, start_us: int = 0) -> None:
        self.process = process
        self.now_us = start_us
        self.timers: dict[Any, tuple[int, int]] = {}  # timer -> (due, order of setting)
        self.sent: list[tuple[int, str, Any]] = []
        self.observed: list[tuple[int, Any]] = []
        self._count = 0
        self._run(Start())

    def hear(self, src: str, message: Any) -> None:
        """Let ``message`` arrive from ``src`` now."""
        self._run(Receive(src, message))

    def advance(self, until_us: int) -> None:
        """Let time pass; timers fire when they are due."""
        while self.timers and min(self.timers.values())[0] <= until_us:
            self._fire_next(at_us=max(self.now_us, min(self.timers.values())[0]))
        self.now_us = max(self.now_us, until_us)

    def pause(self, until_us: int) -> None:
        """Stand still until then: timers that came due meanwhile fire at the end, in order."""
        waiting = sorted(
            ((due, t) for t, due in self.timers.items() if due[0] < until_us),
            key=lambda pair: pair[0],
        )
        self.now_us = until_us
        for due, timer in waiting:
            if self.timers.get(timer) == due:
                self._fire(timer)

    def observations(self) -> list[Any]:
        """What was observed since the last call."""
        seen, self.observed = [value for _, value in self.observed], []
        return seen

    def _fire_next(self, at_us: int) -> None:
        self.now_us = at_us
        self._fire(min(self.timers, key=lambda t: self.timers[t]))

    def _fire(self, timer: Any) -> None:
        del self.timers[timer]
        self._run(Fire(timer))

    def _run(self, event: Any) -> None:
        for effect in step(self.process, event, now_us=self.now_us):
            self._count += 1
            if isinstance(effect, SetTimer):
                after = effect.after if type(effect.after) is int else effect.after[0]
                self.timers[effect.timer] = (self.now_us + after, self._count)
            elif isinstance(effect, CancelTimer):
                self.timers.pop(effect.timer, None)
            elif isinstance(effect, Send):
                self.sent.append((self.now_us, effect.dst, effect.message))
            elif isinstance(effect, Observe):
                self.observed.append((self.now_us, effect.observation))
