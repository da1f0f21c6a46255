"""Bertier's detector: Chen's expected arrival with a safety margin that adapts.

Claim
  NFD-E's margin α need not be chosen: Jacobson's estimate of the error of the expected arrival
  follows the network.
Paper
  Bertier, Marin, Sens, "Implementation and performance evaluation of an adaptable failure
  detector", DSN 2002, §3.2: on beat k with error = A_k - EA_k - delay,
  delay += γ·error, var += γ·(|error| - var), α = β·delay + φ·var; γ = 0.1, β = 1, φ = 4.
Assumptions
  As for NFD-E. The paper leaves the first margin open: here var begins so that α is
  ``first_margin_us`` at the first beat (one η unless told otherwise).
Left out
  The paper's second layer, which adapts the margin to each application.
Invariants
  The deadline is a whole µs, EA rounded up plus α rounded up; α may be negative for a while when
  beats come earlier and earlier.
How to run it
  ``fed(Bertier(eta_us=SECOND), arrivals).deadline_us()``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from protocols.detectors.chen import expected_arrival_us
from protocols.detectors.estimator import Estimator, check_at_least
from protocols.detectors.window import Window

__all__ = ["Bertier"]

_EMPTY = Window(1000)


@dataclass(frozen=True, slots=True)
class Bertier(Estimator):
    """Expected arrival plus α = β·delay + φ·var. ``eta_us`` is the sender's interval.

    ``delay_us`` and ``variation_us`` are the two running estimates, in µs.
    """

    eta_us: int
    gamma: float = 0.1
    beta: float = 1.0
    phi: float = 4.0
    first_margin_us: int | None = None
    window: Window = _EMPTY
    delay_us: float = 0.0
    variation_us: float = 0.0
    highest: int = 0
    last_us: int | None = None

    def __post_init__(self) -> None:
        if self.highest:
            return
        check_at_least(1, eta_us=self.eta_us, window=self.window.size)
        check_at_least(0, beta=self.beta, phi=self.phi, first_margin_us=self.first_margin_us)
        if not 0 < self.gamma <= 1:
            raise ValueError(f"gamma = {self.gamma!r}: give a gain above 0, at most 1")

    def heartbeat(self, sequence: int, now_us: int) -> Bertier:
        """Return the estimator after beat ``sequence``; one that was overtaken is ignored."""
        if sequence <= self.highest or (self.last_us is not None and now_us < self.last_us):
            return self
        delay, variation = self._estimates_after(sequence, now_us)
        window = self.window.append(now_us - self.eta_us * sequence)
        fixed = (self.eta_us, self.gamma, self.beta, self.phi, self.first_margin_us)
        return self.__class__(*fixed, window, delay, variation, sequence, now_us)

    def _estimates_after(self, sequence: int, now_us: int) -> tuple[float, float]:
        if not self.highest:
            margin = self.eta_us if self.first_margin_us is None else self.first_margin_us
            return 0.0, margin / self.phi if self.phi else 0.0
        expected = expected_arrival_us(self.window, self.eta_us, sequence)
        error = now_us - expected - self.delay_us
        delay = self.delay_us + self.gamma * error
        return delay, self.variation_us + self.gamma * (abs(error) - self.variation_us)

    def margin_us(self) -> int:
        """Return α, rounded up to whole µs."""
        return ceil(self.beta * self.delay_us + self.phi * self.variation_us)

    def deadline_us(self) -> int | None:
        """Return the expected arrival of the next beat plus α; None before the first beat."""
        if not self.highest:
            return None
        return expected_arrival_us(self.window, self.eta_us, self.highest + 1) + self.margin_us()
