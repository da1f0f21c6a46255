"""The bank: nothing is lost, nothing is owed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.machines.bank import Balance, Bank, Total, Transfer

ACCOUNTS = ("a", "b", "c")
SOME = st.sampled_from([*ACCOUNTS, "nobody"])
TRANSFERS = st.builds(Transfer, SOME, SOME, st.integers(-2, 30))


@given(st.lists(TRANSFERS, max_size=40))
def test_the_total_is_conserved_and_no_account_goes_below_zero(transfers: list[Transfer]) -> None:
    bank = Bank.of(ACCOUNTS, 20)
    for transfer in transfers:
        bank, _ = bank.apply(transfer)
        held = [bank.apply(Balance(account))[1] for account in ACCOUNTS]
        assert min(held) >= 0
        assert sum(held) == bank.apply(Total())[1] == 60
    assert bank.apply(Balance("nobody"))[1] is None


@given(st.lists(TRANSFERS, max_size=40))
def test_equals_a_plain_dict(transfers: list[Transfer]) -> None:
    bank, held = Bank.of(ACCOUNTS, 20), dict.fromkeys(ACCOUNTS, 20)
    for t in transfers:
        bank, done = bank.apply(t)
        possible = t.src in held and t.dst in held and t.amount >= 0 and held[t.src] >= t.amount
        if possible:
            held[t.src] -= t.amount
            held[t.dst] += t.amount
        assert done is possible
        assert dict(bank.accounts) == held


@pytest.mark.parametrize(
    ("transfer", "done", "a", "b"),
    [
        (Transfer("a", "b", 5), True, 5, 15),
        (Transfer("a", "b", 10), True, 0, 20),
        (Transfer("a", "b", 11), False, 10, 10),
        (Transfer("a", "b", -1), False, 10, 10),
        (Transfer("a", "a", 3), True, 10, 10),
        (Transfer("a", "z", 3), False, 10, 10),
        (Transfer("z", "a", 0), False, 10, 10),
    ],
)
def test_when_a_transfer_is_done(transfer: Any, done: bool, a: int, b: int) -> None:
    bank, answer = Bank.of(("a", "b"), 10).apply(transfer)
    assert (answer, bank.accounts["a"], bank.accounts["b"]) == (done, a, b)


def test_a_bank_that_loses_money_is_found_by_total() -> None:
    class Leaky(Bank):
        def _transfer(self, src: str, dst: str, amount: int) -> Any:
            return type(self)(self.accounts.set(src, self.accounts[src] - amount)), True

    bank, _ = Leaky.of(("a", "b"), 10).apply(Transfer("a", "b", 1))
    assert bank.apply(Total())[1] == 19


def test_accounts_begin_at_zero_or_above() -> None:
    with pytest.raises(ValueError, match="accounts of -1: an account holds at least 0"):
        Bank.of(("a",), -1)
