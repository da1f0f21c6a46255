"""The oldest estimators: a peer is alive while its last heartbeat is younger than a timeout.

``FixedTimeout`` is what Chen et al. 2002 call the simple algorithm and argue against: measured
from the *receipt* of the last beat, a slow last beat is borne with the full timeout again, so that
the detection time has no bound unless the delay has one.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocols.detectors.estimator import Estimator, check_at_least
from protocols.values import SECOND

__all__ = ["Deadline", "FixedTimeout"]


@dataclass(frozen=True, slots=True)
class FixedTimeout(Estimator):
    """Alive if and only if last + ``timeout_us`` > now."""

    timeout_us: int
    last_us: int | None = None

    def __post_init__(self) -> None:
        if self.last_us is None:
            check_at_least(1, timeout_us=self.timeout_us)

    def heartbeat(self, sequence: int, now_us: int) -> FixedTimeout:
        """Return the estimator after a beat; one from before the last is ignored."""
        if self.last_us is not None and now_us < self.last_us:
            return self
        return self.__class__(self.timeout_us, now_us)

    def deadline_us(self) -> int | None:
        """Return last + timeout; None before the first beat."""
        return None if self.last_us is None else self.last_us + self.timeout_us


@dataclass(frozen=True, slots=True)
class Deadline(Estimator):
    """Alive if and only if last + ``interval_us`` + ``acceptable_pause_us`` > now.

    Akka's and Pekko's DeadlineFailureDetector; the interval was once left out, which made a pause
    of 3 s one of 2 s (akka-core #17567). Defaults: Pekko's multi-datacenter detector.
    """

    interval_us: int = 3 * SECOND
    acceptable_pause_us: int = 10 * SECOND
    last_us: int | None = None

    def __post_init__(self) -> None:
        if self.last_us is None:
            check_at_least(1, interval_us=self.interval_us)
            check_at_least(0, acceptable_pause_us=self.acceptable_pause_us)

    def heartbeat(self, sequence: int, now_us: int) -> Deadline:
        """Return the estimator after a beat; one from before the last is ignored."""
        if self.last_us is not None and now_us < self.last_us:
            return self
        return self.__class__(self.interval_us, self.acceptable_pause_us, now_us)

    def deadline_us(self) -> int | None:
        """Return last + interval + pause; None before the first beat."""
        if self.last_us is None:
            return None
        return self.last_us + self.interval_us + self.acceptable_pause_us
