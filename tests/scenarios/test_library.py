"""Every scenario of the library: reads, runs, says what its text promises."""

from __future__ import annotations

import re
from typing import Any

import pytest

from scenarios.loader import LIBRARY, from_value, library, load, read_raw
from scenarios.metrics import METRICS
from scenarios.overrides import parse_assignment, with_overrides
from scenarios.runner import RunResult, run_scenario
from sim.plan import describe

MISTAKES = [name for name in library() if name.startswith("mistake-")]
# What the nemesis draws may miss; faults that a file lists must bite.
SET = re.compile(r"splitbrain run ([a-z-]+) --set (\S+)")


def run(name: str, seed: int, *changes: str) -> RunResult:
    raw = with_overrides(read_raw(name), dict(map(parse_assignment, changes)))
    return run_scenario(from_value(raw), seed, trace=False)


@pytest.mark.parametrize("name", library())
def test_it_is_made_for_readers(name: str) -> None:
    scenario = load(name)
    assert scenario.name == name
    assert len(scenario.title) <= 90
    assert 20 <= len(scenario.text.split()) <= 160
    assert scenario.checks
    assert scenario.metrics
    assert scenario.seeds[:3] == (1, 2, 3)
    text = (LIBRARY / f"{name}.yaml").read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("name", library())
def test_it_says_what_it_should_and_every_fault_bites(name: str) -> None:
    scenario = load(name)
    result = run(name, scenario.seeds[0])
    assert result.verdict.verdict == ("violated" if name in MISTAKES else "ok"), result.verdict
    listed = result.usage[: len(scenario.faults)]
    assert [describe(usage.fault) for usage in listed if not usage.touched] == []
    assert set(result.metrics) == set(scenario.metrics)


@pytest.mark.slow
@pytest.mark.parametrize("name", library())
def test_all_its_seeds_agree(name: str) -> None:
    expected = "violated" if name in MISTAKES else "ok"
    verdicts = [run(name, seed).verdict.verdict for seed in range(1, 11)]
    assert verdicts == [expected] * 10


def test_two_runs_leave_the_same_trace() -> None:
    scenario = load("anti-entropy-partition")
    first, second = (run_scenario(scenario, 1) for _ in range(2))
    assert first.digest == second.digest is not None
    assert run_scenario(scenario, 2).digest != first.digest


# -- what the texts promise -----------------------------------------------------------------------


def qos(result: RunResult) -> dict[str, Any]:
    """The quality of service of this run alone."""
    return METRICS["qos"](result)


def mistakes(result: RunResult) -> dict[str, int]:
    """Detector → how often it was wrong."""
    return {name: found["mistakes"] for name, found in qos(result).items()}


def wrong_pairs(result: RunResult, detector: str) -> dict[str, int]:
    pairs: dict[str, Any] = result.metrics["qos-pairs"][detector]
    return {pair: found["mistakes"] for pair, found in pairs.items() if found["mistakes"]}


def test_the_settings_that_texts_suggest_exist() -> None:
    suggested = [match.groups() for name in library() for match in SET.finditer(load(name).text)]
    assert len(suggested) >= 3
    for name, change in suggested:
        from_value(with_overrides(read_raw(name), dict([parse_assignment(change)])))


def test_all_three_detectors_make_mistakes_between_five_regions() -> None:
    result = run("detectors-five-regions", 1)
    found = mistakes(result)
    assert list(found) == ["fixed", "phi", "nfd-e"]
    assert min(found.values()) > 0
    assert len(dict.fromkeys(found.values())) == 3
    levels = [o for _, _, o, _ in result.observations if type(o).__name__ == "SuspicionLevel"]
    assert len(levels) > 5_000  # 5 nodes, 4 peers, 3 detectors, twice a second for 4 minutes


def test_the_quick_timeout_pays_for_being_quick() -> None:
    result = run("heartbeat-lossy", 1)
    found = mistakes(result)
    assert found["quick"] > 100 * max(1, found["patient"])
    quick, patient = (result.metrics["qos"][name]["t_d"]["value"] for name in ("quick", "patient"))
    assert quick < patient


def test_accrual_detectors_follow_the_network() -> None:
    found = mistakes(run("phi-vs-fixed-jitter", 1))
    assert found["phi"] < found["fixed"] / 10
    assert found["bertier"] < found["fixed"] / 2


def test_the_pause_guard_makes_the_difference() -> None:
    guarded = wrong_pairs(run("gc-pause-local-pause-guard", 1), "heartbeat")
    change = "parameters.max_local_pause=null"
    unguarded = wrong_pairs(run("gc-pause-local-pause-guard", 1, change), "heartbeat")
    assert guarded == {f"n{at}→n2": 2 for at in (1, 3, 4, 5)}
    assert unguarded == {**guarded, **{f"n2→n{at}": 2 for at in (1, 3, 4, 5)}}


def test_opinions_differ_in_a_one_way_partition() -> None:
    found = wrong_pairs(run("one-way-partition", 1), "heartbeat")
    assert found == {"n2→n1": 1, "n3→n1": 1}


def test_short_downs_are_missed_by_the_slow_detector() -> None:
    found = run("flapping-node", 1).metrics["qos"]
    assert found["heartbeat"]["missed_downs"] == 0
    assert found["chitchat"]["missed_downs"] > 20  # 6 downs, seen by 4 nodes


def test_only_nfd_s_needs_clocks_that_agree() -> None:
    result = run("clock-skew", 1)
    found = mistakes(result)
    assert found["nfd-e"] == found["fixed"] == 0
    pairs = result.metrics["qos-pairs"]["nfd-s"]
    assert pairs["n2→n1"]["p_a"]["value"] == 0
    assert pairs["n3→n1"]["mistakes"] > 50


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nfd_s_keeps_its_bound(seed: int) -> None:
    found = run("nfd-s", seed).metrics["qos"]
    assert found["nfd-s"]["t_d"]["largest"] <= 2_500_000


def test_a_rumor_with_little_interest_leaves_some_uninformed() -> None:
    result = run("rumor-push", 1, "parameters.k=1")
    residues = [found["residue"] for found in result.metrics["gossip"].values()]
    assert all(0.05 < residue < 0.4 for residue in residues)
    assert result.verdict.verdict == "violated"


def test_the_right_protocol_breaks_ties() -> None:
    result = run("mistake-keeps-own-on-tie", 1, "protocol=anti-entropy")
    assert result.verdict.verdict == "ok"


def test_the_right_detector_trusts_again() -> None:
    assert run("mistake-never-trusts-again", 1, "protocol=heartbeat").verdict.verdict == "ok"
