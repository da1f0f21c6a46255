"""Round-trip times and the timeout that follows from them, in whole numbers.

Jacobson, "Congestion avoidance and control", SIGCOMM 1988, §2 and appendix A: the smoothed round
trip gains 1/8 of each error, its mean deviation 1/4 of the error's excess, and the timeout is
smoothed + 4 deviations. Kept eightfold and fourfold, as there, so that shifts do for divisions.
The first sample sets smoothed = sample, deviation = sample/2 (RFC 6298, §2.2).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RoundTrip"]


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """What is known about the round trip to one peer, µs. ``eightfold`` 0: nothing yet."""

    eightfold: int = 0
    fourfold: int = 0

    def sample(self, took_us: int) -> RoundTrip:
        """Return the estimate after a round trip that took ``took_us`` (at least 1 counts)."""
        took_us = max(took_us, 1)
        if not self.eightfold:
            return RoundTrip(8 * took_us, 2 * took_us)
        error = took_us - (self.eightfold >> 3)
        excess = abs(error) - (self.fourfold >> 2)
        return RoundTrip(max(self.eightfold + error, 8), self.fourfold + excess)

    @property
    def smoothed_us(self) -> int:
        """The smoothed round trip, rounded down."""
        return self.eightfold >> 3

    def timeout_us(self) -> int | None:
        """Return smoothed + 4 deviations; None before the first sample."""
        return (self.eightfold >> 3) + self.fourfold if self.eightfold else None
