"""The contract: declared fields, recorded effects, crash and recovery, parts, clear errors."""

from collections.abc import Callable
from typing import Any

import pytest

from protocols.api import (
    MS,
    Context,
    Inner,
    Log,
    NodeId,
    ProtocolError,
    durable,
    inner,
    message,
    observation,
    on,
    on_observation,
    on_operation,
    on_timer,
    operation,
    process,
    timer,
    volatile,
)
from protocols.client import ok
from protocols.step import (
    CancelTimer,
    Fire,
    Invoke,
    Observe,
    Receive,
    Reply,
    Send,
    SetTimer,
    Start,
    durable_state,
    field_names,
    inner_context,
    recovered,
    restore,
    snapshot,
    state_digest,
    step,
)


@message
class Ping:
    number: int
    note: Any = ""


@timer
class Due:
    pass


@operation
class Count:
    by: int


@observation
class Heard:
    src: NodeId


@process
class Counter:
    me: NodeId
    peers: tuple[NodeId, ...]
    every_us: int = 100 * MS
    boots: int = durable(0)
    seen: Log[int] = durable(Log())
    total: int = volatile(0)

    def on_start(self, ctx: Context) -> None:
        self.boots += 1
        ctx.set_timer(Due(), after=(0, self.every_us))

    @on_timer(Due)
    def tick(self, ctx: Context, t: Due) -> None:
        ctx.cancel_timer(Due())
        ctx.send(ctx.choose(self.peers), Ping(self.total))

    @on(Ping)
    def receive_ping(self, ctx: Context, src: NodeId, m: Ping) -> None:
        self.seen = self.seen.append(m.number)
        self.total += m.number
        ctx.observe(Heard(src))

    @on_operation(Count)
    def count(self, ctx: Context, id: int, op: Count) -> None:
        self.total += op.by
        ctx.reply(id, ok(self.total))


def counter() -> Counter:
    return Counter(me="n1", peers=("n2", "n3"))


def test_effects_come_in_the_order_of_the_calls() -> None:
    c = counter()
    assert step(c, Start()) == (SetTimer(Due(), (0, 100 * MS)),)
    assert step(c, Fire(Due())) == (CancelTimer(Due()), Send("n2", Ping(0)))
    assert step(c, Receive("n3", Ping(5))) == (Observe(Heard("n3")),)
    assert step(c, Invoke(7, Count(2))) == (Reply(7, ok(7)),)


def test_choose_is_the_runtimes() -> None:
    assert step(counter(), Fire(Due()), choose=lambda options: options[-1])[1] == Send(
        "n3", Ping(0)
    )


def test_messages_of_different_classes_are_never_equal() -> None:
    @message
    class Pong:
        number: int
        note: Any = ""

    assert Ping(1) != Pong(1)
    assert Ping(1) == Ping(1, note="")
    with pytest.raises(AttributeError):
        Ping(1).number = 2  # type: ignore[misc]


def test_snapshot_and_restore_rewind() -> None:
    c = counter()
    before = snapshot(c)
    digest = state_digest(c)
    step(c, Receive("n2", Ping(3)))
    assert snapshot(c) != before
    assert state_digest(c) != digest
    restore(c, before)
    assert snapshot(c) == before
    assert field_names(c) == ("boots", "seen", "total")


def test_a_crash_keeps_durable_fields_only() -> None:
    c = counter()
    step(c, Start())
    step(c, Receive("n2", Ping(3)))
    again = recovered(c, durable_state(c))
    assert (again.boots, list(again.seen), again.total) == (1, [3], 0)
    assert again.me == "n1"
    wiped = recovered(c, {})
    assert (wiped.boots, len(wiped.seen)) == (0, 0)


def test_one_word_makes_a_mutant() -> None:
    class Forgetful(Counter):
        boots = volatile(0)

    c = Forgetful(me="n1", peers=())
    step(c, Start())
    assert durable_state(c) == {"seen": Log()}
    assert recovered(c, durable_state(c)).boots == 0


def test_an_override_needs_no_mark_and_a_mark_may_move() -> None:
    class Deaf(Counter):
        def receive_ping(self, ctx: Context, src: NodeId, m: Ping) -> None:
            pass

    assert step(Deaf(me="n1", peers=()), Receive("n2", Ping(1))) == ()


# -- errors at once ------------------------------------------------------------------------


def _assign(name: str, value: object) -> Callable[[Any, Context], None]:
    return lambda self, ctx: setattr(self, name, value)


