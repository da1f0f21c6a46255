"""What a narrow or an ordered link remembers: when it is free again, what was due last.

Integer arithmetic only, so that a queue gives the same delays on every machine.
"""

from __future__ import annotations

from collections import deque
from typing import cast

__all__ = ["BandwidthQueue", "FifoClock"]


class BandwidthQueue:
    """A link that sends one message after the other at `bps` bits per second.

    `queue_bytes` bounds what may wait behind the message being sent (None: no bound; 0: nothing
    may wait). Times are kept as multiples of 1/bps µs in integers, so no rounding accumulates.
    """

    __slots__ = ("_bps", "_free", "_limit", "_starts", "_waiting_bytes")

    def __init__(self, bps: int, queue_bytes: int | None = None) -> None:
        self._bps, self._limit = bps, queue_bytes
        self._free = 0  # when the last message will have been sent, in 1/bps µs
        self._starts: deque[tuple[int, int]] = deque()  # (start of sending, bytes) of who waits
        self._waiting_bytes = 0

    def enqueue(self, now_us: int, size_bytes: int) -> int | None:
        """Microseconds from `now_us` until the message has been sent; None: no room, dropped.

        An idle link takes ceil(bits * 10^6 / bps) µs. `now_us` must not go back between calls.
        """
        now = now_us * self._bps
        start = max(now, self._free)
        if self._limit is not None and not self._admit(now, start, size_bytes):
            return None
        self._free = start + size_bytes * 8_000_000
        return -((now - self._free) // self._bps)

    def waiting_bytes(self, now_us: int) -> int:
        """Bytes that wait at `now_us` (counted only where the queue is bounded)."""
        self._drain(now_us * self._bps)
        return self._waiting_bytes

    def _admit(self, now: int, start: int, size_bytes: int) -> bool:
        self._drain(now)
        if start <= now:
            return True
        if self._waiting_bytes + size_bytes > cast(int, self._limit):
            return False
        self._starts.append((start, size_bytes))
        self._waiting_bytes += size_bytes
        return True

    def _drain(self, now: int) -> None:
        starts = self._starts
        while starts and starts[0][0] <= now:
            self._waiting_bytes -= starts.popleft()[1]


class FifoClock:
    """Keeps deliveries of one link in the order of sending: none is due before an earlier one.

    Two may be due in the same microsecond; the scheduler's sequence numbers keep their order.
    """

    __slots__ = ("_last_us",)

    def __init__(self) -> None:
        self._last_us = 0

    def next(self, now_us: int, delay_us: int) -> int:
        """The delay to use instead of `delay_us`: as long, or longer where it would overtake."""
        due_us = now_us + delay_us
        if due_us < self._last_us:
            return self._last_us - now_us
        self._last_us = due_us
        return delay_us
