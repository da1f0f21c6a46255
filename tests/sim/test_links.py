"""Links: burst loss against its formulas, queues against exact fractions, files against specs."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import groupby
from math import ceil, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.fields import FieldError, FieldErrors
from sim.latency import Constant, Exponential, Uniform
from sim.links import (
    LINK_KEYS,
    BandwidthQueue,
    FifoClock,
    GilbertElliott,
    GilbertElliottState,
    LinkSpec,
    parse_link,
)

N = 100_000
CHANNELS = [
    GilbertElliott(0.01, 0.25),
    GilbertElliott(0.2, 0.9),
    GilbertElliott(0.05, 0.1, loss_good=0.01, loss_bad=0.6),
    GilbertElliott(0.3, 0.3, loss_good=0.2, loss_bad=0.2),
    GilbertElliott(0.0, 1.0),
]


def losses(spec: GilbertElliott, n: int, seed: int) -> list[bool]:
    state = GilbertElliottState(spec, random.Random(seed))
    return [state.lost() for _ in range(n)]


@pytest.mark.parametrize("spec", CHANNELS, ids=repr)
def test_burst_loss_rate(spec: GilbertElliott) -> None:
    """Losses of a two-state chain are correlated: with x = 1 - p - r, b the share of bad and
    d = loss_bad - loss_good, the covariance at lag k is d^2 b (1-b) x^k, so
    n Var(mean) = q(1-q) + 2 d^2 b (1-b) x/(1-x). The bound is 5 standard errors.
    """
    q, b = spec.loss_rate, spec.bad_share
    x, d = 1 - spec.p_good_to_bad - spec.p_bad_to_good, spec.loss_bad - spec.loss_good
    variance = (q * (1 - q) + 2 * d * d * b * (1 - b) * x / (1 - x)) / N
    seen = sum(losses(spec, N, seed=11)) / N
    assert abs(seen - q) <= 5 * sqrt(variance)


def test_burst_length_of_the_simple_channel_is_geometric() -> None:
    """Runs end with r = 0.25 each message: mean 4, sd sqrt(1-r)/r = 3.46; 5 standard errors."""
    spec = GilbertElliott(0.01, 0.25)
    runs = [len(list(run)) for lost, run in groupby(losses(spec, N, seed=5)) if lost]
    assert spec.mean_burst_length == pytest.approx(4.0)
    assert abs(sum(runs) / len(runs) - 4) <= 5 * sqrt(0.75) / 0.25 / sqrt(len(runs))


@pytest.mark.parametrize("spec", CHANNELS[:4], ids=repr)
def test_mean_burst_length_by_following_a_run(spec: GilbertElliott) -> None:
    """E[length] = sum of P(length >= k), the two states carried along from the start of a run."""
    p, r, g, b = spec.p_good_to_bad, spec.p_bad_to_good, spec.loss_good, spec.loss_bad
    bad = spec.bad_share
    arrived = ((1 - bad) * (1 - g), bad * (1 - b))

    def then_lost(good: float, bad: float) -> tuple[float, float]:
        return (good * (1 - p) + bad * r) * g, (good * p + bad * (1 - r)) * b

    state = then_lost(*arrived)
    starts, total = sum(state), 0.0
    for _ in range(2_000):
        total += sum(state)
        state = then_lost(*state)
    assert spec.mean_burst_length == pytest.approx(total / starts, rel=1e-9)


def test_burst_figures() -> None:
    spec = GilbertElliott(0.01, 0.24, loss_good=0.001, loss_bad=0.5)
    assert spec.bad_share == pytest.approx(0.04)
    assert spec.loss_rate == pytest.approx(0.96 * 0.001 + 0.04 * 0.5)
    assert spec.mean_bad_period == pytest.approx(1 / 0.24)
    assert GilbertElliott(0.0, 1.0).mean_burst_length == 0.0
    assert GilbertElliott(1.0, 1.0, 1.0, 1.0).mean_burst_length == float("inf")


def test_from_loss() -> None:
    spec = GilbertElliott.from_loss(0.02, 5)
    assert spec.loss_rate == pytest.approx(0.02)
    assert spec.mean_burst_length == pytest.approx(5)
    with pytest.raises(FieldError, match="at least 9 messages at this loss"):
        GilbertElliott.from_loss(0.9, 2)


def test_the_chain_starts_stationary() -> None:
    """The first message is lost as often as any: 20,000 links, rate 0.2, 5 standard errors."""
    spec, n, rng = GilbertElliott.from_loss(0.2, 50), 20_000, random.Random(1)
    lost = sum(GilbertElliottState(spec, rng).lost() for _ in range(n))
    assert abs(lost / n - 0.2) <= 5 * sqrt(0.2 * 0.8 / n)


def test_serialisation_is_rounded_up_and_does_not_accumulate() -> None:
    queue = BandwidthQueue(3)
    # 8 bits at 3 bit/s: 8/3 s = 2,666,667 µs rounded up; three in a row take 8 s exactly.
    assert [queue.enqueue(0, 1) for _ in range(3)] == [2_666_667, 5_333_334, 8_000_000]
    assert BandwidthQueue(8_000_000).enqueue(5, 1_000) == 1_000
    assert BandwidthQueue(10**10).enqueue(0, 100) == 1  # 0.08 µs


def test_a_full_queue_drops_the_newcomer() -> None:
    queue = BandwidthQueue(8_000_000, queue_bytes=1_500)  # one byte per µs
    assert queue.enqueue(0, 1_000) == 1_000  # being sent, waits for nobody
    assert queue.enqueue(0, 1_000) == 2_000
    assert queue.enqueue(0, 1_000) is None  # 1,000 of 1,500 bytes wait already
    assert queue.enqueue(0, 500) == 2_500
    assert queue.waiting_bytes(999) == 1_500
    assert queue.waiting_bytes(1_000) == 500  # the second is being sent
    assert queue.enqueue(1_000, 1_000) == 2_500
    none = BandwidthQueue(8_000_000, queue_bytes=0)
    assert (none.enqueue(0, 10), none.enqueue(9, 10), none.enqueue(10, 10)) == (10, None, 10)


class ExactQueue:
    """The same queue in fractions, looking at every message ever taken."""

    def __init__(self, bps: int, limit: int | None) -> None:
        self.bps, self.limit = bps, limit
        self.taken: list[tuple[Fraction, Fraction, int]] = []

    def enqueue(self, now: int, size: int) -> int | None:
        start = max([Fraction(now), *(end for _, end, _ in self.taken)])
        waiting = sum(s for begin, _, s in self.taken if begin > now)
        if self.limit is not None and start > now and waiting + size > self.limit:
            return None
        end = start + Fraction(size * 8 * 10**6, self.bps)
        self.taken.append((start, end, size))
        return ceil(end - now)


@given(
    st.integers(1, 10**8),
    st.none() | st.integers(0, 5_000),
    st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 2_000)), max_size=40),
)
def test_queue_agrees_with_exact_fractions(
    bps: int, limit: int | None, sends: list[tuple[int, int]]
) -> None:
    ours, exact, now = BandwidthQueue(bps, limit), ExactQueue(bps, limit), 0
    for gap, size in sends:
        now += gap
        assert ours.enqueue(now, size) == exact.enqueue(now, size)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 1_000)), max_size=60))
def test_fifo_never_overtakes_and_never_hurries(sends: list[tuple[int, int]]) -> None:
    clock, now, last = FifoClock(), 0, 0
    for gap, delay in sends:
        now += gap
        due = now + clock.next(now, delay)
        assert due == max(now + delay, last)
        last = due


SPECS = [
    LinkSpec(Constant(0)),
    LinkSpec(Uniform(1, 9), loss=0.01, duplicate=0.1, corrupt=0.5, corrupt_mode="deliver"),
    LinkSpec(Constant(5), reorder=0.25, reorder_extra=Exponential(100)),
    LinkSpec(Constant(5), reorder=0.25),
    LinkSpec(Constant(5), burst=GilbertElliott(0.01, 0.25), fifo=True),
    LinkSpec(Constant(5), burst=GilbertElliott(0.01, 0.25, 0.1, 0.9)),
    LinkSpec(Constant(5), bandwidth_bps=10_000_000, queue_bytes=65_536),
    LinkSpec(Constant(5), bandwidth_bps=9_601, queue_bytes=0),
]


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_links_round_trip_and_hash(spec: LinkSpec) -> None:
    again = parse_link(spec.to_value())
    assert again == spec
    assert hash(again) == hash(spec)
    assert all(key in LINK_KEYS for key in spec.to_value())


def test_every_key() -> None:
    value = {
        "latency": "10ms..20ms",
        "loss": "1%",
        "burst": {"loss": "2%", "length": 4},
        "duplicate": 0.05,
        "reorder": {"probability": "3%", "extra": "50ms"},
        "corrupt": "0.5%",
        "corrupt_mode": "deliver",
        "bandwidth": "10Mbit/s",
        "queue": "64KiB",
        "fifo": False,
    }
    assert tuple(value) == LINK_KEYS
    assert parse_link(value) == LinkSpec(
        Uniform(10_000, 20_000),
        loss=0.01,
        burst=GilbertElliott.from_loss(0.02, 4),
        duplicate=0.05,
        reorder=0.03,
        reorder_extra=Constant(50_000),
        corrupt=0.005,
        corrupt_mode="deliver",
        bandwidth_bps=10_000_000,
        queue_bytes=65_536,
    )


def test_short_forms_are_a_latency() -> None:
    assert parse_link("10ms") == LinkSpec(Constant(10_000))
    assert parse_link({"exponential": {"mean": "2ms"}}) == LinkSpec(Exponential(2_000))
    spec = LinkSpec(Constant(1), loss=0.5)
    assert parse_link(spec) is spec
    assert parse_link("2us", base=spec) == LinkSpec(Constant(2), loss=0.5)


def test_a_base_fills_what_is_left_out() -> None:
    base = LinkSpec(
        Constant(1), loss=0.5, burst=GilbertElliott(0.1, 0.2), bandwidth_bps=8, queue_bytes=7
    )
    assert parse_link({}, base) == base
    assert parse_link({"loss": 0, "burst": None, "bandwidth": None}, base) == LinkSpec(Constant(1))
    slower = parse_link({"bandwidth": "4bit/s"}, base)
    assert (slower.bandwidth_bps, slower.queue_bytes) == (4, 7)


def test_all_mistakes_at_once() -> None:
    with pytest.raises(FieldErrors) as caught:
        parse_link(
            {
                "latancy": "1ms",
                "loss": 5,
                "reorder": {"probability": "1%", "extra": 3},
                "burst": {"p_good_to_bad": 2},
                "corrupt_mode": "maybe",
                "bandwidth": 100,
                "fifo": "yes",
            }
        )
    assert [error.path for error in caught.value.errors] == [
        ("latancy",),
        ("latency",),
        ("loss",),
        ("burst", "p_good_to_bad"),
        ("burst", "p_bad_to_good"),
        ("reorder", "extra"),
        ("corrupt_mode",),
        ("bandwidth",),
        ("fifo",),
    ]
    assert "did you mean 'latency'?" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        (5, (), "a mapping with the keys latency"),
        ({}, ("latency",), "add this key"),
        ({"latency": "1ms", "queue": "1kB"}, ("queue",), "add bandwidth"),
        ({"latency": "1ms", "fifo": True, "reorder": "1%"}, ("reorder",), "fifo"),
        ({"latency": {"normal": {"mean": "1ms"}}}, ("latency", "normal", "sd"), "add this key"),
        (
            {"latency": "1ms", "burst": {"p_good_to_bad": 0.1, "p_bad_to_good": 0}},
            ("burst", "p_bad_to_good"),
            "a burst that never ends is loss: 100%",
        ),
        (
            {"latency": "1ms", "burst": {"loss": "10%", "length": 0.5}},
            ("burst", "length"),
            "at least 1",
        ),
    ],
)
def test_refused(value: object, path: tuple[str, ...], says: str) -> None:
    with pytest.raises(FieldErrors) as caught:
        parse_link(value)
    assert caught.value.path == path
    assert says in str(caught.value)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(FieldError, match="a latency such as"):
        LinkSpec("10ms")  # type: ignore[arg-type]
    with pytest.raises(FieldError, match="from 0 to 1"):
        LinkSpec(Constant(1), loss=1.5)
    with pytest.raises(FieldError, match=r'"drop" .* or "deliver"'):
        LinkSpec(Constant(1), corrupt_mode="x")  # type: ignore[arg-type]
    with pytest.raises(FieldError, match="at least 1 bit/s"):
        LinkSpec(Constant(1), bandwidth_bps=0)
