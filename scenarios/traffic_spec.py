"""What clients do in a scenario, as values; :mod:`scenarios.traffic` is the way in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from protocols.clients.policy import ClientOptions
from protocols.machines import Machine
from scenarios.traffic_calls import CALLERS, Caller
from scenarios.traffic_keys import Evenly, KeyDistribution
from sim.fields import FieldError, FieldErrors, unknown_name
from sim.latency import Constant, Latency
from sim.units import format_duration

__all__ = ["Arrivals", "Loop", "Traffic"]

Loop = Literal["closed", "open"]
Arrivals = Literal["poisson", "even"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What clients do. FieldErrors says everything that is wrong with it.

    clients      how many: c1, c2, …
    loop         "closed" or "open"
    think        closed: the pause between an answer and the next call
    rate         open: calls per second, of all clients together
    arrivals     open: "poisson" or, at equal distances, "even"
    operations   calls per client at most, None: no limit
    machine      kv, bank, lock or counter
    keys         how many keys, accounts or locks
    distribution by which of them one is drawn
    mix          shares of the commands, 1 together; (): the usual ones of the machine
    unique       kv: no two writes write the same value
    balance      bank: what every account holds in the beginning
    amount       bank: the largest transfer
    from_us      the first calls are made from here on
    until_us     and no call is made after this; None: to the end
    options      the policy of the clients
    """

    clients: int = 1
    loop: Loop = "closed"
    think: Latency = field(default_factory=lambda: Constant(0))
    rate: Fraction | None = None
    arrivals: Arrivals = "poisson"
    operations: int | None = None
    machine: str = "kv"
    keys: int = 10
    distribution: KeyDistribution = field(default_factory=Evenly)
    mix: tuple[tuple[str, float], ...] = ()
    unique: bool = True
    balance: int = 100
    amount: int = 5
    from_us: int = 0
    until_us: int | None = None
    options: ClientOptions = field(default_factory=ClientOptions)

    def __post_init__(self) -> None:
        errors = [*self._size_errors(), *self._loop_errors(), *self._mix_errors()]
        if errors:
            raise FieldErrors(errors)
        if not self.mix:
            usual = ((word, share) for word, share in self.caller.mix.items() if share)
            object.__setattr__(self, "mix", tuple(usual))

    def _size_errors(self) -> Iterable[FieldError]:
        for name, least in (("clients", 1), ("keys", 1), ("balance", 0), ("amount", 1)):
            value = getattr(self, name)
            if value < least:
                yield FieldError(value, f"a whole number, at least {least}", path=(name,))
        if self.operations is not None and self.operations < 1:
            yield FieldError(self.operations, "a whole number, at least 1", path=("operations",))
        if self.until_us is not None and self.until_us < self.from_us:
            allowed = f"a moment not before from, {format_duration(self.from_us)}"
            yield FieldError(format_duration(self.until_us), allowed, path=("until",))

    def _loop_errors(self) -> Iterable[FieldError]:
        if self.loop not in ("closed", "open"):
            yield unknown_name(self.loop, ("closed", "open"), "a loop", ("loop",))
        if self.arrivals not in ("poisson", "even"):
            yield unknown_name(self.arrivals, ("poisson", "even"), "arrivals", ("arrivals",))
        if self.loop == "open" and self.rate is None:
            yield FieldError(None, "a rate such as 50/s", path=("rate",), hint="add this key")
        if self.rate is not None and not 0 < self.rate <= 1_000_000:
            allowed = "a rate above 0, such as 50/s, and at most 1000000/s"
            yield FieldError(f"{float(self.rate):g}/s", allowed, path=("rate",))

    def _mix_errors(self) -> Iterable[FieldError]:
        if self.machine not in CALLERS:
            yield unknown_name(self.machine, CALLERS, "a machine", ("machine",))
            return
        for word, share in self.mix:
            if word not in self.caller.mix:
                what = f"a command of {self.machine}"
                yield unknown_name(word, self.caller.mix, what, ("mix", word))
            elif not 0 <= share <= 1:
                yield FieldError(share, 'a share such as "50%"', path=("mix", word))
        together = sum(share for _, share in self.mix)
        if self.mix and abs(together - 1) > 1e-9:
            yield FieldError(f"{together:.6g} together", "shares that make 100%", path=("mix",))

    @property
    def caller(self) -> type[Caller]:
        """The class that draws the commands."""
        return CALLERS[self.machine]

    def initial_machine(self) -> Machine:
        """The state machine with which the servers begin."""
        return self.caller.initial(self)
