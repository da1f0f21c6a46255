"""Zones against the search: registers whose writes are all distinct."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.check.linearizable import MODELS, analyse
from sim.check.linearizable.problem import Problem, tasks_of
from sim.check.linearizable.search import Search
from sim.check.linearizable.zones import Zones, fits_zones
from sim.history import Operation
from sim.history.values import Kind
from tests.sim.check.linearizable.histories import brute_force, explains

REGISTER = MODELS["register"]


@st.composite
def distinct(draw: st.DrawFn, most: int = 9) -> list[Operation]:
    """Writes of 1, 2, 3, ... and reads of any of them, of the initial value, or of no value."""
    count = draw(st.integers(1, most))
    writes = draw(st.integers(0, count))
    operations = []
    for number in range(count):
        start = draw(st.integers(0, 30))
        pending = draw(st.integers(0, 5)) == 0
        end = None if pending else start + draw(st.integers(0, 15))
        kind: Kind = "info" if pending else "ok"
        op: tuple[str, Any, Any, Any]
        if number < writes:
            op = ("write", None, number + 1, None)
        else:
            read = draw(st.one_of(st.none(), st.integers(1, max(1, writes))))
            op = ("read", None, None, None if pending else read)
        operations.append(Operation(number, f"c{number}", start, end, kind, *op))
    return sorted(operations, key=lambda o: o.start)


@settings(max_examples=800, deadline=None)
@given(distinct())
def test_zones_agree_with_the_search(operations: list[Operation]) -> None:
    tasks = tasks_of(operations, REGISTER)
    assert fits_zones(tasks, REGISTER)
    zones, search = Zones(tasks, REGISTER), Search(Problem(tasks, REGISTER))
    assert zones.linearizable == search.run(10**6)
    if zones.linearizable:
        order = [tasks[n].operation for n in zones.order()]
        assert explains(order, operations, REGISTER)
    returns = sum(task.end is not None for task in tasks)
    for cut in range(returns + 1):
        assert Zones(tasks, REGISTER, cut).linearizable == (cut <= search.furthest)


@settings(max_examples=200, deadline=None)
@given(distinct(5))
def test_zones_agree_with_brute_force(operations: list[Operation]) -> None:
    zones = Zones(tasks_of(operations, REGISTER), REGISTER)
    assert zones.linearizable == brute_force(operations, REGISTER)


@pytest.mark.parametrize(
    ("operations", "why"),
    [
        ([("write", 1, None), ("write", 1, None)], "a value written twice"),
        ([("write", None, None)], "the initial value written"),
        ([("write", 1, None), ("cas", (1, 2), True)], "something else than reads and writes"),
    ],
)
def test_other_histories_are_left_to_the_search(
    operations: list[tuple[str, object, object]], why: str
) -> None:
    history = [
        Operation(n, "c", 10 * n, 10 * n + 5, "ok", op, None, value, result)
        for n, (op, value, result) in enumerate(operations)
    ]
    model = MODELS["cas-register"]
    assert not fits_zones(tasks_of(history, model), model), why
    assert analyse(history, model).parts[0].method == "search"


def test_a_client_that_goes_on_at_once_is_left_to_the_search() -> None:
    write = Operation(0, "c", 0, 5, "ok", "write", None, 1)
    read = Operation(1, "c", 5, 9, "ok", "read", None, None, None)
    analysis = analyse([write, read], "register")
    assert analysis.parts[0].method == "search"
    assert analysis.result.verdict == "violated"  # it does not see its own write


def big(count: int, stale: bool) -> list[Operation]:
    """A register used by many clients at once; at the end perhaps a read of an old value."""
    rng = Random(7)
    operations, value = [], 0
    op: tuple[str, Any, Any, Any]
    for number in range(count):
        moment = 10 * number
        start, end = moment - rng.randrange(300), moment + rng.randrange(300)
        if rng.random() < 0.5:
            value = number + 1
            op = ("write", None, value, None)
        else:
            op = ("read", None, None, value or None)
        operations.append(Operation(number, f"c{number}", start, end, "ok", *op))
    if stale:
        old = next(o.value for o in operations if o.op == "write")
        late = 10 * count + 1000
        operations.append(Operation(count, "s", late, late + 1, "ok", "read", None, None, old))
    return operations


def test_twenty_thousand_operations_need_no_search() -> None:
    analysis = analyse(big(20_000, stale=False))
    assert (analysis.result.verdict, analysis.steps) == ("ok", 0)
    assert analysis.parts[0].method == "zones"


def test_a_violation_found_by_zones_is_explained() -> None:
    analysis = analyse(big(2_000, stale=True))
    failure = analysis.failure
    assert failure is not None
    assert failure.operation.client == "s"
    assert failure.returned == 2_000
