"""Reading traces: what is right comes back whole, what is wrong names its line, nothing crashes."""

from __future__ import annotations

import gzip
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim.trace_read as trace_read_module
from sim import faults
from sim.inject import Injector
from sim.latency import Uniform
from sim.trace import Recorder
from sim.trace_check import STEPS
from sim.trace_read import (
    KINDS,
    MAX_DEPTH,
    TraceError,
    iter_events,
    parse_trace,
    read_trace,
)
from tests.sim.synthetic_traces import Model, Settings, make_lines, settings, to_lines
from tests.sim.talkers import Say, mesh, talkers

EVERYTHING = Settings(
    nodes=3,
    events=150,
    trouble=0.8,
    faults=[
        (900, "crash", "n2"),
        (1_500, "clock", "n1"),
        (1_600, "disk", "n1"),
        (2_000, "leave", "n3"),
    ],
)


def header_and_events(**changes: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    model = Model(Settings(**changes)).run()
    return model.header(), model.events


# -- right traces -----------------------------------------------------------------------------


def test_a_trace_comes_back_whole() -> None:
    model = Model(EVERYTHING).run()
    lines = to_lines(model.header(), model.events, end_us=90_000)
    trace = parse_trace(lines)
    assert trace.header == model.header()
    assert trace.events == model.events
    assert trace.digest == json.loads(lines[-1])["end"]["digest"]
    assert trace.end_us == 90_000
    assert trace.nodes == ("n1", "n2", "n3")


def test_the_synthetic_system_shows_every_kind_it_can() -> None:
    model = Model(EVERYTHING).run()
    assert {e["kind"] for e in model.events} == set(KINDS) - {"pause", "resume"}


@given(settings())
def test_every_synthetic_trace_can_be_read(chosen: Settings) -> None:
    model = Model(chosen).run()
    assert parse_trace(to_lines(model.header(), model.events)).events == model.events


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "misnamed.jsonl"])
def test_files_are_read_plain_or_packed_whatever_their_name(tmp_path: Path, name: str) -> None:
    data = b"".join(make_lines(EVERYTHING))
    path = tmp_path / name
    path.write_bytes(data if name == "t.jsonl" else gzip.compress(data, mtime=0))
    trace = read_trace(path)
    assert trace == read_trace(str(path)) == parse_trace(make_lines(EVERYTHING))
    assert list(iter_events(path)) == trace.events


def test_the_end_line_may_be_missing_and_its_line_end_too() -> None:
    lines = make_lines()
    trace = parse_trace(lines)
    unfinished = parse_trace(lines[:-1])
    assert unfinished.end_us is None
    assert (unfinished.events, unfinished.digest) == (trace.events, trace.digest)
    assert parse_trace([*lines[:-1], lines[-1].rstrip(b"\n")]) == trace


def test_a_trace_may_have_no_events() -> None:
    trace = parse_trace(make_lines(events=0))
    assert (trace.events, trace.end_us) == ([], 0)
    with pytest.raises(ValueError, match="the trace has no events"):
        trace.event(0)


def test_unknown_extra_fields_are_kept() -> None:
    header, events = header_and_events()
    header["note"] = events[0]["note"] = "anything"
    trace = parse_trace(to_lines(header, events))
    assert trace.header["note"] == trace.event(0)["note"] == "anything"


def test_an_unknown_id_names_the_ids_there_are() -> None:
    trace = parse_trace(make_lines(events=10))
    for number in (-1, 10, "3", True, 10**30):
        with pytest.raises(ValueError, match="ids are 0 to 9"):
            trace.event(number)  # type: ignore[arg-type]


