"""How a client waits, tries again and gives up: values, given to it as a parameter.

Back-off grows exponentially up to a cap, with a part drawn at random, so that clients that were
refused together do not come back together (Brooker, "Exponential Backoff and Jitter", AWS
Architecture Blog, 2015). Hedging sends a second copy of a request that is late (Dean and Barroso,
"The Tail at Scale", CACM 56(2), 2013).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from protocols.api import MS, SECOND

__all__ = ["Backoff", "ClientOptions"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses of ``base_us``, ``factor`` times as long at each further one, ``cap_us`` at most.

    ``jitter`` is the share of a pause that is drawn at random: 0 none of it, 1 all of it.
    ValueError for a value out of range.
    """

    base_us: int = 20 * MS
    factor: int = 2
    cap_us: int = 1 * SECOND
    jitter: float = 0.5

    def __post_init__(self) -> None:
        _whole("base_us", self.base_us, 1)
        _whole("factor", self.factor, 1)
        _whole("cap_us", self.cap_us, self.base_us)
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter = {self.jitter!r}: a share from 0 to 1, such as 0.5")

    def pause(self, number: int) -> tuple[int, int]:
        """The range, in µs, of pause ``number``, from 0: the runtime draws from it."""
        longest = self.base_us
        for _ in range(number):
            longest *= self.factor
            if longest >= self.cap_us or self.factor == 1:
                break
        longest = min(longest, self.cap_us)
        return longest - int(longest * self.jitter), longest


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """The policy of a client. Times in µs of its own clock.

    timeout_us          how long it waits for an answer before it asks another server
    deadline_us         an operation ends by then, counted from its invocation; None: it may
                        take for ever
    backoff             the pauses, each after a round of as many requests as there are servers
    attempts_max        requests per operation; None: as many as the deadline allows
    hedge_us            how long after a request a second server is asked as well; None: never
    queue_limit         operations that may wait while one is under way; one more fails at once
    queue_us            how long an operation may wait before it is sent; then it surely failed.
                        None: it is sent before its deadline, if only just, and may end unknown
    network_duplicates  whether a request may be delivered twice. If so, a refused request may
                        come again and be accepted, so that a write which was sent never ends as
                        *fail*. False for TCP-like links: then refusals count.

    ValueError for a value out of range.
    """

    timeout_us: int = 500 * MS
    deadline_us: int | None = 5 * SECOND
    backoff: Backoff = field(default_factory=Backoff)
    attempts_max: int | None = None
    hedge_us: int | None = None
    queue_limit: int = 1_000
    queue_us: int | None = None
    network_duplicates: bool = True

    def __post_init__(self) -> None:
        _whole("timeout_us", self.timeout_us, 1)
        _whole("queue_limit", self.queue_limit, 0)
        for name in ("deadline_us", "attempts_max", "hedge_us", "queue_us"):
            value = getattr(self, name)
            if value is not None:
                _whole(name, value, 1)
        if self.hedge_us is not None and self.hedge_us >= self.timeout_us:
            raise ValueError(
                f"hedge_us = {self.hedge_us}: below timeout_us = {self.timeout_us}, "
                "or None for no hedging"
            )


def _whole(name: str, value: object, least: int) -> None:
    if type(value) is not int or value < least:
        raise ValueError(f"{name} = {value!r}: a whole number, at least {least}")
