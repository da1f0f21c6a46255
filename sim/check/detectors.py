"""Did a failure detector keep its promises? Completeness and accuracy on a finite run.

The properties of Chandra and Toueg, "Unreliable Failure Detectors for Reliable Distributed
Systems", JACM 43(2), 1996, section 2. They speak of infinite runs; a finite one can be judged
only with a bound in place of "eventually": after the moment from which the promise is due (crash,
last recovery, end of the last fault) plus ``bound_us``, it must hold until the end of the run.
A run that ends before that is ``Unknown``, and so is one in which nothing tested the promise.

Whom they speak of
  * *crashed*: down at the end of the run (crashed for good). *Correct*: up at the end, perhaps
    after recoveries. After a recovery of monitor or target the pair has ``bound_us`` anew.
  * A check judges the pairs it is given. Hand over all pairs of one run, each in one record.

Every function is pure: records and bounds in, a :class:`~sim.check.result.Result` out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sim.check.result import Counterexample, Ok, Result, Unknown, Violated, combine
from sim.check.timeline import Change, PairRecord
from sim.units import format_duration as shown

__all__ = [
    "PairRecord",
    "eventual_strong_accuracy",
    "eventual_weak_accuracy",
    "eventually_perfect",
    "eventually_strong",
    "eventually_weak",
    "perfect",
    "strong",
    "strong_accuracy",
    "strong_completeness",
    "weak_accuracy",
    "weak_completeness",
]


@dataclass(frozen=True, slots=True)
class _Pending:
    """The run ended before the promise of this pair was due."""

    record: PairRecord
    due_us: int


@dataclass(frozen=True, slots=True)
class _Kept:
    """The promise of this pair held for the ``watched_us`` that the run went on."""

    record: PairRecord
    watched_us: int


@dataclass(frozen=True, slots=True)
class _Broken:
    """The promise of this pair was broken by the output that ``change`` describes."""

    record: PairRecord
    change: Change
    what: str


_PairAnswer: TypeAlias = _Pending | _Kept | _Broken
_Judge: TypeAlias = Callable[[PairRecord], _PairAnswer | None]


def strong_completeness(
    records: Sequence[PairRecord], bound_us: int, stable_from_us: int | None = None
) -> Result:
    """Check that every crashed process is, in the end, suspected for good by every correct one.

    Due: ``bound_us`` after the crash (or after the monitor's last recovery, or after
    ``stable_from_us``, whichever is latest); from then on the monitor must suspect the target
    until the run ends. Unknown if no process crashed.
    """
    return _every("strong completeness", records, _completeness(bound_us, stable_from_us), _CRASH)


def weak_completeness(
    records: Sequence[PairRecord], bound_us: int, stable_from_us: int | None = None
) -> Result:
    """Check that every crashed process is, in the end, suspected for good by some correct one.

    Times as in :func:`strong_completeness`.
    """
    judge = _completeness(bound_us, stable_from_us)
    targets = [_some(answers) for answers in _by_target(records, judge)]
    return _verdict("weak completeness", targets, _CRASH, "target")


def strong_accuracy(records: Sequence[PairRecord], bound_us: int = 0) -> Result:
    """Check that no process is suspected before it crashes.

    In the crash-recovery model: none is suspected while it and the monitor are up, apart from
    the ``bound_us`` after a recovery of one of them. The start of the run is no recovery.
    """
    return _every("strong accuracy", records, _accuracy(bound_us), _BOTH_UP)


def weak_accuracy(records: Sequence[PairRecord], bound_us: int = 0) -> Result:
    """Check that some correct process is never suspected, by anyone.

    Times as in :func:`strong_accuracy`.
    """
    correct = [r for r in records if r.crashed_for_good_us() is None]
    targets = [_all(answers) for answers in _by_target(correct, _accuracy(bound_us))]
    return _some_target("weak accuracy", targets)


def eventual_strong_accuracy(
    records: Sequence[PairRecord], stable_from_us: int, bound_us: int
) -> Result:
    """Check that, in the end, no correct process is suspected by a correct one.

    Due: ``bound_us`` after ``stable_from_us`` (end of the last fault, or the global
    stabilisation time) and after the last recovery of either; from then on the monitor must
    trust the target until the run ends. A run that does not go on after that is Unknown.
    """
    judge = _eventual_accuracy(stable_from_us, bound_us)
    return _every("eventual strong accuracy", records, judge, _CORRECT_PAIR)


def eventual_weak_accuracy(
    records: Sequence[PairRecord], stable_from_us: int, bound_us: int
) -> Result:
    """Check that, in the end, some correct process is suspected by no correct one.

    Times as in :func:`eventual_strong_accuracy`.
    """
    judge = _eventual_accuracy(stable_from_us, bound_us)
    targets = [_all(answers) for answers in _by_target(records, judge)]
    return _some_target("eventual weak accuracy", targets)


def perfect(records: Sequence[PairRecord], bound_us: int) -> Result:
    """Check class P: strong completeness and strong accuracy."""
    return combine([strong_completeness(records, bound_us), strong_accuracy(records, bound_us)])


def strong(records: Sequence[PairRecord], bound_us: int) -> Result:
    """Check class S: strong completeness and weak accuracy."""
    return combine([strong_completeness(records, bound_us), weak_accuracy(records, bound_us)])


def eventually_perfect(records: Sequence[PairRecord], stable_from_us: int, bound_us: int) -> Result:
    """Check class ◇P: after ``stable_from_us + bound_us`` the suspected are just the crashed.

    Unknown if no process crashed: half of the promise was not exercised then. (The other half
    alone is :func:`eventual_strong_accuracy`.)
    """
    complete = strong_completeness(records, bound_us, stable_from_us)
    return combine([complete, eventual_strong_accuracy(records, stable_from_us, bound_us)])


def eventually_strong(records: Sequence[PairRecord], stable_from_us: int, bound_us: int) -> Result:
    """Check class ◇S: strong completeness and eventual weak accuracy."""
    complete = strong_completeness(records, bound_us, stable_from_us)
    return combine([complete, eventual_weak_accuracy(records, stable_from_us, bound_us)])


def eventually_weak(records: Sequence[PairRecord], stable_from_us: int, bound_us: int) -> Result:
    """Check class ◇W, the weakest that solves consensus: weak completeness, eventual weak accuracy.

    Chandra, Hadzilacos, Toueg, JACM 43(4), 1996.
    """
    complete = weak_completeness(records, bound_us, stable_from_us)
    return combine([complete, eventual_weak_accuracy(records, stable_from_us, bound_us)])


# --- what one pair owes -----------------------------------------------------------------------


def _completeness(bound_us: int, stable_from_us: int | None) -> _Judge:
    _check_bound(bound_us)

    def judge(record: PairRecord) -> _PairAnswer | None:
        crash = record.crashed_for_good_us()
        if crash is None or not record.monitor_is_correct():
            return None
        stable = crash if stable_from_us is None else stable_from_us
        due = _due(record, max(crash, stable), bound_us)
        return _hold(
            record,
            True,
            due,
            f"crashed at {shown(crash)}, {record.monitor} must suspect it",
        )

    return judge


def _eventual_accuracy(stable_from_us: int, bound_us: int) -> _Judge:
    _check_bound(bound_us)

    def judge(record: PairRecord) -> _PairAnswer | None:
        if record.crashed_for_good_us() is not None or not record.monitor_is_correct():
            return None
        due = _due(record, stable_from_us, bound_us)
        if due == record.end_us:  # one moment proves nothing
            return _Pending(record, due)
        return _hold(record, False, due, f"is up, {record.monitor} must trust it")

    return judge


def _hold(record: PairRecord, suspected: bool, due_us: int, name: str) -> _PairAnswer:
    """Judge whether the output is ``suspected`` from ``due_us`` until the end."""
    if due_us > record.end_us:
        return _Pending(record, due_us)
    wrong = record.first_time(not suspected, due_us, record.end_us)
    if wrong is None:
        return _Kept(record, record.end_us - due_us)
    how = "still did not" if wrong.time_us == due_us else "no longer did"
    what = f"{record.target} {name} from {shown(due_us)} on, and {how} at {shown(wrong.time_us)}"
    return _Broken(record, wrong, what)


def _accuracy(bound_us: int) -> _Judge:
    _check_bound(bound_us)

    def judge(record: PairRecord) -> _PairAnswer | None:
        watched, downs = 0, record.all_downs()
        for start, end, _ in record.stretches():
            recovery = max((to for _, to in downs if to <= start), default=start - bound_us)
            from_us = max(start, recovery + bound_us)
            goes_down = any(at == end for at, _ in downs)  # then it is down at ``end`` already
            last = end - 1 if goes_down else end
            if from_us > last:
                continue
            wrong = record.first_time(True, from_us, last)
            if wrong is not None:
                what = (
                    f"{record.monitor} suspected {record.target} at {shown(wrong.time_us)}, both up"
                )
                return _Broken(record, wrong, what)
            watched += end - from_us
        return _Kept(record, watched) if watched else None

    return judge


def _due(record: PairRecord, from_us: int, bound_us: int) -> int:
    recovery = record.last_recovery_us()
    since = from_us if recovery is None else max(from_us, recovery)
    return max(since + bound_us, record.start_us)


def _check_bound(bound_us: int) -> None:
    if bound_us < 0:
        raise ValueError(f"bound_us is {bound_us}; give a time of 0 µs or more")


# --- from pairs to the run --------------------------------------------------------------------

_CRASH = "no process crashed for good with a correct monitor: completeness was not exercised"
_BOTH_UP = "monitor and target were never up together: accuracy was not exercised"
_CORRECT_PAIR = "there is no pair of correct processes: accuracy was not exercised"


def _every(name: str, records: Iterable[PairRecord], judge: _Judge, missing: str) -> Result:
    answers = [answer for answer in map(judge, records) if answer is not None]
    return _verdict(name, answers, missing, "pair")


def _by_target(records: Iterable[PairRecord], judge: _Judge) -> list[list[_PairAnswer]]:
    targets: dict[tuple[str, str], list[_PairAnswer]] = {}
    for record in records:
        answer = judge(record)
        if answer is not None:
            targets.setdefault((record.run, record.target), []).append(answer)
    return list(targets.values())


def _some(answers: Sequence[_PairAnswer]) -> _PairAnswer:
    """Return the best answer: kept, else pending, else the last to break."""
    return max(answers, key=lambda a: (_rank(a), _when(a)))


def _all(answers: Sequence[_PairAnswer]) -> _PairAnswer:
    """Return the worst answer: the first to break, else pending, else the least watched."""
    return min(answers, key=lambda a: (_rank(a), _when(a)))


def _rank(answer: _PairAnswer) -> int:
    return 0 if isinstance(answer, _Broken) else 1 if isinstance(answer, _Pending) else 2


def _when(answer: _PairAnswer) -> int:
    if isinstance(answer, _Kept):
        return answer.watched_us
    return answer.change.time_us if isinstance(answer, _Broken) else -answer.due_us


def _verdict(name: str, answers: Sequence[_PairAnswer], missing: str, unit: str) -> Result:
    """Judge a promise that each of the ``answers`` must keep."""
    if not answers:
        return Unknown(f"{name}: {missing}")
    worst = _all(answers)
    if isinstance(worst, _Broken):
        return _violated(name, worst)
    pending = [answer for answer in answers if isinstance(answer, _Pending)]
    if pending:
        return _too_short(name, pending, len(answers), unit)
    watched = min(_when(answer) for answer in answers)
    facts = {f"{unit}s": len(answers), "shortest_watch_us": watched}
    return Ok(f"{name} held for all {len(answers)} {unit}s", facts)


def _some_target(name: str, targets: Sequence[_PairAnswer]) -> Result:
    """Judge a promise that one of the correct targets must keep."""
    if not targets:
        return Unknown(f"{name}: {_CORRECT_PAIR}")
    best = _some(targets)
    if isinstance(best, _Broken):
        return _violated(name, best, f"all {len(targets)} correct targets; the last: ")
    pending = [answer for answer in targets if isinstance(answer, _Pending)]
    if isinstance(best, _Pending):
        return _too_short(name, pending, len(targets), "target")
    kept = [answer.record.target for answer in targets if isinstance(answer, _Kept)]
    return Ok(f"{name} held: {best.record.target} was not suspected", {"unsuspected": kept})


def _violated(name: str, broken: _Broken, prefix: str = "") -> Violated:
    record, change = broken.record, broken.change
    events = () if change.event_id < 0 else (change.event_id,)
    nodes = (record.monitor, record.target)
    shown = Counterexample(nodes, change.time_us, events, broken.what)
    return Violated(f"{name}: {prefix}{broken.what}", shown)


def _too_short(name: str, pending: Sequence[_Pending], total: int, unit: str) -> Unknown:
    last = max(pending, key=lambda answer: answer.due_us)
    return Unknown(
        f"{name}: the run ended at {shown(last.record.end_us)}, before {len(pending)} of {total} "
        f"{unit}s were due (the last at {shown(last.due_us)}); run longer or give a smaller bound"
    )
