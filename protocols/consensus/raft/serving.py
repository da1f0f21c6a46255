"""Client interaction (§8; dissertation §6): requests, and what a server answers to them."""

from __future__ import annotations

from protocols.api import Context, NodeId, on
from protocols.client import Outcome, fail, ok
from protocols.clients.messages import (
    NOT_LEADER,
    OVERLOADED,
    SESSION_EXPIRED,
    Request,
    Response,
)
from protocols.consensus.raft.messages import Forward
from protocols.consensus.raft.sessions import EXPIRED, FRESH, STALE, judge
from protocols.consensus.raft.state import RaftState, Role

__all__ = ["Serving"]


class Serving(RaftState):
    """Takes requests, at the leader; elsewhere tells (or passes on to) the leader."""

    @on(Request)
    def receive_request(self, ctx: Context, src: NodeId, m: Request) -> None:
        """Dissertation §6.2: a server that is not the leader rejects the request, with a hint."""
        if self.role is Role.LEADER:
            self.serve(ctx, m)
        elif self.leader is None:
            self.respond(ctx, m, fail(NOT_LEADER))
        elif self.options.follower_reads and self.machine.read_only(m.command):
            self.ask_read_index(ctx, m)
        elif self.options.forward:
            ctx.send(self.leader, Forward(m))
        else:
            self.respond(ctx, m, fail(NOT_LEADER))

    @on(Forward)
    def receive_forward(self, ctx: Context, src: NodeId, m: Forward) -> None:
        """§6.2: a request that another server passed on; it goes no further."""
        if self.role is Role.LEADER:
            self.serve(ctx, m.request)
        else:
            self.respond(ctx, m.request, fail(NOT_LEADER))

    def serve(self, ctx: Context, request: Request) -> None:
        """What the leader does with a request."""
        options = self.options
        if self.transfer is not None:
            self.respond(ctx, request, fail(NOT_LEADER))
        elif options.reads != "log" and self.machine.read_only(request.command):
            self.serve_read(ctx, request)
        else:
            lifetime = options.session_lifetime_us
            verdict = judge(self.sessions, request, self.log_time_us, lifetime)
            if verdict is FRESH:
                self.take(ctx, request)
            elif verdict is EXPIRED:
                self.respond(ctx, request, fail(SESSION_EXPIRED))
            elif verdict is not STALE:
                self.respond(ctx, request, ok(verdict.answer))

    def take(self, ctx: Context, request: Request) -> None:
        """A new request becomes an entry, if there is room."""
        most = self.options.max_uncommitted
        if most and self.last_index - self.commit_index >= most:
            self.respond(ctx, request, fail(OVERLOADED))
        else:
            self.propose(ctx, request)

    def respond(self, ctx: Context, request: Request, outcome: Outcome) -> None:
        """Answer a client, with a hint who leads if this server doesn't."""
        leader = self.leader
        if self.transfer is not None:
            leader = self.transfer.to
        elif leader == self.me and self.role is not Role.LEADER:
            leader = None
        message = Response(request.session, request.sequence, outcome, leader)
        ctx.send(request.client, message)
