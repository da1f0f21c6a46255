"""The φ accrual failure detector: suspicion as a level that rises with the silence.

Claim
  φ(now) = -log10(P(the next heartbeat comes later than now)), learnt from the intervals between
  the last arrivals. A peer is suspected while φ ≥ threshold: with the right law, φ = 1 means that
  one suspicion in ten is a mistake, φ = 3 one in a thousand.
Paper
  Hayashibara, Défago, Yared, Katayama, "The φ accrual failure detector", SRDS 2004, §3
  (also JAIST report IS-RR-2004-010).
Assumptions
  A monotonic local clock; intervals that go on as they were. No synchronised clocks.
Beyond the paper
  What its users added: a floor for the deviation, an acceptable pause, guessed statistics for the
  first interval, intervals that are not recorded (after a suspicion, or too long to be true).
Left out
  Suspicion "φ > threshold" as Cassandra and Chitchat write it: here "≥", as in Akka. The
  deadlines differ by 1 µs at most.
Invariants
  φ is finite, at least 0 and never falls while nothing arrives; ``deadline_us()`` is the first
  µs at which φ ≥ threshold. An arrival earlier than the last one changes nothing.
How to run it
  ``fed(akka(), (0, 1_000_000, 2_000_000)).phi(9_000_000)``, or hand one to ``PushHeartbeat``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Literal

from protocols.api import message
from protocols.detectors.estimator import Estimator, check_at_least
from protocols.detectors.phi_formulas import (
    FORMS,
    Form,
    phi_exponential,
    phi_logistic,
    phi_normal,
    phi_ratio,
    standardised,
    y_at,
)
from protocols.detectors.window import Window
from protocols.values import MS, SECOND

__all__ = [
    "Form",
    "PhiAccrual",
    "PhiOptions",
    "phi_exponential",
    "phi_logistic",
    "phi_normal",
    "phi_ratio",
]


@dataclass(frozen=True, slots=True)
class PhiOptions:
    """What is fixed about a φ detector. ValueError for values that make no sense.

    ``form``: the law (see :mod:`~protocols.detectors.phi_formulas`); ``threshold``: suspected from
    this φ on; ``window``: how many intervals are remembered.

    ``min_std_us``: floor for the standard deviation, never below the 1 µs of the clock;
    ``acceptable_pause_us``: added to the mean (both for normal and logistic only).

    ``first_heartbeat_estimate_us``: guessed interval, put into the window at the first beat as the
    two samples estimate ± deviation (a quarter if ``first_heartbeat_deviation_us`` is None; a
    single sample if it is 0). Without it φ is undefined until the second beat; ``undefined`` says
    what that means: "alive" (φ = 0) or "dead" (φ = threshold).

    ``max_interval_us``: longer intervals are not recorded. ``suspected_gap``: the interval that
    ends a suspicion is not recorded ("skip", Akka), is ("record"), or clears the window
    ("forget", Chitchat). ``prior_us``, ``prior_weight``: mean = (Σ + weight·prior)/(n + weight).
    """

    form: Form = "normal"
    threshold: float = 8.0
    window: int = 1000
    min_std_us: int = 100 * MS
    acceptable_pause_us: int = 0
    first_heartbeat_estimate_us: int | None = SECOND
    first_heartbeat_deviation_us: int | None = None
    max_interval_us: int | None = None
    suspected_gap: Literal["skip", "record", "forget"] = "skip"
    undefined: Literal["alive", "dead"] = "alive"
    prior_us: int = 0
    prior_weight: int = 0

    def __post_init__(self) -> None:
        if not 0.0 < self.threshold <= 1e6:
            raise ValueError(f"threshold = {self.threshold!r}: give a φ above 0, such as 8.0")
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} = {getattr(self, name)!r}: one of {', '.join(allowed)}")
        estimate, deviation = self.first_heartbeat_estimate_us, self.first_heartbeat_deviation_us
        check_at_least(1, window=self.window, first_heartbeat_estimate_us=estimate)
        check_at_least(
            0,
            min_std_us=self.min_std_us,
            acceptable_pause_us=self.acceptable_pause_us,
            first_heartbeat_deviation_us=deviation,
            max_interval_us=self.max_interval_us,
            prior_us=self.prior_us,
            prior_weight=self.prior_weight,
        )
        if self.acceptable_pause_us and self.form in ("exponential", "ratio"):
            raise ValueError(
                f"acceptable_pause_us = {self.acceptable_pause_us}: the form {self.form!r} knows "
                'no pause; raise the threshold, or use "normal" or "logistic"'
            )
        if estimate is not None and deviation is not None and deviation > estimate:
            raise ValueError(f"first_heartbeat_deviation_us = {deviation}: at most {estimate}")

    def first_window(self) -> Window:
        """Return the window after the first heartbeat: empty, or with the guessed intervals."""
        window, estimate = Window(self.window), self.first_heartbeat_estimate_us
        if estimate is None:
            return window
        deviation = self.first_heartbeat_deviation_us
        if deviation is None:
            deviation = estimate // 4
        if not deviation:
            return window.append(estimate)
        return window.append(estimate - deviation).append(estimate + deviation)

    def mean_us(self, window: Window) -> float:
        """Return the mean interval of a window that isn't empty, weighed with the prior."""
        weight = self.prior_weight
        if not weight:
            return window.total / window.count
        return (window.total + weight * self.prior_us) / (window.count + weight)

    def deviation_us(self, window: Window) -> float:
        """Return the standard deviation, not below its floor nor below the clock's 1 µs."""
        return max(sqrt(window.variance), self.min_std_us, 1.0)

    def location_and_scale(self, window: Window) -> tuple[float, float]:
        """Return what standardises a silence in µs: y = (silence - location)/scale."""
        mean = self.mean_us(window)
        if self.form in ("exponential", "ratio"):
            return 0.0, max(mean, 1.0)
        return mean + self.acceptable_pause_us, self.deviation_us(window)


