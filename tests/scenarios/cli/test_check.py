"""``splitbrain check``: verdicts, exit codes, what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scenarios.cli.conftest import Splitbrain

HEAD = '{"splitbrain_history":1,"model":"register"}\n'
WRITE = '{"client":"a","start":0,"end":10,"kind":"ok","op":"write","value":1}\n'
READ = '{"client":"b","start":20,"end":30,"kind":"ok","op":"read","result":RESULT}\n'


@pytest.fixture
def good(folder: Path) -> Path:
    path = folder / "good.jsonl"
    path.write_text(HEAD + WRITE + READ.replace("RESULT", "1"))
    return path


@pytest.fixture
def bad(folder: Path) -> Path:
    path = folder / "bad.jsonl"
    path.write_text(HEAD + WRITE + READ.replace("RESULT", "2"))
    return path


def test_a_good_history(splitbrain: Splitbrain, good: Path) -> None:
    done = splitbrain("check", good)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "OK: linearizable by model 'register'",
        "  2 operations, 2 returned, 1 object, 0 steps",
    ]


def test_a_bad_history(splitbrain: Splitbrain, bad: Path) -> None:
    done = splitbrain("check", bad)
    assert done.exit_code == 1
    assert "client b: read() → 2   [20 µs, 30 µs]  line 3" in done.stdout
    assert "it could have returned 1" in done.stdout


def test_json(splitbrain: Splitbrain, bad: Path) -> None:
    done = splitbrain("check", bad, "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert (told["schema"], told["model"]) == ("splitbrain.check/1", "register")
    assert told["result"]["verdict"] == "violated"
    assert told["failure"]["operation"]["line"] == 3
    assert told["failure"]["possible"] == [1]
    assert [o["op"] for o in told["failure"]["prefix"]] == ["write"]


def test_a_spent_budget(splitbrain: Splitbrain, folder: Path) -> None:
    lines = [
        f'{{"client":"c{n}","start":0,"end":9,"kind":"ok","op":"write","value":{n % 2}}}\n'
        for n in range(12)
    ]
    (folder / "hard.jsonl").write_text(HEAD + "".join(lines) + READ.replace("RESULT", "5"))
    done = splitbrain("check", "hard.jsonl", "--budget", "50")
    assert done.exit_code == 4
    assert "UNKNOWN: the budget of 50 steps is spent" in done.stdout
    assert splitbrain("check", "hard.jsonl", "--budget", "1min").exit_code == 1


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("nothing", (), "no known format begins with"),
        (HEAD + WRITE.replace('"a"', "1"), (), "line 2: field 'client': given 1"),
        (HEAD + WRITE, ("--model", "kv"), "which model 'kv' does not know"),
        (HEAD + WRITE, ("--model", "register_"), "did you mean 'register'?"),
        (HEAD + WRITE, ("--budget", "lots"), "--budget: given 'lots', allowed: a number of steps"),
        (HEAD + WRITE, ("--budget", "0"), "allowed: at least 1"),
        (HEAD + WRITE, ("--format", "edn"), "line 1: a map needs a value for every key"),
        (
            '{"splitbrain_history":1}\n' + WRITE.replace("write", "add"),
            (),
            "operations (add) may be set or counter; name one",
        ),
    ],
)
def test_bad_input(
    splitbrain: Splitbrain, folder: Path, text: str, options: tuple[str, ...], says: str
) -> None:
    (folder / "some.jsonl").write_text(text)
    done = splitbrain("check", "some.jsonl", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


def test_no_file(splitbrain: Splitbrain) -> None:
    done = splitbrain("check", "nowhere.jsonl")
    assert done.exit_code == 2
    assert "nowhere.jsonl: cannot read it (No such file or directory)" in done.stderr
