"""Log replication as a follower sees it: the receiver of AppendEntries in figure 2 (§5.3)."""

from __future__ import annotations

from protocols.api import Context, NodeId, on
from protocols.consensus.raft.configuration import Configuration
from protocols.consensus.raft.entries import Entry
from protocols.consensus.raft.messages import AppendEntries, AppendReply
from protocols.consensus.raft.state import UNKNOWN, RaftState, Role

__all__ = ["Following"]


class Following(RaftState):
    """Accepts entries from the leader of the current term."""

    @on(AppendEntries)
    def receive_append_entries(self, ctx: Context, src: NodeId, m: AppendEntries) -> None:
        """Figure 2, AppendEntries RPC, receiver implementation 1 to 5."""
        if m.term < self.current_term:
            ctx.send(src, AppendReply(self.current_term, False, m.prev_log_index, m.round))
            return
        if m.term > self.current_term or self.leader != src or self.role is not Role.FOLLOWER:
            self.follow(ctx, m.term, src)
        self.hear_leader(ctx)
        if not self.matches(m.prev_log_index, m.prev_log_term):
            self.refuse_entries(ctx, src, m)
            return
        verified = m.prev_log_index + len(m.entries)
        if m.entries:
            self.store_entries(m.prev_log_index + 1, m.entries)
        if m.leader_commit > self.commit_index:
            self.commit_to(ctx, min(m.leader_commit, verified))
        ctx.send(src, AppendReply(self.current_term, True, verified, m.round))

    def hear_leader(self, ctx: Context) -> None:
        """A message of the current leader: wait for the next one."""
        self.expect_leader(ctx)
        if self.options.sticky_leader or self.options.pre_vote:
            self.heard_us = ctx.now()

    def matches(self, index: int, term: int) -> bool:
        """Whether the log holds the leader's entry at ``index``, of this ``term``.

        What a snapshot covers is committed, so it is the leader's as well (S23).
        """
        own = self.term_at(index)
        return own == term or (own == UNKNOWN and index <= self.snapshot_index)

    def refuse_entries(self, ctx: Context, src: NodeId, m: AppendEntries) -> None:
        """Receiver 2: no such entry; tell where the logs may agree (§5.3, end)."""
        hint = self.last_agreement(min(m.prev_log_index, self.last_index), m.prev_log_term)
        hint = max(hint, self.commit_index)
        term = self.term_at(hint)
        ctx.send(src, AppendReply(self.current_term, False, m.prev_log_index, m.round, hint, term))

    def store_entries(self, index: int, entries: tuple[Entry, ...]) -> None:
        """Receiver 3 and 4: delete only what conflicts, append only what is new (S19, S21)."""
        skip = max(0, self.log.first - index)
        while skip < len(entries) and index + skip <= self.last_index:
            if self.log[index + skip].term != entries[skip].term:
                self.log = self.log.truncate(index + skip)
                self.unadopt_from(index + skip)
                break
            skip += 1
        new = entries[skip:]
        if not new:
            return
        self.log = self.log.extend(new)
        for place, entry in enumerate(new, index + skip):
            if type(entry.command) is Configuration:
                self.adopt(place, entry.command)
