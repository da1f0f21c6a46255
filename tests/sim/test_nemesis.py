"""The nemesis: what it draws is valid, within budget, never takes too many down, and heals."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.faults import (
    FAULTS,
    NAMES,
    ClockDrift,
    ClockStep,
    Crash,
    CrashLoop,
    Disk,
    Fault,
    Hold,
    Link,
    Partition,
    Pause,
    Recover,
    Release,
    Resume,
    Target,
)
from sim.fields import FieldErrors
from sim.nemesis import EXCLUDED_FROM_LIVENESS, NemesisSpec, draw_plan, parse_nemesis
from sim.nemesis_dice import pick
from sim.nemesis_kinds import KINDS
from sim.plan import Plan, parse_plan, to_values

S = 1_000_000
NODES = ("n1", "n2", "n3", "n4", "n5")
RACKS = {"r1": ("n1", "n2"), "r2": ("n3", "n4"), "r3": ("n5",)}
ZONES = {"z1": ("n1", "n2", "n3"), "z2": ("n4", "n5")}
REGIONS = {"Dallas": NODES}
PLACES: dict[str, Any] = {"racks": RACKS, "zones": ZONES, "regions": REGIONS}
ROLES = ("leader", "follower")
SAFETY = NemesisSpec(intensity=1.0, budget=20, start_us=2 * S, stop_us=30 * S)
LIVENESS = NemesisSpec(
    intensity=1.0,
    budget=20,
    mode="liveness",
    start_us=2 * S,
    stop_us=30 * S,
    heal_at_us=35 * S,
    sole_roles=("leader",),
)
LASTING_HARM = (ClockDrift, ClockStep, Recover, Resume, Release)
FOREVER = 10**18


def drawn(spec: NemesisSpec, seed: int, nodes: tuple[str, ...] = NODES) -> Plan:
    places = {kind: _within(groups, nodes) for kind, groups in PLACES.items()}
    return draw_plan(spec, nodes, Random(seed), roles=ROLES, **places)


def _within(groups: dict[str, tuple[str, ...]], nodes: tuple[str, ...]) -> dict[str, Any]:
    inside = {name: [one for one in members if one in nodes] for name, members in groups.items()}
    return {name: members for name, members in inside.items() if members}


# -- who is down when, worked out from the plan alone ---------------------------------------------


def downtimes(plan: Plan) -> list[tuple[int, int, tuple[Target, ...]]]:
    """From when until when each fault keeps its targets down or paused."""
    found = []
    for fault in plan:
        if isinstance(fault, CrashLoop | Crash | Pause):
            end = fault.until_us if fault.until_us is not None else _opposite(plan, fault)
            found.append((fault.at_us, end, fault.targets))
        if isinstance(fault, Disk) and (fault.kind == "full" or _stays_down(fault)):
            found.append((fault.at_us, FOREVER, fault.targets))
    return found


def _stays_down(fault: Disk) -> bool:
    return fault.kind == "corrupt" and fault.detected


def _opposite(plan: Plan, fault: Crash | CrashLoop | Pause) -> int:
    kind = Resume if isinstance(fault, Pause) else Recover
    ends = [
        other.at_us
        for other in plan
        if isinstance(other, kind) and other.targets == fault.targets and other.at_us > fault.at_us
    ]
    return min(ends, default=FOREVER)


def most_hit(targets: tuple[Target, ...], nodes: tuple[str, ...]) -> int:
    """How many nodes these may be at most; ``leader`` is one, as the caller promised."""
    sizes = {"all": len(nodes), "node": 1}
    return sum(
        len(_within(PLACES[target.kind + "s"], nodes)[target.name])
        if target.kind in ("rack", "zone", "region")
        else (1 if target.name == "leader" else len(nodes))
        if target.kind == "role"
        else sizes.get(target.kind, target.count)
        for target in targets
    )


def most_down(plan: Plan, nodes: tuple[str, ...] = NODES) -> int:
    """A sweep line over all beginnings and ends; an end comes before a beginning at that time."""
    changes = []
    for start, end, targets in downtimes(plan):
        count = most_hit(targets, nodes)
        changes += [(start, 1, count), (end, 0, -count)]
    down = most = 0
    for _, _, change in sorted(changes):
        down += change
        most = max(most, down)
    return most


def test_the_sweep_line_sees_overlaps_and_open_ends() -> None:
    n1, n2 = (Target("node", "n1"),), (Target("node", "n2"),)
    one = Crash(at_us=0, until_us=5, targets=n1)
    assert most_down(Plan((one, Pause(at_us=5, targets=n2)))) == 1
    assert most_down(Plan((one, Pause(at_us=4, targets=n2)))) == 2
    assert most_down(Plan((Crash(at_us=0, targets=n1), Crash(at_us=9, targets=n2)))) == 2
    recovers = Recover(at_us=8, targets=n1)
    assert most_down(Plan((Crash(at_us=0, targets=n1), recovers, Crash(at_us=9, targets=n2)))) == 1
    assert most_down(Plan((Crash(at_us=0, targets=(Target("zone", "z1"),)),))) == 3
    assert most_down(Plan((Disk(at_us=0, until_us=5, targets=n1, kind="full"), one))) == 2


# -- properties -----------------------------------------------------------------------------------

seeds = st.integers(0, 2**64)
counts = st.integers(1, 5)


@st.composite
def specs(draw: st.DrawFn, mode: str) -> NemesisSpec:
    start = draw(st.integers(0, 10 * S))
    stop = start + draw(st.sampled_from([1, 2, 777, S - 1, S, 30 * S, 3600 * S]))
    heal = stop + draw(st.integers(0, 10 * S)) if mode == "liveness" else None
    return NemesisSpec(
        mode=mode,  # type: ignore[arg-type]
        intensity=draw(st.floats(0.01, 1)),
        budget=draw(st.integers(1, 30)),
        start_us=start,
        stop_us=stop,
        heal_at_us=heal,
        max_down=draw(st.none() | st.integers(0, 5)),
        sole_roles=("leader",),
    )


both_modes = specs("safety") | specs("liveness")


@given(both_modes, counts, seeds)
def test_a_drawn_plan_is_valid_sorted_and_within_its_budget(
    spec: NemesisSpec, count: int, seed: int
) -> None:
    nodes = NODES[:count]
    plan = drawn(spec, seed, nodes)
    plan.validate(nodes=nodes, roles=ROLES, **PLACES)
    assert 1 <= len(plan) <= spec.budget
    assert plan == plan.sorted()
    assert all(spec.start_us <= fault.at_us for fault in plan)
    begins = (fault for fault in plan if not isinstance(fault, Recover | Resume | Release))
    assert all(fault.at_us < spec.stop_us for fault in begins)
    assert plan.last_end_us() <= spec.end_us


@given(both_modes, counts, seeds)
def test_never_more_nodes_are_down_than_max_down(spec: NemesisSpec, count: int, seed: int) -> None:
    if spec.max_down is not None:
        nodes = NODES[:count]
        assert most_down(drawn(spec, seed, nodes), nodes) <= spec.max_down


TAKING_DOWN = tuple(name for name, kind in KINDS.items() if kind.down)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
@pytest.mark.parametrize("mode", ["safety", "liveness"])
def test_crowded_plans_reach_max_down_and_stay_there(mode: Any, limit: int) -> None:
    healing = tuple(name for name in TAKING_DOWN if name not in EXCLUDED_FROM_LIVENESS)
    spec = NemesisSpec(
        mode=mode,
        intensity=1.0,
        budget=40,
        stop_us=30 * S,
        kinds=TAKING_DOWN if mode == "safety" else healing,
        max_down=limit,
        sole_roles=("leader",),
    )
    plans = [drawn(spec, seed) for seed in range(150)]
    assert {most_down(plan) for plan in plans} >= {limit}
    assert max(most_down(plan) for plan in plans) == limit
    for plan in plans:
        assert not overlapping_twice(plan)


@pytest.mark.parametrize("name", TAKING_DOWN)
def test_each_kind_that_takes_nodes_down_keeps_to_the_limit(name: str) -> None:
    """One kind at a time, so that none hides behind another that leaves it no room."""
    spec = NemesisSpec(intensity=1.0, budget=40, stop_us=30 * S, kinds=(name,), max_down=2)
    plans = [drawn(spec, seed) for seed in range(100)]
    assert max(most_down(plan) for plan in plans) == 2


@given(specs("liveness"), counts, seeds)
def test_in_liveness_mode_a_minority_is_down_unless_told_otherwise(
    spec: NemesisSpec, count: int, seed: int
) -> None:
    if spec.max_down is None:
        nodes = NODES[:count]
        assert most_down(drawn(spec, seed, nodes), nodes) <= (count - 1) // 2


@given(specs("liveness"), counts, seeds)
def test_in_liveness_mode_all_is_whole_again_when_it_must_be(
    spec: NemesisSpec, count: int, seed: int
) -> None:
    assert spec.heal_at_us is not None
    for fault in drawn(spec, seed, NODES[:count]):
        assert fault.until_us is not None
        assert fault.until_us <= spec.heal_at_us
        assert not isinstance(fault, LASTING_HARM)
        assert not isinstance(fault, Disk) or fault.kind == "slow"
        assert not isinstance(fault, Link) or fault.corrupt_mode == "drop"


@given(both_modes, seeds)
def test_under_a_limit_no_node_is_in_two_downtimes_at_once(spec: NemesisSpec, seed: int) -> None:
    if spec.most_down(len(NODES)) is None:
        return
    assert not overlapping_twice(drawn(spec, seed))


def overlapping_twice(plan: Plan) -> list[tuple[object, object]]:
    """Pairs of downtimes at the same time that may hit the same node."""
    return [
        (one, other)
        for one, other in combinations(downtimes(plan), 2)
        if one[0] < other[1] and other[0] < one[1] and _may_share(one[2], other[2])
    ]


def _may_share(one: tuple[Target, ...], other: tuple[Target, ...]) -> bool:
    hit = [members(target) for target in (*one, *other)]
    every = [node for nodes in hit for node in nodes or ()]
    return None in hit or len(set(every)) < len(every)


def members(target: Target) -> tuple[str, ...] | None:
    if target.kind in ("random", "role"):
        return None
    if target.kind in ("rack", "zone", "region"):
        return tuple(PLACES[target.kind + "s"][target.name])
    return NODES if target.kind == "all" else (target.name,)


@given(st.sampled_from(sorted(KINDS)), seeds)
def test_each_kind_alone_draws_its_word_and_no_other(name: str, seed: int) -> None:
    kind = KINDS[name]
    mode: Any = "safety" if kind.harm else "liveness"
    spec = NemesisSpec(kinds=(name,), mode=mode, budget=4, stop_us=30 * S, intensity=1.0)
    words = {NAMES[type(fault)] for fault in drawn(spec, seed)}
    opposites = {"recover": "crash", "resume": "pause", "release": "hold"}
    assert words == {kind.word} | ({opposites[kind.word]} if kind.word in opposites else set())


# -- many seeds -----------------------------------------------------------------------------------

MANY = range(300)


def words_of(spec: NemesisSpec) -> list[set[str]]:
    return [{NAMES[type(fault)] for fault in drawn(spec, seed)} for seed in MANY]


def test_over_300_seeds_every_fault_is_drawn_and_no_plan_knows_them_all() -> None:
    words = words_of(SAFETY)
    assert set().union(*words) == set(FAULTS)
    # A word is enabled in half of all plans, so every word is missing in at least about half.
    lacking = {word: sum(word not in plan for plan in words) for word in FAULTS}
    assert all(count > 300 * 0.4 for count in lacking.values()), lacking
    assert all(plan != set(FAULTS) for plan in words)


def test_over_300_seeds_every_variant_is_drawn() -> None:
    plans = [drawn(SAFETY, seed) for seed in MANY]
    faults = [fault for plan in plans for fault in plan]
    shapes = Counter(fault.shape for fault in faults if isinstance(fault, Partition))
    disks = Counter(fault.kind for fault in faults if isinstance(fault, Disk))
    effects = Counter(_effect(fault) for fault in faults if isinstance(fault, Link))
    variants = [f"partition:{one}" for one in shapes] + [f"disk:{one}" for one in disks]
    variants += [f"link:{one}" for one in effects]
    assert set(variants) == {name for name in KINDS if name.startswith(("part", "disk", "link"))}
    assert any(isinstance(fault, Crash) and fault.escape is not None for fault in faults)
    kinds = {target.kind for fault in faults for target in getattr(fault, "targets", ())}
    assert kinds == {"node", "role", "rack", "zone", "region", "random", "all"}


def _effect(fault: Link) -> str:
    if fault.corrupt:
        return "corrupt-deliver" if fault.corrupt_mode == "deliver" else "corrupt"
    (effect,) = [
        name for name in ("loss", "delay_us", "duplicate", "reorder") if getattr(fault, name)
    ]
    return effect.removesuffix("_us")


def test_over_300_seeds_liveness_draws_every_fault_that_leaves_nothing_behind() -> None:
    healing = {kind.word for name, kind in KINDS.items() if name not in EXCLUDED_FROM_LIVENESS}
    assert set().union(*words_of(LIVENESS)) == healing
    assert healing == {
        *("crash", "crash_loop", "pause", "slow", "clock_offset", "partition", "link", "hold"),
        "disk",
    }


def test_a_plan_may_know_one_kind_only_or_several() -> None:
    spec = NemesisSpec(kinds=("crash", "partition"), budget=10, intensity=1.0, stop_us=30 * S)
    words = words_of(spec)
    # Each word is enabled with 1/2, one of them if none is: 3/8 one, 3/8 the other, 1/4 both. The
    # standard deviation of 112.5 in 300 is 8.4; a plan of one fault shows one word of both.
    for word in ("crash", "partition"):
        assert words.count({word}) > 112.5 - 4 * 8.4
    assert 0 < words.count({"crash", "partition"}) < 75 + 4 * 7.5


def test_more_intensity_means_more_longer_and_stronger_faults() -> None:
    def average(intensity: float) -> tuple[float, float, float]:
        spec = NemesisSpec(kinds=("link:loss",), budget=20, intensity=intensity, stop_us=60 * S)
        faults = [fault for seed in MANY for fault in drawn(spec, seed)]
        lengths = [fault.until_us - fault.at_us for fault in faults if fault.until_us is not None]
        losses = [fault.loss for fault in faults if isinstance(fault, Link)]
        return len(faults), sum(lengths) / len(lengths), sum(losses) / len(losses)

    calm, wild = average(0.2), average(1.0)
    # Numbers from 1..4 or 1..20, means 2.5 and 10.5; losses from 1..20 or 1..100 %.
    assert wild[0] > 3 * calm[0]
    assert wild[1] > 3 * calm[1]
    assert wild[2] > 3 * calm[2]


# -- determinism ----------------------------------------------------------------------------------

PINNED_SAFETY: list[dict[str, object]] = [
    {"at": "2.832s", "until": "4.431s", "clock_offset": {"random": 3}, "by": "200ms"},
    {
        "at": "3.775s",
        "until": "6.049s",
        "partition": [["n3"], ["n5"], ["n1", "n2", "n4"]],
        "keep_in_flight": True,
    },
    {"at": "5.975s", "until": "6.46s", "crash_loop": "n3", "up": "15ms", "down": "65ms"},
    {"at": "8.513s", "partition": [["n2", "n4"], ["n1", "n3", "n5"]]},
    {"at": "8.993s", "until": "12.631s", "clock_drift": {"rack": "r1"}, "ppm": 70},
]
PINNED_LIVENESS: list[dict[str, object]] = [
    {
        "at": "3.714s",
        "until": "5.252s",
        "disk": {"region": "Dallas"},
        "fault": "slow",
        "delay": "4ms",
    },
    {"at": "3.962s", "until": "5.957s", "crash_loop": "n4", "up": "92ms", "down": "573ms"},
    {"at": "12.331s", "until": "17.067s", "crash": "n1"},
    {"at": "27.51s", "until": "30.27s", "crash": "n3"},
    {"at": "29.74s", "until": "32.907s", "disk": "n1", "fault": "slow", "delay": "20ms"},
]


def test_a_seed_gives_this_plan() -> None:
    """Pinned: a change here changes every recorded campaign, and has to be meant."""
    assert to_values(drawn(replace(SAFETY, budget=5), 9)) == PINNED_SAFETY
    assert to_values(drawn(replace(LIVENESS, budget=5), 11)) == PINNED_LIVENESS


PROGRAM = """
from random import Random
from sim.nemesis import NemesisSpec, draw_plan
from sim.plan import to_values
spec = NemesisSpec(intensity=1.0, budget=20, stop_us=30_000_000)
racks = {"r1": ("n1", "n2"), "r2": ("n3",)}
for seed in range(30):
    plan = draw_plan(spec, ("n1", "n2", "n3"), Random(seed), racks=racks, roles=("boss",))
    print(to_values(plan))
