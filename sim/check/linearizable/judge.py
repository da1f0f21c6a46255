"""Judging a history: objects one beside the other, within a budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal

from sim.check.linearizable.explain import Failure, explain
from sim.check.linearizable.model import Call, Model, ModelError
from sim.check.linearizable.models import guess_model, model_named, with_initial
from sim.check.linearizable.problem import Problem, Task, tasks_of
from sim.check.linearizable.search import Search
from sim.check.linearizable.zones import Zones, fits_zones
from sim.check.result import Counterexample, Ok, Result, Unknown, Violated
from sim.history.values import History, Operation

__all__ = ["Analysis", "Budget", "Part", "analyse", "check", "model_for"]

_FIRST_TURN = 256  # steps of the first turn of each object; every later turn is twice as long
_LONGEST_TURN = 1 << 14
_TIMED_TURN = 1 << 11  # where seconds count
_EXPLAIN_AT_LEAST = 20_000


@dataclass(frozen=True, slots=True)
class Budget:
    """How much to spend: ``steps`` of the search in all, and ``seconds`` (None: as many as needed).

    With steps alone the answer is the same on every machine. ``explain``: steps for each question
    that an explanation asks (None: twice what the verdict took; 0: no explanation, only the place
    where the search gave up). ValueError for less than nothing.
    """

    steps: int = 2_000_000
    seconds: float | None = None
    explain: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be spent."""
        if self.steps < 1:
            raise ValueError(f"a budget of {self.steps} steps; allowed: at least 1")
        if self.seconds is not None and not self.seconds > 0:
            raise ValueError(f"a budget of {self.seconds} seconds; allowed: more than 0, or None")
        if self.explain is not None and self.explain < 0:
            raise ValueError(f"{self.explain} steps to explain; allowed: at least 0, or None")


@dataclass(frozen=True, slots=True)
class Part:
    """What is known of one object: its key, how many of its operations count, the verdict.

    ``ordered``: at least so many of the ``returned`` operations that returned have an order.
    ``method``: "zones" (distinct writes, no search needed), "search", or "" if not begun.
    """

    key: Any
    operations: int
    returned: int
    verdict: Literal["ok", "violated", "unknown"]
    ordered: int
    steps: int
    method: Literal["zones", "search", ""]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A judgement with what led to it: ``result``, ``parts`` by object, and the ``failure``."""

    result: Result
    model: str
    parts: tuple[Part, ...]
    failure: Failure | None = None

    @property
    def steps(self) -> int:
        """Steps of the searches in all, those of the explanation not counted."""
        return sum(part.steps for part in self.parts)


def check(
    history: History | Iterable[Operation],
    model: Model | str | None = None,
    budget: Budget | None = None,
) -> Result:
    """Whether a history is linearizable: ``Ok``, ``Violated``, or ``Unknown`` on a spent budget.

    ``model`` is a :class:`Model`, the name of a built-in one, or None: what the history says, or
    the only one that fits its operations. ModelError if the model cannot judge the history.
    """
    return analyse(history, model, budget).result


def analyse(
    history: History | Iterable[Operation],
    model: Model | str | None = None,
    budget: Budget | None = None,
) -> Analysis:
    """As :func:`check`, with the details."""
    if not isinstance(history, History):
        history = History.of(history)
    return _Judge(history, model_for(history, model), budget or Budget()).analysis()


def model_for(history: History, model: Model | str | None = None) -> Model:
    """The model to judge a history by; ModelError if that isn't clear."""
    if isinstance(model, Model):
        return model
    if model is None and not history.model:
        chosen = guess_model(history.names())
    else:
        chosen = model_named(model or history.model)
    given, initial = history.initial
    return with_initial(chosen, initial) if given else chosen


class _Object:
    """One object on its way to a verdict."""

    def __init__(self, key: Any, tasks: Sequence[Task], model: Model) -> None:
        self.key, self.tasks, self._model = key, tasks, model
        self.returned = sum(task.end is not None for task in tasks)
        self.verdict: bool | None = None
        self.ordered = self.steps = 0
        self.method: Literal["zones", "search", ""] = ""
        self._search: Search | None = None

    def run(self, steps: int) -> None:
        """Spend at most so many steps on it."""
        if self.method == "" and fits_zones(self.tasks, self._model):
            self.method = "zones"
            self.verdict = Zones(self.tasks, self._model).linearizable
            self.ordered = self.returned if self.verdict else self._furthest()
            return
        if self._search is None:
            self.method = "search"
            self._search = Search(Problem(self.tasks, self._model))
        self.verdict = self._search.run(steps)
        self.steps, self.ordered = self._search.steps, self._search.furthest

    def _furthest(self) -> int:
        """How many returns there are before the one that zones cannot explain."""

        def broken(returns: int) -> bool:
            return not Zones(self.tasks, self._model, returns + 1).linearizable

        return bisect_left(range(self.returned), True, key=broken)

    def forget(self) -> None:
        """Give back what the search remembers."""
        self._search = None

    def part(self) -> Part:
        """What is known by now."""
        words: dict[bool | None, Literal["ok", "violated", "unknown"]]
        words = {True: "ok", False: "violated", None: "unknown"}
        verdict = words[self.verdict]
        counts = len(self.tasks), self.returned
        return Part(self.key, *counts, verdict, self.ordered, self.steps, self.method)


