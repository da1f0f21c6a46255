"""The three answers a checker may give: ``Ok``, ``Violated`` and ``Unknown``.

A checker never answers with a bare bool. "It did not fail" and "it could not be judged" are
different things: a run that ended too early, a budget that was spent or a fault that hit nothing
is ``Unknown``, never a pass. A ``Violated`` always carries a counterexample: whom, when, why.

The values are frozen, hashable, picklable (campaign workers send them back) and JSON-ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NoReturn, TypeAlias

Verdict: TypeAlias = Literal["ok", "violated", "unknown"]
Facts: TypeAlias = Mapping[str, object] | tuple[tuple[str, object], ...]

_SHOWN = 3  # how many reasons ``combine`` repeats in a sentence before it only counts
_KEPT = 20  # how many different ones it keeps as evidence


class _Judgement:
    """What the three answers share. Use :class:`Ok`, :class:`Violated` or :class:`Unknown`."""

    __slots__ = ()
    verdict: ClassVar[Verdict]

    def __bool__(self) -> NoReturn:
        """Refuse: with three answers, true and false would hide one of them."""
        raise TypeError(
            f"a result has three answers and no truth value (this one is {self.verdict!r}); "
            "compare .verdict with 'ok', 'violated' or 'unknown', or use isinstance"
        )


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Where to look for a violation.

    ``nodes`` are the nodes concerned, ``time_us`` the simulated moment (µs), ``event_ids`` the
    trace events that show it (may be empty if the judged data had none), ``explanation`` one
    sentence for a human.
    """

    nodes: tuple[str, ...]
    time_us: int
    event_ids: tuple[int, ...] = ()
    explanation: str = ""

    def to_json(self) -> dict[str, object]:
        """Return a dict that ``json.dumps`` takes as it is."""
        return {
            "nodes": list(self.nodes),
            "time_us": self.time_us,
            "event_ids": list(self.event_ids),
            "explanation": self.explanation,
        }


@dataclass(frozen=True, slots=True)
class Ok(_Judgement):
    """The property held, and something was really checked.

    ``evidence`` says how much: named facts (a mapping, or pairs), stored as a tuple of pairs in
    the order given. Values may be str, int, float, bool, None, and lists or tuples of those;
    anything else is a TypeError.
    """

    verdict: ClassVar[Verdict] = "ok"
    why: str
    evidence: Facts = ()

    def __post_init__(self) -> None:
        """Freeze the evidence."""
        object.__setattr__(self, "evidence", _freeze_facts(self.evidence))

    def facts(self) -> dict[str, object]:
        """Return the evidence as a new dict."""
        return dict(self.evidence)

    def to_json(self) -> dict[str, object]:
        """Return a dict that ``json.dumps`` takes as it is."""
        facts = {name: _thaw(value) for name, value in dict(self.evidence).items()}
        return {"verdict": self.verdict, "why": self.why, "evidence": facts}


@dataclass(frozen=True, slots=True)
class Violated(_Judgement):
    """The property was broken; ``counterexample`` shows where."""

    verdict: ClassVar[Verdict] = "violated"
    why: str
    counterexample: Counterexample

    def to_json(self) -> dict[str, object]:
        """Return a dict that ``json.dumps`` takes as it is."""
        shown = self.counterexample.to_json()
        return {"verdict": self.verdict, "why": self.why, "counterexample": shown}


@dataclass(frozen=True, slots=True)
class Unknown(_Judgement):
    """The run does not say; ``why`` names what was missing (and never is a pass)."""

    verdict: ClassVar[Verdict] = "unknown"
    why: str

    def to_json(self) -> dict[str, object]:
        """Return a dict that ``json.dumps`` takes as it is."""
        return {"verdict": self.verdict, "why": self.why}


Result: TypeAlias = Ok | Violated | Unknown


def combine(results: Iterable[Result]) -> Result:
    """Judge several results as one: violated beats unknown beats ok.

    Of several violations the counterexample earliest in simulated time is kept (the first given,
    on a tie). A single result comes back unchanged. No results at all is ``Unknown``.
    """
    given = list(results)
    if not given:
        return Unknown("nothing was checked")
    if len(given) == 1:
        return given[0]
    violations = [r for r in given if isinstance(r, Violated)]
    if violations:
        first = min(violations, key=lambda r: r.counterexample.time_us)
        why = f"{len(violations)} of {len(given)} checks violated; earliest: {first.why}"
        return Violated(why, first.counterexample)
    unknown = [r.why for r in given if isinstance(r, Unknown)]
    if unknown:
        return Unknown(f"{len(unknown)} of {len(given)} checks unknown: {_list(unknown)}")
    whys = list(dict.fromkeys(r.why for r in given))
    return Ok(f"all {len(given)} checks hold", {"checks": len(given), "whys": whys[:_KEPT]})


def _list(reasons: list[str]) -> str:
    more = len(reasons) - _SHOWN
    return "; ".join(reasons[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _freeze_facts(facts: Facts) -> tuple[tuple[str, object], ...]:
    pairs = facts.items() if isinstance(facts, Mapping) else facts
    return tuple((name, _freeze(name, value)) for name, value in pairs)


def _freeze(name: str, value: object) -> object:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(_freeze(name, item) for item in value)
    raise TypeError(
        f"evidence {name!r} is a {type(value).__name__}; allowed are str, int, float, bool, None "
        "and lists or tuples of them (give a nested mapping as several named facts)"
    )


def _thaw(value: object) -> object:
    return [_thaw(item) for item in value] if isinstance(value, tuple) else value
