"""The built-in models, one behaviour after another; user-defined ones; guesses."""

from __future__ import annotations

from typing import Any

import pytest

from sim.check.linearizable import (
    MODELS,
    PENDING,
    Call,
    Model,
    ModelError,
    check,
    guess_model,
    model_named,
)
from sim.history import History, Operation


def run(model: str, *steps: tuple[str, Any, Any], client: str = "c", key: Any = None) -> str:
    """The verdict on steps (operation, value, result) done one after the other by one client."""
    operations = [
        Operation(n, client, 10 * n, 10 * n + 5, "ok", op, key, value, result)
        for n, (op, value, result) in enumerate(steps)
    ]
    return check(operations, model).verdict


@pytest.mark.parametrize(
    ("model", "steps"),
    [
        ("register", [("read", None, None), ("write", 3, None), ("read", None, 3)]),
        ("cas-register", [("write", 1, None), ("cas", (1, 2), True), ("read", None, 2)]),
        ("cas-register", [("write", 1, None), ("cas", (3, 2), False), ("read", None, 1)]),
        ("kv", [("get", None, None), ("append", "a", "a"), ("append", "b", None)]),
        ("kv", [("put", "a", None), ("append", "b", "ab"), ("get", None, "ab")]),
        ("kv", [("put", 7, None), ("append", "b", None), ("get", None, 7)]),
        ("kv", [("delete", None, False), ("put", 1, None), ("delete", None, True)]),
        ("kv", [("cas", (None, "x"), True), ("cas", (None, "y"), False), ("get", None, "x")]),
        ("append", [("append", 1, None), ("append", 2, None), ("read", None, (1, 2))]),
        ("queue", [("enqueue", 1, None), ("enqueue", 2, None), ("dequeue", None, 1)]),
        ("queue", [("dequeue", None, None)]),
        ("set", [("add", 1, True), ("add", 1, False), ("add", 2, None), ("read", None, (2, 1))]),
        ("set", [("contains", 1, False), ("add", 1, None), ("remove", 1, True)]),
        ("lock", [("acquire", None, True), ("release", None, True), ("acquire", None, True)]),
        ("lock", [("acquire", None, 4), ("acquire", None, 4), ("holder", None, ("c", 4))]),
        (
            "lock",
            [("acquire", ("a", 0), 4), ("acquire", ("b", 0), None), ("release", ("a", 4), True)],
        ),
        ("lock", [("acquire", "a", 4), ("release", ("a", 3), False), ("holder", None, ("a", 4))]),
        ("lock", [("holder", None, None), ("release", None, False)]),
        ("counter", [("add", 2, 2), ("add", None, 3), ("read", None, 3)]),
    ],
)
def test_what_a_type_does(model: str, steps: list[tuple[str, Any, Any]]) -> None:
    assert run(model, *steps) == "ok"


@pytest.mark.parametrize(
    ("model", "steps"),
    [
        ("register", [("write", 3, None), ("read", None, 4)]),
        ("register", [("write", 3, None), ("write", 4, None), ("read", None, 3)]),
        ("cas-register", [("write", 1, None), ("cas", (3, 2), True)]),
        ("cas-register", [("write", 1, None), ("cas", (1, 2), False)]),
        ("kv", [("append", "a", None), ("append", "b", "b")]),
        ("kv", [("put", 1, None), ("delete", None, False)]),
        ("kv", [("put", 1, None), ("delete", None, True), ("get", None, 1)]),
        ("append", [("append", 1, None), ("append", 2, None), ("read", None, (2, 1))]),
        ("queue", [("enqueue", 1, None), ("enqueue", 2, None), ("dequeue", None, 2)]),
        ("queue", [("enqueue", 1, None), ("dequeue", None, None)]),
        ("queue", [("enqueue", 1, None), ("dequeue", None, 1), ("dequeue", None, 1)]),
        ("set", [("add", 1, True), ("add", 1, True)]),
        ("set", [("add", 1, None), ("read", None, (1, 1))]),
        ("lock", [("acquire", None, True), ("acquire", None, True)]),
        ("lock", [("acquire", "a", True), ("acquire", "b", True)]),
        ("lock", [("acquire", "a", 4), ("release", ("a", 4), True), ("acquire", "b", 4)]),
        ("lock", [("acquire", "a", 4), ("release", ("a", 3), True)]),
        ("lock", [("acquire", "a", 4), ("holder", None, ("b", 4))]),
        ("lock", [("acquire", "a", 4), ("holder", None, None)]),
        ("counter", [("add", 2, None), ("read", None, 3)]),
    ],
)
def test_what_a_type_does_not_do(model: str, steps: list[tuple[str, Any, Any]]) -> None:
    assert run(model, *steps) == "violated"


