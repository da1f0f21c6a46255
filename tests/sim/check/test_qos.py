"""Quality of service on timelines worked by hand, and on a process with a closed form."""

import json
import math
import random
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.check.qos import PairRecord, measure, pool, summarise

S, T = True, False  # an S-transition turns to suspected, a T-transition to trusted


def pair(*transitions, end=100, **more):
    return PairRecord("n1", "n2", more.pop("start", 0), end, transitions, **more)


# --- one pair, by hand ----------------------------------------------------------------------------


def test_mistakes_of_a_target_that_stays_up():
    #   0    10--15      30----40   60-62        100
    # T_M 5 10 2; T_MR 20 30; T_G 15 20; suspected 17 of 100; 3 mistakes in 100 µs
    # E(T_FG) = (15² + 20²) / (2 (15 + 20)) = 625 / 70
    record = pair((10, S), (15, T), (30, S), (40, T), (60, S), (62, T))
    found = summarise(record)
    assert (found.t_m.n, found.t_m.value) == (3, pytest.approx(17 / 3))
    assert (found.t_m.smallest, found.t_m.largest) == (2, 10)
    assert (found.t_mr.n, found.t_mr.value) == (2, 25)
    assert (found.t_g.n, found.t_g.value) == (2, 17.5)
    assert (found.t_fg.n, found.t_fg.value) == (2, pytest.approx(625 / 70))
    assert found.p_a.value == pytest.approx(0.83)
    assert found.mistake_rate_per_s.value == pytest.approx(3 / 100e-6)
    assert (found.observed_us, found.mistakes, found.undetected) == (100, 3, 0)
    assert found.t_d is None
    assert found.t_r is None


def test_forward_good_time_is_that_of_chen():
    # E(T_G)/2 · (1 + V(T_G)/E(T_G)²) with E = 17.5, V = 6.25 (population)
    record = pair((10, S), (15, T), (30, S), (40, T), (60, S), (62, T))
    assert summarise(record).t_fg.value == pytest.approx(17.5 / 2 * (1 + 6.25 / 17.5**2))


def test_detection_is_the_last_suspicion_not_the_first():
    # crash 50; suspected 55, taken back 58 (a late heartbeat), for good 63: T_D = 13.
    # Up time 0..50 was clean, and the suspicions after the crash are no mistakes.
    found = summarise(pair((55, S), (58, T), (63, S), crash_us=50))
    assert (found.t_d.n, found.t_d.value, found.t_d.censored) == (1, 13, 0)
    assert (found.mistakes, found.observed_us, found.p_a.value) == (0, 50, 1)
    assert found.t_d.interval is None


def test_a_mistake_that_runs_into_the_crash():
    # suspected from 40, crash 50: T_D = 0; 10 of 50 µs count against P_A; no T_M sample
    found = summarise(pair((40, S), crash_us=50))
    assert (found.t_d.value, found.t_m) == (0, None)
    assert (found.mistakes, found.p_a.value) == (1, pytest.approx(0.8))
    record = pair((10, S), (12, T), (40, S), crash_us=50)
    assert (summarise(record).t_m.n, summarise(record).t_m.censored) == (1, 1)


def test_a_detection_that_the_run_did_not_see_is_censored():
    found = summarise(pair((60, S), (70, T), crash_us=50))
    assert (found.t_d, found.undetected, found.missed_downs) == (None, 1, 0)
    assert measure(pair((60, S), (70, T), crash_us=50)).undetected_us == (50,)
    assert summarise(pair((100, S), crash_us=50)).undetected == 1  # at the very end: not seen


def test_every_down_of_a_recovering_target_is_a_detection():
    # downs 20-40 (suspected 26, trusted again 43: T_D 6, T_R 3) and 60-65 (never suspected:
    # missed, at least 5). Up: 20 + 20 + 35 = 75 µs, of which 40-43 suspected, by no mistake.
    record = pair((26, S), (43, T), downs=((20, 40), (60, 65)))
    found = summarise(record)
    assert (found.t_d.n, found.t_d.value, found.t_d.censored) == (1, 6, 1)
    assert (found.undetected, found.missed_downs) == (1, 1)
    assert (found.t_r.n, found.t_r.value) == (1, 3)
    assert (found.observed_us, found.mistakes) == (75, 0)
    assert found.p_a.value == pytest.approx(1 - 3 / 75)


