"""Which entries are committed, and what their application does (§5.3, §5.4.2)."""

from __future__ import annotations

from protocols.api import Context
from protocols.client import Outcome, fail, ok
from protocols.clients.messages import SESSION_EXPIRED, Request
from protocols.consensus.raft import quorum
from protocols.consensus.raft.configuration import Configuration
from protocols.consensus.raft.entries import Entry
from protocols.consensus.raft.observations import Committed
from protocols.consensus.raft.sessions import EXPIRED, FRESH, STALE, expire, judge, remember
from protocols.consensus.raft.state import RaftState, Role

__all__ = ["Commitment"]


class Commitment(RaftState):
    """Commits and applies entries."""

    def advance_commit(self, ctx: Context) -> None:
        """Figure 2, leaders, last rule: a majority holds it *and* it is of the current term."""
        index = quorum.committed_index(self.configuration, self.match_index)
        if index > self.commit_index and self.may_commit(index):
            self.commit_to(ctx, index)

    def may_commit(self, index: int) -> bool:
        """§5.4.2: entries of earlier terms are never committed by counting replicas (S13)."""
        return self.term_at(index) == self.current_term

    def commit_to(self, ctx: Context, index: int) -> None:
        """Entries up to ``index`` are committed: apply them. Nothing happens if that is known."""
        if index <= self.commit_index:
            return
        self.commit_index = index
        if self.options.observe_commits:
            ctx.observe(Committed(index, self.current_term))
        self.apply_committed(ctx)

    def apply_committed(self, ctx: Context) -> None:
        """Figure 2, all servers: what is committed and not applied yet is applied, in log order."""
        configurations = []
        for index in range(self.last_applied + 1, self.commit_index + 1):
            entry = self.log[index]
            self.last_applied = index
            if type(entry.command) is Request:
                self.apply_request(ctx, entry, entry.command)
            elif type(entry.command) is Configuration:
                configurations.append((index, entry.command))
            if index % self.options.session_sweep == 0 and self.options.session_lifetime_us:
                self.sweep_sessions(entry.time_us)
        for index, configuration in configurations:
            self.configuration_committed(ctx, index, configuration)
        self.after_applying(ctx)

    def after_applying(self, ctx: Context) -> None:
        """What waited for entries to be applied."""
        if self.configuration.auto_leave:
            self.leave_joint_if_due(ctx)
        if self.options.snapshot_every:
            self.snapshot_if_due(ctx)
        if self.granted:
            self.answer_granted(ctx)
        if self.reads:
            self.release_reads(ctx)

    def sweep_sessions(self, now_us: int) -> None:
        """Free the memory of expired sessions."""
        self.sessions = expire(self.sessions, now_us, self.options.session_lifetime_us)

    def apply_request(self, ctx: Context, entry: Entry, request: Request) -> None:
        """Apply a client's command, once (§8; dissertation §6.3); its leader answers."""
        outcome = self.execute(request, entry.time_us)
        if self.role is Role.LEADER and entry.term == self.current_term and outcome is not None:
            self.respond(ctx, request, outcome)

    def execute(self, request: Request, now_us: int) -> Outcome | None:
        """The outcome of a committed request at this log time; None: nobody waits for it."""
        verdict = judge(self.sessions, request, now_us, self.options.session_lifetime_us)
        if verdict is FRESH:
            self.machine, answer = self.machine.apply(request.command, now_us)
            self.sessions = remember(self.sessions, request, answer, now_us)
            return ok(answer)
        if verdict is EXPIRED:
            return fail(SESSION_EXPIRED)
        return None if verdict is STALE else ok(verdict.answer)