def test_what_the_recorder_of_the_simulator_writes_can_be_read(tmp_path: Path) -> None:
    cluster = talkers(mesh(3, Uniform(1_000, 9_000), loss=0.2, duplicate=0.2, corrupt=0.2))
    header = Model(Settings()).header()
    recorder = Recorder({name: header[name] for name in header if name != "splitbrain_trace"})
    cluster.record(recorder)
    crash = faults.Crash(at_us=150_000, until_us=350_000, targets=(faults.Target("node", "n2"),))
    Injector(cluster, [crash])
    cluster.start()
    cluster.invoke("n1", Say("hello"))
    cluster.run_until(500_000)
    recorder.write(tmp_path / "run.jsonl.gz", cluster.now)
    trace = read_trace(tmp_path / "run.jsonl.gz")
    assert trace.events == recorder.events()
    assert (trace.digest, trace.end_us) == (recorder.digest, 500_000)
    told = {event["kind"] for event in trace.events}
    assert {*STEPS, "drop", "duplicate", "fault", "crash", "heal", "recover"} <= told


# -- wrong files ------------------------------------------------------------------------------


def error_of(data: bytes, tmp_path: Path, name: str = "t.jsonl") -> TraceError:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    with pytest.raises(TraceError) as streamed:
        list(iter_events(path))
    assert str(streamed.value) == str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert str(path) in str(caught.value)
    return caught.value


def test_an_empty_file(tmp_path: Path) -> None:
    error = error_of(b"", tmp_path)
    assert "the trace is empty" in str(error)
    assert "allowed: a header, events and an end line" in str(error)


def test_a_missing_file_and_a_folder_are_trace_errors(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"cannot open the trace.*give the path"):
        read_trace(tmp_path / "none.jsonl")
    with pytest.raises(TraceError, match="cannot open the trace"):
        read_trace(tmp_path)
    with pytest.raises(TraceError, match="cannot open the trace"):
        list(iter_events("a\0b"))


def test_truncated_gzip(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(make_lines()), mtime=0)
    for size in range(10, len(packed), 37):
        assert "cut off" in str(error_of(packed[:size], tmp_path, "t.jsonl.gz"))


def test_damaged_gzip(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"".join(make_lines()), mtime=0))
    packed[-6] ^= 255  # the checksum
    error = error_of(bytes(packed), tmp_path, "t.jsonl.gz")
    assert "the gzip data is damaged" in str(error)
    garbage = b"\x1f\x8b" + bytes(range(200))
    assert "gzip data is damaged" in str(error_of(garbage, tmp_path))


def test_garbage_and_text_are_no_trace(tmp_path: Path) -> None:
    assert "line 1: the line is not JSON" in str(error_of(b"hello\nworld\n", tmp_path))
    assert "line 1: the line is not JSON" in str(error_of(b"\xff\xfe\x00garbage", tmp_path))
    error = error_of(b'{"some": "json"}\n', tmp_path)
    assert "is this file a trace?" in str(error)
    assert "given an object of 1" in str(error)


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    lines = make_lines(name="café")
    latin = b"".join(lines).replace(b"caf\\u00e9", "café".encode("latin-1"))
    error = error_of(latin, tmp_path)
    assert "UTF-8" in str(error)
    assert error.line == 1


def test_a_last_line_that_is_cut_off(tmp_path: Path) -> None:
    lines = make_lines(events=5)
    whole = b"".join(lines[:5])
    for cut in (1, 20, len(lines[5]) - 1):
        error = error_of(whole + lines[5][:cut], tmp_path)
        assert "the last line is cut off" in str(error)
        assert error.line == 6


def test_a_line_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_read_module, "MAX_LINE_BYTES", 1_000)
    header, events = header_and_events(events=3)
    events[2]["text"] = "x" * 5_000
    error = error_of(b"".join(to_lines(header, events)), tmp_path)
    assert "the line is too long" in str(error)
    assert "at most 1000 bytes" in str(error)
    assert error.line == 4


@pytest.mark.parametrize("depth", [MAX_DEPTH - 1, MAX_DEPTH, 700, 100_000])
def test_values_may_be_nested_only_so_deep(depth: int) -> None:
    line = make_lines(events=1)[1].replace(
        b"}\n", b', "more": %b}\n' % (b"[" * depth + b"]" * depth)
    )
    lines = [make_lines(events=1)[0], line]
    if depth < MAX_DEPTH:  # the event itself is one more
        assert parse_trace(lines).event(0)["more"]
    else:
        with pytest.raises(TraceError, match=r"line 2: .*nested too deep.*at most 100"):
            parse_trace(lines)


