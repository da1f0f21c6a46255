"""Verdicts: budgets, turns, evidence, counterexamples."""

from __future__ import annotations

from random import Random

import pytest

from sim.check.linearizable import MODELS, Analysis, Budget, analyse, check
from sim.check.result import Ok, Unknown, Violated
from sim.history import History, Operation
from tests.sim.check.linearizable.histories import recorded


def op(
    number: int, client: str, start: int, end: int, name: str, value: object, result: object = None
) -> Operation:
    return Operation(number, client, start, end, "ok", name, "x", value, result)


STALE = [
    op(0, "a", 0, 10, "put", 1),
    op(1, "a", 20, 30, "put", 2),
    op(2, "b", 40, 50, "get", None, 1),
]


def hard(count: int, key: str, wrong: bool) -> list[Operation]:
    """``count`` appends at once, then a read that not one of their many orders may explain."""
    adds = [
        Operation(n, f"{key}{n}", 0, 100, "ok", "append", key, "ab"[n % 2], None)
        for n in range(count)
    ]
    text = "ab" * (count // 2) if not wrong else "b" * count
    return [*adds, Operation(count, f"{key}r", 200, 210, "ok", "get", key, None, text)]


def test_ok_says_what_was_checked() -> None:
    result = check(STALE[:2], "kv")
    assert isinstance(result, Ok)
    assert result.facts() == {
        "model": "kv",
        "operations": 2,
        "returned": 2,
        "objects": 1,
        "steps": 0,
    }


def test_a_violation_shows_whom_when_and_why() -> None:
    result = check(STALE, "kv")
    assert isinstance(result, Violated)
    assert result.counterexample.nodes == ("b",)
    assert result.counterexample.time_us == 50
    assert result.counterexample.explanation == (
        "client b: get('x') → 1 cannot be placed after the 2 of 3 operations that had returned "
        "before; it could have returned 2"
    )


def test_the_excerpt() -> None:
    late = Operation(3, "c", 45, None, "info", "put", "x", 3)
    failure = analyse([*STALE, late], "kv").failure
    assert failure is not None
    assert failure.text() == "\n".join(
        [
            "object 'x': ordered: the 2 of 3 operations that had returned before",
            "  client a: put('x', 1) → None   [0 µs, 10 µs]",
            "  client a: put('x', 2) → None   [20 µs, 30 µs]",
            "  then it holds 2",
            "cannot be placed:",
            "  client b: get('x') → 1   [40 µs, 50 µs]",
            "  it could have returned 2 or 3",
            "under way meanwhile:",
            "  client c: put('x', 3) → ?   [45 µs, never returned]",
        ]
    )


def test_a_spent_budget_is_unknown_and_says_how_far() -> None:
    operations = hard(16, "x", wrong=True)
    result = check(operations, "kv", Budget(500))
    assert isinstance(result, Unknown)
    assert result.why == (
        "the budget of 500 steps is spent: 1 of 1 objects undecided; 16 of the 17 operations of "
        "'x' that returned are ordered"
    )


def test_a_budget_in_steps_gives_the_same_answer_every_time() -> None:
    seen: list[Analysis] = [
        analyse(hard(14, "x", wrong=True), "kv", Budget(1000)) for _ in range(2)
    ]
    assert seen[0] == seen[1]
    assert seen[0].steps == 1000


def test_a_budget_in_seconds_ends() -> None:
    result = check(hard(60, "x", wrong=True), "kv", Budget(10**12, seconds=0.05))
    assert isinstance(result, Unknown)
    assert "the budget of 0.05 s is spent" in result.why


def test_a_bad_object_is_found_however_long_the_others_take() -> None:
    operations = hard(60, "slow", wrong=True)
    operations += [
        Operation(o.id + 100, o.client, o.start, o.end, o.kind, o.op, "bad", o.value, o.result)
        for o in hard(2, "z", wrong=True)
    ]
    analysis = analyse(operations, "kv", Budget(100_000))
    assert analysis.result.verdict == "violated"
    assert analysis.steps < 1000
    assert [part.verdict for part in analysis.parts] == ["unknown", "violated"]


@pytest.mark.parametrize("operations", [[], [Operation(0, "c", 0, None, "info", "put", "x", 1)]])
def test_nothing_to_judge_is_unknown(operations: list[Operation]) -> None:
    assert isinstance(check(operations, "kv"), Unknown)


@pytest.mark.parametrize(
    ("steps", "seconds", "says"),
    [(0, None, "0 steps"), (1, 0.0, "0.0 seconds"), (1, float("nan"), "nan seconds")],
)
def test_a_budget_of_nothing_is_refused(steps: int, seconds: float | None, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Budget(steps, seconds)


def test_the_order_in_which_operations_are_given_does_not_matter() -> None:
    operations = recorded("kv", MODELS["kv"], Random(3), 60)
    shuffled = Random(1).sample(operations, len(operations))
    result = analyse(operations, "kv")
    assert analyse(History.of(shuffled), "kv").result == result.result


def test_failed_operations_have_no_effect() -> None:
    failed = Operation(1, "a", 20, 30, "fail", "put", "x", 2)
    assert check([STALE[0], failed, STALE[2]], "kv").verdict == "ok"


def test_lost_operations_may_take_effect_late_or_never() -> None:
    lost = Operation(0, "a", 0, 10, "info", "put", "x", 1)
    reads = [op(1, "b", 20, 30, "get", None, None), op(2, "b", 40, 50, "get", None, 1)]
    assert check([lost, *reads], "kv").verdict == "ok"
    assert check([lost, reads[0]], "kv").verdict == "ok"
    again = op(3, "b", 60, 70, "get", None, None)
    assert check([lost, *reads, again], "kv").verdict == "violated"


def test_operations_that_touch_are_concurrent() -> None:
    write = op(0, "a", 0, 10, "put", 1)
    assert check([write, op(1, "b", 10, 20, "get", None, None)], "kv").verdict == "ok"
    assert check([write, op(1, "b", 11, 20, "get", None, None)], "kv").verdict == "violated"


def test_a_client_knows_the_order_of_its_own_operations() -> None:
    write = op(0, "a", 0, 10, "put", 1)
    assert check([write, op(1, "a", 10, 20, "get", None, None)], "kv").verdict == "violated"
    other = Operation(2, "a", 5, 30, "ok", "get", "y", None, None)
    several = [write, op(1, "a", 10, 20, "get", None, None), other]
    assert check(several, "kv").verdict == "ok"  # it has several at once: nobody can tell