class _Judge:
    """Objects in turns: a bad one is found soon, however long the others take."""

    def __init__(self, history: History, model: Model, budget: Budget) -> None:
        self._history, self._model, self._budget = history, model, budget
        operations = sorted(history.operations, key=lambda o: o.start)
        self._objects = _split(tasks_of(operations, model), model)
        self._left = budget.steps
        self._until = None if budget.seconds is None else monotonic() + budget.seconds

    def analysis(self) -> Analysis:
        """The judgement."""
        bad = self._run()
        failure = None if bad is None else self._explain(bad)
        parts = tuple(each.part() for each in self._objects)
        return Analysis(self._result(failure, parts), self._model.name, parts, failure)

    def _run(self) -> _Object | None:
        """Judge all, in turns that get longer; the first that turns out bad."""
        undecided, turn = self._objects, _FIRST_TURN
        while undecided:
            for each in undecided:
                if self._spent():
                    return None
                before = each.steps
                each.run(min(turn, self._left))
                self._left -= each.steps - before
                if each.verdict is False:
                    return each
                if each.verdict:
                    each.forget()
            undecided = [each for each in undecided if each.verdict is None]
            turn = min(2 * turn, _LONGEST_TURN if self._until is None else _TIMED_TURN)
        return None

    def _spent(self) -> bool:
        return self._left <= 0 or (self._until is not None and monotonic() >= self._until)

    def _explain(self, bad: _Object) -> Failure:
        """Explaining may cost more than finding out did: several questions are asked."""
        steps = self._budget.explain
        if steps is None:
            steps = max(_EXPLAIN_AT_LEAST, min(2 * bad.steps, self._budget.steps))
        bad.forget()
        return explain(bad.key, bad.tasks, self._model, bad.ordered, steps)

    def _result(self, failure: Failure | None, parts: tuple[Part, ...]) -> Result:
        returned = sum(part.returned for part in parts)
        if failure is not None:
            last = failure.operation
            of = "" if failure.key is None else f" of {failure.key!r}"
            why = f"not linearizable by model {self._model.name!r}: the operations{of}"
            shown = Counterexample((last.client,), last.end or 0, (), failure.sentence())
            return Violated(f"{why} have no order that explains their answers", shown)
        if not returned:
            return Unknown("no operation returned with an answer: there is nothing to judge")
        undecided = [part for part in parts if part.verdict == "unknown"]
        if undecided:
            return Unknown(self._how_far(undecided, len(parts)))
        facts = {
            "model": self._model.name,
            "operations": len(self._history),
            "returned": returned,
            "objects": len(parts),
            "steps": sum(part.steps for part in parts),
        }
        return Ok(f"linearizable by model {self._model.name!r}", facts)

    def _how_far(self, undecided: list[Part], objects: int) -> str:
        worst = min(undecided, key=lambda part: part.ordered / max(1, part.returned))
        of = "" if worst.key is None else f" of {worst.key!r}"
        spent = f"{self._budget.steps:,} steps" if self._left <= 0 else f"{self._budget.seconds} s"
        return (
            f"the budget of {spent} is spent: {len(undecided):,} of {objects:,} objects undecided; "
            f"{worst.ordered:,} of the {worst.returned:,} operations{of} that returned are ordered"
        )


def _split(tasks: Iterable[Task], model: Model) -> list[_Object]:
    """The objects in order of appearance; those of which nothing returned need no judging."""
    split: Callable[[Call], Any] = model.partition or (lambda call: None)
    found: dict[Any, list[Task]] = {}
    for task in tasks:
        try:
            found.setdefault(split(task.call), []).append(task)
        except TypeError as why:
            raise ModelError(f"model {model.name!r} cannot partition {task.call}: {why}") from why
    objects = [_Object(key, members, model) for key, members in found.items()]
    return [each for each in objects if each.returned]
