"""Servers that are linearizable by construction: one copy, which keeps sessions."""

from __future__ import annotations

from protocols.api import Context, Map, NodeId, durable, on, on_timer, process, timer, volatile
from protocols.client import fail, ok
from protocols.clients.messages import NOT_LEADER, Request, Response
from protocols.machines import Machine

Session = tuple[NodeId, int]


@timer
class Flip:
    """Begin to serve, or cease to."""


@process
class SingleCopy:
    """The only server with a state machine. With ``flip_us`` it serves half of the time only."""

    me: NodeId
    initial: Machine
    flip_us: int = 0
    machine: Machine | None = durable(None)
    sessions: Map[Session, tuple[int, object]] = durable(Map())
    serving: bool = volatile(True)

    def on_start(self, ctx: Context) -> None:
        if self.machine is None:
            self.machine = self.initial
        if self.flip_us:
            ctx.set_timer(Flip(), after=(0, 2 * self.flip_us))

    @on_timer(Flip)
    def flip(self, ctx: Context, t: Flip) -> None:
        self.serving = not self.serving
        ctx.set_timer(Flip(), after=(0, 2 * self.flip_us))

    @on(Request)
    def receive_request(self, ctx: Context, src: NodeId, m: Request) -> None:
        done, answer = self.sessions.get((m.client, m.session), (0, None))
        if m.sequence < done or m.sequence <= m.acked:
            return  # a late copy, whose answer nobody waits for
        if m.sequence > done:
            if not self.serving:
                ctx.send(src, Response(m.session, m.sequence, fail(NOT_LEADER)))
                return
            assert self.machine is not None
            self.machine, answer = self.machine.apply(m.command)
            self.sessions = self.sessions.set((m.client, m.session), (m.sequence, answer))
        ctx.send(src, Response(m.session, m.sequence, ok(answer), self.me))


@process
class Redirecting:
    """A server that never leads and believes that ``leader`` does."""

    me: NodeId
    leader: NodeId

    @on(Request)
    def receive_request(self, ctx: Context, src: NodeId, m: Request) -> None:
        ctx.send(src, Response(m.session, m.sequence, fail(NOT_LEADER), self.leader))