def test_mistakes_are_not_counted_across_a_down():
    # S at 10 and S at 60, a down 30-40 between: no T_MR, no T_G; both T_M
    found = summarise(pair((10, S), (20, T), (60, S), (70, T), downs=((30, 40),)))
    assert (found.t_mr, found.t_g, found.t_m.n) == (None, None, 2)


def test_what_a_monitor_says_while_it_is_down_is_left_out():
    # monitor down 20-50; the mistake 10.. is censored at 20, what follows at 50 is inherited
    record = pair((10, S), (30, T), (40, S), (55, T), monitor_downs=((20, 50),))
    found = measure(record)
    assert (found.observed_us, found.suspected_us) == (70, 15)
    assert (found.mistakes, found.open_mistakes, found.t_m_us, found.t_r_us) == (1, 1, (), ())


def test_a_monitor_that_goes_down_ends_the_watch_on_a_crash():
    # crash 40; monitor down 50-60: lower bound 10. Suspected 45 instead: detected after 5.
    assert measure(pair((55, S), crash_us=40, monitor_downs=((50, 60),))).undetected_us == (10,)
    assert measure(pair((45, S), crash_us=40, monitor_downs=((50, 60),))).t_d_us == (5,)
    # a crash while the monitor is down is nobody's to detect
    during = measure(pair((70, S), crash_us=55, monitor_downs=((10, 20), (50, 60))))
    assert (during.t_d_us, during.undetected_us) == ((), ())


def test_the_window_cuts_what_came_before():
    # window 20..100: the mistake 10..30 is inherited: 10 µs against P_A, no T_M, no S-transition
    record = pair((10, S), (30, T), (50, S), (54, T), (200, S), start=20)
    found = measure(record)
    assert (found.observed_us, found.suspected_us, found.mistakes) == (80, 14, 1)
    assert (found.t_m_us, found.t_g_us, found.t_mr_us) == ((4,), (20,), ())
    assert measure(pair((15, S), crash_us=10, start=20)).t_d_us == ()  # crashed before the window


def test_repeats_of_a_state_are_no_transitions():
    noisy = pair((10, S), (12, S), (15, T), (18, T), (30, S), (40, T))
    assert measure(noisy) == measure(pair((10, S), (15, T), (30, S), (40, T)))
    assert measure(pair((10, S), (20, T), initially_suspected=True)).suspected_us == 20


def test_nothing_observed_gives_none_not_zero():
    found = summarise(pair(crash_us=0))
    assert (found.p_a, found.mistake_rate_per_s, found.t_m) == (None, None, None)
    assert pool([]).p_a is None


def test_no_mistake_still_bounds_the_rate():
    # 0 events in 1000 s: at most 3.689/1000 per second at 95 % (Garwood); P_A has no interval
    found = summarise(pair(end=1_000_000_000))
    rate = found.mistake_rate_per_s
    assert (rate.value, rate.interval.low) == (0, 0)
    assert rate.interval.high == pytest.approx(3.6889e-3, rel=1e-4)
    assert (found.p_a.value, found.p_a.interval) == (1, None)


def test_a_summary_is_ready_for_json():
    shown = json.loads(json.dumps(summarise(pair((10, S), (15, T), crash_us=50)).to_json()))
    assert shown["t_m"]["value"] == 5
    assert shown["mistake_rate_per_s"]["interval"]["method"] == "exact Poisson, 1 events"
    assert shown["t_d"] is None


