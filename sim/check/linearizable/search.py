"""The general search: the algorithm of Wing and Gong with Lowe's memory of configurations.

Wing and Gong ("Testing and verifying concurrent objects", J. Parallel and Distributed Computing
17, 1993) try the operations that nothing unplaced precedes, one after another, undoing the last
when stuck. Lowe ("Testing for linearizability", Concurrency and Computation 29(4), 2017) remembers
which sets of placed operations were met with which state, and never goes on from one twice.

Both are kept here with three differences. The list of operations to try is prepared for every
point of the history (:class:`~sim.check.linearizable.problem.Problem`) instead of being relinked
while searching; the set of placed operations is one small integer, because all that returned
before the first unplaced return are placed; and some choices are left out, because another one
leads to an order whenever they do.

Of operations that never returned:

* one that would not change the state is not placed there: leaving it out changes nothing either;
* of several with equal calls only the one invoked first is tried: in any order that uses a later
  one, the first could stand in its place, for it began before and need not have ended;
* once every operation that returned is placed, the rest may be left out.

Of operations that returned only those that the model declares as reads: one whose answer fits is
placed at once, and nothing else is tried instead. In any order that has it later it can be moved
to here: it may take effect now, and the others see the same states without it.

A step of the budget is one configuration entered or left.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from sim.check.linearizable.problem import Entry, Problem

__all__ = ["Search"]


class Search:
    """The search for one object; ``run`` goes on with it for so many steps.

    ``found``: True once an order was found, False once it is sure that there is none, None before.
    ``furthest``: up to this return (not included) the history can be ordered. If ``found`` is
    False, not beyond it, as far as operations under way there would give the answers they gave.
    """

    __slots__ = ("_mask", "_stack", "_state", "_tries", "found", "furthest", "problem", "steps")

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.found: bool | None = None if problem.returns else True
        self.furthest = self.steps = 0
        self._mask = self._state = 0
        self._stack: list[tuple[Iterator[Entry], int, int, int]] = []
        self._tries = self._from(0)

    def _from(self, at: int) -> Iterator[Entry]:
        """What may be tried at return ``at``: operations under way, then those never to return."""
        problem = self.problem
        if at >= len(problem.returns):
            return iter(())
        pending = problem.available[at]
        if not pending:
            return iter(problem.open[at])
        return chain(problem.open[at], islice(problem.waiting, pending))

    def run(self, steps: int) -> bool | None:
        """Go on for at most ``steps`` steps; ``found``.

        One long function on purpose: its inner loop is where all the time goes.
        """
        if self.found is not None:
            return self.found
        problem = self.problem
        opened, available, waiting = problem.open, problem.available, problem.waiting
        due, shift, places = problem.due, problem.shift, problem.space.places
        ends, passed = len(problem.returns), 1 << shift
        stack, tries, mask, state = self._stack, self._tries, self._mask, self._state
        furthest, at = self.furthest, mask >> shift
        push, pop = stack.append, stack.pop
        used = 0
        for used in range(1, steps + 1):  # noqa: B007
            for care, need, bit, row, task in tries:
                if mask & care != need:
                    continue
                after = row[state]
                if after < 0:
                    continue
                new = mask | bit
                if bit == due[at]:
                    while new & due[at]:
                        new += passed - due[at]
                        at += 1
                    if at > furthest:
                        furthest = at
                seen = places[after]
                if new in seen:
                    at = mask >> shift
                    if row.eager:
                        tries = iter(())
                        break
                    continue
                seen.add(new)
                if row.eager:
                    tries = iter(())
                push((tries, mask, state, task))
                mask, state = new, after
                if at == ends:
                    self.found = True
                elif available[at]:
                    tries = chain(opened[at], islice(waiting, available[at]))
                else:
                    tries = iter(opened[at])
                break
            else:
                if not stack:
                    self.found = False
                    break
                tries, mask, state, _ = pop()
                at = mask >> shift
            if self.found:
                break
        self._tries, self._mask, self._state, self.furthest = tries, mask, state, furthest
        self.steps += used
        return self.found

    def order(self) -> list[int]:
        """The tasks placed so far, in their order: after success, a linearization."""
        return [task for _, _, _, task in self._stack]

    def final_state(self) -> object:
        """The state after :meth:`order`."""
        return self.problem.space.states[self._state]
