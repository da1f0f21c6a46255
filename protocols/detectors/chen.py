"""NFD-S and NFD-E: failure detectors whose quality of service is known beforehand.

Claim
  Freshness points instead of timeouts: the deadline counts from when a heartbeat was *due*, not
  from when the one before it came, so that the time to detect a crash is bounded whatever the
  delays are, and mistakes on two heartbeats are independent of each other.
Paper
  Chen, Toueg, Aguilera, "On the quality of service of failure detectors", IEEE Transactions on
  Computers 51(5), 2002: NFD-S §3 (figure 6), NFD-E §6.3 (figure 9).
Assumptions
  Heartbeat i = 1, 2, … leaves at i·η on the sender's clock; crash-stop (a sender that restarts
  numbers anew; the hosting process then starts a fresh estimator). NFD-S: clocks synchronised,
  so that i·η is known. NFD-E: clocks that merely run at one speed.
Left out
  NFD-U (known expected arrival times), which NFD-E with a long window comes close to.
Invariants
  T_D ≤ δ + η (NFD-S), T_D ≤ η + α + E(D) in the mean (NFD-E); the deadline never falls back for
  NFD-S when old heartbeats arrive late.
How to run it
  ``fed(NfdE(eta_us=SECOND, alpha_us=200 * MS), arrivals).deadline_us()``; the closed forms are in
  :mod:`protocols.detectors.chen_qos`.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocols.detectors.estimator import Estimator, check_at_least
from protocols.detectors.window import Window

__all__ = ["NfdE", "NfdS", "expected_arrival_us"]

_EMPTY = Window(32)


@dataclass(frozen=True, slots=True)
class NfdS(Estimator):
    """Synchronised clocks: in [τ_i, τ_{i+1}), τ_i = i·η + δ, trust iff some beat j ≥ i has come.

    ``eta_us`` is η, ``delta_us`` δ, ``origin_us`` the local time at which i·η counts from 0.
    Suspects until the first beat, as the paper's detector does.
    """

    eta_us: int
    delta_us: int
    origin_us: int = 0
    highest: int = 0
    last_us: int | None = None

    def __post_init__(self) -> None:
        if not self.highest:
            check_at_least(1, eta_us=self.eta_us)
            check_at_least(0, delta_us=self.delta_us)

    def heartbeat(self, sequence: int, now_us: int) -> NfdS:
        """Return the estimator after beat ``sequence``; only a higher number says anything new."""
        if sequence <= self.highest:
            return self
        return self.__class__(self.eta_us, self.delta_us, self.origin_us, sequence, now_us)

    def deadline_us(self) -> int | None:
        """Return τ_{j+1}, j being the highest number received; the origin before any beat."""
        if not self.highest:
            return self.origin_us
        return self.origin_us + (self.highest + 1) * self.eta_us + self.delta_us


@dataclass(frozen=True, slots=True)
class NfdE(Estimator):
    """Unsynchronised clocks: τ_{ℓ+1} = EA_{ℓ+1} + α, EA being the expected arrival time.

    EA_{ℓ+1} = mean(A_i - η·i over the last ``size`` beats) + (ℓ+1)·η. ``eta_us`` is η, ``alpha_us``
    α. Give the size as ``window=Window(32)``, the paper's n = 32 being the default.
    """

    eta_us: int
    alpha_us: int
    window: Window = _EMPTY
    highest: int = 0
    last_us: int | None = None

    def __post_init__(self) -> None:
        if not self.highest:
            check_at_least(1, eta_us=self.eta_us, window=self.window.size)
            check_at_least(0, alpha_us=self.alpha_us)

    def heartbeat(self, sequence: int, now_us: int) -> NfdE:
        """Return the estimator after beat ``sequence``; one that was overtaken is ignored."""
        if sequence <= self.highest or (self.last_us is not None and now_us < self.last_us):
            return self
        window = self.window.append(now_us - self.eta_us * sequence)
        return self.__class__(self.eta_us, self.alpha_us, window, sequence, now_us)

    def deadline_us(self) -> int | None:
        """Return τ_{ℓ+1}, rounded up to whole µs; None before the first beat."""
        if not self.highest:
            return None
        return expected_arrival_us(self.window, self.eta_us, self.highest + 1) + self.alpha_us


def expected_arrival_us(window: Window, eta_us: int, sequence: int) -> int:
    """Return EA of beat ``sequence`` from a window of arrival - η·number, rounded up to µs."""
    return sequence * eta_us - (-window.total // window.count)
