"""What all machines promise: pure, equal after equal commands, whole after a trip in parts."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.api import Map
from protocols.canonical import encode, why_mutable
from protocols.machines import COMMANDS, MACHINES, READS, Bank, KeyValueStore, Machine, read_only
from protocols.machines.bank import Balance, Total, Transfer
from protocols.machines.counter import Add, Counter, Read
from protocols.machines.kv import Append, Cas, Delete, Get, Put
from protocols.machines.lock import Acquire, Holder, LockService, Release

NAMES = st.sampled_from(["a", "b", "c"])
WORDS = st.sampled_from(["", "x", "yz"])
SMALL = st.integers(-3, 9)
OF_MACHINE: dict[str, tuple[Machine, st.SearchStrategy[Any]]] = {
    "kv": (
        KeyValueStore(),
        st.one_of(
            st.builds(Get, NAMES),
            st.builds(Put, NAMES, WORDS),
            st.builds(Delete, NAMES),
            st.builds(Append, NAMES, WORDS),
            st.builds(Cas, NAMES, st.one_of(st.none(), WORDS), WORDS),
        ),
    ),
    "bank": (
        Bank.of("ab", 10),
        st.one_of(
            st.builds(Transfer, NAMES, NAMES, SMALL), st.builds(Balance, NAMES), st.builds(Total)
        ),
    ),
    "lock": (
        LockService(),
        st.one_of(
            st.builds(Acquire, NAMES, NAMES, st.sampled_from([0, 2])),
            st.builds(Release, NAMES, NAMES, st.integers(1, 4)),
            st.builds(Holder, NAMES),
        ),
    ),
    "counter": (Counter(), st.one_of(st.builds(Add, SMALL), st.builds(Read))),
}
RUNS = st.sampled_from(list(OF_MACHINE)).flatmap(
    lambda name: st.tuples(
        st.just(OF_MACHINE[name][0]),
        st.lists(st.tuples(OF_MACHINE[name][1], st.integers(0, 6)), max_size=20),
    )
)
Run = tuple[Machine, list[tuple[Any, int]]]


def applied(machine: Machine, commands: list[tuple[Any, int]]) -> tuple[Machine, list[Any]]:
    answers = []
    for command, now_us in commands:
        machine, answer = machine.apply(command, now_us)
        answers.append(answer)
    return machine, answers


def test_all_machines_and_commands_are_known_by_name() -> None:
    assert list(MACHINES) == list(OF_MACHINE)
    assert len(set(COMMANDS)) == 5 + 3 + 3 + 2
    assert set(READS) == {Get, Balance, Total, Holder, Read}


@given(RUNS)
def test_equal_commands_give_equal_machines_and_answers(run: Run) -> None:
    first, second = applied(*run), applied(*run)
    assert first == second
    assert encode(first[0]) == encode(second[0])
    assert why_mutable(first[0]) is None
    assert [why_mutable(answer) for answer in first[1]] == [None] * len(first[1])


@given(RUNS)
def test_apply_leaves_the_machine_as_it_was(run: Run) -> None:
    machine, commands = run
    before = encode(machine)
    applied(machine, commands)
    assert encode(machine) == before


@given(RUNS)
def test_a_read_only_command_gives_the_machine_itself(run: Run) -> None:
    machine, commands = run
    for command, now_us in commands:
        after, _ = machine.apply(command, now_us)
        assert machine.read_only(command) == read_only(command) == (type(command) in READS)
        if machine.read_only(command):
            assert after is machine
        machine = after


@given(RUNS, st.integers(1, 5))
def test_parts_are_small_immutable_and_make_the_machine_again(run: Run, size: int) -> None:
    machine, _ = applied(*run)
    parts = machine.parts(size)
    again = type(machine).from_parts(parts)
    assert again == machine
    assert encode(again) == encode(machine)
    assert len(parts) >= 1
    assert why_mutable(parts) is None
    if not isinstance(machine, LockService):  # whose first part holds two scalars
        assert all(len(part) <= size for part in parts)


@given(st.permutations(["a", "b", "c", "d", "e"]))
def test_equal_machines_have_equal_parts_whatever_was_first(order: list[str]) -> None:
    machine: Machine = KeyValueStore()
    for key in order:
        machine, _ = machine.apply(Put(key, key.upper()))
    assert machine.parts(2) == (
        (("a", "A"), ("b", "B")),
        (("c", "C"), ("d", "D")),
        (("e", "E"),),
    )


@pytest.mark.parametrize("name", MACHINES)
def test_an_empty_machine_has_a_part_too(name: str) -> None:
    made = MACHINES[name]
    assert len(made().parts(10)) == 1
    assert made.from_parts(made().parts(10)) == made()
    with pytest.raises(ValueError, match=r"parts of 0 items: a part holds at least 1"):
        made().parts(0)


@pytest.mark.parametrize("name", MACHINES)
def test_an_unknown_command_is_a_bug_and_says_what_there_is(name: str) -> None:
    machine = MACHINES[name]()
    for command in ("what", next(c for c in (Read(), Get("a")) if type(c) not in machine.commands)):
        with pytest.raises(TypeError, match=rf"has no command .*{machine.commands[0].__name__}, "):
            machine.apply(command)


def seconds(machine: Machine, commands: list[Any]) -> float:
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        now = machine
        for command in commands:
            now, _ = now.apply(command)
        best = min(best, time.perf_counter() - began)
    return best


BIG = [f"k{number}" for number in range(100_000)]
GROWN: list[tuple[Machine, Machine, list[Any]]] = [
    (
        KeyValueStore(Map((key, key) for key in BIG[:100])),
        KeyValueStore(Map((key, key) for key in BIG)),
        [c for k in BIG[:100] for c in (Put(k, "v"), Get(k), Append(k, "x"), Cas(k, "vx", ""))],
    ),
    (
        Bank.of(BIG[:100], 10),
        Bank.of(BIG, 10),
        [c for k in BIG[:100] for c in (Transfer(k, "k7", 1), Balance(k))],
    ),
    (
        LockService.from_parts([(100, 0), [(k, "c1", 1, None) for k in BIG[:100]]]),
        LockService.from_parts([(100, 0), [(k, "c1", 1, None) for k in BIG]]),
        [c for k in BIG[:100] for c in (Acquire(k, "c2"), Holder(k), Release(k, "c1", 1))],
    ),
]


@pytest.mark.parametrize(("small", "big", "commands"), GROWN, ids=["kv", "bank", "lock"])
def test_a_command_costs_the_same_at_100_000_keys(
    small: Machine, big: Machine, commands: list[Any]
) -> None:
    # A copy of the whole would cost 1,000 times as much at 1,000 times the keys; a trie of
    # 32-fold nodes is 2 levels deeper (log 1,000 / log 32). Ten times leaves room for caches.
    assert seconds(big, commands) < 10 * seconds(small, commands)
