"""Raft: a replicated log with a strong leader.

Claim
  Election Safety, Leader Append-Only, Log Matching, Leader Completeness and State Machine Safety
  (figure 3) always hold; requests are answered while a majority of the voters can talk to each
  other. Answered commands survive, take effect once, and reads are linearizable.
Paper
  Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)",
  2014 (sections and figures cited bare), and Ongaro, "Consensus: Bridging Theory and Practice",
  dissertation, Stanford 2014.
Assumptions
  Crash-recovery with stable storage; links may lose, delay, duplicate and reorder. Safety rests on
  no clock, unless reads go by lease (then: clock rates differ by at most ``clock_drift_ppm``).
Chapters
  ``state`` (figure 2, the state), ``election``, ``leading`` and ``following`` (replication),
  ``commitment`` (commit and apply), ``serving`` and ``sessions`` (clients), ``reads``,
  ``snapshots``, ``membership``, ``transfer``. ``options`` says what can be switched on and off.
Left out
  Separate storage writes (a step is durable before its messages leave), witnesses, quiescing.
Invariants
  On every server snapshot index ≤ last_applied ≤ commit_index ≤ last index and log.first ≤
  snapshot index + 1; on a leader, match_index < next_index for every follower.
How to run it
  ``RaftServer(me="n1", members=("n1", "n2", "n3"), initial=KeyValueStore())`` on three nodes, and
  a client that sends ``Request("c1", 1, 1, Put("x", 1), 0)`` to any of them.
"""

from __future__ import annotations

from protocols.api import Context, NodeId, on, on_operation, process
from protocols.client import ok
from protocols.consensus.raft.admin import (
    Admin,
    Asker,
    TakeSnapshot,
    TransferLeadership,
    answer,
)
from protocols.consensus.raft.commitment import Commitment
from protocols.consensus.raft.election import Election
from protocols.consensus.raft.following import Following
from protocols.consensus.raft.leading import Leading
from protocols.consensus.raft.membership import ChangeMembership, Membership
from protocols.consensus.raft.reads import Reads
from protocols.consensus.raft.scenario import scenario_parameters
from protocols.consensus.raft.serving import Serving
from protocols.consensus.raft.snapshots import Snapshots
from protocols.consensus.raft.state import Role
from protocols.consensus.raft.transfer import Transferring

__all__ = ["RaftServer", "Role", "scenario_parameters"]


@process(clock=True)
class RaftServer(
    Election,
    Leading,
    Following,
    Commitment,
    Serving,
    Reads,
    Snapshots,
    Membership,
    Transferring,
):
    """One Raft server (figure 2); see the module, and `RaftState` for parameters and state."""

    def on_start(self, ctx: Context) -> None:
        """§5.2: every server begins as a follower."""
        self.machine = self.initial
        self.load_snapshot()
        if self.options.follower_reads:
            self.boots += 1
        if self.options.reads == "lease":
            self.heard_us = ctx.now()  # perhaps it had, just before it crashed
        self.expect_leader(ctx)

    @on_operation(ChangeMembership, TransferLeadership, TakeSnapshot)
    def administer(self, ctx: Context, id: int, op: object) -> None:
        """An administrator's operation at this node."""
        self.carry_out(ctx, Asker(id), op)

    @on(Admin)
    def receive_admin(self, ctx: Context, src: NodeId, m: Admin) -> None:
        """An administrator's operation in a message."""
        self.carry_out(ctx, Asker(m.number, src), m.operation)

    def carry_out(self, ctx: Context, asker: Asker, operation: object) -> None:
        """Do it; ``asker`` hears how it ends."""
        if isinstance(operation, ChangeMembership):
            self.change_membership(ctx, asker, operation)
        elif isinstance(operation, TransferLeadership):
            self.transfer_leadership(ctx, asker, operation.to)
        elif isinstance(operation, TakeSnapshot):
            self.take_snapshot(ctx)
            answer(ctx, asker, ok(self.snapshot_index))
        else:
            raise TypeError(f"{operation!r}: ask for a membership change, a transfer or a snapshot")
