"""Filters, causes and consequences, and events in words."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim.trace_query
from sim.fields import FieldError
from sim.trace_check import KINDS
from sim.trace_query import (
    Filter,
    FilterError,
    consequences,
    format_chain,
    format_event,
    why,
)
from sim.trace_read import Trace
from sim.trace_text import format_value
from tests.sim.synthetic_traces import Settings, make_trace, traces

TRACE = make_trace(
    Settings(
        nodes=3, events=150, trouble=0.8, faults=[(900, "crash", "n2"), (2_000, "leave", "n3")]
    )
)


def selected(text: str) -> list[int]:
    return [event["id"] for event in Filter.parse(text).select(TRACE.events)]


def ids(test: Any) -> list[int]:
    found = [event["id"] for event in TRACE.events if test(event)]
    assert 0 < len(found) < len(TRACE.events)
    return found


# -- causes -----------------------------------------------------------------------------------


def small() -> Trace:
    causes = [None, 0, 0, 1, None, 4, 3]
    events = [
        {"id": i, "t": 1_000 * i, "node": "n1", "kind": "timer", "cause": c, "value": {"$": "Tick"}}
        for i, c in enumerate(causes)
    ]
    return Trace({}, events, "")


def test_why_goes_from_the_event_to_the_root() -> None:
    assert [event["id"] for event in why(small(), 6)] == [6, 3, 1, 0]
    assert [event["id"] for event in why(small(), 0)] == [0]


def test_consequences_are_all_events_with_it_in_their_chain() -> None:
    assert [event["id"] for event in consequences(small(), 0)] == [1, 2, 3, 6]
    assert consequences(small(), 6) == []


@given(traces(), st.data())
def test_consequences_are_the_converse_of_why(trace: Trace, data: st.DataObject) -> None:
    if trace.events:
        number = data.draw(st.integers(0, len(trace.events) - 1))
        chains = {e["id"]: [c["id"] for c in why(trace, e["id"])] for e in trace.events}
        expected = [i for i, chain in chains.items() if number in chain[1:]]
        assert [event["id"] for event in consequences(trace, number)] == expected


def test_unknown_events_are_refused() -> None:
    for ask in (why, consequences):
        with pytest.raises(ValueError, match="no event has the id 7; ids are 0 to 6"):
            ask(small(), 7)


# -- filters ----------------------------------------------------------------------------------


def test_the_empty_filter_selects_everything() -> None:
    assert selected("") == selected("  ") == list(range(len(TRACE.events)))


def test_node_kind_type_source_and_field() -> None:
    assert selected("node=n1,n2") == ids(lambda e: e["node"] in ("n1", "n2"))
    assert selected("kind=drop,message") == ids(lambda e: e["kind"] in ("drop", "message"))
    assert selected("src=n3") == ids(lambda e: e.get("src") == "n3")
    assert selected("field=count") == ids(lambda e: "delta" in e)
    is_ping = ids(lambda e: isinstance(e.get("value"), dict) and e["value"]["$"] == "Ping")
    assert selected("type=Ping") == is_ping


def test_times_and_ids_are_ranges_with_both_ends() -> None:
    t = TRACE.event(60)["t"]
    assert selected(f"t=1ms..{t}us") == ids(lambda e: 1_000 <= e["t"] <= t)
    assert selected(f"t={t}us..") == ids(lambda e: e["t"] >= t)
    assert selected(f"t=..{t}us") == ids(lambda e: e["t"] <= t)
    assert selected("t=0") == ids(lambda e: e["t"] == 0)
    assert selected("id=10..12") == [10, 11, 12]
    assert selected("id=7") == [7]
    assert selected("id=..2") == [0, 1, 2]


def test_text_is_found_in_the_line_for_people_in_any_case() -> None:
    assert selected('text="Destination DOWN"') == ids(
        lambda e: e.get("reason") == "destination down"
    )
    assert selected("text=seen") == ids(lambda e: "Seen(" in format_event(e))


def test_terms_are_all_required_and_can_be_negated() -> None:
    both = ids(lambda e: e["node"] == "n1" and e["kind"] == "message")
    assert selected("node=n1 kind=message") == both
    assert selected("kind=message   node=n1") == both
    assert selected("node!=n1,n2") == ids(lambda e: e["node"] not in ("n1", "n2"))


@given(traces(), st.sampled_from(["node=n1", "kind=drop", "t=1ms..", "text=ping", "type=Pong"]))
def test_a_term_and_its_negation_divide_the_events(trace: Trace, term: str) -> None:
    without = Filter.parse(term.replace("=", "!=", 1))
    for event in trace.events:
        assert Filter.parse(term).matches(event) != without.matches(event)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nod=n1", "given 'nod', allowed: the keys of a filter: node, src, kind, .*mean 'node'"),
        ("kind=drp", "kind: given 'drp', allowed: kinds of events: start, .*did you mean 'drop'"),
        ("node=n1,,n2", "node: given 'n1,,n2', allowed: names with commas in between"),
        ("t=1..2", "t: given '1..2', allowed: a time or a range .*add a unit"),
        ("t=2s..1s", "t: given '2s..1s', allowed: .*the range is empty"),
        ("t=..", "t: given '..', allowed: .*give at least one end"),
        ("t=soon", "t: given 'soon', allowed: a time or a range"),
        ("id=x", "id: given 'x', allowed: an id or a range of ids"),
        ("id=-1", "id: given '-1', allowed: an id"),
        ("ping", "given 'ping', allowed: terms such as .*write text=ping"),
        ("node=", "given 'node=', allowed: terms .*node= needs a value"),
        ('text="no end', 'allowed: terms .*a " is missing'),
        ('node=n1 text="a"b', "given 'text=\"a\"b', allowed: terms"),
    ],
)
def test_a_wrong_filter_says_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        Filter.parse(text)


@given(st.text(alphabet='nodekit=!".,s 1µ\n', max_size=30) | st.text(max_size=20))
def test_any_text_is_a_filter_or_a_filter_error(text: str) -> None:
    try:
        made = Filter.parse(text)
    except FilterError as error:
        assert isinstance(error, FieldError)
    else:
        assert all(made.matches(event) in (True, False) for event in TRACE.events[:5])


def test_the_example_in_the_documentation() -> None:
    assert doctest.testmod(sim.trace_query).failed == 0


# -- words ------------------------------------------------------------------------------------

PING = {"$": "Ping", "number": 1}
AT_N2 = {"id": 7, "t": 150_000, "node": "n2", "cause": 3}
SENT = {**AT_N2, "src": "n1", "index": 0, "value": PING}


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ({**AT_N2, "kind": "start"}, "#7 150ms n2 start"),
        ({**SENT, "kind": "message"}, "#7 150ms n2 message Ping(number=1) from n1"),
        (
            {
                **AT_N2,
                "kind": "timer",
                "value": {"$": "Tick"},
                "delta": {"term": 2, "role": "leader"},
                "effects": [
                    {"send": "n1", "value": PING},
                    {"set": {"$": "Tick"}, "after": 5_000},
                    {"cancel": "t"},
                    {"observe": [1, None]},
                    {"reply": 4, "outcome": "ok", "value": "x"},
                ],
            },
            "#7 150ms n2 timer Tick() | term=2, role=leader | send Ping(number=1) to n1; "
            "set Tick() after 5ms; cancel t; observe [1, None]; reply ok x to 4",
        ),
        (
            {**AT_N2, "kind": "operation", "operation": 4, "value": {"$": "Get", "key": "x"}},
            "#7 150ms n2 operation 4: Get(key=x)",
        ),
        (
            {**SENT, "kind": "drop", "reason": "loss"},
            "#7 150ms n2 drop Ping(number=1) from n1 (loss)",
        ),
        ({**SENT, "kind": "delay", "by": 20}, "#7 150ms n2 delay Ping(number=1) from n1 by 20us"),
        (
            {**SENT, "kind": "duplicate", "by": 20},
            "#7 150ms n2 duplicate Ping(number=1) from n1 20us later",
        ),
        ({**SENT, "kind": "hold"}, "#7 150ms n2 hold Ping(number=1) from n1"),
        (
            {**AT_N2, "kind": "crash", "why": "fault", "lost_writes": 2},
            "#7 150ms n2 crash lost_writes=2 (fault)",
        ),
        ({**AT_N2, "kind": "clock", "by": -300}, "#7 150ms n2 clock by=-300"),
        (
            {
                "id": 0,
                "t": 0,
                "node": None,
                "cause": None,
                "kind": "fault",
                "fault": 1,
                "text": "crash",
            },
            "#0 0s fault 1: crash",
        ),
    ],
)
def test_an_event_in_words(event: dict[str, Any], line: str) -> None:
    assert format_event(event) == line


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"~fields": {"term": 2}}, "(term=2)"),
        ({"~set": {"x": {"=": 1}, "y": {"~": {"~fields": {"a": 2}}}}}, "{x: 1, y: (a=2)}"),
        ({"~set": {}, "~del": ["x"]}, "{-x}"),
        ({"~first": 1, "~from": 3, "~entries": ["a", PING]}, "[from 3: a, Ping(number=1)]"),
        ({"first": 1, "entries": []}, "{first: 1, entries: []}"),
        ({"$": 5}, "{$: 5}"),
        (None, "None"),
        (True, "True"),
        (1.5, "1.5"),
    ],
)
def test_a_value_in_words(value: Any, text: str) -> None:
    assert format_value(value) == text


def test_a_line_stays_one_line_whatever_it_holds() -> None:
    event = {**SENT, "kind": "message", "value": "a\nb\x1b[31m\u2028c\ud800é✓"}
    assert format_event(event) == "#7 150ms n2 message a\\nb\\x1b[31m\\u2028c\\ud800é✓ from n1"


def test_a_long_line_can_be_cut() -> None:
    event = {**SENT, "kind": "message", "value": "x" * 500}
    assert format_event(event, width=30) == "#7 150ms n2 message xxxxxxxxx…"
    assert len(format_event(event)) > 500


def test_values_nested_deeper_than_any_reader_allows_end_in_dots() -> None:
    value: Any = 1
    for _ in range(500):
        value = [value]
    assert "…" in format_value(value)


def test_a_chain_in_words() -> None:
    assert format_chain(why(small(), 3)) == (
        "#3 3ms n1 timer Tick()\n  because #1 1ms n1 timer Tick()\n  because #0 0s n1 timer Tick()"
    )


@given(traces())
def test_every_event_can_be_put_into_one_printable_line(trace: Trace) -> None:
    for event in trace.events:
        line = format_event(event)
        assert line.isprintable()
        assert event["kind"] in KINDS
        assert line.startswith(f"#{event['id']} ")
        assert event["kind"] in line
