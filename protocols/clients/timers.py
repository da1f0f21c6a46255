"""The timers of a client: at most one of each kind is set, but for the deadlines."""

from __future__ import annotations

from protocols.api import timer

__all__ = ["DeadlineDue", "HedgeDue", "RequestTimeout", "RetryDue"]


@timer
class RequestTimeout:
    """No server that was asked has answered in time."""


@timer
class HedgeDue:
    """The answer is late: ask a second server as well."""


@timer
class RetryDue:
    """The pause is over."""


@timer
class DeadlineDue:
    """The call with this ticket must end."""

    ticket: int