"""


def test_hash_seeds_do_not_change_what_is_drawn() -> None:
    root = Path(__file__).parents[2]
    printed = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert printed[0] == printed[1] != b""


def test_pick_follows_the_weights() -> None:
    rng = Random(7)
    counted = Counter(pick(rng, [("a", 1), ("b", 3)]) for _ in range(4000))
    # b has 3/4; the standard deviation of its count is sqrt(4000 * 3/16) = 27.4, allow five.
    assert abs(counted["b"] - 3000) < 5 * 27.4


# -- specifications -------------------------------------------------------------------------------


def test_a_specification_is_read_with_its_defaults() -> None:
    assert parse_nemesis({"stop": "30s"}) == NemesisSpec(stop_us=30 * S)
    assert parse_nemesis({}, duration_us=60 * S).stop_us == 60 * S
    assert parse_nemesis({"mode": "liveness"}, duration_us=60 * S).end_us == 30 * S
    healed = parse_nemesis({"mode": "liveness", "heal_at": "20s"}, duration_us=60 * S)
    assert (healed.stop_us, healed.heal_at_us) == (20 * S, 20 * S)
    assert parse_nemesis({"stop": "9s", "kinds": "crash"}).kinds == ("crash",)
    assert parse_nemesis({"stop": "9s", "intensity": "25%"}).intensity == 0.25


@given(both_modes)
def test_a_specification_is_written_so_that_it_is_read_again(spec: NemesisSpec) -> None:
    assert parse_nemesis(spec.to_value()) == spec


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        ({}, ("stop",), "add this key"),
        ({"stop": "9s", "intensity": 0}, ("intensity",), "above 0"),
        ({"stop": "9s", "intensity": 2}, ("intensity",), "a probability"),
        ({"stop": "9s", "budget": 0}, ("budget",), "at least 1"),
        ({"stop": "9s", "mode": "fast"}, ("mode",), "a mode: safety, liveness"),
        ({"stop": "9s", "kinds": []}, ("kinds",), "at least one kind"),
        ({"stop": "9s", "kinds": ["crahs"]}, ("kinds", 0), "did you mean 'crash'?"),
        ({"stop": "9s", "kinds": 7}, ("kinds",), "a list of names"),
        ({"stop": "9s", "start": "9s"}, ("stop",), "a moment after start, 9s"),
        ({"stop": "9s", "heal_at": "10s"}, ("heal_at",), "only beside mode: liveness"),
        ({"stop": "9s", "max_down": -1}, ("max_down",), "at least 0"),
        ({"stop": "9s", "kind": "crash"}, ("kind",), "did you mean 'kinds'?"),
        (
            {"stop": "9s", "heal_at": "8s", "mode": "liveness"},
            ("heal_at",),
            "not before stop, 9s",
        ),
        (
            {"stop": "9s", "mode": "liveness", "kinds": ["crash", "clock_step"]},
            ("kinds", 1),
            "clock_step: the jump stays",
        ),
        (
            {"stop": "9s", "mode": "liveness", "kinds": ["disk:wipe"]},
            ("kinds", 0),
            "disk:wipe: what the disk lost stays lost",
        ),
    ],
)
def test_a_wrong_specification_says_where_and_what_is_allowed(
    value: Any, path: tuple[str | int, ...], says: str
) -> None:
    with pytest.raises(FieldErrors) as raised:
        parse_nemesis(value)
    assert {error.path: str(error) for error in raised.value.errors}.keys() == {path}
    assert says in str(raised.value)


def test_all_mistakes_of_a_specification_are_gathered() -> None:
    with pytest.raises(FieldErrors) as raised:
        parse_nemesis({"stop": "x", "mode": "y", "budget": 0, "zzz": 1, "kinds": 3})
    paths = [error.path for error in raised.value.errors]
    assert sorted(map(str, paths)) == sorted(
        map(str, [("zzz",), ("mode",), ("budget",), ("kinds",), ("stop",)])
    )


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        (NemesisSpec(stop_us=S, kinds=("crash",), max_down=0), NODES),
        (NemesisSpec(stop_us=S, kinds=("crash",), mode="liveness"), NODES[:2]),
        (NemesisSpec(stop_us=S, kinds=("partition",)), NODES[:1]),
        (NemesisSpec(stop_us=S, kinds=("partition:ring",)), NODES[:3]),
        (NemesisSpec(stop_us=S, kinds=("release",), budget=1), NODES),
    ],
)
def test_what_so_few_nodes_do_not_allow_is_refused(
    spec: NemesisSpec, nodes: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=r"kinds: given .* allowed: kinds that need at most"):
        drawn(spec, 1, nodes)


def test_without_a_promise_roles_are_not_taken_down_under_a_limit() -> None:
    spec = NemesisSpec(stop_us=30 * S, kinds=("crash", "pause"), budget=9, max_down=2)
    promised = NemesisSpec(
        stop_us=30 * S, kinds=("crash", "pause"), budget=9, max_down=2, sole_roles=("leader",)
    )

    def roles(spec: NemesisSpec) -> set[str]:
        faults: list[Any] = [fault for seed in MANY for fault in drawn(spec, seed)]
        return {one.name for fault in faults for one in fault.targets if one.kind == "role"}

    assert roles(spec) == set()
    assert roles(promised) == {"leader"}


def test_held_messages_and_pairs_end_after_they_begin() -> None:
    spec = NemesisSpec(stop_us=30 * S, kinds=("recover", "resume", "release"), budget=2)
    for seed in MANY:
        first, second = drawn(spec, seed)
        assert first.at_us < second.at_us
        assert first.until_us is None
        assert isinstance(first, Hold) or _same_targets(first, second)


def _same_targets(first: Fault, second: Fault) -> bool:
    return bool(getattr(first, "targets") == getattr(second, "targets"))  # noqa: B009


def test_what_is_drawn_can_be_written_into_a_scenario() -> None:
    for seed in range(50):
        plan = drawn(SAFETY, seed)
        assert parse_plan(to_values(plan), nodes=NODES, roles=ROLES, **PLACES) == plan
