"""Why a history is not linearizable: how far it can be ordered, and what cannot come next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sim.check.linearizable.model import PENDING, Model
from sim.check.linearizable.problem import Problem, Task, events_of
from sim.check.linearizable.search import Search
from sim.history.values import Operation

__all__ = ["Failure", "explain"]

_ANSWERS = 8  # answers that are tried out
_LAST = 5  # operations of the order that are printed
_LONGEST = 100  # characters of a value that are printed


@dataclass(frozen=True, slots=True)
class Failure:
    """The end of the longest prefix of one object's history that is linearizable.

    ``operation`` returned next, and then no order was possible. ``prefix``: one order of what had
    returned before (with those still under way that it needs), or None if the budget did not
    suffice to find it again; ``state``: the object after it. ``possible``: answers of
    ``operation`` with which the history could have gone on; it is all of them if ``complete``.
    ``concurrent``: the others that were under way while it was. ``key``: which object.
    ``returned``: how many operations had returned; ``count``: how many did in the whole history.
    """

    key: Any
    operation: Operation
    prefix: tuple[Operation, ...] | None
    state: Any
    possible: tuple[Any, ...]
    complete: bool
    concurrent: tuple[Operation, ...]
    returned: int
    count: int

    def sentence(self) -> str:
        """What is wrong, in one sentence."""
        return f"{self.operation} cannot be placed after {self._before()}; {self._could()}"

    def _before(self) -> str:
        return f"the {self.returned:,} of {self.count:,} operations that had returned before"

    def _could(self) -> str:
        if self.possible:
            answers = " or ".join(_short(answer) for answer in self.possible)
            return f"it could have returned {answers}{'' if self.complete else ', or more'}"
        if self.complete:
            return "no answer of it would fit"
        return "what it could have returned was not found within the budget"

    def text(self, unit: str = "us") -> str:
        """An excerpt for people: several lines, without a line end at the last."""
        lines = [f"{'object ' + _short(self.key) + ': ' if self.key is not None else ''}"]
        lines[0] += f"ordered: {self._before()}"
        if self.prefix is not None:
            more = len(self.prefix) - _LAST
            lines += [f"  ... {more:,} before"] if more > 0 else []
            lines += [f"  {_shown(operation, unit)}" for operation in self.prefix[-_LAST:]]
            lines.append(f"  then it holds {_short(self.state)}")
        lines += ["cannot be placed:", f"  {_shown(self.operation, unit)}", f"  {self._could()}"]
        if self.concurrent:
            lines.append("under way meanwhile:")
            lines += [f"  {_shown(operation, unit)}" for operation in self.concurrent[:_LAST]]
            more = len(self.concurrent) - _LAST
            lines += [f"  ... {more:,} more"] if more > 0 else []
        return "\n".join(lines)


def _shown(operation: Operation, unit: str) -> str:
    unit = {"us": " µs", "event": ""}[unit]
    returned = operation.end is not None and operation.kind == "ok"
    end = f"{operation.end:,}{unit}" if returned else "never returned"
    text = str(operation)
    text = text if len(text) <= 2 * _LONGEST else text[: 2 * _LONGEST - 3] + "..."
    line = f"  line {operation.line}" if operation.line else ""
    return f"{text}   [{operation.start:,}{unit}, {end}]{line}"


def _short(value: Any) -> str:
    if isinstance(value, frozenset):
        text = "{" + ", ".join(sorted(map(repr, value))) + "}"
    else:
        text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def explain(key: Any, tasks: Sequence[Task], model: Model, furthest: int, steps: int) -> Failure:
    """The failure at return number ``furthest`` of one object, with searches of ``steps`` each."""
    events = events_of(tasks)
    returns = [number for is_return, number in events if is_return]
    culprit = returns[furthest]
    begun = _begun_before(events, culprit)
    done = frozenset(returns[:furthest])
    cut = [_as_of_then(task, number in done) for number, task in enumerate(tasks)]
    rest = [cut[n] for n in begun if n != culprit and _counts(cut[n], model)]
    prefix, state = _prefix(
        rest + ([cut[culprit]] if _counts(cut[culprit], model) else []), model, steps
    )
    possible, complete = _possible(tasks[culprit], rest, model, steps)
    then = tasks[culprit]
    concurrent = [tasks[n].operation for n in begun if n != culprit and _meet(tasks[n], then)]
    return Failure(
        key,
        then.operation,
        prefix,
        state,
        possible,
        complete,
        tuple(concurrent),
        furthest,
        len(returns),
    )


def _begun_before(events: Iterable[tuple[bool, int]], culprit: int) -> list[int]:
    begun = []
    for is_return, number in events:
        if not is_return:
            begun.append(number)
        elif number == culprit:
            break
    return begun


def _as_of_then(task: Task, done: bool) -> Task:
    """A task as it was known when only those that are ``done`` had returned."""
    return task if done else task._replace(result=PENDING, end=None)


def _counts(task: Task, model: Model) -> bool:
    return task.end is not None or task.call.op not in model.reads


def _meet(task: Task, other: Task) -> bool:
    return task.end is None or task.end >= other.start


def _prefix(
    tasks: list[Task], model: Model, steps: int
) -> tuple[tuple[Operation, ...] | None, Any]:
    """An order of the prefix and the state after it."""
    tasks.sort(key=lambda task: task.start)
    search = Search(Problem(tasks, model))
    if search.run(steps) is not True:
        return None, None
    return tuple(tasks[n].operation for n in search.order()), search.final_state()


def _possible(
    culprit: Task, rest: list[Task], model: Model, steps: int
) -> tuple[tuple[Any, ...], bool]:
    """Answers with which the culprit could have been placed, and whether there are no others."""
    if model.answer is None:
        return (), False
    tasks = sorted([culprit, *rest], key=lambda task: task.start)
    at = tasks.index(culprit)
    problem = Problem(tasks, model, alone=at)
    complete = Search(problem).run(steps) is False
    answers = [model.answer(problem.space.states[s], culprit.call) for s in problem.rows[at]]
    candidates = list(dict.fromkeys(answers))

    def fits(answer: Any) -> bool | None:
        replaced = culprit._replace(result=answer)
        return Search(Problem([*tasks[:at], replaced, *tasks[at + 1 :]], model)).run(steps)

    verdicts = [(answer, fits(answer)) for answer in candidates[:_ANSWERS]]
    sure = all(fit is not None for _, fit in verdicts) and len(candidates) <= _ANSWERS
    return tuple(answer for answer, fit in verdicts if fit), complete and sure
