"""Where two traces part, and which input made them part."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sim.trace_diff import MISSING, Difference, Divergence, diff, differences, format_divergence
from sim.trace_read import Trace, parse_trace
from sim.units import format_duration
from tests.sim.synthetic_traces import Model, Settings, make_lines, make_trace, settings, to_lines

QUIET = Settings(events=80, trouble=0.0)


def changed(**changes: Any) -> Trace:
    return make_trace(Settings(**{"events": 80, "trouble": 0.0, **changes}))


def parted(a: Trace, b: Trace) -> Divergence:
    found = diff(a, b)
    assert found is not None
    return found


def delivered(trace: Trace, kind: str = "message") -> dict[str, Any]:
    """Some message of the middle of the trace."""
    return next(e for e in trace.events if e["kind"] == kind and e["id"] > 20)


# -- equal and nearly ---------------------------------------------------------------------------


@given(settings())
def test_a_trace_does_not_differ_from_itself(chosen: Settings) -> None:
    assert diff(make_trace(chosen), make_trace(chosen)) is None
    assert format_divergence(None) == "the traces are the same"


def test_a_prefix_ends_where_the_other_goes_on() -> None:
    whole, prefix = changed(), changed(events=30)
    found = parted(whole, prefix)
    assert (found.at, found.a, found.b) == (30, whole.events[30], None)
    assert found.before == tuple(whole.events[25:30])
    assert found.chain_b == ()
    assert found.chain_a[0] == whole.events[30]
    assert found.reason.startswith("b ends here, a goes on with ")
    assert parted(prefix, whole).reason.startswith("a ends here, b goes on with ")
    assert "in b:\n  has ended" in format_divergence(found)


def test_a_prefix_of_nothing() -> None:
    found = parted(changed(events=0), changed(events=10))
    assert (found.at, found.before) == (0, ())


def test_another_end_only() -> None:
    model = Model(QUIET).run()
    lines = [to_lines(model.header(), model.events, end_us=t) for t in (70_000, 80_000, None)]
    a, b, unfinished = map(parse_trace, lines)
    found = parted(a, b)
    assert found.at is None
    assert found.header == (Difference("end.t", 70_000, 80_000),)
    assert found.reason == "all events are the same"
    assert parted(a, unfinished).header == (Difference("end.t", 70_000, MISSING),)


def test_another_header_only_is_reported_apart() -> None:
    found = parted(changed(), changed(name="other"))
    assert found.at is None
    assert found.header == (Difference("name", "synthetic", "other"),)
    assert "name: 'synthetic' in a, 'other' in b" in format_divergence(found)


def test_the_same_content_in_other_bytes() -> None:
    lines = make_lines(QUIET)[:-1]
    spaced = [lines[0].replace(b'"seed":1', b'"seed": 1'), *lines[1:]]
    found = parted(parse_trace(lines), parse_trace(spaced))
    assert (found.at, found.header) == (None, ())
    assert "in different bytes" in found.reason


# -- the first event ----------------------------------------------------------------------------


@given(settings(), st.data())
def test_the_first_changed_event_is_found_and_no_other(
    chosen: Settings, data: st.DataObject
) -> None:
    model = Model(chosen).run()
    assume(model.events)
    first = data.draw(st.integers(0, len(model.events) - 1))
    other = copy.deepcopy(model.events)
    for event in other[first:]:
        event["mark"] = True
    a, b = (parse_trace(to_lines(model.header(), events)) for events in (model.events, other))
    found = parted(a, b)
    assert (found.at, found.a, found.b) == (first, a.events[first], b.events[first])
    assert found.fields == (Difference("mark", MISSING, True),)
    assert found.before == tuple(a.events[max(0, first - 5) : first])
    assert found.chain_a[0] is a.events[first]


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        (1, 1.0, "value"),
        (1, True, "value"),
        (0.0, -0.0, "value"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "value (order of keys)"),
        ([1], [1, 2], "value[1]"),
        ({"a": {"b": [0, 1]}}, {"a": {"b": [0, 2]}}, "value.a.b[1]"),
        ({"a": None}, {}, "value.a"),
    ],
)
def test_values_are_the_same_only_if_json_writes_them_the_same(
    one: Any, other: Any, path: str
) -> None:
    model = Model(QUIET).run()
    event = next(e for e in model.events if e["kind"] == "operation")
    traces = []
    for value in (one, other):
        event["value"] = value
        traces.append(parse_trace(to_lines(model.header(), model.events)))
    found = parted(*traces)
    assert found.at == event["id"]
    assert [difference.path for difference in found.fields] == [path]


def test_no_difference_of_equal_values() -> None:
    assert differences({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}) == ()


# -- the reason ---------------------------------------------------------------------------------


def test_other_seeds() -> None:
    found = parted(changed(), changed(seed=2))
    assert Difference("seed", 1, 2) in found.header
    assert found.at is not None


def test_a_message_that_takes_longer() -> None:
    a = changed()
    message = delivered(a)
    key = (message["cause"], message["index"])
    b = changed(extra_delay={key: 77})
    found = parted(a, b)
    took_us = message["t"] - a.event(message["cause"])["t"]
    took, longer = format_duration(took_us), format_duration(took_us + 77)
    what = f"{message['value']['$']}(number={message['value']['number']})"
    assert found.a == message
    assert found.reason == (
        f"the arrival of {what} from {message['src']} to {message['node']} came {took} after its "
        f"cause #{message['cause']} in a and {longer} in b"
    )
    assert parted(b, a).reason.endswith(
        f"came {took} after its cause #{message['cause']} in b and {longer} in a"
    )


def test_a_message_that_is_lost() -> None:
    a = changed()
    message = delivered(a)
    b = changed(lost=frozenset({(message["cause"], message["index"])}))
    found = parted(a, b)
    assert found.b is not None
    assert found.b["kind"] == "drop"
    assert found.reason.startswith("the drop of ")
    assert "is at" in found.reason
    assert "in b; in a the message arrives at" in found.reason


def test_an_extra_fault() -> None:
    kept = [(3_000, "clock", "n1")]
    found = parted(changed(faults=kept), changed(faults=[(1_000, "crash", "n2"), *kept]))
    assert found.b is not None
    assert found.b["kind"] == "fault"
    assert "plan[1]" in [difference.path for difference in found.header]
    assert found.reason == (
        "the begin of fault 0 is at 1ms in b and does not come in a: an extra fault (crash n2)"
    )


def test_an_extra_fault_at_the_time_of_another_event_is_the_one_explained() -> None:
    a = changed()
    t = delivered(a)["t"]
    found = parted(a, changed(faults=[(t, "crash", "n1")]))
    assert "an extra fault (crash n1)" in found.reason


def test_a_fault_at_another_time() -> None:
    a, b = (changed(faults=[(t, "crash", "n2")]) for t in (1_500, 1_200))
    assert parted(a, b).reason == "the begin of fault 0 is at 1.2ms in b and at 1.5ms in a"


def edited(change: Callable[[dict[str, Any]], None], kind: str, code: str = "c0de") -> Divergence:
    """The trace against itself with one event changed."""
    model = Model(QUIET).run()
    a = parse_trace(to_lines(model.header(), model.events))
    change(model.events[delivered(a, kind)["id"]])
    b = parse_trace(to_lines({**model.header(), "code": code}, model.events))
    return parted(a, b)


def test_another_draw_of_a_timer() -> None:
    def change(event: dict[str, Any]) -> None:
        event["effects"][0]["after"] += 1

    found = edited(change, "timer")
    assert [difference.path for difference in found.fields] == ["effects[0].after"]
    assert "another duration was drawn for a timer" in found.reason


def test_another_behaviour() -> None:
    def change(event: dict[str, Any]) -> None:
        event["delta"] = {"count": -1}

    assert "the process did something else" in edited(change, "message").reason
    assert "the code differs, and at" in edited(change, "message", code="other").reason


def test_a_corrupted_value() -> None:
    def change(event: dict[str, Any]) -> None:
        event["value"] = {**event["value"], "number": 99}

    assert "brings another value" in edited(change, "message").reason


def test_events_at_the_same_time_in_another_order() -> None:
    model = Model(QUIET).run()
    events = [
        {"id": i, "t": 5, "node": f"n{i + 1}", "kind": "start", "cause": None} for i in range(2)
    ]
    swapped = [{**events[1], "id": 0}, {**events[0], "id": 1}]
    a, b = (parse_trace(to_lines(model.header(), e)) for e in (events, swapped))
    assert (
        parted(a, b).reason
        == "the start of n1 and the start of n2, both at 5us, come in another order"
    )


@given(settings(), settings())
def test_any_two_traces_have_a_divergence_in_words(one: Settings, other: Settings) -> None:
    a, b = make_trace(one), make_trace(other)
    found = diff(a, b)
    told = format_divergence(found, names=("one.jsonl", "other.jsonl"))
    if found is None:
        assert a == b
    elif found.at is not None:
        assert a.events[: found.at] == b.events[: found.at]
        assert a.events[found.at : found.at + 1] != b.events[found.at : found.at + 1]
        assert f"the first different event is #{found.at}: {found.reason}" in told
        assert told.startswith("a is one.jsonl, b is other.jsonl")
