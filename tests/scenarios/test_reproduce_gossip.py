"""Gossip's published figures, and that the fast model and the protocol are the same epidemic."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import exp
from random import Random
from statistics import mean, stdev
from typing import Any

import pytest

from protocols.api import MS, SECOND
from protocols.client import ok
from protocols.dissemination.rumor import (
    Learned,
    Publish,
    Pull,
    Push,
    RumorMongering,
    updates_in,
)
from scenarios.reproduce.gossip import TABLES, all_rows, demers_rows, rounds_rows, serf_rows
from scenarios.reproduce.gossip_exact import expected_curve, expected_rounds
from scenarios.reproduce.gossip_model import (
    Epidemic,
    Interest,
    Mode,
    pull_rumor,
    push_rumor,
    simple_epidemic,
)
from scenarios.reproduce.gossip_serf import serf_curve, serf_fraction, serf_rounds
from scenarios.reproduce.rows import Row
from sim.cluster import Cluster
from sim.latency_laws import Uniform
from sim.links import LinkSpec
from sim.rules import PASS, CallableRule, Envelope, Stage, Verdict
from sim.topology import Topology
from tests.protocols.dissemination.driver import Driver

# -- the rows --------------------------------------------------------------------------------------


def wrong(rows: list[Row]) -> list[Row]:
    return [line for line in rows if not line.ok]


@pytest.mark.parametrize("table", [1, 2, 3])
def test_demers_tables_in_a_few_runs(table: int) -> None:
    rows = demers_rows(60, tables=[table])
    assert len(rows) == 3 * len(TABLES[table - 1].lines)
    assert wrong(rows) == []


def test_mean_rounds_in_a_few_runs() -> None:
    assert wrong(rounds_rows(30, sizes=(100, 1_000))) == []


def test_serf_formula_and_our_gossip() -> None:
    assert wrong(serf_rows(500)) == []


@pytest.mark.slow
def test_every_figure_at_full_size() -> None:
    rows = all_rows()
    assert len(rows) == 3 * (5 + 5 + 3) + 9 + 5 + 5 + 13 + 1 + 5
    assert wrong(rows) == []


def test_the_rows_would_notice_another_reading_of_the_paper() -> None:
    """Without setting the counter back, table 1 is missed by far: the tolerance isn't generous."""

    class NeverBack(Interest):
        def after(self, counter: int, needed: bool, rng: Random) -> int:
            return counter + (not needed)

    rng = Random(1)
    runs = [push_rumor(1_000, rng, NeverBack(3)) for _ in range(60)]
    right = next(r for r in demers_rows(60, tables=[1]) if r.name.endswith("k=3: traffic m"))
    assert abs(mean(e.traffic for e in runs) - right.published) > 3 * right.tolerance


def test_rows_are_the_same_in_every_run_of_one_seed() -> None:
    assert demers_rows(5, tables=[2]) == demers_rows(5, tables=[2])
    assert demers_rows(5, tables=[2]) != demers_rows(5, tables=[2], seed=2)


# -- residue and traffic (§1.4) --------------------------------------------------------------------


def test_push_leaves_a_residue_of_e_to_the_minus_traffic() -> None:
    """s = e^-m, whatever the variant: all sent at random, a site is missed by each alike."""
    rng = Random(3)
    for interest in (Interest(1), Interest(2), Interest(2, False, True), Interest(3, False)):
        runs = [push_rumor(1_000, rng, interest) for _ in range(80)]
        gaps = [run.residue - exp(-run.traffic) for run in runs]
        # 1/n is the granularity of s, and the difference between (1 - 1/n)^(nm) and e^-m is less
        assert abs(mean(gaps)) < 3 * stdev(gaps) / 80**0.5 + 0.001, interest


def test_push_with_a_connection_limit_does_better_but_not_as_well_as_the_limit_law() -> None:
    """e^(-m/(1-1/e)) < s < e^-m: the law holds while all sites push, not at the two ends."""
    rng = Random(3)
    for k in (1, 2, 3):
        runs = [push_rumor(1_000, rng, Interest(k), limit=1) for _ in range(30)]
        residue, traffic = mean(r.residue for r in runs), mean(r.traffic for r in runs)
        assert exp(-traffic / (1 - exp(-1))) < residue < exp(-traffic)


def test_pull_leaves_far_less_than_push_at_equal_traffic() -> None:
    rng = Random(3)
    runs = [pull_rumor(1_000, rng, Interest(1)) for _ in range(20)]
    assert mean(r.residue for r in runs) < exp(-mean(r.traffic for r in runs)) / 2


# -- the model against the exact chain -------------------------------------------------------------


