"""Each known-wrong way of spreading updates is caught where the right way passes."""

from __future__ import annotations

from functools import cache
from random import Random
from statistics import mean, stdev
from typing import Any

import pytest

from protocols.api import SECOND
from protocols.client import ok
from protocols.dissemination.anti_entropy import (
    AntiEntropy,
    Delete,
    ExchangeDue,
    Get,
    Put,
    converged,
)
from protocols.dissemination.rumor import Publish, RumorMongering, updates_in
from protocols.mistakes.dissemination import (
    ArrivalWins,
    CountsNeeded,
    DeletesWithoutCertificate,
    JudgesOnArrival,
    KeepsOwnOnTie,
    NeverSetsBack,
)
from protocols.step import Fire
from scenarios.reproduce.gossip_model import Interest, push_rumor
from tests.protocols.dissemination.driver import Driver

SITES, K, RUNS = 200, 4, 8


def spread(kind: type[RumorMongering], seed: int, cycles: int = 60) -> Driver:
    members = tuple(f"n{i}" for i in range(SITES))
    driver = Driver({me: kind(me=me, members=members, k=K) for me in members}, seed=seed)
    driver.invoke("n0", Publish("r"))
    driver.run_until(cycles * SECOND)
    return driver


def traffic(driver: Driver) -> float:
    return sum(updates_in(message) for _, _, message in driver.sends) / SITES


@cache
def model_traffic() -> list[float]:
    rng = Random(1)
    return [push_rumor(SITES, rng, Interest(K)).traffic for _ in range(400)]


def differs_from_the_model(kind: type[RumorMongering]) -> bool:
    """Whether the traffic of some runs is more than 4 standard errors off the model's."""
    model = model_traffic()
    ours = [traffic(spread(kind, seed)) for seed in range(RUNS)]
    error = stdev(model) * (1 / RUNS + 1 / len(model)) ** 0.5
    return bool(abs(mean(ours) - mean(model)) > 4 * error)


def test_the_right_counter_has_the_traffic_of_the_model() -> None:
    assert not differs_from_the_model(RumorMongering)


@pytest.mark.parametrize("kind", [NeverSetsBack, JudgesOnArrival])
def test_a_wrong_counter_has_not(kind: type[RumorMongering]) -> None:
    assert differs_from_the_model(kind)


@pytest.mark.parametrize(("kind", "dies_down"), [(RumorMongering, True), (CountsNeeded, False)])
def test_the_rumor_dies_down(kind: type[RumorMongering], dies_down: bool) -> None:
    driver = spread(kind, seed=1)
    assert driver.quiet is dies_down
    assert any(site.hot for site in driver.nodes.values()) is not dies_down


def three(kind: type[AntiEntropy], **parameters: Any) -> Driver:
    members = ("n1", "n2", "n3")
    return Driver({me: kind(me=me, members=members, **parameters) for me in members}, seed=1)


@pytest.mark.parametrize(
    ("kind", "value"), [(AntiEntropy, None), (DeletesWithoutCertificate, "old")]
)
def test_what_was_deleted_stays_deleted(kind: type[AntiEntropy], value: Any) -> None:
    driver = three(kind)
    driver.invoke("n1", Put("x", "old"))
    driver.run_until(20 * SECOND)
    assert driver.invoke("n1", Delete("x")) == ok()
    driver.run_until(40 * SECOND)
    assert [driver.invoke(node, Get("x")) for node in driver.nodes] == [ok(value)] * 3


@pytest.mark.parametrize(("kind", "right"), [(AntiEntropy, True), (ArrivalWins, False)])
def test_an_old_copy_does_not_overwrite_a_newer_value(kind: type[AntiEntropy], right: bool) -> None:
    driver = Driver({me: kind(me=me, members=("n1", "n2"), mode="push") for me in ("n1", "n2")})
    driver.invoke("n1", Put("x", "old"))
    driver.run_until(20 * SECOND)
    assert driver.invoke("n2", Get("x")) == ok("old")
    driver.invoke("n1", Put("x", "new"))
    driver.do("n2", Fire(ExchangeDue()))  # n2 is the first to push: it has not heard yet
    driver.run_until(driver.now_us + 2 * driver.latency_us)
    assert (driver.invoke("n1", Get("x")) == ok("new")) is right


@pytest.mark.parametrize(("kind", "right"), [(AntiEntropy, True), (KeepsOwnOnTie, False)])
def test_sites_agree_after_two_writes_at_once(kind: type[AntiEntropy], right: bool) -> None:
    driver = three(kind)
    driver.invoke("n1", Put("x", "mine"))
    driver.invoke("n2", Put("x", "yours"))
    driver.run_until(60 * SECOND)
    assert converged(driver.nodes.values()) is right