# --- records that contradict themselves -----------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"start": 200}, "start_us 200 is after end_us 100"),
        ({"downs": ((5, 5),)}, "from < to"),
        ({"downs": ((5, 9), (8, 12))}, "sorted and apart"),
        ({"monitor_downs": ((8, 12), (1, 2))}, "sorted and apart"),
        ({"crash_us": 50, "downs": ((40, 60),)}, "beyond the last crash at 50"),
        ({"event_ids": (1,)}, "1 event_ids, 0 transitions"),
    ],
)
def test_a_contradictory_record_is_refused(more, message):
    with pytest.raises(ValueError, match=f"n1 about n2: .*{message}"):
        pair(**more)


def test_transitions_must_be_in_time_order():
    with pytest.raises(ValueError, match="back in time, from 9 to 3"):
        pair((9, S), (3, T))


def test_a_crash_may_be_the_last_of_the_downs():
    both = pair((60, S), downs=((10, 20), (50, 100)), crash_us=50)
    assert both.target_downs()[:1] == [(10, 20)]
    assert measure(both) == measure(pair((60, S), downs=((10, 20),), crash_us=50))
    with pytest.raises(ValueError, match="'pair', 'target' and 'run'"):
        pool([both], by="node")


# --- properties -----------------------------------------------------------------------------------


@st.composite
def records(draw):
    def cuts(most):
        return sorted(draw(st.sets(st.integers(0, 300), max_size=most)))

    def spans():
        times = cuts(6)
        return tuple(zip(times[::2], times[1::2], strict=False))

    downs = spans()
    ended = downs[-1][1] if downs else 0
    crash = draw(st.none() | st.integers(ended, 320))
    states = draw(st.lists(st.booleans(), min_size=12, max_size=12))
    start = draw(st.integers(0, 100))
    return PairRecord(
        "n1",
        draw(st.sampled_from(["n2", "n3"])),
        start,
        draw(st.integers(start, 310)),
        tuple(zip(cuts(12), states, strict=False)),
        draw(st.booleans()),
        crash,
        downs,
        spans(),
    )


def output_by_hand(record, time_us):
    said = [suspected for at, suspected in record.transitions if at <= time_us]
    return said[-1] if said else record.initially_suspected


def up(spans, time_us):
    return not any(start <= time_us < end for start, end in spans)


@given(records())
def test_times_agree_with_a_walk_over_every_microsecond(record):
    down = [*record.downs, *([(record.crash_us, 10**9)] if record.crash_us is not None else [])]
    both = [
        t
        for t in range(record.start_us, record.end_us)
        if up(down, t) and up(record.monitor_downs, t)
    ]
    found = measure(record)
    assert found.observed_us == len(both)
    assert found.suspected_us == sum(output_by_hand(record, t) for t in both)
    begun = [t for t in both if output_by_hand(record, t) and not output_by_hand(record, t - 1)]
    assert found.mistakes == len(begun)
    assert found.mistakes == len(found.t_m_us) + found.open_mistakes


@given(records())
def test_an_accuracy_is_a_probability(record):
    found = summarise(record)
    assert found.p_a is None or 0 <= found.p_a.value <= 1
    assert all(t >= 0 for t in measure(record).t_d_us)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=60))
def test_a_renewal_cycle_is_a_mistake_and_a_good_period(lengths):
    # alternating: good, bad, good, bad ...; T_MR = T_M + T_G in every complete cycle
    now, transitions = 0, []
    for index, length in enumerate(lengths):
        now += length
        transitions.append((now, index % 2 == 0))
    found = measure(pair(*transitions, end=now + 1))
    cycles = zip(found.t_m_us, found.t_g_us, strict=False)
    assert [m + g for m, g in cycles] == list(found.t_mr_us)
    starts = [t for t, suspected in transitions if suspected]
    assert list(found.t_mr_us) == [b - a for a, b in pairwise(starts)]


@given(st.lists(records(), min_size=1, max_size=6))
def test_pooling_is_weighting(many):
    pooled, single = pool(many), [summarise(record) for record in many]
    for name in ("t_d", "t_mr", "t_m", "t_g", "t_r"):
        metrics = [m for one in single if (m := getattr(one, name)) is not None]
        if not metrics:
            assert getattr(pooled, name) is None
            continue
        n = sum(m.n for m in metrics)
        assert getattr(pooled, name).n == n
        weighted = sum(m.value * m.n for m in metrics) / n
        assert getattr(pooled, name).value == pytest.approx(weighted)
    observed = sum(one.observed_us for one in single)
    if observed:
        wrong = sum((1 - one.p_a.value) * one.observed_us for one in single if one.p_a)
        assert pooled.p_a.value == pytest.approx(1 - wrong / observed)
        rate = sum(one.mistakes for one in single) / observed * 1e6
        assert pooled.mistake_rate_per_s.value == pytest.approx(rate)