@pytest.mark.parametrize("mode", ["push", "pull", "push-pull"])
def test_mean_rounds_of_few_sites_are_those_of_the_chain(mode: Mode) -> None:
    rng = Random(4)
    runs = [simple_epidemic(20, rng, mode).t_last for _ in range(3_000)]
    assert abs(mean(runs) - expected_rounds(20, mode)) < 3.5 * stdev(runs) / 3_000**0.5


@pytest.mark.parametrize("mode", ["push", "pull", "push-pull"])
def test_two_sites_need_one_round(mode: Mode) -> None:
    assert expected_rounds(2, mode) == 1


def test_three_sites_by_push_by_hand() -> None:
    # 1 informed → 2 surely. 2 informed: each hits the third with 1/2, so at least one with 3/4.
    assert expected_rounds(3, "push") == pytest.approx(1 + 4 / 3)
    assert expected_curve(3, "push", 2) == pytest.approx([1 / 3, 2 / 3, 2 / 3 + 3 / 4 / 3])


def test_the_chain_of_pull_refuses_a_fanout() -> None:
    with pytest.raises(ValueError, match="fanout=2 with pull"):
        expected_rounds(10, "pull", fanout=2)


# -- Serf ------------------------------------------------------------------------------------------


def test_serf_curve_is_slower_than_gossip_that_calls_all_its_partners() -> None:
    curve = serf_curve(30, runs=300)
    assert [point.serf for point in curve] == [serf_fraction(30, x) for x in range(14)]
    assert all(point.simulated > point.serf for point in curve if 3 <= point.round <= 5)
    ours = next(point.round for point in curve if point.exact >= 0.9999)
    assert (ours, serf_rounds(30)) == (6, 9)


def test_serf_rounds_end_at_a_hundred() -> None:
    assert serf_rounds(30, loss=1.0) == 100


# -- the protocol is the model: contact by contact -------------------------------------------------


def driven(n: int, seed: int, **parameters: Any) -> tuple[Epidemic, dict[tuple[int, int], int]]:
    """One rumour through the protocol's own steps: the epidemic, and who called whom when."""
    members = tuple(f"n{i}" for i in range(n))
    sites = {me: RumorMongering(me=me, members=members, **parameters) for me in members}
    driver = Driver(sites, seed=seed)
    assert driver.invoke("n0", Publish("r")) == ok()
    curve, cycle = [1], 0
    while any(site.hot for site in sites.values()):
        cycle += 1
        driver.run_until((cycle + 1) * SECOND - 1)
        curve.append(sum("r" in site.known for site in sites.values()))
    updates = sum(updates_in(message) for _, _, message in driver.sends)
    calls = {
        (m.cycle, int(src[1:])): int(dst[1:])
        for src, dst, m in driver.sends
        if isinstance(m, Push | Pull)
    }
    return Epidemic(n, tuple(curve), updates), calls


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_push_the_same_calls_make_the_same_epidemic(k: int, seed: int) -> None:
    ours, calls = driven(150, seed, k=k)
    model = push_rumor(150, Random(0), Interest(k), partner=lambda cycle, site: calls[cycle, site])
    assert same(model, ours)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_push_blind_the_same_calls_make_the_same_epidemic(k: int) -> None:
    ours, calls = driven(150, 1, k=k, removal="blind")
    interest = Interest(k, feedback=False)
    model = push_rumor(150, Random(0), interest, partner=lambda cycle, site: calls[cycle, site])
    assert same(model, ours)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_pull_the_same_calls_make_the_same_epidemic(k: int) -> None:
    ours, calls = driven(100, 1, mode="pull", k=k)
    model = pull_rumor(100, Random(0), Interest(k), partner=lambda cycle, site: calls[cycle, site])
    assert same(model, ours)


def same(model: Epidemic, ours: Epidemic) -> bool:
    """Equal curves and traffic. The protocol notes a loss of interest when the cycle is over."""
    length = len(model.curve)
    after = set(ours.curve[length:])
    return (
        model.curve == ours.curve[:length]
        and after <= {model.curve[-1]}
        and model.updates == ours.updates
    )


# -- the protocol is the model: in the simulator, in the mean --------------------------------------


