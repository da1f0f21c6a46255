"""Happens-before, light cones and vector clocks, against the definition spelt out naively."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given

from sim.trace_order import (
    happens_before,
    is_before,
    light_cone,
    predecessors,
    processes,
    vector_clocks,
)
from sim.trace_read import Trace
from tests.sim.synthetic_traces import Settings, make_trace, traces


def trace_of(*events: tuple[str | None, str, int | None]) -> Trace:
    """A trace with just (node, kind, cause) in each event."""
    made: list[dict[str, Any]] = [
        {"id": i, "t": i, "node": node, "kind": kind, "cause": cause}
        for i, (node, kind, cause) in enumerate(events)
    ]
    return Trace({}, made, "")


def naive_pasts(trace: Trace) -> list[set[int]]:
    """Lamport's definition word for word: own process in order, cause first, transitive."""
    lanes = processes(trace)
    pasts: list[set[int]] = []
    for event in trace.events:
        number, past = event["id"], set()
        direct = [event["cause"]] if event["cause"] is not None else []
        if lanes[number] is not None:
            direct += [e for e in range(number) if lanes[e] == lanes[number]]
        for earlier in direct:
            past |= {earlier} | pasts[earlier]
        pasts.append(past)
    return pasts


@given(traces())
def test_order_and_cones_follow_the_definition(trace: Trace) -> None:
    pasts = naive_pasts(trace)
    numbers = range(len(trace.events))
    for number in itertools.islice(numbers, 0, None, 7):
        past, future = light_cone(trace, number)
        assert past == sorted(pasts[number])
        assert future == [later for later in numbers if number in pasts[later]]
        for other in itertools.islice(numbers, 0, None, 11):
            assert happens_before(trace, other, number) == (other in pasts[number])


@given(traces())
def test_a_vector_clock_counts_the_events_it_knows_of(trace: Trace) -> None:
    lanes = processes(trace)
    for number, (clock, past) in enumerate(
        zip(vector_clocks(trace), naive_pasts(trace), strict=True)
    ):
        known = [lanes[e] for e in sorted(past | {number}) if lanes[e] is not None]
        assert clock == {lane: known.count(lane) for lane in known}


@given(traces(60))
def test_vector_clocks_decide_happens_before_between_events_of_processes(trace: Trace) -> None:
    clocks, pasts, lanes = vector_clocks(trace), naive_pasts(trace), processes(trace)
    of_nodes = [number for number, lane in enumerate(lanes) if lane is not None]
    for a, b in itertools.product(of_nodes, repeat=2):
        assert is_before(clocks[a], clocks[b]) == (a in pasts[b])


@given(traces())
def test_no_event_has_more_than_two_direct_predecessors(trace: Trace) -> None:
    for number, before in enumerate(predecessors(trace)):
        assert len(before) <= 2
        assert all(earlier < number for earlier in before)


# n1 sends to n2 (0 → 3), n3 does something else.
SIMPLE = (
    ("n1", "start", None),
    ("n2", "start", None),
    ("n3", "start", None),
    ("n2", "message", 0),
    ("n1", "timer", 0),
)


def test_a_message_orders_its_sender_before_its_receiver() -> None:
    trace = trace_of(*SIMPLE)
    assert vector_clocks(trace) == [
        {"n1": 1},
        {"n2": 1},
        {"n3": 1},
        {"n1": 1, "n2": 2},
        {"n1": 2},
    ]
    assert happens_before(trace, 0, 3)
    assert not happens_before(trace, 3, 0)
    assert not happens_before(trace, 4, 3)  # concurrent
    assert not happens_before(trace, 3, 4)
    assert not happens_before(trace, 3, 3)
    assert light_cone(trace, 0) == ([], [3, 4])
    assert light_cone(trace, 3) == ([0, 1], [])


