"""What a leader knows of how far others are, and a follower of a snapshot that is arriving."""

from __future__ import annotations

from enum import Enum

from protocols.api import Log, NodeId, message
from protocols.consensus.raft.admin import Asker
from protocols.consensus.raft.configuration import Configuration
from protocols.consensus.raft.entries import Chunk, Snapshot

__all__ = ["Incoming", "Progress", "Sending", "Staging", "Transfer"]


class Progress(Enum):
    """How a leader sends to a follower.

    PROBE: where the logs part is unknown; one AppendEntries, then wait. REPLICATE: it is known;
    entries are sent ahead of acknowledgements. SNAPSHOT: what it needs is compacted.
    """

    PROBE = 1
    REPLICATE = 2
    SNAPSHOT = 3


@message
class Sending:
    """A snapshot on its way to a follower: ``next`` is outstanding."""

    snapshot: Snapshot
    chunks: tuple[Chunk, ...]
    next: int = 0


@message
class Incoming:
    """The chunks received of the snapshot up to ``last_index``, ``last_term``."""

    last_index: int
    last_term: int
    chunks: Log[Chunk] = Log(first=0)


@message
class Transfer:
    """Leadership is to go to ``to``; ``told``: TimeoutNow was sent."""

    to: NodeId
    asker: Asker
    told: bool = False


@message
class Staging:
    """New voters are brought up to date before ``change`` is proposed (dissertation §4.2.1).

    ``waiting``: those that do not have the entry at ``target`` yet, where the ``round``-th round
    ends; it began at ``began_us`` on the leader's clock.
    """

    change: Configuration
    asker: Asker
    nodes: tuple[NodeId, ...]
    waiting: tuple[NodeId, ...]
    target: int
    round: int
    began_us: int
