"""Fault plans: what is read, what is refused and how; writing and reading are opposites."""

from __future__ import annotations

import io
import pickle
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from sim.faults import (
    FAULTS,
    NAMES,
    ClockDrift,
    ClockOffset,
    ClockStep,
    Crash,
    CrashLoop,
    Disk,
    DiskKind,
    Fault,
    Hold,
    Link,
    Partition,
    Pause,
    Recover,
    Release,
    Resume,
    Slow,
    Target,
)
from sim.fields import FieldErrors
from sim.nemesis import EXCLUDED_FROM_LIVENESS, parse_nemesis
from sim.plan import Plan, describe, parse_plan, plan_schema, to_values

S = 1_000_000
MS = 1_000
NODES = ("n1", "n2", "n3", "n4", "n5")
SETTING: dict[str, Any] = {
    "nodes": NODES,
    "roles": ("leader", "follower"),
    "racks": ("r1", "r2"),
    "zones": ("z1",),
    "regions": ("Dallas",),
    "duration_us": 60 * S,
}
N1 = (Target("node", "n1"),)
N2 = (Target("node", "n2"),)
ALL = (Target("all"),)
LEADER = (Target("role", "leader"),)


def load(text: str) -> Any:
    return YAML(typ="safe").load(text)


def read(line: str, **setting: Any) -> Fault:
    (fault,) = parse_plan([load(line)], **SETTING | setting)
    return fault


def mistakes(*lines: str, **setting: Any) -> dict[tuple[str | int, ...], str]:
    with pytest.raises(FieldErrors) as raised:
        parse_plan([load(line) for line in lines], **SETTING | setting)
    return {error.path: str(error) for error in raised.value.errors}


# -- every form -----------------------------------------------------------------------------------

WINDOW: dict[str, Any] = {"at_us": 5 * S, "until_us": 15 * S}
FORMS: list[tuple[str, Fault]] = [
    (
        "{at: 5s, until: 15s, partition: [[n1], [n2, leader]]}",
        Partition(**WINDOW, groups=(N1, N2 + LEADER)),
    ),
    (
        "{at: 5s, for: 10s, partition: {from: n1, to: [n2, n3]}}",
        Partition(**WINDOW, shape="one_way", groups=(N1, (*N2, Target("node", "n3")))),
    ),
    (
        "{at: 5s, for: 10s, partition: {isolate: leader}, keep_in_flight: true}",
        Partition(**WINDOW, shape="isolate", groups=(LEADER,), keep_in_flight=True),
    ),
    (
        "{at: 5s, for: 10s, partition: {majority: n1}}",
        Partition(**WINDOW, shape="majority", groups=(N1,)),
    ),
    (
        "{at: 5s, for: 10s, partition: {minority: leader}}",
        Partition(**WINDOW, shape="minority", groups=(LEADER,)),
    ),
    (
        "{at: 5s, for: 10s, partition: {bridge: n1}}",
        Partition(**WINDOW, shape="bridge", groups=(N1,)),
    ),
    ("{at: 5s, for: 10s, partition: ring}", Partition(**WINDOW, shape="ring")),
    ("{at: 5s, for: 10s, partition: halves}", Partition(**WINDOW, shape="halves")),
    ("{at: 5s, for: 10s, partition: bridge}", Partition(**WINDOW, shape="bridge")),
    ("{at: 5s, crash: n1}", Crash(at_us=5 * S, targets=N1)),
    ("{at: 5s, for: 10s, crash: leader}", Crash(**WINDOW, targets=LEADER)),
    ("{at: 0, crash: n1, escape: 0}", Crash(at_us=0, targets=N1, escape=0)),
    ("{at: 9s, recover: [n1, n2]}", Recover(at_us=9 * S, targets=N1 + N2)),
    (
        "{at: 5s, for: 10s, crash_loop: n1, up: 2s, down: 1s}",
        CrashLoop(**WINDOW, targets=N1, up_us=2 * S, down_us=S),
    ),
    ("{at: 5s, for: 10s, pause: n1}", Pause(**WINDOW, targets=N1)),
    ("{at: 8s, resume: all}", Resume(at_us=8 * S, targets=ALL)),
    ("{at: 5s, for: 10s, slow: n2, factor: 20}", Slow(**WINDOW, targets=N2, factor=20)),
    (
        "{at: 5s, clock_offset: n1, by: -100ms}",
        ClockOffset(at_us=5 * S, targets=N1, by_us=-100 * MS),
    ),
    (
        "{at: 5s, for: 10s, clock_drift: n1, ppm: -200}",
        ClockDrift(**WINDOW, targets=N1, ppm=-200),
    ),
    ("{at: 5s, clock_step: n1, by: 1s}", ClockStep(at_us=5 * S, targets=N1, by_us=S)),
    (
        "{at: 5s, for: 10s, link: {from: n1, to: n2}, loss: 10%, delay: 50ms, jitter: 5ms, "
        "duplicate: 5%, corrupt: 1%, corrupt_mode: deliver, reorder: 0.1, reorder_by: 20ms, "
        "both: false}",
        Link(
            **WINDOW,
            src=N1,
            dst=N2,
            both=False,
            loss=0.1,
            delay_us=50 * MS,
            jitter_us=5 * MS,
            duplicate=0.05,
            corrupt=0.01,
            corrupt_mode="deliver",
            reorder=0.1,
            reorder_us=20 * MS,
        ),
    ),
    ("{at: 5s, link: all, loss: 1%}", Link(at_us=5 * S, src=ALL, dst=ALL, loss=0.01)),
    ("{at: 5s, link: n1, delay: 1ms}", Link(at_us=5 * S, src=N1, dst=ALL, delay_us=MS)),
    ("{at: 5s, for: 10s, hold: {from: n1, to: n2}}", Hold(**WINDOW, src=N1, dst=N2)),
    ("{at: 8s, release: all}", Release(at_us=8 * S)),
    (
        "{at: 5s, for: 10s, disk: n1, fault: lose-unsynced}",
        Disk(**WINDOW, targets=N1, kind="lose-unsynced"),
    ),
    (
        "{at: 5s, for: 10s, disk: n1, fault: slow, delay: 20ms}",
        Disk(**WINDOW, targets=N1, kind="slow", delay_us=20 * MS),
    ),
    (
        "{at: 5s, disk: n1, fault: corrupt, detected: false}",
        Disk(at_us=5 * S, targets=N1, kind="corrupt", detected=False),
    ),
    ("{at: 5s, for: 10s, disk: n1, fault: corrupt}", Disk(**WINDOW, targets=N1, kind="corrupt")),
    (
        "{at: 5s, link: n1, duplicate: 1%, reorder_by: 1ms}",
        Link(at_us=5 * S, src=N1, dst=ALL, duplicate=0.01, reorder_us=MS),
    ),
]