_CHOICES: dict[str, tuple[str, ...]] = {
    "form": tuple(FORMS),
    "suspected_gap": ("skip", "record", "forget"),
    "undefined": ("alive", "dead"),
}
_NOTHING = Window(0)
_LONG_PAST = -(1 << 62)


@message  # no message, but made at every heartbeat: its constructor takes half the time
class PhiAccrual(Estimator):
    """The φ of one peer. Begin with ``PhiAccrual(PhiOptions(…))`` or one of the presets.

    ``due_us`` is the deadline that follows from the rest; None while φ is undefined.
    """

    options: PhiOptions = PhiOptions()
    window: Window = _NOTHING
    last_us: int | None = None
    due_us: int | None = None

    def heartbeat(self, sequence: int, now_us: int) -> PhiAccrual:
        """Return the detector after a beat at ``now_us``; a beat from the past is ignored."""
        last = self.last_us
        if last is None:
            window = self.options.first_window()
        elif now_us < last:
            return self
        else:
            window = self.window_after(now_us - last, now_us)
        return self.__class__(self.options, window, now_us, self.due_after(window, now_us))

    def window_after(self, interval_us: int, now_us: int) -> Window:
        """Return the window after an interval that ends at ``now_us``, if it is to be recorded."""
        options, due = self.options, self.due_us
        if due is not None and now_us >= due and options.suspected_gap != "record":
            return self.window if options.suspected_gap == "skip" else Window(options.window)
        if options.max_interval_us is not None and interval_us > options.max_interval_us:
            return self.window
        return self.window.append(interval_us)

    def due_after(self, window: Window, last_us: int) -> int | None:
        """Return the first µs with φ ≥ threshold, if the last beat was at ``last_us``."""
        if not window.count:
            return None
        options = self.options
        location, scale = options.location_and_scale(window)
        reach = y_at(options.form, options.threshold) * scale
        silence = location + reach
        if abs(silence - round(silence)) > 1e-9 + 1e-12 * (location + abs(reach)):
            return last_us + ceil(silence)
        standard = FORMS[options.form]  # too near a whole µs to trust the last digit
        return last_us + _first_whole(
            ceil(silence),
            lambda quiet: standard(standardised(quiet, location, scale)) >= options.threshold,
        )

    def phi(self, now_us: int) -> float:
        """Return the level at ``now_us`` if nothing arrived since the last beat."""
        if self.last_us is None or not self.window.count:
            return 0.0 if self.options.undefined == "alive" else self.options.threshold
        location, scale = self.options.location_and_scale(self.window)
        quiet = now_us - self.last_us
        return FORMS[self.options.form](standardised(quiet, location, scale))

    def suspects(self, now_us: int) -> bool:
        """Whether φ ≥ threshold at ``now_us``."""
        return self.phi(now_us) >= self.options.threshold

    def level(self, now_us: int) -> float | None:
        """Return φ; None while it is undefined."""
        return self.phi(now_us) if self.due_us is not None else None

    def deadline_us(self) -> int | None:
        """Return the first µs at which φ ≥ threshold; None: never.

        While φ is undefined and that means "dead": the last beat, or a time long past.
        """
        if self.due_us is not None or self.options.undefined == "alive":
            return self.due_us
        return _LONG_PAST if self.last_us is None else self.last_us


def _first_whole(guess: int, reached: Callable[[int], bool]) -> int:
    """Return the first whole number for which ``reached``, a step function, holds: near guess."""
    while reached(guess - 1):
        guess -= 1
    while not reached(guess):
        guess += 1
    return guess
