"""The data types that are built in, by name.

An operation that answers nothing of interest (a write, an append) may say anything. A compare-and-
set that is *ok* took place unless its result is False: then it found another value.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from sim.check.linearizable.lock import LOCK
from sim.check.linearizable.model import PENDING, Call, Model, ModelError

__all__ = ["MODELS", "guess_model", "model_named", "with_initial"]


def _key(call: Call) -> Any:
    return call.key


# -- registers and keys -----------------------------------------------------------------------


def _cas(state: Any, call: Call, result: Any) -> tuple[bool, Any]:
    expected, new = call.value
    as_expected = bool(state == expected)
    after = new if as_expected else state
    return result is PENDING or as_expected == (result is not False), after


def _register(state: Any, call: Call, result: Any) -> tuple[bool, Any]:
    if call.op == "write":
        return True, call.value
    if call.op == "cas":
        return _cas(state, call, result)
    return result is PENDING or bool(result == state), state


def _register_answer(state: Any, call: Call) -> Any:
    if call.op == "cas":
        return bool(state == call.value[0])
    return state if call.op == "read" else None


def _check_cas(call: Call, result: Any) -> None:
    if call.op == "cas" and not (isinstance(call.value, tuple) and len(call.value) == 2):
        raise ValueError(f"its value is {call.value!r}; a cas needs two, [expected, new]")


class _Keys:
    """The kv type; ``absent`` is what a key without a value reads as."""

    def __init__(self, absent: Any) -> None:
        self._absent = absent

    def step(self, state: Any, call: Call, result: Any) -> tuple[bool, Any]:
        """See :class:`Model`."""
        if call.op == "cas":
            return _cas(state, call, result)
        after, answer = self._apply(state, call)
        if result is PENDING or call.op == "put" or (result is None and call.op != "get"):
            return True, after
        return bool(result == answer), after

    def answer(self, state: Any, call: Call) -> Any:
        """See :class:`Model`."""
        return self._apply(state, call)[1]

    def _apply(self, state: Any, call: Call) -> tuple[Any, Any]:
        if call.op == "get":
            return state, state
        if call.op == "put":
            return call.value, None
        if call.op == "delete":
            return self._absent, bool(state != self._absent)
        if call.op == "cas":
            as_expected = bool(state == call.value[0])
            return (call.value[1] if as_expected else state), as_expected
        held = "" if state == self._absent else state
        if not isinstance(held, str):
            return state, None
        return held + call.value, held + call.value


def _check_kv(call: Call, result: Any) -> None:
    _check_cas(call, result)
    if call.op == "append" and not isinstance(call.value, str):
        raise ValueError(f"its value is {call.value!r}; append to a key takes a text")


REGISTER = Model(
    "register",
    None,
    _register,
    _register_answer,
    ops=("read", "write"),
    reads=("read",),
    register=("read", "write"),
    partition=_key,
    about="one value: read, write",
)
CAS_REGISTER = replace(
    REGISTER,
    name="cas-register",
    ops=("read", "write", "cas"),
    check=_check_cas,
    about="one value: read, write, compare-and-set [expected, new]",
)


def _kv_model(absent: Any) -> Model:
    keys = _Keys(absent)
    return Model(
        "kv",
        absent,
        keys.step,
        keys.answer,
        ops=("get", "put", "delete", "append", "cas"),
        reads=("get",),
        register=("get", "put"),
        partition=_key,
        check=_check_kv,
        about="keys with values: get, put, delete, append (texts), cas [expected, new]",
    )


KV = _kv_model(None)


# -- collections ------------------------------------------------------------------------------


def _append(state: tuple[Any, ...], call: Call) -> tuple[tuple[Any, ...], Any]:
    return (state, state) if call.op == "read" else ((*state, call.value), None)


def _queue(state: tuple[Any, ...], call: Call) -> tuple[tuple[Any, ...], Any]:
    if call.op == "enqueue":
        return (*state, call.value), None
    return (state[1:], state[0]) if state else (state, None)


def _check_queue(call: Call, result: Any) -> None:
    if call.op == "enqueue" and call.value is None:
        raise ValueError("its value is None, which a dequeue answers when the queue is empty")


def _set_apply(state: frozenset[Any], call: Call) -> tuple[frozenset[Any], Any]:
    if call.op == "read":
        return state, tuple(sorted(state, key=repr))
    held = call.value in state
    if call.op == "add":
        return state | {call.value}, not held
    if call.op == "remove":
        return state - {call.value}, held
    return state, held


def _set(state: frozenset[Any], call: Call, result: Any) -> tuple[bool, Any]:
    after, answer = _set_apply(state, call)
    if result is PENDING:
        return True, after
    if call.op == "read":
        return len(result) == len(state) and frozenset(result) == state, after
    silent = result is None and call.op != "contains"
    return silent or bool(result == answer), after


def _set_answer(state: frozenset[Any], call: Call) -> Any:
    return _set_apply(state, call)[1]


def _check_set(call: Call, result: Any) -> None:
    if call.op == "read" and result is not PENDING and not isinstance(result, tuple | frozenset):
        raise ValueError(f"it answered {result!r}; a read of a set answers a list")


def _counter_apply(state: int, call: Call) -> tuple[int, Any]:
    if call.op == "read":
        return state, state
    by = 1 if call.value is None else call.value
    return state + by, state + by


def _counter(state: int, call: Call, result: Any) -> tuple[bool, Any]:
    after, answer = _counter_apply(state, call)
    silent = result is PENDING or (result is None and call.op == "add")
    return silent or bool(result == answer), after


def _counter_answer(state: int, call: Call) -> Any:
    return _counter_apply(state, call)[1]


def _check_counter(call: Call, result: Any) -> None:
    if call.op == "add" and not (call.value is None or isinstance(call.value, int)):
        raise ValueError(f"its value is {call.value!r}; add takes a whole number")


APPEND = Model.machine(
    "append",
    (),
    _append,
    silent=("append",),
    ops=("read", "append"),
    reads=("read",),
    partition=_key,
    about="lists: append one item, read the whole list",
)
QUEUE = Model.machine(
    "queue",
    (),
    _queue,
    silent=("enqueue",),
    ops=("enqueue", "dequeue"),
    partition=_key,
    check=_check_queue,
    about="first in, first out: enqueue, dequeue (None: it was empty)",
)
SET = Model(
    "set",
    frozenset(),
    _set,
    _set_answer,
    ops=("add", "remove", "contains", "read"),
    reads=("contains", "read"),
    partition=_key,
    check=_check_set,
    about="a set: add, remove, contains, read the whole set",
)
COUNTER = Model(
    "counter",
    0,
    _counter,
    _counter_answer,
    ops=("add", "read"),
    reads=("read",),
    partition=_key,
    check=_check_counter,
    about="a sum: add (1 by default), read",
)

MODELS: dict[str, Model] = {
    model.name: model for model in (REGISTER, CAS_REGISTER, KV, APPEND, QUEUE, SET, LOCK, COUNTER)
}
"""The built-in models by name."""

_GUESSES = ("cas-register", "kv", "queue", "lock")  # those whose operations' names tell


def model_named(name: str) -> Model:
    """The built-in model of that name; ModelError names those that there are."""
    if name in MODELS:
        return MODELS[name]
    close = get_close_matches(name, MODELS, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ModelError(f"there is no model {name!r}; there are: {', '.join(MODELS)}{hint}")


def with_initial(model: Model, initial: Any) -> Model:
    """The model with another value at the beginning (of kv: that of every key without one)."""
    try:
        hash(initial)
    except TypeError:
        raise ModelError(f"the initial value {initial!r} is mutable; use a tuple") from None
    if model is KV:
        return _kv_model(initial)
    expected = type(model.initial)
    if model.name in MODELS and model.initial is not None and not isinstance(initial, expected):
        given = f"the initial value {initial!r} is a {type(initial).__name__}"
        raise ModelError(f"{given}; model {model.name!r} begins with a {expected.__name__}")
    return replace(model, initial=initial)


def guess_model(ops: tuple[str, ...]) -> Model:
    """The only model that these operations can be meant for; ModelError if that isn't clear."""
    for name in _GUESSES:
        if ops and set(ops) <= set(MODELS[name].ops):
            return MODELS[name]
    fitting = [name for name, model in MODELS.items() if set(ops) <= set(model.ops)]
    meant = f"may be {' or '.join(fitting)}" if fitting else "fit no model that is built in"
    raise ModelError(
        f"which model judges the history is not clear: its operations ({', '.join(ops)}) {meant}; "
        f"name one: {', '.join(MODELS)}"
    )