def simulated(n: int, seed: int, **parameters: Any) -> Epidemic:
    """One rumour in the simulator, latencies of 1 to 20 ms and cycles of 1 s."""
    members = tuple(f"n{i}" for i in range(n))
    link = LinkSpec(Uniform(1 * MS, 20 * MS))
    cluster = Cluster(seed=seed, topology=Topology.full_mesh(members, link))
    learned, updates = [0] * 200, 0

    def count(envelope: Envelope, stage: Stage) -> Verdict:
        nonlocal updates
        updates += updates_in(envelope.message) if stage == "sent" else 0
        return PASS

    def note(at_us: int, node: str, told: object) -> None:
        learned[at_us // SECOND] += isinstance(told, Learned)

    cluster.network.rules.append(CallableRule(count))
    cluster.observers.append(note)
    for me in members:
        cluster.add(me, RumorMongering(me=me, members=members, **parameters))
    cluster.start()
    cluster.invoke("n0", Publish("r"))
    cycle = 0
    while any(node.process.hot for node in cluster.nodes.values()):
        cycle += 1
        cluster.run_until((cycle + 1) * SECOND - 1)
    return Epidemic(n, tuple(accumulate(learned)), updates)


Variant = tuple[dict[str, Any], Callable[[int, Random], Epidemic]]

PUSH: Variant = ({"k": 2}, lambda n, rng: push_rumor(n, rng, Interest(2)))
BLIND: Variant = (
    {"k": 3, "removal": "blind", "counting": "coin"},
    lambda n, rng: push_rumor(n, rng, Interest(3, feedback=False, coin=True)),
)
COIN: Variant = (
    {"k": 2, "counting": "coin"},
    lambda n, rng: push_rumor(n, rng, Interest(2, coin=True)),
)
LIMIT: Variant = (
    {"k": 2, "connection_limit": 1},
    lambda n, rng: push_rumor(n, rng, Interest(2), limit=1),
)
PULL: Variant = ({"k": 1, "mode": "pull"}, lambda n, rng: pull_rumor(n, rng, Interest(1)))
VARIANTS = [PUSH, BLIND, COIN, LIMIT, PULL]
NAMES = ["push", "blind coin", "coin", "connection limit", "pull"]


def assert_same_in_the_mean(variant: Variant, n: int, runs: int, model_runs: int) -> None:
    """Residue, traffic and t_last within 3.5 standard errors (5 variants × 3 figures: the chance
    of a false alarm is below 1%, and the seeds are fixed)."""
    parameters, model = variant
    ours = [simulated(n, seed, **parameters) for seed in range(runs)]
    rng = Random(5)
    theirs = [model(n, rng) for _ in range(model_runs)]
    figures = ("residue", "t_last") if parameters.get("connection_limit") else FIGURES
    for figure in figures:
        got = [float(getattr(epidemic, figure)) for epidemic in ours]
        expected = [float(getattr(epidemic, figure)) for epidemic in theirs]
        error = stdev(expected) * (1 / runs + 1 / model_runs) ** 0.5
        assert abs(mean(got) - mean(expected)) < 3.5 * error, figure


# A refused push has been sent all the same, and is counted here: traffic isn't compared there.
FIGURES = ("residue", "traffic", "t_last")


@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_the_protocol_agrees_with_the_model(variant: Variant) -> None:
    assert_same_in_the_mean(variant, n=100, runs=12, model_runs=300)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_the_protocol_agrees_with_the_model_at_the_size_of_the_tables(variant: Variant) -> None:
    assert_same_in_the_mean(variant, n=1_000, runs=30, model_runs=300)


@pytest.mark.parametrize("mode", ["push", "pull", "push-pull"])
def test_a_rumor_without_removal_needs_the_rounds_of_the_chain(mode: Any) -> None:
    rounds = []
    for seed in range(20):
        rounds.append(rounds_in_the_simulator(50, seed, mode=mode, k=None))
    error = stdev(rounds) / len(rounds) ** 0.5
    assert abs(mean(rounds) - expected_rounds(50, mode)) < 3.5 * error


def test_with_random_phases_a_rumor_is_quicker_than_in_lockstep() -> None:
    """Who hears of it in the middle of a period may pass it on before the period is over."""
    lockstep = [rounds_in_the_simulator(100, seed, k=None) for seed in range(12)]
    scattered = [rounds_in_the_simulator(100, seed, k=None, phase="random") for seed in range(12)]
    assert mean(scattered) < mean(lockstep)


def rounds_in_the_simulator(n: int, seed: int, **parameters: Any) -> int:
    members = tuple(f"n{i}" for i in range(n))
    link = LinkSpec(Uniform(1 * MS, 20 * MS))
    cluster = Cluster(seed=seed, topology=Topology.full_mesh(members, link))
    for me in members:
        cluster.add(me, RumorMongering(me=me, members=members, **parameters))
    cluster.start()
    cluster.invoke("n0", Publish("r"))
    cycle = 0
    while not all("r" in node.process.known for node in cluster.nodes.values()):
        cycle += 1
        cluster.run_until((cycle + 1) * SECOND - 1)
    return cycle
