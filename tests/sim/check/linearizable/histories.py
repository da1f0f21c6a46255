"""Histories to judge: drawn at random, recorded from a real object, and judged by brute force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from sim.check.linearizable import PENDING, Call, Model
from sim.history import Operation
from sim.history.values import Kind

VALUES = (1, 2)
KINDS_DRAWN: tuple[Kind, ...] = ("ok", "ok", "ok", "info", "fail")
CALLS: dict[str, list[tuple[str, Any, tuple[Any, ...]]]] = {
    "register": [("write", v, (None,)) for v in VALUES] + [("read", None, (None, *VALUES))],
    "cas-register": [
        ("write", 1, (None,)),
        ("read", None, (None, *VALUES)),
        *(("cas", pair, (True, False)) for pair in ((None, 1), (1, 2), (2, 1), (2, 2))),
    ],
    "kv": [
        ("get", None, (None, "a", "b", "ab")),
        ("put", "a", (None,)),
        ("put", 7, (None,)),
        ("delete", None, (None, True, False)),
        ("append", "b", (None, "b", "ab", "bb")),
        ("cas", ("a", "b"), (True, False)),
    ],
    "append": [
        ("append", 1, (None,)),
        ("append", 2, (None,)),
        ("read", None, ((), (1,), (2,), (1, 2), (2, 1), (1, 1))),
    ],
    "queue": [
        ("enqueue", 1, (None,)),
        ("enqueue", 2, (None,)),
        ("dequeue", None, (None, 1, 2)),
    ],
    "set": [
        ("add", 1, (None, True, False)),
        ("add", 2, (None,)),
        ("remove", 1, (True, False, None)),
        ("contains", 1, (True, False)),
        ("read", None, ((), (1,), (2,), (2, 1))),
    ],
    "lock": [
        ("acquire", None, (True, False, 1, 2, 3)),
        ("acquire", ("o", 0), (True, 1, 2, None)),
        ("release", None, (True, False)),
        ("release", ("o", 1), (True, False)),
        ("holder", None, (None, ("o", 1), ("a", 2))),
    ],
    "counter": [("add", 1, (None, 1, 2)), ("add", -1, (None, 0)), ("read", None, (0, 1, 2))],
}
"""Model → (operation, value, answers that may be drawn for it)."""


@st.composite
def drawn(draw: st.DrawFn, name: str, most: int = 5) -> list[Operation]:
    """Up to ``most`` operations with answers that may well be impossible; times often coincide."""
    operations = []
    for number in range(draw(st.integers(1, most))):
        op, value, answers = draw(st.sampled_from(CALLS[name]))
        start = draw(st.integers(0, 8))
        kind: Kind = draw(st.sampled_from(KINDS_DRAWN))
        end = start + draw(st.integers(0, 6))
        never = kind == "info" and draw(st.booleans())
        client = draw(st.sampled_from("abc"))
        result = draw(st.sampled_from(answers)) if kind == "ok" else None
        operations.append(
            Operation(number, client, start, None if never else end, kind, op, None, value, result)
        )
    return sorted(operations, key=lambda o: o.start)


# -- the oracle -------------------------------------------------------------------------------


def before(a: int, b: int, operations: Sequence[Operation]) -> bool:
    """Whether operation number ``a`` surely took effect before ``b``, by the definition."""
    first, second = operations[a], operations[b]
    if first.kind != "ok" or first.end is None:
        return False
    same = first.client == second.client and a < b and first.end == second.start
    return first.end < second.start or (same and sequential(first.client, operations))


def sequential(client: str, operations: Sequence[Operation]) -> bool:
    own = [o for o in operations if o.client == client]
    for number, one in enumerate(own):
        for other in own[number + 1 :]:
            if one.end is None or (one.end > other.start):
                return False
    return True


def orders(operations: Sequence[Operation], model: Model) -> Iterator[list[int]]:
    """Every linearization, found without memory and without pruning."""
    placeable = [n for n, o in enumerate(operations) if o.kind != "fail"]

    def go(state: Any, placed: list[int]) -> Iterator[list[int]]:
        left = [n for n in placeable if n not in placed]
        if all(operations[n].kind == "info" for n in left):
            yield list(placed)
        for number in left:
            if any(before(other, number, operations) for other in left if other != number):
                continue
            possible, after = model.step(state, *asked(operations[number], model))
            if possible:
                yield from go(after, [*placed, number])

    yield from go(model.initial, [])


def asked(operation: Operation, model: Model) -> tuple[Call, Any]:
    client = operation.client if model.by_client else None
    call = Call(operation.op, operation.key, operation.value, client)
    return call, operation.result if operation.kind == "ok" else PENDING


def brute_force(operations: Sequence[Operation], model: Model) -> bool:
    return next(orders(operations, model), None) is not None


def explains(order: Sequence[Operation], operations: Sequence[Operation], model: Model) -> bool:
    """Whether ``order`` is a linearization of ``operations``: a check that is easy to believe."""
    numbers = [operations.index(o) for o in order]
    if len(set(numbers)) != len(numbers):
        return False
    if any(o.kind == "ok" and n not in numbers for n, o in enumerate(operations)):
        return False
    for place, number in enumerate(numbers):
        if any(before(later, number, operations) for later in numbers[place + 1 :]):
            return False
    state = model.initial
    for operation in order:
        possible, state = model.step(state, *asked(operation, model))
        if not possible:
            return False
    return True


# -- recorded from a real object --------------------------------------------------------------


def recorded(
    name: str, model: Model, rng: Random, count: int, *, clients: int = 5, lost: float = 0.1
) -> list[Operation]:
    """What clients see of one atomic object: a linearizable history, in order of starts.

    Every operation takes effect at a moment between its start and its end; of those that are
    ``lost`` nobody hears an answer, and half of them never take effect.
    """
    calls = [(op, value) for op, value, _ in CALLS[name]]
    planned = []
    free = {f"c{n}": 0 for n in range(clients)}
    for number in range(count):
        client = min(free, key=lambda c: (free[c], c))
        start = free[client] + rng.randrange(1, 5)
        moment = start + rng.randrange(0, 20)
        end = moment + rng.randrange(0, 20)
        free[client] = end
        op, value = rng.choice(calls)
        planned.append((moment, number, client, start, end, op, value))
    assert model.answer is not None
    done, state = [], model.initial
    for _, number, client, start, end, op, value in sorted(planned):
        call = Call(op, None, value, client if model.by_client else None)
        lose = rng.random() < lost
        answer = None if lose else model.answer(state, call)
        if not (lose and rng.random() < 0.5):
            possible, state = model.step(state, call, PENDING if lose else answer)
            assert possible
        kind: Kind = "info" if lose else "ok"
        until = None if lose else end
        if lose:  # a client that gave up goes on under another name
            client = f"{client}-{number}"
        done.append(Operation(number, client, start, until, kind, op, None, value, answer))
    return sorted(done, key=lambda o: o.start)