@pytest.mark.parametrize(("line", "fault"), FORMS)
def test_each_form_is_read_as_its_fault_and_written_so_that_it_is_again(
    line: str, fault: Fault
) -> None:
    assert read(line) == fault
    assert parse_plan(to_values(Plan((fault,))), **SETTING) == Plan((fault,))


def test_every_fault_word_is_among_the_forms() -> None:
    assert {NAMES[type(fault)] for _, fault in FORMS} == set(FAULTS)


@pytest.mark.parametrize(
    ("target", "kind", "name", "count"),
    [
        ("n1", "node", "n1", 1),
        ("leader", "role", "leader", 1),
        ("{role: leader}", "role", "leader", 1),
        ("{rack: r1}", "rack", "r1", 1),
        ("{zone: z1}", "zone", "z1", 1),
        ("{zone: Dallas/z1}", "zone", "Dallas/z1", 1),
        ("{region: Dallas}", "region", "Dallas", 1),
        ("{random: 2}", "random", "", 2),
        ("all", "all", "", 1),
    ],
)
def test_each_target(target: str, kind: Any, name: str, count: int) -> None:
    fault = read(f"{{at: 5s, crash: {target}}}")
    assert isinstance(fault, Crash)
    assert fault.targets == (Target(kind, name, count),)


def test_without_roles_a_word_is_a_role_unless_it_looks_like_a_node() -> None:
    assert read("{at: 5s, crash: queen}", roles=None) == Crash(
        at_us=5 * S, targets=(Target("role", "queen"),)
    )
    assert mistakes("{at: 5s, crash: n12}", roles=None)[0, "crash"].startswith(
        "[0].crash: given 'n12', allowed: a node or all: n1, n2"
    )


