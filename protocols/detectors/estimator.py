"""What all estimators have in common: arrivals in, a deadline out.

An estimator is the part of a failure detector that has no clock, no timer and no network: an
immutable value that is given the arrivals of one peer's heartbeats and says until when the peer
is to be trusted. A process hosts any of them, and several side by side on the same arrivals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Estimator", "check_at_least", "fed"]

E = TypeVar("E", bound="Estimator")


class Estimator(ABC):
    """The arrivals of one peer's heartbeats so far, and what follows from them.

    Times are whole µs of the receiver's own clock, which should not go backwards: an arrival
    that is earlier than the last one is ignored. Every method is pure and none of them raises.
    """

    __slots__ = ()

    last_us: int | None
    """When the last heartbeat that counted arrived; None before the first."""

    @abstractmethod
    def heartbeat(self, sequence: int, now_us: int) -> Self:
        """Return the estimator after heartbeat number ``sequence`` (1, 2, …) arrived."""

    @abstractmethod
    def deadline_us(self) -> int | None:
        """Return the first µs at which the peer is suspected if nothing more arrives.

        None means never. It may lie in the past: the peer is suspected right now.
        """

    def suspects(self, now_us: int) -> bool:
        """Whether the peer is suspected at ``now_us`` if nothing arrived since the last beat."""
        deadline = self.deadline_us()
        return deadline is not None and now_us >= deadline

    def level(self, now_us: int) -> float | None:
        """Suspicion at ``now_us`` on the estimator's own scale; None if there is no ground yet.

        Here the silence as a share of the silence that is borne: it reaches 1.0 at the deadline.
        """
        deadline = self.deadline_us()
        if deadline is None or self.last_us is None:
            return None
        span = max(deadline - self.last_us, 1)
        return max(0.0, 1.0 + (now_us - deadline) / span)


def fed(estimator: E, arrivals_us: Iterable[int]) -> E:
    """Return the estimator after heartbeats 1, 2, 3, … arrived at these times."""
    for sequence, now_us in enumerate(arrivals_us, start=1):
        estimator = estimator.heartbeat(sequence, now_us)
    return estimator


def check_at_least(least: float, **given: float | None) -> None:
    """Raise ValueError for the first of ``given`` that is below ``least`` (None is allowed)."""
    for name, value in given.items():
        if value is not None and not value >= least:
            raise ValueError(f"{name} = {value!r}: give a number that is at least {least}")