# --- intervals ------------------------------------------------------------------------------------


def renewal(rng, good_us, bad_us, end, **more):
    """Alternate exponential good periods and mistakes from a trusted start."""
    now, transitions = 0, []
    while True:
        for mean_us, suspected in ((good_us, S), (bad_us, T)):
            now += round(rng.expovariate(1 / mean_us))
            if now >= end:
                return pair(*transitions, end=end, **more)
            transitions.append((now, suspected))


def assert_nominal(hits, trials, level=0.95):
    sd = math.sqrt(trials * level * (1 - level))
    assert abs(hits - trials * level) <= 3.5 * sd, f"{hits} of {trials} at level {level}"


GOOD, BAD = 100_000, 25_000  # P_A = 100/125 = 0.8; rate 1/125 ms = 8 per second; T_FG = 100 ms
TRUTH = {"p_a": 0.8, "mistake_rate_per_s": 8.0, "t_m": 25_000, "t_g": 100_000, "t_fg": 100_000}


def test_one_long_run_covers_the_closed_form_at_its_level():
    # 800 cycles in a run, batches of 27 cycles. The memoryless good period is its own forward time.
    rng, trials = random.Random(21), 300
    hits = dict.fromkeys(TRUTH, 0)
    for _ in range(trials):
        found = summarise(renewal(rng, GOOD, BAD, 800 * (GOOD + BAD)))
        for name, truth in TRUTH.items():
            hits[name] += truth in getattr(found, name).interval
    for name in ("p_a", "mistake_rate_per_s", "t_m", "t_g"):
        assert_nominal(hits[name], trials)
    # The square in T_FG is skewed, and a symmetric interval falls somewhat short of its level.
    assert 0.88 * trials <= hits["t_fg"] <= 0.98 * trials


def test_many_pairs_cover_the_closed_form_at_its_level():
    # 40 pairs of 32 cycles; unit = pair
    rng, trials, hits = random.Random(22), 300, 0
    for _ in range(trials):
        many = [renewal(rng, GOOD, BAD, 4_000_000) for _ in range(40)]
        hits += 8.0 in pool(many).mistake_rate_per_s.interval
    # With a = 10/s, b = 40/s and a trusted start, E(N(t)) = 8 t + a²/(a+b)² = 8 t + 0.04: over all
    # pairs 1.6 mistakes too many, against a standard deviation of 29.
    assert_nominal(hits, trials)


def regular(mistakes, shift=0):
    """A mistake every 100 µs, of 1 to 13 µs."""
    edges = ((100 * i, 100 * i + 1 + (7 * i + shift) % 13) for i in range(1, mistakes + 1))
    transitions = [edge for on, off in edges for edge in ((on, S), (off, T))]
    return pair(*transitions, end=100 * mistakes + 100)


def chen_nfd_s(rng, beats, delta_us):
    """NFD-S, section 3: beat i leaves at i s, is lost with 1 %, else takes exp(20 ms).

    In [τ_i, τ_i+1), τ_i = i s + δ, the target is trusted iff a beat j >= i has arrived; δ of
    1 s or more, below 2 s, so that only the beats i, i+1 and i+2 can be that beat.
    """
    second = 1_000_000
    lost = 10**15
    arrivals = [
        lost if rng.random() < 0.01 else i * second + round(rng.expovariate(1 / 20_000))
        for i in range(beats + 2)
    ]
    transitions = []
    for i in range(beats):
        fresh = min(arrivals[i : i + 3])
        start = i * second + delta_us
        if fresh > start:
            transitions.append((start, S))
            if fresh < start + second:
                transitions.append((fresh, T))
    return pair(*transitions, start=delta_us, end=beats * second + delta_us)