def test_a_name_that_is_a_node_is_a_node_and_no_role() -> None:
    assert read("{at: 0, crash: n1}", roles=("n1",)) == Crash(at_us=0, targets=N1)
    assert (0, "crash", "role") in mistakes("{at: 0, crash: {role: n1}}", roles=("n1",))
    assert (0, "crash", "role") in mistakes("{at: 0, crash: {role: all}}", roles=None)


def test_no_list_is_an_empty_plan() -> None:
    assert parse_plan(None, **SETTING) == parse_plan([], **SETTING) == Plan()
    with pytest.raises(FieldErrors, match="a list of faults"):
        parse_plan({"at": "5s", "crash": "n1"}, **SETTING)


# -- every mistake --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "path", "says"),
    [
        ("{at: 5s, crahs: n1}", ("crahs",), "did you mean 'crash'?"),
        ("{at: 5s, kill: n1}", ("kill",), "did you mean 'crash'?"),
        ("{at: 5s, heal: all}", ("heal",), "heals at its until"),
        ("{at: 5s, zzz: n1}", ("zzz",), "a fault: crash, recover, crash_loop, pause"),
        ("{at: 5s, crash: n1, pause: n2}", (), "one fault in a line"),
        ("{at: 5s, loss: 3%}", (), "loss stands beside link"),
        ("{at: 5s, by: 3s}", (), "by stands beside clock_offset or clock_step"),
        ("{at: 5s}", (), "a line with a fault"),
        ("crash", (), "a mapping such as"),
        ("{crash: n1}", ("at",), "add this key"),
        ("{at: 5, crash: n1}", ("at",), 'add a unit: "5ms"'),
        ("{at: -5s, crash: n1}", ("at",), "must not be negative"),
        ("{at: 61s, crash: n1}", ("at",), "at most the duration of the run, 1m"),
        ("{at: 5s, until: 9s, for: 4s, crash: n1}", ("for",), "for or until, not both"),
        ("{at: 5s, until: 5s, crash: n1}", ("until",), "a moment after at, 5s"),
        ("{at: 5s, until: 3s, crash: n1}", ("until",), "a moment after at, 5s"),
        ("{at: 5s, for: 0s, crash: n1}", ("for",), "above 0"),
        ("{at: 5s, for: -1s, crash: n1}", ("for",), "must not be negative"),
        ("{at: 5s, until: 9s, recover: n1}", ("until",), "recover happens at one moment"),
        ("{at: 5s, for: 9s, clock_step: n1, by: 1s}", ("for",), "happens at one moment"),
        ("{at: 5s, crash: n1, factor: 2}", ("factor",), "the keys of crash: at, until, for, "),
        ("{at: 5s, crash: n9}", ("crash",), "a node, a role or all: n1, n2, n3, n4, n5, leader"),
        ("{at: 5s, crash: leadr}", ("crash",), "did you mean 'leader'?"),
        ("{at: 5s, crash: {role: king}}", ("crash", "role"), "a role: leader, follower"),
        ("{at: 5s, crash: {rack: r9}}", ("crash", "rack"), "a rack of the topology: r1, r2"),
        ("{at: 5s, crash: {zone: z9}}", ("crash", "zone"), "a zone of the topology: z1"),
        ("{at: 5s, crash: {zone: Oslo/z1}}", ("crash", "zone"), "a zone of the topology"),
        ("{at: 5s, crash: {region: Oslo}}", ("crash", "region"), "topology: Dallas"),
        ("{at: 5s, crash: {rakc: r1}}", ("crash",), "did you mean 'rack'?"),
        ("{at: 5s, crash: {rack: r1, zone: z1}}", ("crash",), "exactly one of"),
        ("{at: 5s, crash: {rack: [r1]}}", ("crash", "rack"), "the name of a rack"),
        ("{at: 5s, crash: {random: 6}}", ("crash", "random"), "at least 1 and at most 5"),
        ("{at: 5s, crash: {random: two}}", ("crash", "random"), "a whole number"),
        ("{at: 5s, crash: []}", ("crash",), "at least one target"),
        ("{at: 5s, crash: [n1, n1]}", ("crash", 1), "each target once"),
        ("{at: 5s, crash: [n1, n9]}", ("crash", 1), "given 'n9'"),
        ("{at: 5s, crash: 7}", ("crash",), "given 7"),
        ("{at: 5s, crash: n1, escape: -1}", ("escape",), "at least 0"),
        ("{at: 5s, crash: n1, escape: true}", ("escape",), "a whole number"),
        ("{at: 5s, crash_loop: n1, up: 2s}", ("down",), "add this key"),
        ("{at: 5s, crash_loop: n1, up: 2s, down: 0s}", ("down",), "above 0"),
        ("{at: 5s, slow: n1}", ("factor",), "add this key"),
        ("{at: 5s, slow: n1, factor: 2.5}", ("factor",), "a whole number, at least 1"),
        ("{at: 5s, clock_offset: n1}", ("by",), "add this key"),
        ("{at: 5s, clock_drift: n1, ppm: -1000000}", ("ppm",), "at least -999999"),
        ("{at: 5s, partition: [n1, n2]}", ("partition",), "each group is a list"),
        ("{at: 5s, partition: []}", ("partition",), "groups such as"),
        ("{at: 5s, partition: [[n1], []]}", ("partition", 1), "at least one target"),
        ("{at: 5s, partition: [[n1, n2], [n2]]}", ("partition", 1), "in one group only"),
        ("{at: 5s, partition: isolate}", ("partition",), "write {isolate: n1}"),
        ("{at: 5s, partition: star}", ("partition",), "one of ring, halves, bridge"),
        ("{at: 5s, partition: {star: n1}}", ("partition",), "a shape of partition"),
        ("{at: 5s, partition: {from: n1}}", ("partition", "to"), "add this key"),
        ("{at: 5s, partition: {majority: [n1, n2]}}", ("partition", "majority"), "one node"),
        ("{at: 5s, partition: {minority: all}}", ("partition", "minority"), "one node"),
        ("{at: 5s, partition: {bridge: {random: 2}}}", ("partition", "bridge"), "one node"),
        ("{at: 5s, partition: ring, keep_in_flight: 1}", ("keep_in_flight",), "true or false"),
        ("{at: 5s, link: n1}", (), "at least one of loss, delay, jitter"),
        ("{at: 5s, link: n1, loss: 120%}", ("loss",), "a probability from 0 to 1"),
        ("{at: 5s, link: n1, loss: -0.1}", ("loss",), "a probability from 0 to 1"),
        ("{at: 5s, link: n1, delay: 5}", ("delay",), "add a unit"),
        ("{at: 5s, link: n1, loss: 1%, corrupt_mode: drop}", ("corrupt_mode",), "only beside"),
        ("{at: 5s, link: n1, corrupt: 1%, corrupt_mode: x}", ("corrupt_mode",), "drop, deliver"),
        ("{at: 5s, link: n1, loss: 1%, reorder_by: 1ms}", ("reorder_by",), "or duplicate"),
        ("{at: 5s, link: {to: n1}, loss: 1%}", ("link", "from"), "add this key"),
        ("{at: 5s, hold: {from: n1, to: n9}}", ("hold", "to"), "given 'n9'"),
        ("{at: 5s, release: n1}", ("release",), "allowed: all"),
        ("{at: 5s, disk: n1}", ("fault",), "one of lose-unsynced, torn"),
        ("{at: 5s, disk: n1, fault: slw}", ("fault",), "did you mean 'slow'?"),
        ("{at: 5s, disk: n1, fault: slow}", ("delay",), "add this key"),
        ("{at: 5s, disk: n1, fault: full, delay: 1s}", ("delay",), "only beside fault: slow"),
        ("{at: 5s, disk: n1, fault: wipe, detected: true}", ("detected",), "fault: corrupt"),
        ("{at: 5s, for: 3s, disk: n1, fault: wipe}", ("for",), "happens at one moment"),
        ("{at: 5s, for: 3s, disk: n1, fault: corrupt, detected: false}", ("for",), "stays"),
    ],
)
def test_a_mistake_says_where_it_is_and_what_is_allowed(
    line: str, path: tuple[str | int, ...], says: str
) -> None:
    found = mistakes(line)
    assert list(found) == [(0, *path)]
    assert says in found[0, *path]


