"""Log replication by the leader (§5.3), with pipelining and flow control (dissertation §10.2).

Heartbeats are empty AppendEntries at the end of what was sent to a follower, so one that has
missed something says so, and an idle round is the same message to everybody.
"""

from __future__ import annotations

from protocols.api import Context, Log, Map, NodeId, in_order, on, on_timer
from protocols.client import info
from protocols.clients.messages import STEPPED_DOWN, Request
from protocols.consensus.raft import quorum
from protocols.consensus.raft.configuration import Configuration
from protocols.consensus.raft.entries import NOOP, Entry
from protocols.consensus.raft.messages import AppendEntries, AppendReply
from protocols.consensus.raft.observations import BecameLeader, SteppedDown
from protocols.consensus.raft.progress import Progress
from protocols.consensus.raft.state import (
    UNKNOWN,
    BatchDue,
    HeartbeatDue,
    QuorumDue,
    RaftState,
    Role,
)

__all__ = ["Leading"]


class Leading(RaftState):
    """What a leader does for its followers."""

    # -- beginning and end of a term ------------------------------------------------------

    def lead(self, ctx: Context) -> None:
        """§5.3: begin with next_index after the last entry; §8: commit a no-op."""
        self.role, self.leader, self.votes = Role.LEADER, self.me, Map()
        self.match_index = Map({self.me: self.last_index})
        self.next_index, self.progress = Map(), Map()
        self.start_tracking(ctx)
        self.transfer_settled(ctx, self.me)
        ctx.observe(BecameLeader(self.current_term))
        ctx.set_timer(HeartbeatDue(), after=self.options.heartbeat_us)
        if self.options.check_quorum:
            ctx.set_timer(QuorumDue(), after=self.options.election_timeout_us[0])
        if self.options.noop:
            self.append_entry(ctx, NOOP)
            for peer in self.others:
                self.probe(ctx, peer)
            self.advance_commit(ctx)
        else:
            self.beat(ctx)

    def start_tracking(self, ctx: Context) -> None:
        """Begin to replicate to those members that the leader does not know yet; forget others."""
        fresh = [peer for peer in self.others if peer not in self.next_index]
        kept = {peer: index for peer, index in self.match_index.items() if peer in self.others}
        self.match_index = Map({**dict.fromkeys(fresh, 0), **kept, self.me: self.last_index})
        then = self.last_index + 1
        self.next_index = Map({p: self.next_index.get(p, then) for p in self.others})
        self.progress = Map({p: self.progress.get(p, Progress.PROBE) for p in self.others})
        self.sending = Map({p: s for p, s in self.sending.items() if p in self.others})

    def lay_down(self, ctx: Context) -> None:
        """Stop leading. What happens to its clients' uncommitted entries is not known (S49)."""
        ctx.observe(SteppedDown(self.current_term))
        for timer in (HeartbeatDue(), QuorumDue(), BatchDue()):
            ctx.cancel_timer(timer)
        self.role = Role.FOLLOWER
        for index in range(self.commit_index + 1, self.last_index + 1):
            entry = self.log[index]
            if entry.term == self.current_term and isinstance(entry.command, Request):
                self.respond(ctx, entry.command, info(STEPPED_DOWN))
        self.give_up_reads(ctx)
        self.give_up_change(ctx)
        self.next_index, self.match_index, self.acked = Map(), Map(), Map()
        self.progress, self.sending = Map(), Map()
        self.active, self.round, self.round_times = frozenset(), 0, Log()
        self.lease_from_us, self.batching, self.handed_over = None, False, False

    @on_timer(QuorumDue)
    def check_quorum(self, ctx: Context, t: QuorumDue) -> None:
        """Dissertation §6.2: a leader that reaches no quorum for an election timeout resigns."""
        heard = Map(dict.fromkeys((self.me, *in_order(self.active)), True))
        self.active = frozenset()
        if quorum.vote_result(self.configuration, heard) is quorum.Vote.WON:
            ctx.set_timer(t, after=self.options.election_timeout_us[0])
        else:
            self.follow(ctx, self.current_term, None)

    # -- sending --------------------------------------------------------------------------

    def propose(self, ctx: Context, command: object) -> int:
        """§5.3: append the command as a new entry and replicate it; the entry's index."""
        index = self.append_entry(ctx, command)
        if not self.options.batch_us:
            self.replicate(ctx)
        elif not self.batching:
            self.batching = True
            ctx.set_timer(BatchDue(), after=self.options.batch_us)
        self.advance_commit(ctx)
        return index

    def append_entry(self, ctx: Context, command: object) -> int:
        """The leader only ever appends to its own log (Leader Append-Only)."""
        time_us = max(ctx.now(), self.log_time_us)
        self.log = self.log.append(Entry(self.current_term, command, time_us))
        index = self.log.last_index
        self.match_index = self.match_index.set(self.me, index)
        if type(command) is Configuration:
            self.adopt(index, command)
            self.start_tracking(ctx)
        return index

    @on_timer(BatchDue)
    def end_batch(self, ctx: Context, t: BatchDue) -> None:
        """Send what was gathered."""
        self.batching = False
        self.replicate(ctx)

    def replicate(self, ctx: Context) -> None:
        """Send what is new to all followers that keep up."""
        made: dict[int, AppendEntries] = {}
        for peer in self.others:
            if self.progress[peer] is Progress.REPLICATE:
                self.feed(ctx, peer, made)

    def feed(self, ctx: Context, peer: NodeId, made: dict[int, AppendEntries]) -> None:
        """Send entries to a follower, as many as the window allows. ``made``: by first index."""
        first = following = self.next_index[peer]
        limit = self.match_index[peer] + (self.options.window if self.options.pipeline else 1)
        while following <= min(self.last_index, limit):
            message = made.get(following) or self.entries_from(following)
            if message is None:
                self.start_sending(ctx, peer)
                return
            made[following] = message
            ctx.send(peer, message)
            following += len(message.entries)
        if following != first:
            self.next_index = self.next_index.set(peer, following)

    def entries_from(self, index: int, most: int | None = None) -> AppendEntries | None:
        """AppendEntries with the entries from ``index`` on; None if they are compacted."""
        prev_term = self.term_at(index - 1)
        if prev_term == UNKNOWN or index < self.log.first:
            return None
        most = self.options.max_batch if most is None else most
        entries = self.log[index : index + most]
        return AppendEntries(
            self.current_term, index - 1, prev_term, entries, self.commit_index, self.round
        )

    def probe(self, ctx: Context, peer: NodeId, most: int | None = None) -> None:
        """Send one AppendEntries (or begin a snapshot) and then wait for the reply."""
        message = self.entries_from(self.next_index[peer], most)
        if message is None:
            self.start_sending(ctx, peer)
        else:
            ctx.send(peer, message)

    # -- heartbeats -----------------------------------------------------------------------

    @on_timer(HeartbeatDue)
    def keep_authority(self, ctx: Context, t: HeartbeatDue) -> None:
        """§5.2: heartbeats, so that no follower starts an election."""
        ctx.set_timer(t, after=self.options.heartbeat_us)
        self.beat(ctx)
        if self.staging is not None:
            self.check_staging(ctx)

    def beat(self, ctx: Context) -> None:
        """One round of heartbeats."""
        self.round += 1
        if self.options.reads == "lease":
            self.round_times = self.round_times.append(ctx.now())
        last, following, sending = self.log.last_index, self.next_index, self.sending
        message = AppendEntries(
            self.current_term, last, self.last_term, (), self.commit_index, self.round
        )
        for peer in self.others:
            if peer in sending:
                self.send_chunk(ctx, peer)
            elif following[peer] > last:
                ctx.send(peer, message)
            else:
                self.probe(ctx, peer, most=0)
        if self.reads:
            self.release_reads(ctx)

    # -- replies --------------------------------------------------------------------------

    @on(AppendReply)
    def receive_append_reply(self, ctx: Context, src: NodeId, m: AppendReply) -> None:
        """Figure 2, leaders: success moves next_index and match_index, failure next_index back."""
        match = self.match_index.get(src)
        if m.term != self.current_term or match is None:
            self.observe_term(ctx, m.term)
            return
        self.hear_follower(ctx, src, m.round)
        if not m.success:
            self.back_up(ctx, src, m)
        elif m.index > match:
            self.matched(ctx, src, m.index)
        elif self.progress[src] is Progress.PROBE:
            self.progress = self.progress.set(src, Progress.REPLICATE)
            self.feed(ctx, src, {})

    def hear_follower(self, ctx: Context, peer: NodeId, number: int) -> None:
        """A follower replied in this term, to a message of round ``number``."""
        if peer not in self.active:
            self.active = self.active | {peer}
        if self.reads or self.options.reads == "lease":
            self.confirm_round(ctx, peer, number)

    def matched(self, ctx: Context, peer: NodeId, index: int) -> None:
        """A follower's log matches the leader's up to ``index``, further than known before."""
        self.match_index = self.match_index.set(peer, index)
        if self.next_index[peer] <= index:
            self.next_index = self.next_index.set(peer, index + 1)
        compacted = index + 1 < self.log.first
        if self.progress[peer] is not Progress.REPLICATE and not compacted:
            self.progress = self.progress.set(peer, Progress.REPLICATE)
            if peer in self.sending:
                self.sending = self.sending.delete(peer)
        if index > self.commit_index:
            self.advance_commit(ctx)
        if peer in self.next_index:  # it may lead no more, or have removed the follower
            self.feed_and_tell(ctx, peer, index)

    def feed_and_tell(self, ctx: Context, peer: NodeId, index: int) -> None:
        """Go on sending, and see whether somebody waited for this follower."""
        if self.progress[peer] is Progress.REPLICATE:
            self.feed(ctx, peer, {})
        if self.transfer is not None:
            self.target_matched(ctx, peer, index)
        if self.staging is not None:
            self.staged_matched(ctx, peer, index)

    def back_up(self, ctx: Context, peer: NodeId, m: AppendReply) -> None:
        """§5.3: the logs differ at ``m.index``; try earlier, never before what matches (S17b)."""
        following, match = self.next_index[peer], self.match_index[peer]
        progress = self.progress[peer]
        probing = progress is Progress.PROBE
        stale = m.index <= match or (probing and m.index != following - 1)
        if stale or progress is Progress.SNAPSHOT:
            return
        earlier = m.index
        if self.options.fast_backup:
            earlier = min(earlier, self.last_agreement(m.hint_index, m.hint_term) + 1)
        self.next_index = self.next_index.set(peer, max(earlier, match + 1))
        if not probing:
            self.progress = self.progress.set(peer, Progress.PROBE)
        self.probe(ctx, peer)