# η = 1 s, loss 1 %, delay exp(20 ms): E(T_MR), E(T_M) in s and P_A from the closed form of
# theorem 5, p_s and u(x) evaluated by numerical integration.
NFD_S = [
    (1_000_000, 101.01, 0.030101, 0.9997020),
    (1_020_000, 269.936, 0.046459, 0.9998279),
    (1_050_000, 1106.79, 0.125200, 0.99988688),
]


@pytest.mark.parametrize(("delta_us", "t_mr_s", "t_m_s", "p_a"), NFD_S)
def test_the_detector_of_chen_has_the_qos_of_its_theorem(delta_us, t_mr_s, t_m_s, p_a):
    found = summarise(chen_nfd_s(random.Random(31), 150_000, delta_us), level=0.99)
    assert t_mr_s * 1e6 in found.t_mr.interval
    assert t_m_s * 1e6 in found.t_m.interval
    assert p_a in found.p_a.interval
    assert 1 / t_mr_s in found.mistake_rate_per_s.interval
    assert found.t_mr.value == pytest.approx(t_mr_s * 1e6, rel=0.25)


def test_units_are_pairs_or_batches_and_the_method_says_which():
    many = [regular(80, shift) for shift in range(12)]
    assert pool(many).t_m.interval.method == "ratio, delta method, n=12"
    # nine pairs of 80 mistakes: 720/30 = 24 in a batch, three batches in a pair
    assert pool(many[:9]).t_m.interval.method == "ratio, delta method, n=27"
    # 49 mistakes in batches of five are nine batches, one too few; 50 are ten
    assert summarise(regular(49)).t_m.interval is None
    assert summarise(regular(50)).t_m.interval.method == "ratio, delta method, n=10"


def test_a_stream_asks_for_the_bootstrap():
    many = [regular(80 + 5 * shift, shift) for shift in range(12)]
    found = pool(many, rng=random.Random(1)).t_m.interval
    assert found.method == "bootstrap bca, n=12, 2000 draws"
    assert found == pool(many, rng=random.Random(1)).t_m.interval
    plain = pool(many).t_m.interval
    assert found.high - found.low == pytest.approx(plain.high - plain.low, rel=0.35)


def test_monitors_of_one_crash_are_one_unit():
    # 8 targets × 10 monitors: 80 pairs, but 8 crashes only, too few for an interval of T_D
    many = [
        PairRecord(f"m{m}", f"t{t}", 0, 100, ((50 + 3 * t + m % 2, S),), crash_us=40)
        for t in range(8)
        for m in range(10)
    ]
    assert pool(many).t_d.interval is not None
    assert pool(many, by="target").t_d.value == pool(many).t_d.value
    assert pool(many, by="target").t_d.interval is None
    assert pool(many, by="run").t_d.interval is None
    again = [replace(record, run="second") for record in many]  # the same, in another run
    assert pool(many + again, by="target").t_d.interval.method == "ratio, delta method, n=16"


def test_mistakes_of_few_pairs_carry_no_interval():
    # 20 pairs, all mistakes by one of them: ten mistakes, but one unit only saw any
    busy = pair(*((5 * i, i % 2 == 0) for i in range(1, 41)), end=1000)
    found = pool([busy, *(pair(end=1000) for _ in range(19))])
    assert found.mistakes == 20
    assert found.p_a.interval is None
    assert found.mistake_rate_per_s.interval is None


def test_ten_thousand_pairs_are_measured_in_seconds():
    rng = random.Random(4)
    many = [renewal(rng, GOOD, BAD, 1_000_000, crash_us=900_000) for _ in range(10_000)]
    began = time.process_time()
    found = pool(many, rng=random.Random(1))
    assert time.process_time() - began < 10
    assert found.pairs == 10_000
    assert found.t_d.n + found.undetected == 10_000
    assert found.t_m.interval.method == "ratio, delta method, n=" + str(
        sum(bool(measure(one).t_m_us) for one in many)
    )