def test_all_mistakes_of_all_lines_are_gathered() -> None:
    found = mistakes(
        "{crahs: n1, until: x}",
        "{at: 5s, crash: n1}",
        "{at: 70s, until: 3s, link: {from: n8, to: [n1, n9]}, los: 1%, reorder: 200%}",
        "{at: 5s, until: 9s, recover: n7, speed: 3}",
        "{}",
    )
    assert set(found) == {
        *((0, "crahs"), (0, "at"), (0, "until")),
        *((2, "at"), (2, "until"), (2, "los"), (2, "reorder")),
        *((2, "link", "from"), (2, "link", "to", 1)),
        *((3, "until"), (3, "recover"), (3, "speed")),
        *((4,), (4, "at")),
    }


def test_mistakes_can_cross_to_another_process() -> None:
    with pytest.raises(FieldErrors) as raised:
        parse_plan([{"at": "5s", "crahs": "n1"}], **SETTING)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_wrong_plan_made_in_code_is_found_by_validate() -> None:
    Plan((Crash(at_us=5, targets=N1),)).validate(**SETTING)
    wrong: list[tuple[Fault, str]] = [
        (Crash(at_us=5, until_us=4, targets=N1), "a moment after at"),
        (Crash(at_us=5, targets=()), "at least one target"),
        (Crash(at_us=5, targets=(Target("node", "n9"),)), "given 'n9'"),
        (Crash(at_us=5, targets=(Target("role", "n2"),)), "the same as"),
        (Recover(at_us=5, until_us=9, targets=N1), "no end"),
        (Release(at_us=5, until_us=9), "no end"),
        (Link(at_us=5, src=N1, dst=N2, loss=1.5), "a probability"),
        (Link(at_us=5, src=N1, dst=N2, loss=float("nan")), "a probability"),
        (Partition(at_us=5, shape="majority"), "one of ring, halves, bridge"),
        (Partition(at_us=5, shape="ring", groups=(N1,)), "a shape of partition"),
        (Disk(at_us=5, targets=N1, kind="wipe", delay_us=3), "only beside fault: slow"),
    ]
    for fault, says in wrong:
        with pytest.raises(FieldErrors, match=says):
            Plan((fault,)).validate(**SETTING)


