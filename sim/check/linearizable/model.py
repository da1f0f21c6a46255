"""What a data type means: the sequential specification that histories are judged by."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import immutables

__all__ = ["PENDING", "Call", "Model", "ModelError", "unpartitioned"]


class _Pending:
    """The type of :data:`PENDING`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "PENDING"

    def __reduce__(self) -> str:
        return "PENDING"


PENDING: Final = _Pending()
"""The result of an operation that never returned: any answer would do."""


class ModelError(ValueError):
    """A history that a model cannot judge, or a model that makes no sense."""


class Call(NamedTuple):
    """What a model sees of an operation: equal calls with equal results behave alike.

    ``client`` is None unless the model says that it matters.
    """

    op: str
    key: Any
    value: Any
    client: str | None = None


Step = Callable[[Any, Call, Any], tuple[bool, Any]]


@dataclass(frozen=True)
class Model:
    """A data type. States, values and results are immutable, hashable and compared by ``==``.

    ``step(state, call, result)`` is ``(possible, state after)``: may ``call`` return ``result`` in
    ``state``? With :data:`PENDING` for a result it says what the call does, whatever it answers.
    It must depend on nothing else, since its answers are remembered.

    ``answer(state, call)``: what it returns in ``state``, for explanations.
    ``ops``: the names that it knows (none: any). ``reads``: those that never change a state.
    ``register``: the names of the plain read and write, if the type has them; a partition that
    uses only these, every value written once, is judged in almost linear time. A read answers
    the state, a write replaces it by its value, and the state at first is ``initial``.
    ``partition(call)``: the object that a call is about, independent of all others, each
    beginning in ``initial`` (linearizability is local: Herlihy and Wing, TOPLAS 12(3), 1990,
    Theorem 1); None: there is but one.
    ``by_client``: who calls matters. ``check(call, result)`` raises ValueError for a call that
    the type doesn't have; the result is PENDING or what was answered.
    """

    name: str
    initial: Any
    step: Step
    answer: Callable[[Any, Call], Any] | None = None
    ops: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    register: tuple[str, str] | None = None
    partition: Callable[[Call], Hashable] | None = None
    by_client: bool = False
    check: Callable[[Call, Any], None] | None = None
    about: str = ""

    @classmethod
    def machine(
        cls,
        name: str,
        initial: Any,
        apply: Callable[[Any, Call], tuple[Any, Any]],
        *,
        silent: tuple[str, ...] = (),
        **more: Any,
    ) -> Model:
        """A model of a deterministic machine: ``apply(state, call)`` is (state after, answer).

        A result must equal the answer; that of ``silent`` operations is not looked at.
        """

        def step(state: Any, call: Call, result: Any) -> tuple[bool, Any]:
            after, answer = apply(state, call)
            if result is PENDING or call.op in silent:
                return True, after
            return bool(result == answer), after

        def answer_of(state: Any, call: Call) -> Any:
            return apply(state, call)[1]

        return cls(name, initial, step, answer_of, **more)


def unpartitioned(model: Model) -> Model:
    """The same type as one object: its state is that of all partitions together.

    For comparison: judging the whole at once costs much more, and says the same.
    """
    split = model.partition
    if split is None:
        return model

    def step(state: immutables.Map[Any, Any], call: Call, result: Any) -> tuple[bool, Any]:
        key = split(call)
        held = state.get(key, model.initial)
        possible, after = model.step(held, call, result)
        if after == held:
            return possible, state
        return possible, state.set(key, after)

    whole: immutables.Map[Any, Any] = immutables.Map()
    return Model(
        f"{model.name} (as one object)",
        whole,
        step,
        ops=model.ops,
        reads=model.reads,
        by_client=model.by_client,
        check=model.check,
    )
