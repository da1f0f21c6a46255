"""Leadership transfer (dissertation §3.10).

The leader takes no more requests, brings the target's log up to date, and tells it to start an
election at once; that election overrules the voters' restraint (§4.2.3). If it takes longer than
an election timeout, the leader goes on as before.
"""

from __future__ import annotations

from dataclasses import replace

from protocols.api import Context, NodeId, on, on_timer
from protocols.client import fail, info, ok
from protocols.clients.messages import NOT_LEADER
from protocols.consensus.raft.admin import Asker, answer
from protocols.consensus.raft.messages import TimeoutNow
from protocols.consensus.raft.progress import Transfer
from protocols.consensus.raft.state import RaftState, Role, TransferDue

__all__ = ["Transferring"]


class Transferring(RaftState):
    """Hands leadership over."""

    def transfer_leadership(self, ctx: Context, asker: Asker, to: NodeId) -> None:
        """Begin, or refuse; ``asker`` hears how it ended."""
        if self.role is not Role.LEADER:
            answer(ctx, asker, fail(NOT_LEADER))
        elif self.transfer is not None:
            answer(ctx, asker, fail(f"leadership is being transferred to {self.transfer.to}"))
        elif to == self.me:
            answer(ctx, asker, ok())
        elif to not in self.others or not self.configuration.is_voter(to):
            answer(ctx, asker, fail(f"{to} is no voter of this cluster"))
        else:
            self.transfer = Transfer(to, asker)
            ctx.set_timer(TransferDue(), after=self.options.election_timeout_us[1])
            self.target_matched(ctx, to, self.match_index[to])

    def target_matched(self, ctx: Context, peer: NodeId, index: int) -> None:
        """Once the target's log matches the leader's: TimeoutNow."""
        transfer = self.transfer
        if transfer is None or transfer.told or peer != transfer.to or index < self.last_index:
            return
        self.transfer = replace(transfer, told=True)
        self.handed_over = True
        ctx.send(peer, TimeoutNow(self.current_term))

    @on(TimeoutNow)
    def receive_timeout_now(self, ctx: Context, src: NodeId, m: TimeoutNow) -> None:
        """The target starts an election, as if its election timer had fired, without PreVote."""
        self.observe_term(ctx, m.term)
        follower = self.role not in (Role.LEADER, Role.CANDIDATE)
        if m.term == self.current_term and follower and self.configuration.is_voter(self.me):
            self.start_election(ctx, transfer=True)

    def transfer_settled(self, ctx: Context, leader: NodeId) -> None:
        """Somebody else leads: the transfer is over."""
        if self.transfer is not None:
            to = self.transfer.to
            self.end_transfer(ctx, done=leader == to, why=f"{leader} leads instead of {to}")

    @on_timer(TransferDue)
    def miss_transfer(self, ctx: Context, t: TransferDue) -> None:
        """It took too long: resume as leader, if this still is one."""
        if self.transfer is not None:
            self.end_transfer(ctx, done=False, why=f"{self.transfer.to} took too long")

    def end_transfer(self, ctx: Context, *, done: bool, why: str) -> None:
        """Answer; a target that was told may still win later."""
        assert self.transfer is not None
        transfer, self.transfer = self.transfer, None
        ctx.cancel_timer(TransferDue())
        failed = info(why) if transfer.told else fail(why)
        answer(ctx, transfer.asker, ok() if done else failed)
