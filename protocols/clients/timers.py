"""The timers of a client: at most one of each kind is set, but for those with a ticket."""

from __future__ import annotations

from protocols.api import timer

__all__ = ["DeadlineDue", "HedgeDue", "QueueDue", "RequestTimeout", "RetryDue"]


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


@timer
class QueueDue:
    """The call with this ticket has waited too long to be sent."""

    ticket: int
