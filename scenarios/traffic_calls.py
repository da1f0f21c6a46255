"""What one client asks for next: an endless supply of commands, drawn from a random stream.

A caller hears how its operations end, because some commands depend on it: a lock is released
with the token that acquiring it gave, and ``cas`` expects what the client last knew of the key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from protocols.client import Outcome
from protocols.machines import Bank, Counter, KeyValueStore, LockService, Machine
from protocols.machines.bank import Balance, Total, Transfer
from protocols.machines.counter import Add, Read
from protocols.machines.kv import Append, Cas, Delete, Get, Put
from protocols.machines.lock import Acquire, Holder, Release
from protocols.values import NodeId

if TYPE_CHECKING:
    from scenarios.traffic_spec import Traffic

__all__ = ["CALLERS", "BankCaller", "Caller", "CounterCaller", "KvCaller", "LockCaller"]

VALUES = 5
"""How many values there are where they need not be unique: few, so that ``cas`` may succeed."""


class Caller(ABC):
    """Draws the commands of one client. ``mix`` is what it may draw, and the usual shares."""

    mix: ClassVar[Mapping[str, float]] = {}
    prefix = "k"

    def __init__(self, client: NodeId, traffic: Traffic, rng: Random) -> None:
        self.client, self.traffic, self.rng = client, traffic, rng
        self._draw_key = traffic.distribution.sampler(traffic.keys, rng)
        self._words = tuple(word for word, _ in traffic.mix)
        self._ends = tuple(accumulate(share for _, share in traffic.mix))
        self._made: dict[str, Callable[[], Any]] = {w: getattr(self, w) for w in self._words}

    def next_command(self) -> Any:
        """The next command."""
        return self._made[self.word()]()

    def word(self) -> str:
        """One of the words of the mix, each with its share."""
        at = bisect_right(self._ends, self.rng.random())
        return self._words[min(at, len(self._words) - 1)]

    def key(self) -> str:
        """One of the keys, k1, k2, …, by their distribution."""
        return f"{self.prefix}{self._draw_key() + 1}"

    def heard(self, command: Any, outcome: Outcome) -> None:  # noqa: B027 (most don't care)
        """A command of this client has ended."""

    @classmethod
    @abstractmethod
    def initial(cls, traffic: Traffic) -> Machine:
        """The state machine with which the servers begin."""


class KvCaller(Caller):
    """Reads, writes, compares and sets, appends and deletes.

    Unique values are "client.number", so a value that is read tells which write it came from;
    appended texts begin with a comma. ``cas`` expects what this client last knew of the key.
    """

    mix: ClassVar[Mapping[str, float]] = {
        "get": 0.5,
        "put": 0.3,
        "cas": 0.1,
        "append": 0.1,
        "delete": 0.0,
    }

    def __init__(self, client: NodeId, traffic: Traffic, rng: Random) -> None:
        super().__init__(client, traffic, rng)
        self._count = 0
        self._known: dict[str, Any] = {}

    def value(self) -> str:
        """A value to write: unlike any other, or one of a few."""
        if not self.traffic.unique:
            return f"v{self.rng.randrange(VALUES) + 1}"
        self._count += 1
        return f"{self.client}.{self._count}"

    def get(self) -> Get:
        """Read a key."""
        return Get(self.key())

    def put(self) -> Put:
        """Write a key."""
        return Put(self.key(), self.value())

    def delete(self) -> Delete:
        """Take a key away."""
        return Delete(self.key())

    def append(self) -> Append:
        """Append to a key."""
        return Append(self.key(), f",{self.value()}")

    def cas(self) -> Cas:
        """Replace what this client believes that a key holds."""
        key = self.key()
        return Cas(key, self._known.get(key), self.value())

    def heard(self, command: Any, outcome: Outcome) -> None:
        """Remember what the key holds; forget it if nobody knows."""
        match outcome.kind, command:
            case "ok", Get(key) | Append(key):
                self._known[key] = outcome.value
            case "ok", Put(key, value):
                self._known[key] = value
            case "ok", Cas(key, _, new) if outcome.value:
                self._known[key] = new
            case (("ok" | "info"), _):
                self._known.pop(command.key, None)

    @classmethod
    def initial(cls, traffic: Traffic) -> Machine:
        """An empty store."""
        return KeyValueStore()


class BankCaller(Caller):
    """Transfers between two accounts, up to ``traffic.amount`` each, and looks at the books."""

    mix: ClassVar[Mapping[str, float]] = {"transfer": 0.6, "balance": 0.3, "total": 0.1}
    prefix = "a"

    def transfer(self) -> Transfer:
        """Move some money from an account to another one (to itself if there is no other)."""
        src = dst = self.key()
        while dst == src and self.traffic.keys > 1:
            dst = self.key()
        return Transfer(src, dst, 1 + self.rng.randrange(self.traffic.amount))

    def balance(self) -> Balance:
        """Look at an account."""
        return Balance(self.key())

    def total(self) -> Total:
        """Add them all up."""
        return Total()

    @classmethod
    def initial(cls, traffic: Traffic) -> Machine:
        """A bank in which every account holds ``traffic.balance``."""
        accounts = (f"{cls.prefix}{number}" for number in range(1, traffic.keys + 1))
        return Bank.of(accounts, traffic.balance)


class LockCaller(Caller):
    """Contends for locks: a client that holds one releases it before it acquires another.

    After an ``acquire`` or ``release`` whose end nobody knows it acquires the same lock again:
    if it holds the lock already, that gives it the token with which to release it.
    """

    mix: ClassVar[Mapping[str, float]] = {"acquire": 0.9, "holder": 0.1}
    prefix = "l"

    def __init__(self, client: NodeId, traffic: Traffic, rng: Random) -> None:
        super().__init__(client, traffic, rng)
        self._held: tuple[str, int] | None = None
        self._unsure: str | None = None

    def acquire(self) -> Acquire | Release:
        """Release the lock that is held, if there is one; else acquire one."""
        if self._held is not None:
            name, token = self._held
            return Release(name, self.client, token)
        return Acquire(self._unsure or self.key(), self.client)

    def holder(self) -> Holder:
        """Ask who holds a lock."""
        return Holder(self.key())

    def heard(self, command: Any, outcome: Outcome) -> None:
        """Remember the token."""
        if isinstance(command, Holder) or outcome.kind == "fail":
            return
        self._held, self._unsure = None, None
        if outcome.kind == "info":
            self._unsure = command.name
        elif isinstance(command, Acquire) and outcome.value is not None:
            self._held = (command.name, outcome.value)

    @classmethod
    def initial(cls, traffic: Traffic) -> Machine:
        """A lock service in which all locks are free."""
        return LockService()


class CounterCaller(Caller):
    """Counts up by one, and reads the count."""

    mix: ClassVar[Mapping[str, float]] = {"add": 0.7, "read": 0.3}

    def add(self) -> Add:
        """Count one more."""
        return Add(1)

    def read(self) -> Read:
        """Read the count."""
        return Read()

    @classmethod
    def initial(cls, traffic: Traffic) -> Machine:
        """A counter at 0."""
        return Counter()


CALLERS: Mapping[str, type[Caller]] = {
    "kv": KvCaller,
    "bank": BankCaller,
    "lock": LockCaller,
    "counter": CounterCaller,
}
"""The callers by the names of their machines (`protocols.machines.MACHINES`)."""
