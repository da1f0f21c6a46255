"""A bank: transfers between accounts, which must conserve the total.

The workload of many public tests of databases (the "bank" of Jepsen): a transfer done in part, or
twice, or read halfway changes what the accounts add up to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from protocols.api import Map, operation
from protocols.machines.machine import Machine, chunks, unknown_command

__all__ = ["Balance", "Bank", "Total", "Transfer"]


@operation
class Transfer:
    """Move ``amount`` from ``src`` to ``dst``. Answer: whether it was done.

    It isn't if an account doesn't exist, ``amount`` is below 0 or ``src`` holds less.
    """

    src: str
    dst: str
    amount: int


@operation
class Balance:
    """Answer: what ``account`` holds; None if there is no such account."""

    account: str


@operation
class Total:
    """Answer: what all accounts hold together."""


@dataclass(frozen=True, slots=True)
class Bank(Machine):
    """Accounts and what they hold, never below 0.

    Invariant: the total is that of the beginning. Transfer and Balance cost the same at 10 and
    at 100,000 accounts; Total adds them up one by one, so that it would tell of a mistake.
    Part: a tuple of (account, amount) pairs in the order of the accounts.
    """

    accounts: Map[str, int] = field(default_factory=Map)

    commands: ClassVar[tuple[type, ...]] = (Transfer, Balance, Total)
    reads: ClassVar[tuple[type, ...]] = (Balance, Total)

    @classmethod
    def of(cls, accounts: Iterable[str], each: int) -> Self:
        """A bank in which every one of ``accounts`` holds ``each``; ValueError below 0."""
        if each < 0:
            raise ValueError(f"accounts of {each}: an account holds at least 0")
        return cls(Map((account, each) for account in accounts))

    def apply(self, command: Any, now_us: int = 0) -> tuple[Self, Any]:
        """The bank after ``command``, and the answer that its class describes."""
        match command:
            case Transfer(src, dst, amount):
                return self._transfer(src, dst, amount)
            case Balance(account):
                return self, self.accounts.get(account)
            case Total():
                return self, sum(held for _, held in self.accounts.raw_items())
        unknown_command(self, command)

    def _transfer(self, src: str, dst: str, amount: int) -> tuple[Self, bool]:
        held = self.accounts.get(src)
        if held is None or dst not in self.accounts or not 0 <= amount <= held:
            return self, False
        paid = self.accounts.set(src, held - amount)
        return type(self)(paid.set(dst, paid[dst] + amount)), True

    def parts(self, size: int) -> tuple[Any, ...]:
        """Tuples of ``size`` (account, amount) pairs, in the order of the accounts."""
        return chunks(self.accounts.items(), size) or ((),)

    @classmethod
    def from_parts(cls, parts: Iterable[Any]) -> Self:
        """The bank with all the accounts."""
        return cls(Map(pair for part in parts for pair in part))
