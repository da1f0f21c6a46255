"""A node's local clock: true time, an offset and a drift, in integers."""

from __future__ import annotations

_MILLION = 1_000_000


class NodeClock:
    """Local time of one node, µs. Offsets and steps move what it shows; drift also its timers."""

    __slots__ = ("_local", "_true", "ppm")

    def __init__(self, offset_us: int = 0, ppm: int = 0) -> None:
        self._true = 0
        self._local = offset_us
        self.ppm = ppm

    def local(self, true_us: int) -> int:
        """What the clock shows at ``true_us``."""
        elapsed = true_us - self._true
        return self._local + elapsed + elapsed * self._rate() // _MILLION

    def true_delay(self, local_us: int) -> int:
        """True µs until ``local_us`` of local time have passed, rounded up."""
        if not self.ppm:
            return local_us
        return -(-local_us * _MILLION // (_MILLION + self._rate()))

    def _rate(self) -> int:
        """The drift, but never so much that the clock stands still or runs backwards."""
        return max(self.ppm, 1 - _MILLION)

    def step(self, true_us: int, by_us: int) -> None:
        """Jump by ``by_us``."""
        self._rebase(true_us)
        self._local += by_us

    def drift(self, true_us: int, ppm: int) -> None:
        """Gain ``ppm`` µs a second more from now on (timers already set keep their end)."""
        self._rebase(true_us)
        self.ppm += ppm

    def _rebase(self, true_us: int) -> None:
        self._local = self.local(true_us)
        self._true = true_us