def test_a_wide_line_is_not_a_deep_one() -> None:
    header, events = header_and_events(events=1)
    events[0]["more"] = [[]] * 1_000
    assert parse_trace(to_lines(header, events)).event(0)["more"] == [[]] * 1_000


# -- wrong content ----------------------------------------------------------------------------


def broken_header(**changes: Any) -> TraceError:
    header, events = header_and_events()
    header.update(changes)
    header = {name: value for name, value in header.items() if value is not ...}
    with pytest.raises(TraceError) as caught:
        parse_trace(to_lines(header, events), "t.jsonl")
    assert caught.value.line == 1
    return caught.value


@pytest.mark.parametrize(
    ("field", "value", "given_text", "allowed"),
    [
        ("splitbrain_trace", 2, "2", "1; read it with a newer splitbrain"),
        ("splitbrain_trace", True, "true", "1; record the run again"),
        ("splitbrain_trace", 1.0, "1.0", "1"),
        ("version", 3, "3", "a text"),
        ("scenario", [], "a list of 0", "an object or null"),
        ("scenario", ..., "nothing", "an object or null"),
        ("name", None, "null", "a text"),
        ("seed", "7", "'7'", "a whole number"),
        ("seed", ..., "nothing", "a whole number"),
        ("seed", True, "true", "a whole number"),
        ("nodes", ["n1", "n1"], "a list of 2", "a list of different names"),
        ("nodes", ["n1", 2], "a list of 2", "a list of different names"),
        ("parameters", None, "null", "an object"),
        ("plan", ["crash"], "a list of 1", "a list of objects"),
        ("code", 1, "1", "a text"),
    ],
)
def test_a_wrong_header_names_the_field(
    field: str, value: Any, given_text: str, allowed: str
) -> None:
    error = broken_header(**{field: value})
    assert error.field == field
    told = f"{error.problem}, field '{field}', given {given_text}, allowed: {allowed}"
    assert str(error).startswith(f"t.jsonl, line 1: {told}")


def broken_event(kind: str, /, **changes: Any) -> TraceError:
    """Change fields of the first event of that kind (... takes one away)."""
    model = Model(EVERYTHING).run()
    events = model.events
    event = next(e for e in events if e["kind"] == kind and e["id"] > 5)
    event.update(changes)
    for name in [name for name, value in event.items() if value is ...]:
        del event[name]
    number = events.index(event)
    with pytest.raises(TraceError) as caught:
        parse_trace(to_lines(model.header(), events))
    assert caught.value.line == number + 2
    return caught.value


@pytest.mark.parametrize(
    ("kind", "field", "value", "allowed"),
    [
        ("timer", "id", 3, "ids count the events from 0 without gaps"),
        ("timer", "id", ..., "ids count"),
        ("timer", "id", "6", "ids count"),
        ("timer", "t", 0, "the time of the event before"),
        ("timer", "t", 1.5e9, "a whole number of µs"),
        ("timer", "t", True, "a whole number of µs"),
        ("timer", "kind", "tmer", "did you mean 'timer'?"),
        ("timer", "kind", ..., "start, message, timer"),
        ("timer", "kind", ["timer"], "start, message, timer"),
        ("timer", "node", None, "the name of a node"),
        ("timer", "node", "", "the name of a node"),
        ("fault", "node", "n1", "null"),
        ("heal", "node", ..., "null"),
        ("timer", "cause", 10**9, "the id of an earlier event"),
        ("timer", "cause", -1, "or null"),
        ("timer", "cause", ..., "or null"),
        ("timer", "cause", False, "or null"),
        ("timer", "value", ..., "any value"),
        ("timer", "delta", [], "an object"),
        ("timer", "effects", {}, "a list of objects"),
        ("timer", "effects", [1], "a list of objects"),
        ("message", "src", None, "a text"),
        ("message", "index", -1, "a whole number, at least 0"),
        ("drop", "reason", ..., "a text"),
        ("delay", "by", ..., "a whole number, at least 0"),
        ("duplicate", "by", "40", "a whole number, at least 0"),
        ("operation", "operation", "get", "a whole number, at least 0"),
        ("fault", "fault", None, "a whole number, at least 0"),
        ("fault", "text", 1, "a text"),
    ],
)
def test_a_wrong_event_names_line_field_and_what_is_allowed(
    kind: str, field: str, value: Any, allowed: str
) -> None:
    error = broken_event(kind, **{field: value})
    assert error.field == field
    assert "given " in str(error)
    assert allowed in str(error)


