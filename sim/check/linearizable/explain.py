"""Why a history is not linearizable: how far it can be ordered, and what cannot come next."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
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
    ``operation`` with which the history could have gone on; it is all of them if ``complete``,
    as far as the model names one answer for each state (a lock may give any larger token).
    ``certain``: it was proved that no order goes past ``operation``; otherwise the budget was
    spent on that question, and the history is known to fail here or later.
    ``concurrent``: the others that were under way while it was. ``key``: which object.
    ``returned``: how many operations had returned; ``count``: how many did in the whole history.
    """

    key: Any
    operation: Operation
    prefix: tuple[Operation, ...] | None
    state: Any
    possible: tuple[Any, ...]
    complete: bool
    certain: bool
    concurrent: tuple[Operation, ...]
    returned: int
    count: int

    def sentence(self) -> str:
        """What is wrong, in one sentence."""
        cannot = "cannot be placed" if self.certain else "or a later one cannot be placed"
        return f"{self.operation} {cannot} after {self._before()}; {self._could()}"

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
        cannot = (
            "cannot be placed:" if self.certain else "this one, or a later one, cannot be placed:"
        )
        lines += [cannot, f"  {_shown(self.operation, unit)}", f"  {self._could()}"]
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


def explain(key: Any, tasks: Sequence[Task], model: Model, least: int, steps: int) -> Failure:
    """The failure of one object, with searches of at most ``steps`` steps each.

    At least ``least`` operations had returned before it.
    """
    past = _Past(tasks, model)
    question = _first_broken(past, model, least, steps)
    at = question.at
    prefix, state = _prefix(past.before(at), model, steps)
    possible, complete = _possible(question, model, steps)
    then, count = tasks[past.returns[at]], len(past.returns)
    others = [tasks[n] for n in past.begun(at) if n != past.returns[at]]
    concurrent = tuple(task.operation for task in others if _meet(task, then))
    return Failure(
        key,
        then.operation,
        prefix,
        state,
        possible,
        complete,
        question.answer is False,
        concurrent,
        at,
        count,
    )


class _Past:
    """A history as it was known at each of its ``returns``."""

    def __init__(self, tasks: Sequence[Task], model: Model) -> None:
        self._tasks, self._model = tasks, model
        self._events = events_of(tasks)
        self.returns = [number for is_return, number in self._events if is_return]

    def begun(self, at: int) -> list[int]:
        """The tasks invoked before return number ``at``, in order of time."""
        begun = []
        for is_return, number in self._events:
            if not is_return:
                begun.append(number)
            elif number == self.returns[at]:
                break
        return begun

    def before(self, at: int) -> list[Task]:
        """The history just before that return: what is under way may still answer anything."""
        return self._as_of(at, frozenset(self.returns[:at]))[0]

    def after(self, at: int) -> tuple[list[Task], int]:
        """The history just after it, and the place in it of the task that returned."""
        known, numbers = self._as_of(at, frozenset(self.returns[: at + 1]))
        return known, numbers.index(self.returns[at])

    def _as_of(self, at: int, done: frozenset[int]) -> tuple[list[Task], list[int]]:
        tasks, reads = self._tasks, self._model.reads
        numbers = [n for n in sorted(self.begun(at)) if n in done or tasks[n].call.op not in reads]
        known = [
            tasks[n] if n in done else tasks[n]._replace(result=PENDING, end=None) for n in numbers
        ]
        return known, numbers


class _Question:
    """Can the history just after return number ``at`` be ordered? ``answer`` (None: not known)."""

    def __init__(self, past: _Past, at: int, model: Model, steps: int) -> None:
        self.at = at
        self.tasks, self.place = past.after(at)
        self.problem = Problem(self.tasks, model, alone=self.place)
        self.answer = Search(self.problem).run(steps)


def _first_broken(past: _Past, model: Model, least: int, steps: int) -> _Question:
    """The first return after which no order is possible any more.

    The search that failed knew what the operations under way would answer later, so it may have
    failed too early. If a question is not answered within the budget the answer taken is no.
    """
    asked: dict[int, _Question] = {}

    def broken(at: int) -> bool:
        asked[at] = _Question(past, at, model, steps)
        return asked[at].answer is not True

    if broken(least):
        return asked[least]
    last = len(past.returns) - 1
    found = bisect_left(range(last), True, lo=least + 1, key=broken)
    return asked.get(found) or _Question(past, found, model, steps)


def _meet(task: Task, other: Task) -> bool:
    return task.end is None or task.end >= other.start


def _prefix(
    tasks: list[Task], model: Model, steps: int
) -> tuple[tuple[Operation, ...] | None, Any]:
    """An order of the prefix and the state after it."""
    search = Search(Problem(tasks, model))
    if search.run(steps) is not True:
        return None, None
    return tuple(tasks[n].operation for n in search.order()), search.final_state()


def _possible(question: _Question, model: Model, steps: int) -> tuple[tuple[Any, ...], bool]:
    """Answers with which the operation that returned could be placed, and whether these are all."""
    if model.answer is None:
        return (), False
    tasks, at = question.tasks, question.place
    call, states = tasks[at].call, question.problem.space.states
    tried = question.problem.rows[at]
    answers = [model.answer(states[state], call) for state in tried]
    candidates = list({(type(answer), answer): answer for answer in answers}.values())

    def fits(answer: Any) -> bool | None:
        replaced = tasks[at]._replace(result=answer)
        return Search(Problem([*tasks[:at], replaced, *tasks[at + 1 :]], model)).run(steps)

    verdicts = [(answer, fits(answer)) for answer in candidates[:_ANSWERS]]
    complete = question.answer is False and len(candidates) <= _ANSWERS
    complete = complete and all(fit is not None for _, fit in verdicts)
    return tuple(answer for answer, fit in verdicts if fit), complete
