"""Spread of an update, by hand and against a simulated epidemic."""

import json
import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.check.gossip import Spread, agreement, eventual_delivery, spread
from sim.check.result import Ok, Unknown, Violated

INFORMED = [(0, "n1"), (2, "n3"), (1, "n2"), (5, "n2"), (2, "n4")]  # n2 twice: the first counts
NODES = ["n1", "n2", "n3", "n4", "n5"]


def test_figures_by_hand():
    # 5 nodes, informed at 0 1 2 2, n5 never: s = 1/5, t_ave = 5/4, t_last = 2; m = 12/5
    found = spread(INFORMED, 5, messages=12)
    assert found == Spread(5, 0, (0, 1, 2, 2), 12)
    assert (found.residue, found.traffic, found.t_ave, found.t_last) == (0.2, 2.4, 1.25, 2)
    assert found.curve() == ((0, 0.2), (1, 0.4), (2, 0.8))
    assert [found.fraction_at(t) for t in (-1, 0, 1, 9)] == [0, 0.2, 0.4, 0.8]


def test_coverage_is_a_delay_or_none():
    found = spread([(10 + t, n) for t, n in INFORMED], 5)
    assert [found.coverage_delay(f) for f in (0.2, 0.4, 0.5, 0.8)] == [0, 1, 2, 2]
    assert found.coverage_delay(0.9) is None
    assert found.traffic is None
    late = spread([(10 + t, n) for t, n in INFORMED], 5, start=7)
    assert (late.coverage_delay(0.4), late.t_last, late.t_ave) == (4, 5, 4.25)


def test_a_fraction_means_its_decimal_digits():
    # binary 0.07 · 100 = 7.000000000000001, and 0.9999 · 10,000 must be 9,999
    assert math.ceil(0.07 * 100) == 8
    hundred = spread([(i, f"n{i}") for i in range(100)], 100)
    assert hundred.coverage_delay(0.07) == 6
    many = spread([(i, f"n{i}") for i in range(10_000)], 10_000)
    assert many.coverage_delay(0.9999) == 9_998


def test_the_figures_are_ready_for_json():
    shown = json.loads(json.dumps(spread(INFORMED, 5).to_json()))
    assert shown["coverage"] == {"0.5": 2, "0.9": None, "0.99": None, "0.9999": None}
    assert shown["residue"] == 0.2


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="4 nodes were informed of n=3"):
        spread(INFORMED, 3)
    with pytest.raises(ValueError, match="0 nodes were informed"):
        spread([], 3)
    with pytest.raises(ValueError, match="at 0, before the start 1"):
        spread(INFORMED, 5, start=1)
    with pytest.raises(ValueError, match="messages is -1"):
        spread(INFORMED, 5, messages=-1)
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        spread(INFORMED, 5).coverage_delay(50)


@given(
    st.dictionaries(st.sampled_from([f"n{i}" for i in range(30)]), st.integers(0, 99), min_size=1)
)
def test_the_curve_grows_to_one_minus_the_residue(times):
    found = spread([(t, n) for n, t in times.items()], 30)
    shares = [share for _, share in found.curve()]
    assert shares == sorted(set(shares))
    assert shares[-1] == pytest.approx(1 - found.residue)
    for time, share in found.curve():
        assert found.fraction_at(time) == share
        count = sum(t <= time for t in times.values())
        assert found.coverage_delay(Fraction(count, 30)) == time - found.start


def push_epidemic(rng, n):
    """Every informed node tells one other, chosen at random, in every cycle."""
    informed, cycle, messages = {0: 0}, 0, 0
    while len(informed) < n:
        cycle += 1
        for node in list(informed):
            other = rng.randrange(n - 1)
            other += other >= node
            informed.setdefault(other, cycle)
            messages += 1
    return spread(((t, f"n{i}") for i, t in informed.items()), n, messages=messages)


