"""The counter: the sum of what was added."""

from hypothesis import given
from hypothesis import strategies as st

from protocols.machines.counter import Add, Counter, Read


@given(st.lists(st.integers()))
def test_the_count_is_the_sum_of_what_was_added(added: list[int]) -> None:
    counter = Counter()
    for number, by in enumerate(added):
        counter, count = counter.apply(Add(by))
        assert count == counter.apply(Read())[1] == sum(added[: number + 1])
