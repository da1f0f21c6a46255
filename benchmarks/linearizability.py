"""Judging histories: a key-value store's, registers' with and without zones, recorded ones.

Seconds are also given on the scale of a machine whose bare heapq loop fires 2.0 M events a second,
on which Porcupine (Go) judged the 102 etcd logs of its tests in 0.42 s and its key-value histories
as in ``PORCUPINE``. The recorded histories are other people's data: their rows appear where
``SPLITBRAIN_SHARED_DATA`` names a folder that has them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median

from benchmarks import Row
from benchmarks.engine import bare
from sim.check.linearizable import Budget, Model, analyse, model_for, unpartitioned
from sim.history import History, Operation, read_history

SCALE = 2.0e6  # bare heapq events per second
PORCUPINE = {"c10-ok": 2.2, "c10-bad": 2.8}  # seconds, judged as one object
ETCD_TARGET_S = 0.25  # for the half of the logs
DECIDE = Budget(50_000_000, explain=0)  # as Porcupine does: a verdict without an explanation
ROOT = Path(__file__).resolve().parent.parent


def store(count: int, *, clients: int = 10, keys: int = 10, wrong: bool = False) -> History:
    """What clients see of an atomic key-value store; ``wrong``: but for the last answer."""
    rng = Random(1)
    free = [0] * clients
    planned = []
    for number in range(count):
        client = min(range(clients), key=free.__getitem__)
        start = free[client] + rng.randrange(1, 50)
        moment = start + rng.randrange(500)
        free[client] = end = moment + rng.randrange(500)
        planned.append((moment, number, client, start, end, str(rng.randrange(keys))))
    held: dict[str, str] = {}
    done = []
    for _, number, client, start, end, key in sorted(planned):
        op = rng.choice(("get", "get", "append", "append", "put"))
        value = None if op == "get" else f"{client}.{number};"
        result = held.get(key) if op == "get" else None
        if op != "get":
            held[key] = (held.get(key, "") if op == "append" else "") + (value or "")
        done.append(Operation(number, f"c{client}", start, end, "ok", op, key, value, result))
    if wrong:
        end = max(free)
        answer = held["0"] + "?"
        done.append(Operation(count, "c0", end + 1, end + 2, "ok", "get", "0", None, answer))
    return History.of(done, model="kv")


def register(count: int) -> History:
    """A register used by ten clients at once, every value written once."""
    gets = {"get": "read", "put": "write", "append": "write"}
    held = None
    done = []
    whole = sorted(store(count, keys=1), key=lambda o: o.id)
    rng = Random(2)
    moments = sorted((rng.randint(o.start, o.end or o.start), o.id) for o in whole)
    for _, number in moments:
        o = whole[number]
        op = gets[o.op]
        held = number if op == "write" else held
        given = (number, None) if op == "write" else (None, held)
        done.append(Operation(o.id, o.client, o.start, o.end, "ok", op, None, *given))
    return History.of(done, model="register")


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _judge(histories: list[tuple[History, Model | None, str]]) -> Callable[[], None]:
    def work() -> None:
        for history, model, verdict in histories:
            found = analyse(history, model, DECIDE)
            assert found.result.verdict == verdict, (history.source, found.result)

    return work


def _jobs(smoke: bool) -> dict[str, tuple[Callable[[], None], float | None]]:
    """Name → what to time, and the target on the scale, s."""
    count = 1_000 if smoke else 10_000
    jobs: dict[str, tuple[Callable[[], None], float | None]] = {
        f"kv, {count:,} operations, 10 clients": (_judge([(store(count), None, "ok")]), 1.0),
        f"kv, {count:,}, a wrong answer": (
            _judge([(store(count, wrong=True), None, "violated")]),
            None,
        ),
        f"register, {count:,}, distinct writes: zones": (
            _judge([(register(count), None, "ok")]),
            None,
        ),
    }
    return {**jobs, **_recorded(smoke)}


def _recorded(smoke: bool) -> dict[str, tuple[Callable[[], None], float | None]]:
    shared = os.environ.get("SPLITBRAIN_SHARED_DATA", ROOT.parent / "shared" / "data")
    folder = Path(shared) / "linearizability"
    if not (folder / "verdicts.tsv").exists():
        return {}
    verdicts = {"true": "ok", "false": "violated"}
    lines = (folder / "verdicts.tsv").read_text(encoding="utf-8").splitlines()[1:]
    told = [line.split("\t") for line in lines if line]
    read = {name: (read_history(folder / name), verdicts[yes]) for name, yes in told}
    etcd: list[tuple[History, Model | None, str]] = [
        (h, None, v) for name, (h, v) in read.items() if name.startswith("etcd")
    ]
    jobs: dict[str, tuple[Callable[[], None], float | None]] = {
        f"{len(etcd)} etcd logs": (_judge(etcd), ETCD_TARGET_S)
    }
    for name, (history, verdict) in read.items():
        stem = Path(name).stem
        if name.startswith("kv"):
            jobs[f"{stem}, by key"] = _judge([(history, None, verdict)]), None
        if stem in PORCUPINE and not smoke:
            whole = unpartitioned(model_for(history))
            jobs[f"{stem}, as one object"] = _judge([(history, whole, verdict)]), PORCUPINE[stem]
    return jobs


def run(smoke: bool) -> list[Row]:
    """Rows in seconds; the ratio is the time on the scale over the target, if there is one."""
    jobs = _jobs(smoke)
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(1 if smoke else 3):
        for name, (work, _) in jobs.items():
            speed = bare(1_000, 2_000 if smoke else 20_000)
            seen[name].append((_seconds(work), speed / SCALE))
    return [_row(name, seen[name], jobs[name][1]) for name in jobs]


def _row(name: str, measured: list[tuple[float, float]], target: float | None) -> Row:
    seconds = median(taken for taken, _ in measured)
    scaled = median(taken * speed for taken, speed in measured)
    note = f"{scaled:.3f} s on the scale"
    if target is None:
        return Row(name, seconds, "s", note=note)
    aim = f"≤ {target} s on the scale"
    return Row(name, seconds, "s", scaled / target, "target", aim, scaled <= target, note)
