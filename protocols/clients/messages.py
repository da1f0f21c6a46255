"""What clients and servers say to each other, whatever protocol the servers run.

A client opens a *session* and numbers its operations in it: 1, 2, 3, … A server applies each
number of a session once and keeps its answer until the client has ``acked`` it, so that a request
may be sent again, to any server, without taking effect twice (Ongaro, "Consensus: Bridging Theory
and Practice", 2014, §6.3).

What an outcome of a :class:`Response` promises about the request that it answers:

    ok(answer)     the command took effect, in this request or in an earlier one of its number
    fail(reason)   this request was refused: it has not taken and will not take effect
    info(reason)   it may have taken effect, may yet, or never will
"""

from __future__ import annotations

from typing import Any, Final

from protocols.api import NodeId, message
from protocols.client import Outcome

__all__ = [
    "NOT_LEADER",
    "NO_QUORUM",
    "OVERLOADED",
    "SESSION_EXPIRED",
    "SHUTTING_DOWN",
    "STEPPED_DOWN",
    "Request",
    "Response",
]

NOT_LEADER: Final = "not-leader"
"""fail: this server does not lead; ``Response.leader`` names the one that it believes does."""
NO_QUORUM: Final = "no-quorum"
"""fail: this server leads, as it believes, but does not reach a quorum, so it refuses."""
SESSION_EXPIRED: Final = "session-expired"
"""The servers have forgotten the session: whether an earlier request of it took effect is lost."""
OVERLOADED: Final = "overloaded"
"""fail: the server, or the client's own queue, takes no more at the moment."""
STEPPED_DOWN: Final = "stepped-down"
"""info: the server lost its leadership with the request in its log: it may still commit."""
SHUTTING_DOWN: Final = "shutting-down"
"""fail: the server is about to leave."""


@message
class Request:
    """Apply ``command`` once, as number ``sequence`` of session ``session`` of ``client``.

    ``session`` counts the sessions of this client from 1, ``sequence`` the operations of the
    session from 1. ``acked``: no answer to a number ≤ it will be asked for again, so the servers
    may forget those answers, and must refuse a late copy of such a request.
    """

    client: NodeId
    session: int
    sequence: int
    command: Any
    acked: int


@message
class Response:
    """The answer to request ``sequence`` of ``session``; ``leader`` is a hint where to ask."""

    session: int
    sequence: int
    outcome: Outcome
    leader: NodeId | None = None