# -- round trips ----------------------------------------------------------------------------------

names = st.sampled_from(
    [
        *(Target("node", node) for node in NODES),
        *(Target("role", role) for role in SETTING["roles"]),
        *(Target("random", count=count) for count in range(1, 6)),
        *(Target("rack", "r1"), Target("zone", "z1"), Target("zone", "Dallas/z1")),
        *(Target("region", "Dallas"), Target("all")),
    ]
)
targets = st.lists(names, min_size=1, max_size=3, unique=True).map(tuple)
singles = names.filter(lambda t: t.kind in ("node", "role", "random") and t.count == 1)
times = st.integers(0, 10**13)
lengths = st.integers(1, 10**13)
signed = st.integers(-(10**13), 10**13)
shares = st.floats(0, 1) | st.integers(0, 100).map(lambda percent: percent / 100)
flags = st.booleans()


@st.composite
def faults_of(draw: st.DrawFn, /, made: type[Fault], ends: bool = True, **fields: Any) -> Fault:
    at_us = draw(times)
    until_us = draw(st.none() | lengths.map(lambda length: at_us + length)) if ends else None
    found = {name: draw(strategy) for name, strategy in fields.items()}
    return made(at_us=at_us, until_us=until_us, **found)


def partitions(shape: str, groups: Any) -> st.SearchStrategy[Fault]:
    return faults_of(Partition, shape=st.just(shape), groups=groups, keep_in_flight=flags)


