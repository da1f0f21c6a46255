"""What an administrator asks of a cluster, as an operation at a node or as a message to it."""

from __future__ import annotations

from protocols.api import Context, NodeId, message, operation
from protocols.client import Outcome

__all__ = ["Admin", "AdminReply", "Asker", "TakeSnapshot", "TransferLeadership", "answer"]


@operation
class TransferLeadership:
    """Let node ``to``, a voter, lead (dissertation §3.10). Answer: None, once it does."""

    to: NodeId


@operation
class TakeSnapshot:
    """Take a snapshot now (dissertation §5.1). Answer: its last index."""


@message
class Admin:
    """An administrator's ``operation`` as a message; ``number`` comes back in the reply."""

    number: int
    operation: object


@message
class AdminReply:
    """How operation ``number`` ended."""

    number: int
    outcome: Outcome


@message
class Asker:
    """Who waits for an answer: the operation ``number`` of this node, or that of ``node``."""

    number: int
    node: NodeId | None = None


def answer(ctx: Context, asker: Asker, outcome: Outcome) -> None:
    """Tell ``asker`` how what it asked for ended."""
    if asker.node is None:
        ctx.reply(asker.number, outcome)
    else:
        ctx.send(asker.node, AdminReply(asker.number, outcome))
