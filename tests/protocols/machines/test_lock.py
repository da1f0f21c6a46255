"""Locks: one holder at a time, tokens that only grow, leases in the machine's own time."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocols.machines.lock import Acquire, Holder, LockService, Release

NAMES = st.sampled_from(["l", "m"])
OWNERS = st.sampled_from(["c1", "c2", "c3"])
COMMANDS = st.one_of(
    st.builds(Acquire, NAMES, OWNERS, st.sampled_from([0, 3])),
    st.builds(Release, NAMES, OWNERS, st.integers(1, 6)),
)
TIMED = st.lists(st.tuples(COMMANDS, st.integers(0, 9)), max_size=40)


def applied(locks: LockService, *commands: Any) -> list[Any]:
    answers = []
    for command in commands:
        locks, answer = locks.apply(command)
        answers.append(answer)
    return answers


def test_a_lock_has_one_holder_until_it_is_released() -> None:
    assert applied(
        LockService(),
        Holder("l"),
        Acquire("l", "c1"),
        Acquire("l", "c2"),
        Holder("l"),
        Release("l", "c2", 1),
        Release("l", "c1", 7),
        Release("l", "c1", 1),
        Release("l", "c1", 1),
        Acquire("l", "c2"),
        Holder("l"),
    ) == [None, 1, None, ("c1", 1), False, False, True, False, 2, ("c2", 2)]


def test_the_holder_may_ask_again_for_its_token() -> None:
    assert applied(LockService(), Acquire("l", "c1"), Acquire("m", "c2"), Acquire("l", "c1")) == [
        1,
        2,
        1,
    ]


def test_a_lease_ends_when_a_later_command_says_so() -> None:
    locks, token = LockService().apply(Acquire("l", "c1", lease_us=10), now_us=100)
    assert token == 1
    assert locks.apply(Acquire("l", "c2"), now_us=109)[1] is None
    assert locks.apply(Acquire("l", "c2"), now_us=110)[1] == 2
    assert locks.apply(Release("l", "c1", 1), now_us=110)[1] is False
    again, token = locks.apply(Acquire("l", "c1", lease_us=10), now_us=105)  # a longer lease
    assert (token, again.apply(Acquire("l", "c2"), now_us=114)[1]) == (1, None)


def test_a_read_does_not_move_time() -> None:
    locks, _ = LockService().apply(Acquire("l", "c1", lease_us=10), now_us=100)
    assert locks.apply(Holder("l"), now_us=500) == (locks, ("c1", 1))
    locks, _ = locks.apply(Acquire("m", "c1"), now_us=110)
    assert locks.apply(Holder("l"), now_us=0)[1] is None


def test_time_never_goes_back() -> None:
    locks, _ = LockService().apply(Acquire("l", "c1", lease_us=10), now_us=100)
    locks, _ = locks.apply(Acquire("m", "c9"), now_us=200)  # a new leader, whose clock is slow
    assert locks.apply(Acquire("l", "c2", lease_us=10), now_us=50)[1] == 3
    assert locks.time_us == 200


@given(TIMED)
def test_mutual_exclusion_and_growing_tokens_against_a_plain_dict(
    commands: list[tuple[Any, int]],
) -> None:
    locks, time_us, issued = LockService(), 0, 0
    held: dict[str, tuple[str, int, float]] = {}
    for command, now_us in commands:
        time_us = max(time_us, now_us)
        held = {name: lock for name, lock in held.items() if time_us < lock[2]}
        locks, answer = locks.apply(command, now_us)
        name, owner = command.name, command.owner
        if isinstance(command, Acquire):
            until = time_us + command.lease_us if command.lease_us else float("inf")
            if name not in held:
                assert answer == issued + 1  # larger than every token before
                issued, held[name] = answer, (owner, answer, until)
            elif held[name][0] == owner:
                assert answer == held[name][1]
                held[name] = (owner, answer, until)
            else:
                assert answer is None
        else:
            mine = held.get(name, ("", 0, 0.0))[:2] == (owner, command.token)
            assert answer is mine
            if mine:
                del held[name]
        for lock in ("l", "m"):
            assert locks.apply(Holder(lock))[1] == (held[lock][:2] if lock in held else None)