apart = st.lists(names, min_size=1, max_size=6, unique=True).flatmap(
    lambda all_: st.integers(1, len(all_)).map(
        lambda cut: tuple(part for part in (tuple(all_[:cut]), tuple(all_[cut:])) if part)
    )
)
lasting_disk = [kind for kind in get_args(DiskKind) if kind not in ("corrupt", "wipe", "slow")]
any_fault = st.one_of(
    faults_of(Crash, targets=targets, escape=st.none() | st.integers(0, 9)),
    faults_of(Recover, ends=False, targets=targets),
    faults_of(CrashLoop, targets=targets, up_us=lengths, down_us=lengths),
    faults_of(Pause, targets=targets),
    faults_of(Resume, ends=False, targets=targets),
    faults_of(Slow, targets=targets, factor=st.integers(1, 10**6)),
    faults_of(ClockOffset, targets=targets, by_us=signed),
    faults_of(ClockDrift, targets=targets, ppm=st.integers(-999_999, 10**7)),
    faults_of(ClockStep, ends=False, targets=targets, by_us=signed),
    partitions("groups", apart),
    partitions("one_way", st.tuples(targets, targets)),
    partitions("isolate", st.tuples(targets)),
    partitions("majority", st.tuples(st.tuples(singles))),
    partitions("minority", st.tuples(st.tuples(singles))),
    partitions("bridge", st.just(()) | st.tuples(st.tuples(singles))),
    partitions("ring", st.just(())),
    partitions("halves", st.just(())),
    faults_of(
        Link,
        src=targets,
        dst=targets | st.just(ALL),
        both=flags,
        loss=shares,
        delay_us=times,
        jitter_us=times,
        duplicate=shares,
        corrupt=shares,
        corrupt_mode=st.sampled_from(["drop", "deliver"]),
        reorder=shares,
        reorder_us=times,
    ),
    faults_of(Link, src=targets, dst=targets),
    faults_of(Link, src=targets, dst=targets, duplicate=shares, reorder_us=times),
    faults_of(Hold, src=targets, dst=targets | st.just(ALL), both=flags),
    faults_of(Release, ends=False),
    faults_of(Disk, targets=targets, kind=st.sampled_from(lasting_disk)),
    faults_of(Disk, targets=targets, kind=st.just("slow"), delay_us=times),
    faults_of(Disk, ends=False, targets=targets, kind=st.just("wipe")),
    faults_of(Disk, ends=False, targets=targets, kind=st.just("corrupt"), detected=flags),
    faults_of(Disk, targets=targets, kind=st.just("corrupt")),
)
plans = st.lists(any_fault, max_size=5).map(lambda faults: Plan(tuple(faults)))
ENDLESS = SETTING | {"duration_us": None}


@given(plans)
def test_reading_what_was_written_gives_the_same_plan(plan: Plan) -> None:
    assert parse_plan(to_values(plan), **ENDLESS) == plan
    plan.validate(**ENDLESS)


@given(plans)
def test_a_plan_survives_a_yaml_file(plan: Plan) -> None:
    yaml, file = YAML(typ="safe"), io.StringIO()
    yaml.dump(to_values(plan), file)
    assert parse_plan(yaml.load(file.getvalue()), **ENDLESS) == plan


@given(plans)
def test_each_description_is_one_line_that_says_when(plan: Plan) -> None:
    for fault, value in zip(plan, to_values(plan), strict=True):
        said = describe(fault)
        assert "\n" not in said
        assert all(str(value[key]) in said for key in ("at", "until") if key in value)


def test_different_faults_are_described_differently() -> None:
    said = [describe(fault) for _, fault in FORMS]
    assert len(set(said)) == len(said)


# -- editing a plan -------------------------------------------------------------------------------

A = Crash(at_us=5 * S, until_us=8 * S, targets=N1)
B = Pause(at_us=2 * S, targets=N2)
C = Recover(at_us=5 * S, targets=N2)


def test_editing_gives_a_new_plan() -> None:
    plan = Plan((A, B, C))
    assert plan.without(1) == Plan((A, C))
    assert plan.replace(0, C) == Plan((C, B, C))
    assert plan.sorted() == Plan((B, A, C))
    assert Plan((C, B, A)).sorted() == Plan((B, C, A))
    assert plan.last_end_us() == 8 * S
    assert Plan((B,)).last_end_us() == 2 * S
    assert Plan().last_end_us() == 0
    assert list(plan) == [A, B, C]
    assert len(plan) == 3
    assert plan == Plan((A, B, C))


def test_shifting_moves_beginnings_and_ends_but_not_before_zero() -> None:
    later = Plan((A, B)).shifted(S)
    assert [(fault.at_us, fault.until_us) for fault in later] == [(6 * S, 9 * S), (3 * S, None)]
    assert later.shifted(-S) == Plan((A, B))
    with pytest.raises(ValueError, match=r"by -3s moves the first fault, at 2s, before 0; .* -2s"):
        Plan((A, B)).shifted(-3 * S)
    assert Plan().shifted(-5) == Plan()


@pytest.mark.parametrize("index", [-1, 2])
def test_an_index_outside_the_plan_is_refused(index: int) -> None:
    plan = Plan((A, B))
    with pytest.raises(IndexError, match=f"no fault {index} in a plan of 2"):
        plan.without(index)
    with pytest.raises(IndexError, match=f"no fault {index} in a plan of 2"):
        plan.replace(index, C)