@pytest.mark.parametrize(
    ("effect", "field", "allowed"),
    [
        ({}, "effects[0]", "exactly one of send, set, cancel, observe, reply"),
        ({"send": "n1", "set": 1}, "effects[0]", "exactly one of"),
        ({"send": "n1"}, "effects[0].value", "any value"),
        ({"send": 1, "value": 1}, "effects[0].send", "a text"),
        ({"set": 1, "after": -5}, "effects[0].after", "at least 0"),
        ({"set": 1}, "effects[0].after", "at least 0"),
        ({"reply": 1, "outcome": "maybe", "value": 1}, "effects[0].outcome", "ok, fail or info"),
        ({"reply": "c1", "outcome": "ok", "value": 1}, "effects[0].reply", "at least 0"),
    ],
)
def test_a_wrong_effect_is_named(effect: dict[str, Any], field: str, allowed: str) -> None:
    error = broken_event("timer", effects=[effect])
    assert error.field == field
    assert allowed in str(error)


def test_a_timer_is_caused_by_a_step_of_its_own_node() -> None:
    model = Model(EVERYTHING).run()
    foreign = next(e["id"] for e in model.events if e["node"] == "n2" and e["kind"] == "start")
    error = broken_event("timer", node="n1", cause=foreign)
    assert "a step of 'n2', allowed: the step of 'n1' that set the timer" in str(error)


@pytest.mark.parametrize("kind", ["message", "drop", "duplicate", "delay", "hold", "corrupt"])
def test_a_message_is_caused_by_a_step_of_its_sender(kind: str) -> None:
    error = broken_event(kind, src="n9")
    assert error.field == "cause"
    assert "allowed: the step of 'n9' that sent the message, or null" in str(error)


def test_the_cause_of_a_message_is_a_step() -> None:
    fault = next(e["id"] for e in Model(EVERYTHING).run().events if e["kind"] == "fault")
    model = Model(EVERYTHING).run()
    late = next(e for e in model.events if e["kind"] == "message" and e["id"] > fault)
    late["cause"] = fault
    with pytest.raises(TraceError, match=f"given {fault}, no step"):
        parse_trace(to_lines(model.header(), model.events))


def test_a_lost_line_and_a_repeated_line_are_noticed() -> None:
    lines = make_lines()
    with pytest.raises(TraceError, match=r"line 5: .*'id', given 4, allowed: 3"):
        parse_trace(lines[:4] + lines[5:])
    with pytest.raises(TraceError, match=r"line 5: .*'id', given 2, allowed: 3"):
        parse_trace([*lines[:4], *lines[3:]])


def test_an_event_that_is_no_object_and_an_empty_line() -> None:
    lines = make_lines()
    with pytest.raises(TraceError, match="line 2: not an event, given a list of 0"):
        parse_trace([lines[0], b"[]\n"])
    with pytest.raises(TraceError, match="line 2: the line is not JSON"):
        parse_trace([lines[0], b"\n"])


@pytest.mark.parametrize(
    ("end", "field", "hint"),
    [
        (None, "end", "an object"),
        ({}, "end.t", "at least 0"),
        ({"t": 0, "events": 20, "digest": "x"}, "end.t", "the time of the last event"),
        ({"t": 10**9, "events": 19, "digest": "x"}, "end.events", "lines were lost or added"),
        ({"t": 10**9, "events": 20, "digest": "x"}, "end.digest", "changed after it was recorded"),
        ({"t": 10**9, "events": 20, "digest": 5}, "end.digest", "a text"),
    ],
)
def test_a_wrong_end_line(end: Any, field: str, hint: str) -> None:
    lines = make_lines(events=20)[:-1]
    with pytest.raises(TraceError) as caught:
        parse_trace([*lines, json.dumps({"end": end}).encode() + b"\n"])
    assert (caught.value.field, caught.value.line) == (field, 22)
    assert hint in str(caught.value)


