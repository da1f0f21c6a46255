"""Loss in bursts: the Gilbert-Elliott channel, its long-run figures and its running state.

Real networks lose messages in runs (a full queue, a flapping route), and a protocol that survives
1 % of independent loss may well fail at 1 % lost in bursts of twenty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from sim.fields import FieldError, Fields, check_probability
from sim.units import parse_probability

__all__ = ["GilbertElliott", "GilbertElliottState", "parse_burst"]


@dataclass(frozen=True, slots=True)
class GilbertElliott:
    """Loss in bursts: a good and a bad state, left with the given probability at each message.

    Gilbert, "Capacity of a burst-noise channel", BSTJ 39 (1960); Elliott, BSTJ 42 (1963).
    The defaults are Gilbert's simplest channel: nothing is lost while good, all while bad.
    """

    p_good_to_bad: float
    p_bad_to_good: float
    loss_good: float = 0.0
    loss_bad: float = 1.0

    def __post_init__(self) -> None:
        for name in ("p_good_to_bad", "p_bad_to_good", "loss_good", "loss_bad"):
            check_probability(name, getattr(self, name))
        if self.p_bad_to_good == 0:
            raise FieldError(
                self.p_bad_to_good,
                "a probability above 0",
                path=("p_bad_to_good",),
                hint="a burst that never ends is loss: 100%",
            )

    @classmethod
    def from_loss(cls, loss: float, length: float) -> GilbertElliott:
        """Gilbert's channel with that long-run `loss` (below 1) in bursts of mean `length` >= 1.

        From loss = p/(p + r) and length = 1/r: r = 1/length, p = r loss/(1 - loss).
        """
        if not 0 <= loss < 1:
            raise FieldError(loss, "a probability from 0 to below 1", path=("loss",))
        if not length >= 1:
            raise FieldError(length, "a mean number of messages, at least 1", path=("length",))
        good_to_bad = loss / (1 - loss) / length
        if good_to_bad > 1:
            least = loss / (1 - loss)
            raise FieldError(length, f"at least {least:g} messages at this loss", path=("length",))
        return cls(good_to_bad, 1 / length)

    @property
    def bad_share(self) -> float:
        """The long-run share of messages that meet the bad state."""
        return self.p_good_to_bad / (self.p_good_to_bad + self.p_bad_to_good)

    @property
    def loss_rate(self) -> float:
        """The long-run (stationary) share of messages lost."""
        bad = self.bad_share
        return (1 - bad) * self.loss_good + bad * self.loss_bad

    @property
    def mean_bad_period(self) -> float:
        """The mean stay in the bad state, in messages."""
        return 1 / self.p_bad_to_good

    @property
    def mean_burst_length(self) -> float:
        """The mean run of consecutive lost messages; 0 where nothing is lost, inf where all is.

        Lost messages per start of a run: loss_rate / P(this one lost, the one before not).
        For Gilbert's simplest channel that is 1 / p_bad_to_good.
        """
        bad, to_bad, to_good = self.bad_share, self.p_good_to_bad, self.p_bad_to_good
        next_good = (1 - to_bad) * self.loss_good + to_bad * self.loss_bad
        next_bad = (1 - to_good) * self.loss_bad + to_good * self.loss_good
        starts = (1 - bad) * (1 - self.loss_good) * next_good + bad * (1 - self.loss_bad) * next_bad
        if starts == 0:
            return float("inf") if self.loss_rate else 0.0
        return self.loss_rate / starts

    def to_value(self) -> dict[str, float]:
        """Plain data for a scenario file."""
        value = {"p_good_to_bad": self.p_good_to_bad, "p_bad_to_good": self.p_bad_to_good}
        extra = {"loss_good": (self.loss_good, 0.0), "loss_bad": (self.loss_bad, 1.0)}
        return value | {key: now for key, (now, usual) in extra.items() if now != usual}


class GilbertElliottState:
    """Where one link stands in its `GilbertElliott` chain; starts in the stationary state.

    (A start in the good state would make short runs lose less than the declared rate.)
    """

    __slots__ = ("_random", "bad", "spec")

    def __init__(self, spec: GilbertElliott, rng: Random) -> None:
        self.spec = spec
        self._random = rng.random
        self.bad = self._random() < spec.bad_share

    def lost(self) -> bool:
        """Is this message lost? Then steps the chain for the next one."""
        spec, random = self.spec, self._random
        loss = spec.loss_bad if self.bad else spec.loss_good
        lost = loss == 1.0 or (loss > 0.0 and random() < loss)
        if random() < (spec.p_bad_to_good if self.bad else spec.p_good_to_bad):
            self.bad = not self.bad
        return lost


_EXAMPLE = 'a probability such as "1%"'


def parse_burst(value: object) -> GilbertElliott:
    """Bursts from {p_good_to_bad, p_bad_to_good, loss_good, loss_bad} or from {loss, length}.

    The second form is `GilbertElliott.from_loss`: the long-run loss and the mean burst length.
    """
    if isinstance(value, GilbertElliott):
        return value
    if isinstance(value, Mapping) and ("loss" in value or "length" in value):
        return _parse_from_loss(value)
    fields = Fields(value, ("p_good_to_bad", "p_bad_to_good", "loss_good", "loss_bad"), "burst")
    to_bad = fields.need("p_good_to_bad", parse_probability, _EXAMPLE)
    to_good = fields.need("p_bad_to_good", parse_probability, _EXAMPLE)
    loss_good = fields.read("loss_good", parse_probability, 0.0)
    loss_bad = fields.read("loss_bad", parse_probability, 1.0)
    return fields.build(lambda: GilbertElliott(to_bad, to_good, loss_good, loss_bad))


def _parse_from_loss(value: object) -> GilbertElliott:
    fields = Fields(value, ("loss", "length"), "burst (by its loss and length)")
    loss = fields.need("loss", parse_probability, _EXAMPLE)
    length = fields.need("length", _parse_length, "a mean number of messages, at least 1")
    return fields.build(lambda: GilbertElliott.from_loss(loss, length))


def _parse_length(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise FieldError(value, "a mean number of messages, at least 1, such as 4")
