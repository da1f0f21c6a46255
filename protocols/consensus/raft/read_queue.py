"""Reads that wait: at a leader for a round of heartbeats, at a follower for an entry."""

from __future__ import annotations

from protocols.api import NodeId, message
from protocols.clients.messages import Request

__all__ = ["GrantedRead", "WaitingRead"]


@message
class WaitingRead:
    """A read that may be answered once a quorum has replied to round ``round`` or a later one.

    ``request``: of the leader's own client; None: follower ``asker`` asked in its ``attempt``.
    """

    round: int
    request: Request | None
    asker: NodeId = ""
    attempt: tuple[int, int] = (0, 0)


@message
class GrantedRead:
    """A follower may answer ``request`` once it has applied entry ``index``."""

    index: int
    request: Request