def test_a_lock_taken_in_silence_has_a_token_that_is_learnt_later() -> None:
    lost = Operation(0, "a", 0, None, "info", "acquire", None, ("a", 0))

    def holder(at: int, told: Any) -> Operation:
        return Operation(at, f"r{at}", at, at + 5, "ok", "holder", None, None, told)

    assert check([lost, holder(10, ("a", 3)), holder(20, ("a", 3))], "lock").verdict == "ok"
    assert check([lost, holder(10, ("a", 3)), holder(20, ("a", 4))], "lock").verdict == "violated"
    assert check([lost, holder(10, None), holder(20, ("a", 4))], "lock").verdict == "ok"
    assert check([lost, holder(10, ("a", 4)), holder(20, None)], "lock").verdict == "violated"


def test_true_is_not_the_token_1() -> None:
    assert run("lock", ("acquire", "a", True), ("acquire", "a", 1)) == "ok"
    assert run("lock", ("acquire", "a", 1), ("acquire", "a", True)) == "violated"


def test_keys_are_independent() -> None:
    put = Operation(0, "a", 0, 5, "ok", "put", "x", 1)
    get = Operation(1, "a", 10, 15, "ok", "get", "y", None, None)
    assert check([put, get], "kv").verdict == "ok"


def test_every_model_names_its_operations_and_says_what_it_is() -> None:
    for name, model in MODELS.items():
        assert model.name == name
        assert model.about
        assert set(model.reads) <= set(model.ops)


@pytest.mark.parametrize(
    ("ops", "name"),
    [
        (("read", "write"), "cas-register"),
        (("read", "cas"), "cas-register"),
        (("put", "get"), "kv"),
        (("dequeue",), "queue"),
        (("release", "acquire"), "lock"),
    ],
)
def test_a_model_is_guessed_where_only_one_fits(ops: tuple[str, ...], name: str) -> None:
    assert guess_model(ops).name == name


def test_what_is_not_clear_is_not_guessed() -> None:
    with pytest.raises(
        ModelError, match=r"\(add, read\) may be set or counter; name one: register"
    ):
        guess_model(("add", "read"))
    with pytest.raises(ModelError, match="fit no model that is built in"):
        guess_model(("transfer",))


def test_a_misspelt_model_gets_a_hint() -> None:
    with pytest.raises(ModelError, match=r"no model 'register_'.*did you mean 'register'\?"):
        model_named("register_")


@pytest.mark.parametrize(
    ("model", "op", "value", "result", "says"),
    [
        ("kv", "read", None, None, "is a 'read', which model 'kv' does not know; it knows: get"),
        ("cas-register", "cas", 3, True, r"its value is 3; a cas needs two"),
        ("kv", "append", 3, None, "append to a key takes a text"),
        ("queue", "enqueue", None, None, "a dequeue answers when the queue is empty"),
        ("set", "read", None, 3, "a read of a set answers a list"),
        ("counter", "add", "x", None, "add takes a whole number"),
        ("lock", "acquire", ("a", 5000), True, "locks with leases are not modelled"),
        ("lock", "release", ("a", "t"), True, "a token is a whole number"),
        ("lock", "holder", None, "a", r"a holder is \(owner, token\) or None"),
        ("register", "write", [1], None, "a mutable key, value or result"),
    ],
)
def test_what_a_model_cannot_judge_is_said(
    model: str, op: str, value: Any, result: Any, says: str
) -> None:
    operation = Operation(7, "c", 0, 1, "ok", op, None, value, result, 12)
    with pytest.raises(ModelError, match=says) as caught:
        check([operation], model)
    assert "operation 7 (line 12)" in str(caught.value)


@pytest.mark.parametrize(("model", "initial"), [("counter", "x"), ("queue", 3), ("kv", [])])
def test_an_initial_value_that_makes_no_sense_is_refused(model: str, initial: Any) -> None:
    operation = Operation(0, "c", 0, 1, "ok", MODELS[model].ops[0], None, "a")
    with pytest.raises(ModelError, match="the initial value"):
        check(History((operation,), model=model, initial=(True, initial)))


def test_an_initial_value_counts() -> None:
    read = Operation(0, "c", 0, 1, "ok", "read", None, None, 7)
    assert check(History((read,), model="register", initial=(True, 7))).verdict == "ok"
    assert check(History((read,), model="register")).verdict == "violated"


def test_a_model_of_ones_own() -> None:
    def apply(state: int, call: Call) -> tuple[int, int]:
        return max(state, call.value), max(state, call.value)

    largest = Model.machine("largest", 0, apply, ops=("see",))

    def see(at: int, value: int, result: int) -> Operation:
        return Operation(at, "c", at, at + 1, "ok", "see", None, value, result)

    assert check([see(0, 5, 5), see(10, 3, 5)], largest).verdict == "ok"
    assert check([see(0, 5, 5), see(10, 3, 3)], largest).verdict == "violated"


def test_a_model_that_raises_is_not_silenced() -> None:
    def step(state: Any, call: Call, result: Any) -> tuple[bool, Any]:
        raise ZeroDivisionError

    operation = Operation(0, "c", 0, 1, "ok", "x")
    with pytest.raises(ZeroDivisionError):
        check([operation], Model("broken", 0, step))


def test_pending_prints_and_pickles_as_itself() -> None:
    import pickle

    assert repr(PENDING) == "PENDING"
    assert pickle.loads(pickle.dumps(PENDING)) is PENDING