def test_both_arrivals_of_a_duplicate_follow_the_one_send() -> None:
    trace = trace_of(
        ("n1", "start", None), ("n2", "start", None), ("n2", "message", 0), ("n2", "message", 0)
    )
    assert vector_clocks(trace)[2:] == [{"n1": 1, "n2": 2}, {"n1": 1, "n2": 3}]


def test_a_drop_follows_its_sender_and_orders_nothing_at_the_destination() -> None:
    trace = trace_of(
        ("n1", "start", None), ("n2", "start", None), ("n2", "drop", 0), ("n2", "timer", 1)
    )
    assert vector_clocks(trace) == [{"n1": 1}, {"n2": 1}, {"n1": 1}, {"n2": 2}]
    assert happens_before(trace, 0, 2)
    assert not happens_before(trace, 1, 2)
    assert not happens_before(trace, 2, 3)
    assert not happens_before(trace, 0, 3)


# n1 starts, crashes by a fault, recovers.
CRASH = (
    ("n1", "start", None),
    (None, "fault", None),
    ("n1", "crash", 1),
    (None, "heal", None),
    ("n1", "recover", 3),
    ("n1", "start", 4),
)


def test_a_fault_is_before_the_crash_and_all_that_follows_from_it() -> None:
    trace = trace_of(*CRASH)
    assert vector_clocks(trace) == [{"n1": 1}, {}, {"n1": 2}, {}, {"n1": 3}, {"n1": 4}]
    assert light_cone(trace, 1) == ([], [2, 4, 5])
    assert happens_before(trace, 3, 5)
    assert not happens_before(trace, 1, 3)


def test_a_recovered_node_goes_on_from_its_disk_unless_told_otherwise() -> None:
    trace = trace_of(*CRASH)
    assert happens_before(trace, 0, 5)
    assert not happens_before(trace, 0, 5, forget_at_crash=True)
    assert processes(trace, forget_at_crash=True) == ["n1", None, "n1", None, "n1#2", "n1#2"]
    assert vector_clocks(trace, forget_at_crash=True)[5] == {"n1#2": 2}
    assert light_cone(trace, 5, forget_at_crash=True) == ([3, 4], [])


def test_what_happens_to_the_disk_of_a_node_that_is_down_belongs_to_the_old_incarnation() -> None:
    trace = trace_of(*CRASH[:3], ("n1", "disk", 1), ("n1", "recover", None), ("n1", "start", 4))
    lanes = processes(trace, forget_at_crash=True)
    assert lanes == ["n1", None, "n1", "n1", "n1#2", "n1#2"]


def test_a_node_that_joins_under_an_old_name_is_another_process() -> None:
    trace = trace_of(
        ("n1", "start", None), ("n1", "leave", None), ("n1", "join", None), ("n1", "start", 2)
    )
    assert processes(trace) == ["n1", "n1", "n1#2", "n1#2"]
    assert not happens_before(trace, 0, 3)
    assert vector_clocks(trace)[3] == {"n1#2": 2}


def test_a_node_that_joins_for_the_first_time_keeps_its_name() -> None:
    trace = trace_of(("n1", "join", None), ("n1", "start", 0))
    assert processes(trace) == ["n1", "n1"]


def test_unknown_events_are_refused() -> None:
    trace = trace_of(*SIMPLE)
    for ask in (
        light_cone,
        lambda t, i: happens_before(t, i, 0),
        lambda t, i: happens_before(t, 0, i),
    ):
        with pytest.raises(ValueError, match="ids are 0 to 4"):
            ask(trace, 5)


@pytest.mark.slow
def test_a_hundred_thousand_events() -> None:
    trace = make_trace(Settings(nodes=5, events=100_000, faults=[(9_000, "crash", "n2")]))
    clocks = vector_clocks(trace)
    past, future = light_cone(trace, 50_000)
    a, b = trace.event(10), trace.event(99_999)
    assert len(clocks) == 100_000
    assert all(happens_before(trace, p, 50_000) for p in past[:: len(past) // 4])
    assert len(past) + len(future) < 100_000
    assert a["id"] in light_cone(trace, b["id"])[0]