def test_other_line_endings_change_the_digest() -> None:
    windows = [line.replace(b"\n", b"\r\n") for line in make_lines()]
    with pytest.raises(TraceError, match="other line endings"):
        parse_trace(windows)


def test_two_traces_in_one_file() -> None:
    with pytest.raises(TraceError, match="two traces in one file"):
        parse_trace(make_lines() + make_lines())


def test_a_trace_error_survives_pickling() -> None:
    error = broken_header(seed=None)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, again.field) == (str(error), 1, "seed")


# -- anything at all --------------------------------------------------------------------------


class Mutations:
    """Random damage to the bytes or to the values of a trace."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def bytes(self, data: bytes) -> bytes:
        rng = self.rng
        start = rng.randrange(len(data))
        stop = min(len(data), start + rng.randrange(60))
        return rng.choice(
            [
                data[:start],
                data[start:],
                data[:start] + data[stop:],
                data[:start] + data[start:stop] + data[start:],
                data[:start] + rng.randbytes(rng.randrange(1, 9)) + data[start:],
                data[:start] + bytes([rng.randrange(256)]) + data[start + 1 :],
            ]
        )

    def value(self) -> Any:
        strange: list[Any] = [
            None,
            True,
            -1,
            0,
            3,
            10**30,
            1.5,
            "",
            "n1",
            "ok",
            "\x00",
            [],
            {},
            [{}],
            {"$": 1},
        ]
        return self.rng.choice(strange)

    def line(self, line: dict[str, Any]) -> None:
        name = self.rng.choice(list(line))
        inner = line[name]
        if isinstance(inner, list) and inner and self.rng.random() < 0.5:
            inner = self.rng.choice(inner)
        if isinstance(inner, dict) and inner and self.rng.random() < 0.7:
            self.line(inner)
        elif self.rng.random() < 0.3:
            del line[name]
        else:
            line[name] = self.value()


def readable_or_trace_error(data: bytes, folder: Path) -> bool:
    path = folder / "fuzz"
    path.write_bytes(data)
    try:
        trace = read_trace(path)
    except TraceError as error:
        assert str(error).isprintable()
        return False
    assert [e["id"] for e in trace.events] == list(range(len(trace.events)))
    return True


@given(settings(30), st.integers(0, 2**32), st.booleans())
def test_damaged_bytes_give_a_trace_or_a_trace_error(
    tmp_path_factory: pytest.TempPathFactory, chosen: Settings, seed: int, packed: bool
) -> None:
    data = b"".join(make_lines(chosen))
    mutations = Mutations(random.Random(seed))
    folder = tmp_path_factory.getbasetemp()
    for _ in range(5):
        damaged = mutations.bytes(gzip.compress(data, mtime=0) if packed else data)
        readable_or_trace_error(damaged, folder)


@given(settings(30), st.integers(0, 2**32))
def test_damaged_values_give_a_trace_or_a_trace_error(
    tmp_path_factory: pytest.TempPathFactory, chosen: Settings, seed: int
) -> None:
    mutations = Mutations(random.Random(seed))
    folder = tmp_path_factory.getbasetemp()
    for _ in range(5):
        model = Model(chosen).run()
        header = model.header()
        mutations.line(mutations.rng.choice([header, *model.events]))
        data = b"".join(to_lines(header, model.events, end_us=None))
        readable_or_trace_error(data, folder)


@given(st.binary(max_size=300))
def test_any_bytes_give_a_trace_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    assert not readable_or_trace_error(data, tmp_path_factory.getbasetemp())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@given(st.lists(JSON, max_size=3))
def test_any_json_after_a_header_gives_a_trace_or_a_trace_error(values: list[Any]) -> None:
    lines = [make_lines(events=0)[0], *(json.dumps(value).encode() + b"\n" for value in values)]
    try:
        assert parse_trace(lines).events == []
    except TraceError as error:
        assert error.line == 2