# -- the schema -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema_says() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(plan_schema())
    return jsonschema.Draft202012Validator(plan_schema()).is_valid


def test_the_schema_has_a_described_branch_for_every_fault() -> None:
    branches = plan_schema()["oneOf"]
    assert [branch["title"] for branch in branches] == list(FAULTS)
    assert all(branch["description"] for branch in branches)


@given(plan=plans)
def test_the_schema_accepts_what_is_written(schema_says: Any, plan: Plan) -> None:
    assert all(schema_says(value) for value in to_values(plan))


@pytest.mark.parametrize("line", [line for line, _ in FORMS])
def test_the_schema_accepts_each_form(schema_says: Any, line: str) -> None:
    assert schema_says(load(line))


@pytest.mark.parametrize(
    "line",
    [
        "{at: 5s, crahs: n1}",
        "{at: 5s, crash: n1, pause: n2}",
        "{at: 5s}",
        "{crash: n1}",
        "{at: 5, crash: n1}",
        "{at: -5s, crash: n1}",
        "{at: 5s, until: 9s, for: 4s, crash: n1}",
        "{at: 5s, for: 0s, crash: n1}",
        "{at: 5s, for: 0.000s, crash: n1}",
        "{at: 5s, until: 9s, recover: n1}",
        "{at: 5s, crash: n1, factor: 2}",
        "{at: 5s, crash: {rakc: r1}}",
        "{at: 5s, crash: {rack: r1, zone: z1}}",
        "{at: 5s, crash: []}",
        "{at: 5s, crash: [n1, n1]}",
        "{at: 5s, crash_loop: n1, up: 2s}",
        "{at: 5s, slow: n1, factor: 2.5}",
        "{at: 5s, partition: [n1, n2]}",
        "{at: 5s, partition: star}",
        "{at: 5s, partition: {from: n1}}",
        "{at: 5s, link: n1}",
        "{at: 5s, link: n1, loss: 1.2}",
        "{at: 5s, link: n1, loss: 1%, corrupt_mode: drop}",
        "{at: 5s, link: n1, loss: 1%, reorder_by: 1ms}",
        "{at: 5s, release: n1}",
        "{at: 5s, disk: n1}",
        "{at: 5s, disk: n1, fault: slow}",
        "{at: 5s, disk: n1, fault: full, delay: 1s}",
        "{at: 5s, disk: n1, fault: wipe, detected: true}",
        "{at: 5s, for: 3s, disk: n1, fault: wipe}",
        "{at: 5s, for: 3s, disk: n1, fault: corrupt, detected: false}",
    ],
)
def test_the_schema_refuses_what_reading_refuses(schema_says: Any, line: str) -> None:
    assert mistakes(line)
    assert not schema_says(load(line))


# -- the reference page ---------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "faults.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = [
    (line, said)
    for block in BLOCKS
    for said, line in re.findall(r"^# (.*)\n- (.*)$", block, re.MULTILINE)
]


@pytest.mark.parametrize(("line", "said"), EXAMPLES)
def test_each_example_of_the_page_is_read_and_described_as_it_says(line: str, said: str) -> None:
    assert describe(read(line)) == said


def test_every_line_of_every_example_has_its_description() -> None:
    assert len(EXAMPLES) == sum(block.count("- {") for block in BLOCKS) > len(FAULTS)


def test_the_page_has_a_row_a_section_and_an_example_for_every_fault() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| .* \| (?:.* )?\| (?:yes|no|see below) \|$", PAGE, re.MULTILINE
    )
    sections = re.findall(r"^### (\w+)$", PAGE, re.MULTILINE)
    assert rows == sections == list(FAULTS)
    assert {NAMES[type(read(line))] for line, _ in EXAMPLES} == set(FAULTS)


def test_the_page_says_what_liveness_mode_leaves_out_and_why() -> None:
    table = PAGE[PAGE.index("| left out |") :]
    rows = re.findall(r"^\| `([\w:-]+)` \| (.*) \|$", table, re.MULTILINE)
    assert dict(rows) == dict(EXCLUDED_FROM_LIVENESS)


def test_the_nemesis_of_the_page_is_read() -> None:
    (block,) = re.findall(r"^```yaml nemesis\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert parse_nemesis(load(block)).end_us == 25 * S