BREACHES: list[tuple[str, Callable[[Any, Context], None], str]] = [
    ("undeclared attribute", _assign("extra", 1), r"Bad\.extra is not declared"),
    ("mutable field", _assign("total", [1]), r"Bad\.total = \[1\]: a list is mutable; use a tuple"),
    ("mutable inside a tuple", _assign("total", (1, {})), "a dict is mutable; use a Map"),
    ("deleted field", lambda self, ctx: delattr(self, "total"), "deleted its field total"),
    (
        "unhashable message",
        lambda self, ctx: ctx.send("n2", Ping(1, [])),
        "unhashable type: 'list'",
    ),
    (
        "message without @message",
        lambda self, ctx: ctx.send("n2", 3),
        "declare its class with @message",
    ),
    ("unknown node", lambda self, ctx: ctx.send("n9", Ping(1)), "unknown node 'n9'"),
    ("negative delay", lambda self, ctx: ctx.set_timer(Due(), after=-1), "delay -1: give whole"),
    ("float delay", lambda self, ctx: ctx.set_timer(Due(), after=1.5), "delay 1.5"),  # type: ignore[arg-type]
    ("range upside down", lambda self, ctx: ctx.set_timer(Due(), after=(5, 1)), "range"),
    ("no options", lambda self, ctx: ctx.choose(()) and None, "no options"),
    ("clock not declared", lambda self, ctx: ctx.now() and None, r"clock=True"),
]


@pytest.mark.parametrize(("what", "act", "says"), BREACHES, ids=[b[0] for b in BREACHES])
def test_a_breach_of_the_contract_is_named_at_once(
    what: str, act: Callable[[Any, Context], None], says: str
) -> None:
    class Bad(Counter):
        def tick(self, ctx: Context, t: Due) -> None:
            act(self, ctx)

    with pytest.raises(ProtocolError, match=says) as caught:
        step(Bad(me="n1", peers=("n2",)), Fire(Due()), nodes=("n1", "n2"))
    assert "in Bad, at Fire(timer=" in str(caught.value)


def test_no_handler_says_what_is_handled() -> None:
    @message
    class Pong:
        pass

    with pytest.raises(
        ProtocolError, match=r"no handler for the message .*handles: Ping\. .*@on\(Pong\)"
    ):
        step(counter(), Receive("n2", Pong()))
    with pytest.raises(ProtocolError, match="no handler for the timer"):
        step(counter(), Fire(Pong()))


def test_parameters_are_checked() -> None:
    with pytest.raises(TypeError, match="needs the parameter 'peers'"):
        Counter(me="n1")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no parameter speed"):
        Counter(me="n1", peers=(), speed=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="boots is state, not a parameter"):
        Counter(me="n1", peers=(), boots=3)  # type: ignore[call-arg]


def test_declarations_are_checked() -> None:
    with pytest.raises(TypeError, match="mutable"):

        @process
        class Mutable:
            names: Any = volatile([])

    with pytest.raises(TypeError, match="needs a type annotation"):

        @process
        class Bare:
            count = volatile(0)

    with pytest.raises(TypeError, match="takes one or more classes"):
        on("Ping")  # type: ignore[arg-type]


def test_what_is_no_process_says_so() -> None:
    class Plain:
        pass

    with pytest.raises(TypeError, match="Plain is not a process: decorate it with @process"):
        step(Plain(), Start())


# -- composition ---------------------------------------------------------------------------


@process
class Owner:
    me: NodeId
    peers: tuple[NodeId, ...]
    part: Counter = inner(lambda o: Counter(me=o.me, peers=o.peers))
    heard: int = volatile(0)

    @on_observation(Heard)
    def hear(self, ctx: Context, o: Heard) -> None:
        self.heard += 1

    @on_operation(Count)
    def count(self, ctx: Context, id: int, op: Count) -> None:
        self.part.count(inner_context(self, "part", ctx), id, op)


def test_an_inner_process_travels_in_its_owners_messages() -> None:
    owner = Owner(me="n1", peers=("n2",))
    assert step(owner, Start()) == (SetTimer(Inner("part", Due()), (0, 100 * MS)),)
    effects = step(owner, Fire(Inner("part", Due())))
    assert effects == (CancelTimer(Inner("part", Due())), Send("n2", Inner("part", Ping(0))))
    assert step(owner, Receive("n2", Inner("part", Ping(4)))) == ()
    assert (owner.heard, owner.part.total) == (1, 4)
    assert step(owner, Invoke(1, Count(1))) == (Reply(1, ok(5)),)


def test_the_state_of_an_owner_holds_that_of_its_parts() -> None:
    owner = Owner(me="n1", peers=("n2",))
    before = snapshot(owner)
    step(owner, Receive("n2", Inner("part", Ping(4))))
    assert field_names(owner) == ("heard", "part.boots", "part.seen", "part.total")
    assert durable_state(owner) == {"part.boots": 0, "part.seen": Log([4])}
    again = recovered(owner, durable_state(owner))
    assert (again.heard, list(again.part.seen), again.part.total) == (0, [4], 0)
    restore(owner, before)
    assert snapshot(owner) == before


def test_an_unknown_part_is_an_error() -> None:
    with pytest.raises(ProtocolError, match="no inner process 'engine'"):
        step(Owner(me="n1", peers=()), Receive("n2", Inner("engine", Ping(1))))
