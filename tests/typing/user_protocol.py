"""A user's protocol: must be clean under ``mypy --strict`` and ``pyright --strict``-like use."""

from protocols.api import (
    MS,
    Context,
    NodeId,
    durable,
    message,
    on,
    on_timer,
    process,
    timer,
    volatile,
)


@message
class Ping:
    number: int


@message
class Pong:
    number: int
    late: bool = False


@timer
class PingDue:
    pass


@process
class Pinger:
    me: NodeId
    peers: tuple[NodeId, ...]
    every_us: int = 100 * MS
    boots: int = durable(0)
    heard: frozenset[NodeId] = volatile(frozenset())

    def on_start(self, ctx: Context) -> None:
        self.boots += 1
        ctx.set_timer(PingDue(), after=(self.every_us, 2 * self.every_us))

    @on_timer(PingDue)
    def ping(self, ctx: Context, t: PingDue) -> None:
        ctx.send(ctx.choose(self.peers), Ping(self.boots))
        ctx.set_timer(t, after=self.every_us)

    @on(Ping)
    def receive_ping(self, ctx: Context, src: NodeId, m: Ping) -> None:
        ctx.send(src, Pong(m.number))

    @on(Pong)
    def receive_pong(self, ctx: Context, src: NodeId, m: Pong) -> None:
        self.heard = self.heard | {src}


pinger = Pinger(me="n1", peers=("n2", "n3"))
reveal: frozenset[str] = pinger.heard