def test_push_takes_as_many_cycles_as_published():
    # Push on the complete graph, n = 100: mean 12.25 cycles (log2 n + ln n = 11.25, + O(1)).
    # Only nodes informed before a cycle push in it. 300 runs, sd of one about 1.6: error 0.09.
    rng = random.Random(12)
    runs = [push_epidemic(rng, 100) for _ in range(300)]
    assert sum(run.t_last for run in runs) / 300 == pytest.approx(12.25, abs=0.3)
    assert all(run.residue == 0 for run in runs)
    assert all(run.coverage_delay(0.5) < run.coverage_delay(0.99) <= run.t_last for run in runs)


# --- delivery -------------------------------------------------------------------------------------


def deliver(informed, *, bound_us=10, end_us=50, downs=None):
    return eventual_delivery(
        informed, NODES, start_us=0, bound_us=bound_us, end_us=end_us, downs=downs
    )


ALL = [*INFORMED, (9, "n5")]


def test_all_informed_in_time_is_ok():
    assert deliver(ALL) == Ok("eventual delivery: all 4 nodes got it", {"nodes": 4, "last_us": 9})
    assert deliver(ALL, bound_us=9).verdict == "ok"


def test_a_late_or_missing_node_is_a_violation():
    late = deliver(ALL, bound_us=8)
    assert isinstance(late, Violated)
    assert (late.counterexample.nodes, late.counterexample.time_us) == (("n5",), 8)
    assert "got it only at 9" in late.why
    never = deliver(INFORMED)
    assert isinstance(never, Violated)
    assert "n5 should have had the update by 10us and never got it" in never.why


def test_a_node_that_is_down_for_good_need_not_have_it():
    assert deliver(INFORMED, downs={"n5": [(3, 50)]}).verdict == "ok"
    assert deliver(INFORMED, downs={"n5": [(3, 49)]}).verdict == "unknown"  # due at 59


def test_a_node_that_recovers_has_the_bound_anew():
    downs = {"n5": [(0, 20)]}
    assert deliver([*INFORMED, (30, "n5")], downs=downs).verdict == "ok"
    result = deliver([*INFORMED, (31, "n5")], downs=downs)
    assert isinstance(result, Violated)
    assert result.counterexample.time_us == 30


def test_a_run_that_ends_too_early_is_unknown():
    result = deliver(INFORMED, end_us=9)
    assert result == Unknown(
        "eventual delivery: the run ended at 9us, before 1 of 4 nodes were due (n5 at 10us)"
    )
    assert deliver([*INFORMED, (60, "n5")], bound_us=70, end_us=50).verdict == "unknown"


def test_with_nobody_left_to_inform_nothing_was_checked():
    downs = {node: [(1, 50)] for node in NODES[1:]}
    assert deliver([(0, "n1")], downs=downs).verdict == "unknown"


def test_agreement_lets_an_update_die_with_its_source():
    gone = {"n1": [(1, 50)]}
    assert agreement([(0, "n1")], NODES, bound_us=10, end_us=50, downs=gone).verdict == "unknown"
    assert deliver([(0, "n1")], downs=gone).verdict == "violated"


def test_agreement_binds_all_once_a_correct_node_has_it():
    gone = {"n1": [(1, 50)]}
    some = [(0, "n1"), (4, "n2"), (7, "n3"), (14, "n4")]
    result = agreement(some, NODES, bound_us=10, end_us=50, downs=gone)
    assert isinstance(result, Violated)
    assert (result.counterexample.nodes, result.counterexample.time_us) == (("n5",), 14)
    every = agreement([*some, (14, "n5")], NODES, bound_us=10, end_us=50, downs=gone)
    assert every == Ok("agreement: all 3 nodes got it", {"nodes": 3, "last_us": 14})
    assert agreement(some, NODES, bound_us=10, end_us=13, downs=gone).verdict == "unknown"


def test_what_happens_after_the_end_is_not_seen():
    assert agreement([(60, "n2")], NODES, bound_us=10, end_us=50).verdict == "unknown"
    assert "never got it" in deliver([*INFORMED, (60, "n5")]).why


def test_delivery_refuses_strangers_and_bad_times():
    with pytest.raises(ValueError, match="'n9'"):
        deliver([(0, "n9")])
    with pytest.raises(ValueError, match="bound_us is -1"):
        deliver(ALL, bound_us=-1)
    with pytest.raises(ValueError, match="ends at -5"):
        deliver(ALL, end_us=-5)
