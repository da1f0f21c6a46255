"""Read-only requests without log entries (§8; dissertation §6.4, §6.4.1).

A leader may answer from its state machine once it knows that it still leads: after a quorum has
replied to a round of heartbeats begun after the request came (ReadIndex), or while a lease lasts.
In both cases it must have committed an entry of its own term, or it might not know what is
committed. One round confirms all reads that came before it; later ones share the next.
"""

from __future__ import annotations

from protocols.api import Context, Log, Map, NodeId, on
from protocols.client import fail, ok
from protocols.clients.messages import NOT_LEADER, Request
from protocols.consensus.raft import quorum
from protocols.consensus.raft.messages import ReadIndex, ReadIndexReply
from protocols.consensus.raft.read_queue import GrantedRead, WaitingRead
from protocols.consensus.raft.state import RaftState, Role

__all__ = ["Reads"]


class Reads(RaftState):
    """Linearizable reads at the leader, and at followers that ask it."""

    # -- at the leader --------------------------------------------------------------------

    def serve_read(self, ctx: Context, request: Request) -> None:
        """Answer a client's read now (by lease) or when leadership is confirmed."""
        if self.lease_holds(ctx):
            self.answer_read(ctx, request)
        else:
            self.await_round(ctx, WaitingRead(self.round + 1, request))

    def await_round(self, ctx: Context, read: WaitingRead) -> None:
        """§6.4, step 3: a round of heartbeats; if one is under way, the next one."""
        idle = not self.reads
        self.reads = self.reads.append(read)
        if idle:
            self.beat(ctx)

    def confirm_round(self, ctx: Context, peer: NodeId, number: int) -> None:
        """A follower replied to a message of round ``number``."""
        if number <= self.acked.get(peer, 0):
            return
        self.acked = self.acked.set(peer, number)
        if self.options.reads == "lease":
            self.renew_lease()
        if self.reads:
            self.release_reads(ctx)

    def confirmed_round(self) -> int:
        """The latest round that a quorum has replied to."""
        return quorum.committed_index(self.configuration, self.acked.set(self.me, self.round))

    def release_reads(self, ctx: Context) -> None:
        """Answer all reads whose round is confirmed; begin the next round if some are left."""
        if not self.committed_in_own_term:
            return
        confirmed = self.confirmed_round()
        while self.reads and self.reads[self.reads.first].round <= confirmed:
            read = self.reads[self.reads.first]
            self.reads = self.reads.discard(self.reads.first)
            self.release(ctx, read)
        if self.reads and self.reads[self.reads.first].round > self.round:
            self.beat(ctx)

    def release(self, ctx: Context, read: WaitingRead) -> None:
        """The leader's own client gets its answer, a follower the commit index."""
        if read.request is not None:
            self.answer_read(ctx, read.request)
        else:
            message = ReadIndexReply(self.current_term, read.attempt, self.commit_index)
            ctx.send(read.asker, message)

    def answer_read(self, ctx: Context, request: Request) -> None:
        """§6.4, step 5: query the state machine; everything committed is applied."""
        _, value = self.machine.apply(request.command, self.log_time_us)
        self.respond(ctx, request, ok(value))

    def give_up_reads(self, ctx: Context) -> None:
        """No leader any more: whoever waits must ask another."""
        for read in self.reads:
            if read.request is not None:
                self.respond(ctx, read.request, fail(NOT_LEADER))
            else:
                ctx.send(read.asker, ReadIndexReply(self.current_term, read.attempt, -1))
        self.reads = Log()

    # -- the lease ------------------------------------------------------------------------

    def renew_lease(self) -> None:
        """§6.4.1: from when the latest round began that a quorum has replied to (S45)."""
        confirmed = self.confirmed_round()
        if confirmed >= self.round_times.first:
            self.lease_from_us = self.round_times[confirmed]
            self.round_times = self.round_times.discard(confirmed)

    def lease_holds(self, ctx: Context) -> bool:
        """Whether nobody else can have been elected yet.

        Never again in this term after TimeoutNow, which overrules the followers' restraint.
        """
        if self.options.reads != "lease" or self.lease_from_us is None or self.handed_over:
            return False
        lasting = 0 <= ctx.now() - self.lease_from_us < self.options.lease_us
        return lasting and self.committed_in_own_term

    # -- at a follower --------------------------------------------------------------------

    def ask_read_index(self, ctx: Context, request: Request) -> None:
        """§6.4: a follower asks the leader for a current read index, anew for each read (S47)."""
        assert self.leader is not None
        self.attempts += 1
        self.asked = self.asked.set(self.attempts, request)
        attempt = (self.boots, self.attempts)
        ctx.send(self.leader, ReadIndex(self.current_term, attempt))

    @on(ReadIndex)
    def receive_read_index(self, ctx: Context, src: NodeId, m: ReadIndex) -> None:
        """The leader issues a read index after steps 1 to 3, as for its own clients."""
        self.observe_term(ctx, m.term)
        if self.role is not Role.LEADER or self.transfer is not None:
            ctx.send(src, ReadIndexReply(self.current_term, m.attempt, -1))
        elif self.lease_holds(ctx):
            ctx.send(src, ReadIndexReply(self.current_term, m.attempt, self.commit_index))
        else:
            self.await_round(ctx, WaitingRead(self.round + 1, None, src, m.attempt))

    @on(ReadIndexReply)
    def receive_read_index_reply(self, ctx: Context, src: NodeId, m: ReadIndexReply) -> None:
        """Answer once the index is applied; a reply to another attempt is no news."""
        self.observe_term(ctx, m.term)
        life, number = m.attempt
        request = self.asked.get(number)
        if request is None or life != self.boots:
            return
        self.asked = self.asked.delete(number)
        if m.index < 0:
            self.respond(ctx, request, fail(NOT_LEADER))
        elif m.index <= self.last_applied:
            self.answer_read(ctx, request)
        else:
            self.granted = (*self.granted, GrantedRead(m.index, request))

    def answer_granted(self, ctx: Context) -> None:
        """Answer the reads whose index is applied by now."""
        waiting = self.granted
        self.granted = tuple(read for read in waiting if read.index > self.last_applied)
        for read in waiting:
            if read.index <= self.last_applied:
                self.answer_read(ctx, read.request)

    def give_up_asked(self, ctx: Context) -> None:
        """The leader asked is gone: the clients must ask again."""
        if not self.asked:
            return
        for request in self.asked.values():
            self.respond(ctx, request, fail(NOT_LEADER))
        self.asked = Map()
