"""The search against brute force: every model, every kind of operation, times that coincide."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.check.linearizable import (
    MODELS,
    Budget,
    Call,
    Model,
    ModelError,
    analyse,
    check,
    unpartitioned,
)
from sim.check.linearizable.problem import Problem, tasks_of
from sim.check.linearizable.search import Search
from sim.history import Operation
from tests.sim.check.linearizable.histories import brute_force, drawn, explains, recorded

each_model = pytest.mark.parametrize("name", MODELS)


def searched(operations: list[Operation], model: Model, turn: int = 10**6) -> Search:
    search = Search(Problem(tasks_of(operations, model), model))
    while search.run(turn) is None:
        pass
    return search


@each_model
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_the_search_agrees_with_brute_force(name: str, data: st.DataObject) -> None:
    model = MODELS[name]
    operations = data.draw(drawn(name))
    search = searched(operations, model)
    assert search.found == brute_force(operations, model)
    if search.found:
        order = [search.problem.tasks[n].operation for n in search.order()]
        assert explains(order, operations, model)


@each_model
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_turns_do_not_change_the_search(name: str, data: st.DataObject) -> None:
    operations = data.draw(drawn(name))
    one, many = searched(operations, MODELS[name]), searched(operations, MODELS[name], 1)
    assert (one.found, one.furthest, one.steps) == (many.found, many.furthest, many.steps)
    assert one.order() == many.order()


@each_model
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_failure_is_where_the_longest_prefix_ends(name: str, data: st.DataObject) -> None:
    model = MODELS[name]
    operations = [on_its_own(o) for o in data.draw(drawn(name))]
    with patch("sim.check.linearizable.explain._ANSWERS", 1000):
        failure = analyse(operations, model).failure
    if failure is None:
        return
    at = operations.index(failure.operation)
    cut = as_of(operations, at, returned=False)
    assert brute_force(cut, model)
    assert not brute_force(as_of(operations, at, returned=True), model)
    assert failure.certain
    assert failure.prefix is not None
    stripped = [next(c for c in cut if c.id == o.id) for o in failure.prefix]
    assert explains(stripped, cut, model)
    assert failure.complete or model.answer is None
    given = failure.operation.result
    assert (type(given), given) not in [(type(a), a) for a in failure.possible]
    for answer in failure.possible:
        changed = as_of(operations, at, returned=True)
        place = next(n for n, o in enumerate(changed) if o.id == failure.operation.id)
        changed[place] = with_result(changed[place], answer)
        assert brute_force(changed, model)


def on_its_own(o: Operation) -> Operation:
    """The operation as the only one of its client, so that only times order it."""
    client = f"{o.client}{o.id}"
    return Operation(o.id, client, o.start, o.end, o.kind, o.op, o.key, o.value, o.result)


def with_result(o: Operation, result: object) -> Operation:
    return Operation(o.id, o.client, o.start, o.end, o.kind, o.op, o.key, o.value, result)


def as_of(operations: list[Operation], at: int, *, returned: bool) -> list[Operation]:
    """The history just before, or just after, operation number ``at`` returned."""
    culprit = operations[at]
    assert culprit.end is not None
    moment = (culprit.end, at)
    cut = []
    for number, o in enumerate(operations):
        if o.start > culprit.end:
            continue
        ended = o.kind == "ok" and o.end is not None and (o.end, number) < moment
        if o.kind == "fail" or ended or (number == at and returned):
            cut.append(o)
        else:  # still under way
            end = o.end if o.kind == "info" else culprit.end if number == at else o.end
            cut.append(Operation(o.id, o.client, o.start, end, "info", o.op, o.key, o.value))
    return cut


@each_model
@pytest.mark.parametrize("seed", range(4))
def test_what_a_real_object_did_is_linearizable(name: str, seed: int) -> None:
    model = MODELS[name]
    count = 40 if name == "queue" else 300  # the order of enqueues shows late: hard to search
    operations = recorded(name, model, Random(seed), count, clients=4, lost=0.02)
    result = check(operations, model)
    assert result.verdict == "ok", result


def test_the_whole_says_what_its_parts_say() -> None:
    model = MODELS["cas-register"]
    for seed in range(60):
        rng = Random(seed)
        operations = []
        for key in "xy":
            for o in recorded("cas-register", model, rng, 4, clients=2):
                answer = (
                    rng.choice([o.result, 1]) if o.op == "read" and o.kind == "ok" else o.result
                )
                operations.append(
                    Operation(
                        o.id, o.client + key, o.start, o.end, o.kind, o.op, key, o.value, answer
                    )
                )
        parts, whole = check(operations, model), check(operations, unpartitioned(model))
        assert parts.verdict == whole.verdict


def test_equal_pending_writes_do_not_multiply_the_work() -> None:
    lost = [Operation(n, f"l{n}", n, None, "info", "write", None, n % 3) for n in range(60)]
    wrong = Operation(60, "r", 100, 101, "ok", "read", None, None, 9)
    analysis = analyse([*lost, wrong], "cas-register", Budget(30_000))
    assert analysis.result.verdict == "violated"
    assert analysis.steps < 30_000


def test_a_read_that_changes_the_state_is_found_out() -> None:
    def step(state: int, call: Call, result: object) -> tuple[bool, int]:
        return True, state + 1

    sees = Operation(0, "c", 0, 1, "ok", "see")
    with pytest.raises(ModelError, match="'see' never changes a state, but"):
        check([sees], Model("wrong", 0, step, reads=("see",)))


def test_a_verdict_without_an_explanation() -> None:
    write = Operation(0, "a", 0, 1, "ok", "write", None, 1)
    read = Operation(1, "b", 5, 6, "ok", "read", None, None, 2)
    failure = analyse([write, read], "register", Budget(explain=0)).failure
    assert failure is not None
    assert (failure.operation, failure.prefix, failure.certain) == (read, None, False)
    assert "or a later one cannot be placed" in failure.sentence()
