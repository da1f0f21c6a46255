"""Reading histories: the formats, what is wrong with a file, and any bytes at all."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sim.history import History, HistoryError, Operation, parse_history, read_history
from sim.history.read import detect

JSONL = b"""\
{"splitbrain_history": 1, "model": "kv"}
{"client": "c1", "start": 12, "end": 20, "kind": "ok", "op": "put", "key": "x", "value": [1, 2]}
{"client": "c2", "start": 3, "end": 9, "kind": "ok", "op": "get", "key": "x", "result": null}

{"client": "c3", "start": 15, "end": null, "kind": "info", "op": "delete", "key": "x"}
"""
LOG = b"""\
WARN  something else - entirely
INFO  jepsen.util - 0\t:invoke\t:read\tnil
2024-01-01 12:00:00,000 INFO jepsen.util: 3  :invoke  :cas  [3 0]
INFO  jepsen.util - 0\t:ok\t:read\t7
INFO  jepsen.util - :nemesis\t:info\t:start\tnil
INFO  jepsen.util - 3\t:fail\t:cas\t[3 0]
INFO  jepsen.util - 4\t:invoke\t:write\t5
INFO  jepsen.util - 4\t:info\t:write\t:timed-out
"""
EDN = b"""\
; a comment, with a { in it
[{:process 0, :type :invoke, :f :read, :value nil}
 {:process :nemesis, :type :info, :f :start, :value {:cut #{1 2}}}
 {:process 0, :type :ok, :f :read, :value 3, :time 1.5e9, :error "a \\"b\\" \\u0041"}
 #_{:ignored true}
 #jepsen.history.Op{:index 4, :process 1, :type :invoke, :f :cas, :value [1 2]}
 {:process 1, :type :ok, :f :cas, :value [1 2]}]
"""
KV = b"""\
{:process 0, :type :invoke, :f :append, :key "7", :value "x"}
{:process 1, :type :invoke, :f :get, :key "7", :value nil}
{:process 0, :type :ok, :f :append, :key "7", :value "x"}
{:process 1, :type :ok, :f :get, :key "7", :value ""}
"""


def test_json_lines() -> None:
    history = parse_history(JSONL, "h.jsonl")
    assert (history.model, history.unit, history.source) == ("kv", "us", "h.jsonl")
    assert history.operations == (
        Operation(1, "c2", 3, 9, "ok", "get", "x"),
        Operation(0, "c1", 12, 20, "ok", "put", "x", (1, 2)),
        Operation(2, "c3", 15, None, "info", "delete", "x"),
    )
    assert [operation.line for operation in history] == [3, 2, 5]


def test_the_log_of_a_jepsen_test() -> None:
    history = parse_history(LOG)
    assert history.unit == "event"
    assert history.operations == (
        Operation(0, "0", 0, 2, "ok", "read", None, None, 7),
        Operation(1, "3", 1, 3, "fail", "cas", None, (3, 0)),
        Operation(2, "4", 4, 5, "info", "write", None, 5),
    )
    assert [operation.line for operation in history] == [2, 3, 7]


def test_edn() -> None:
    assert parse_history(EDN).operations == (
        Operation(0, "0", 0, 1, "ok", "read", None, None, 3),
        Operation(1, "1", 2, 3, "ok", "cas", None, (1, 2), True),
    )


def test_the_key_value_histories_of_porcupine() -> None:
    history = parse_history(KV)
    assert (history.model, history.initial) == ("kv", (True, ""))
    assert history.operations == (
        Operation(0, "0", 0, 2, "ok", "append", "7", "x"),
        Operation(1, "1", 1, 3, "ok", "get", "7", None, ""),
    )


def test_independent_keys() -> None:
    edn = b"""
    {:process 0, :type :invoke, :f :write, :value [9 1]} {:process 0, :type :ok, :f :write,
     :value [9 1]} {:process 1, :type :invoke, :f :read, :value [9 nil]}
    {:process 1, :type :ok, :f :read, :value [9 1]}"""
    history = parse_history(edn, keyed=True)
    assert [(o.key, o.value, o.result) for o in history] == [(9, 1, None), (9, None, 1)]
    with pytest.raises(HistoryError, match=r"line 1: field ':value': given None; allowed: \[key"):
        parse_history(b"{:process 0, :type :invoke, :f :read, :value nil}", keyed=True)


@pytest.mark.parametrize(("data", "kind"), [(JSONL, "jsonl"), (LOG, "log"), (EDN, "edn")])
def test_formats_are_told_apart_plain_and_packed(tmp_path: Path, data: bytes, kind: str) -> None:
    assert detect(data) == kind
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data))
    assert read_history(plain).operations == read_history(packed).operations


HEAD = b'{"splitbrain_history": 1}\n'
GOOD = b'{"client": "c", "start": 1, "end": 2, "kind": "ok", "op": "read"}\n'
INVOKE = b"{:process 0, :type :invoke, :f :read, :value nil}\n"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no known format begins with b''; allowed: lines of JSON after"),
        (b"hello", "no known format begins with b'hello'"),
        (HEAD, "there are no operations"),
        (b'{"splitbrain_history": 2}\n', "line 1: field 'splitbrain_history': given 2; allowed: 1"),
        (b'{"splitbrain_history": 1, "x": 2}\n', "line 1: field 'x': there is no such field"),
        (b'{"splitbrain_history": 1, "unit": "s"}', "field 'unit': given 's'; allowed: us, event"),
        (b'{"splitbrain_history": 1, "model": 3}', "line 1: field 'model': given 3"),
        (HEAD + b"{", "line 2: this is not JSON"),
        (HEAD + b"[]", "line 2: given []; allowed: one JSON object per line"),
        (HEAD + GOOD.replace(b'"c"', b"3"), "line 2: field 'client': given 3; allowed: a text"),
        (HEAD + GOOD.replace(b"1", b"1.5"), "line 2: field 'start': given 1.5"),
        (HEAD + GOOD.replace(b"1", b"3"), "line 2: field 'end': operation 0 ends at 2, before"),
        (HEAD + GOOD.replace(b'"ok"', b'"yes"'), "field 'kind': given 'yes'; allowed: ok, fail"),
        (HEAD + GOOD.replace(b', "op": "read"', b""), "line 2: field 'op': it is missing"),
        (HEAD + GOOD.replace(b'"end": 2', b'"end": null'), "line 2: field 'end': operation 0 is"),
        (HEAD + GOOD.replace(b"}", b', "value_": 3}'), "line 2: field 'value_': there is no such"),
        (HEAD + GOOD.replace(b"}", b', "value": ' + b"[" * 70 + b"]" * 70 + b"}"), "too deep"),
        (
            INVOKE + INVOKE,
            "line 2: field 'process': process '0' invokes 'read' while its 'read' of",
        ),
        (INVOKE.replace(b":invoke", b":ok"), "line 1: field 'process': process '0' ends an"),
        (INVOKE + INVOKE.replace(b":invoke, :f :read", b":ok, :f :write"), "ends 'write', but inv"),
        (INVOKE.replace(b":invoke", b":begin"), "line 1: field 'type': unknown type 'begin'"),
        (INVOKE.replace(b":f :read, ", b""), "line 1: field ':f': it is missing"),
        (INVOKE.replace(b":read", b"3"), "line 1: field ':f': given 3; allowed: a keyword"),
        (b"[1 :process]", "line 1: 1 is no event"),
        (b"[" + INVOKE, "line 1: '[' is never closed; allowed: ']'"),
        (b"\n" + INVOKE + b"]", "line 3: ']' closes nothing"),
        (INVOKE.replace(b"}", b"]"), "line 1: ']' closes the '{' of line 1; allowed: '}'"),
        (INVOKE.replace(b" nil", b""), "line 1: a map needs a value for every key"),
        (INVOKE.replace(b"nil", b'"x'), "line 1: cannot read a string that is never closed"),
        (INVOKE.replace(b"nil", b'"\\q"'), "line 1: unknown escape"),
        (INVOKE.replace(b"nil", b"12x"), "line 1: '12x' is neither a number nor a name"),
        (INVOKE.replace(b"nil", b"9" * 5000), "line 1: a number of 5000 digits"),
        (INVOKE.replace(b"nil", b"[" * 70 + b"]" * 70), "line 1: collections are nested too deep"),
        (INVOKE + b"\xff", "line 2: this is not UTF-8"),
        (b"[{:process :nemesis, :type :info, :f :x}]", "there are no operations of clients"),
        (b"jepsen.util hello", "line 1: cannot read 'jepsen.util hello'"),
        (b"\njepsen.util - 0 :invoke :read [3", "line 2: field 'value': '[' is never closed"),
        (b"\x1f\x8bxx", "the gzip data is damaged"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_field(data: bytes, says: str) -> None:
    with pytest.raises(HistoryError) as caught:
        parse_history(data, "some file")
    assert says in str(caught.value)
    assert str(caught.value).startswith("some file")


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(HistoryError, match=r"no/such/file: cannot read it \(No such file"):
        read_history("no/such/file")


def test_a_file_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.history.read.MAX_BYTES", 100)
    with pytest.raises(HistoryError, match="the file is too large"):
        parse_history(gzip.compress(JSONL))


def test_too_many_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.history.events.MAX_OPERATIONS", 1)
    monkeypatch.setattr("sim.history.jsonl.MAX_OPERATIONS", 1)
    for data in (JSONL, LOG, EDN):
        with pytest.raises(HistoryError, match="the history is too long; allowed: 1 operations"):
            parse_history(data)


def parses(data: bytes) -> History | None:
    """The history, or None for a HistoryError; any other exception fails the test."""
    try:
        return parse_history(data, keyed=len(data) % 2 == 0)
    except HistoryError as error:
        assert str(error)
        return None


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([b"", HEAD, b"[:process ", b"jepsen.util - "]))
@example(b"\x1f\x8b\x08\x00", b"")
def test_any_bytes_are_a_history_or_an_error(data: bytes, head: bytes) -> None:
    parses(head + data)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from([JSONL, LOG, EDN, KV]), st.data())
def test_damaged_files_are_a_history_or_an_error(whole: bytes, data: st.DataObject) -> None:
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        piece = data.draw(
            st.one_of(
                st.binary(max_size=3),
                st.sampled_from(
                    [
                        b"[",
                        b"]",
                        b"{",
                        b"}",
                        b"#{",
                        b"#_",
                        b'"',
                        b"nil",
                        b"1e999",
                        b"NaN",
                        b"\\u12",
                        b":",
                        b"\n",
                        b",",
                        b"null",
                        b"true",
                        b"-",
                    ]
                ),
            )
        )
        damaged[at : at + data.draw(st.integers(0, 3))] = piece
        if not damaged:
            return
    parses(bytes(damaged))
