"""Leader election (§5.2, §5.4.1), with PreVote (dissertation §9.6) and its restraints.

Restraints: a server that heard from a leader within the least election timeout disregards
requests for votes (§6; dissertation §4.2.3); with priorities, see the options.
"""

from __future__ import annotations

from protocols.api import Context, Map, NodeId, on, on_timer
from protocols.consensus.raft import quorum
from protocols.consensus.raft.messages import (
    PreVoteReply,
    RequestPreVote,
    RequestVote,
    VoteReply,
)
from protocols.consensus.raft.state import ElectionTimeout, RaftState, Role

__all__ = ["Election"]

_ELECTION_TIMEOUT = ElectionTimeout()


class Election(RaftState):
    """Who leads, in which term."""

    def expect_leader(self, ctx: Context) -> None:
        """Wait for a leader's message or a candidate's for a randomised election timeout."""
        ctx.set_timer(_ELECTION_TIMEOUT, after=self.options.election_timeout_us)

    @on_timer(ElectionTimeout)
    def miss_leader(self, ctx: Context, t: ElectionTimeout) -> None:
        """§5.2: nothing was heard for an election timeout: assume that there is no leader."""
        self.give_up_asked(ctx)
        self.leader = None
        if not self.configuration.is_voter(self.me):
            self.expect_leader(ctx)  # learners and removed servers never campaign (§4.2 there)
        elif self.options.pre_vote:
            self.start_pre_vote(ctx)
        else:
            self.start_election(ctx)

    # -- asking for votes -----------------------------------------------------------------

    def start_pre_vote(self, ctx: Context) -> None:
        """Ask the voters whether they would grant a vote, without a new term (§9.6)."""
        self.role = Role.PRE_CANDIDATE
        self.votes = Map()
        self.expect_leader(ctx)
        priority = self.priority if self.options.priorities else 0
        request = RequestPreVote(self.current_term + 1, self.last_index, self.last_term, priority)
        for voter in self.other_voters():
            ctx.send(voter, request)
        self.count_vote(ctx, self.me, granted=True)

    def start_election(self, ctx: Context, *, transfer: bool = False) -> None:
        """§5.2: increment the term, vote for oneself, ask all others for their votes."""
        self.role = Role.CANDIDATE
        self.leader = None
        self.current_term += 1
        self.voted_for = self.me
        self.votes = Map()
        self.expect_leader(ctx)
        priority = self.priority if self.options.priorities else 0
        request = RequestVote(
            self.current_term, self.last_index, self.last_term, transfer, priority
        )
        for voter in self.other_voters():
            ctx.send(voter, request)
        self.count_vote(ctx, self.me, granted=True)

    def other_voters(self) -> tuple[NodeId, ...]:
        """Those whose votes count, but me."""
        return tuple(node for node in self.others if self.configuration.is_voter(node))

    def count_vote(self, ctx: Context, voter: NodeId, *, granted: bool) -> None:
        """Count each voter once; a majority of each part of the configuration decides."""
        if voter in self.votes:
            return
        self.votes = self.votes.set(voter, granted)
        result = quorum.vote_result(self.configuration, self.votes)
        if result is quorum.Vote.LOST:
            self.follow(ctx, self.current_term, None)
        elif result is quorum.Vote.WON and self.role is Role.PRE_CANDIDATE:
            self.start_election(ctx)
        elif result is quorum.Vote.WON:
            ctx.cancel_timer(_ELECTION_TIMEOUT)
            self.lead(ctx)

    # -- giving votes ---------------------------------------------------------------------

    @on(RequestPreVote)
    def receive_request_pre_vote(self, ctx: Context, src: NodeId, m: RequestPreVote) -> None:
        """§9.6: would one grant the vote? Nothing is remembered; a refusal tells the own term."""
        granted = (
            (m.term > self.current_term or self.could_vote_for(m.term, src))
            and not self.believes_in_leader(ctx)
            and self.good_enough(m)
        )
        ctx.send(src, PreVoteReply(m.term if granted else self.current_term, granted))

    @on(RequestVote)
    def receive_request_vote(self, ctx: Context, src: NodeId, m: RequestVote) -> None:
        """Figure 2, RequestVote RPC: one vote per term, first come first served (§5.2, §5.4.1)."""
        sticky = self.options.sticky_leader and not m.transfer
        if sticky and m.term > self.current_term and self.believes_in_leader(ctx):
            return
        self.observe_term(ctx, m.term)
        granted = self.could_vote_for(m.term, src) and self.good_enough(m)
        if granted:
            self.voted_for = src
            self.expect_leader(ctx)
        ctx.send(src, VoteReply(self.current_term, granted))

    def could_vote_for(self, term: int, candidate: NodeId) -> bool:
        """Whether the vote of ``term`` is free, or given to ``candidate`` already."""
        return term == self.current_term and self.voted_for in (None, candidate)

    def good_enough(self, m: RequestVote | RequestPreVote) -> bool:
        """§5.4.1: the candidate's log is at least as up-to-date; with priorities, see there."""
        own = (self.last_term, self.last_index)
        theirs = (m.last_log_term, m.last_log_index)
        if theirs == own and self.options.priorities:
            return m.priority >= self.priority
        return theirs >= own

    def believes_in_leader(self, ctx: Context) -> bool:
        """Whether this is a leader, or heard from one within the least election timeout."""
        if self.role is Role.LEADER:
            return True
        if self.heard_us is None:
            return False
        return 0 <= ctx.now() - self.heard_us < self.options.election_timeout_us[0]

    # -- receiving votes ------------------------------------------------------------------

    @on(PreVoteReply)
    def receive_pre_vote_reply(self, ctx: Context, src: NodeId, m: PreVoteReply) -> None:
        """Count it; the term in a refusal is news like any other (S31)."""
        if not m.granted:
            self.observe_term(ctx, m.term)
        stale = m.granted and m.term != self.current_term + 1
        if self.role is Role.PRE_CANDIDATE and not stale:
            self.count_vote(ctx, src, granted=m.granted)

    @on(VoteReply)
    def receive_vote_reply(self, ctx: Context, src: NodeId, m: VoteReply) -> None:
        """§5.2: votes from a majority of the servers for the same term win."""
        self.observe_term(ctx, m.term)
        if self.role is Role.CANDIDATE and m.term == self.current_term:
            self.count_vote(ctx, src, granted=m.granted)

    # -- following ------------------------------------------------------------------------

    def observe_term(self, ctx: Context, term: int) -> None:
        """Figure 2, all servers: a higher term makes a follower."""
        if term > self.current_term:
            self.follow(ctx, term, None)

    def follow(self, ctx: Context, term: int, leader: NodeId | None) -> None:
        """Be a follower in ``term`` of ``leader`` (None: not known yet)."""
        was = self.role
        if leader != self.leader or term > self.current_term:
            self.give_up_asked(ctx)
        if was is Role.LEADER:
            self.lay_down(ctx)
            self.expect_leader(ctx)
        if term > self.current_term:
            self.current_term, self.voted_for = term, None
        self.role, self.leader, self.votes = Role.FOLLOWER, leader, Map()
        if leader is not None:
            self.transfer_settled(ctx, leader)
