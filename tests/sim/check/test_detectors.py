"""The classes of Chandra and Toueg on known-right and known-wrong timelines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.check import detectors as fd
from sim.check.detectors import PairRecord
from sim.check.result import Ok, Unknown, Violated

S, T = True, False
BOUND = 10


def pair(monitor, target, *transitions, **more):
    return PairRecord(monitor, target, 0, more.pop("end", 100), transitions, **more)


# n3 crashes at 40. n1 and n2 find out at 45 and 48, and each once suspects the other by mistake.
GOOD_RUN = [
    pair("n1", "n2", (5, S), (8, T)),
    pair("n1", "n3", (45, S), crash_us=40),
    pair("n2", "n1", (6, S), (9, T)),
    pair("n2", "n3", (48, S), crash_us=40),
    pair("n3", "n1", (20, S), monitor_downs=((40, 100),)),
    pair("n3", "n2", monitor_downs=((40, 100),)),
]


def assert_violated(result, nodes, time_us, *words, events=()):
    assert isinstance(result, Violated), result
    found = result.counterexample
    assert (found.nodes, found.time_us, found.event_ids) == (nodes, time_us, events)
    for word in words:
        assert word in result.why


# --- completeness ---------------------------------------------------------------------------------


def test_a_crash_found_in_time_and_kept_is_complete():
    result = fd.strong_completeness(GOOD_RUN, BOUND)
    assert isinstance(result, Ok)
    assert result.facts() == {"pairs": 2, "shortest_watch_us": 50}  # due at 50, run ends at 100


def test_the_bound_is_met_to_the_microsecond():
    on_time, late = pair("n1", "n2", (50, S), crash_us=40), pair("n1", "n2", (51, S), crash_us=40)
    assert fd.strong_completeness([on_time], BOUND).verdict == "ok"
    assert_violated(
        fd.strong_completeness([late], BOUND), ("n1", "n2"), 50, "crashed at 40", "still did not"
    )


def test_a_crash_never_suspected_is_incomplete():
    silent = pair("n1", "n2", crash_us=40)
    assert_violated(fd.strong_completeness([*GOOD_RUN, silent], BOUND), ("n1", "n2"), 50)


def test_a_suspicion_that_is_taken_back_is_incomplete():
    flaps = pair("n1", "n2", (45, S), (80, T), (81, S), crash_us=40, event_ids=(7, 8, 9))
    result = fd.strong_completeness([flaps], BOUND)
    assert_violated(result, ("n1", "n2"), 80, "no longer did at 80", events=(8,))


def test_even_a_change_at_the_very_end_counts():
    last = pair("n1", "n2", (45, S), (100, T), crash_us=40)
    assert_violated(fd.strong_completeness([last], BOUND), ("n1", "n2"), 100)


def test_without_a_crash_completeness_was_not_exercised():
    result = fd.strong_completeness([pair("n1", "n2")], BOUND)
    assert result == Unknown(
        "strong completeness: no process crashed for good with a correct monitor: "
        "completeness was not exercised"
    )
    assert fd.strong_completeness([], BOUND).verdict == "unknown"
    recovers = pair("n1", "n2", downs=((40, 60),))
    assert fd.strong_completeness([recovers], BOUND).verdict == "unknown"


def test_a_run_that_ends_before_crash_and_bound_is_unknown():
    early = pair("n1", "n2", (45, S), crash_us=91)
    result = fd.strong_completeness([*GOOD_RUN, early], BOUND)
    assert result.verdict == "unknown"
    assert "ended at 100us, before 1 of 3 pairs were due (the last at 101us)" in result.why
    assert fd.strong_completeness([early], 9).verdict == "ok"


def test_a_violation_beats_a_pair_not_yet_due():
    early, silent = pair("n1", "n2", crash_us=95), pair("n1", "n3", crash_us=40)
    assert fd.strong_completeness([early, silent], BOUND).verdict == "violated"


def test_a_monitor_that_recovers_has_the_bound_anew():
    forgot = pair("n1", "n2", (45, S), (70, T), (78, S), crash_us=40, monitor_downs=((60, 70),))
    assert fd.strong_completeness([forgot], BOUND).verdict == "ok"
    assert_violated(fd.strong_completeness([forgot], 7), ("n1", "n2"), 77)


def test_a_down_to_the_end_is_a_crash_for_good():
    found = pair("n1", "n2", (45, S), downs=((10, 20), (40, 100)))
    assert fd.strong_completeness([found], BOUND).verdict == "ok"
    silent = pair("n1", "n2", downs=((10, 20), (40, 200)))
    assert_violated(fd.strong_completeness([silent], BOUND), ("n1", "n2"), 50)


def test_weak_completeness_needs_one_monitor_per_crash():
    one_sees = [pair("n1", "n3", (45, S), crash_us=40), pair("n2", "n3", crash_us=40)]
    assert fd.strong_completeness(one_sees, BOUND).verdict == "violated"
    assert fd.weak_completeness(one_sees, BOUND).verdict == "ok"
    other = pair("n1", "n4", (60, S), (90, T), crash_us=40)
    assert_violated(fd.weak_completeness([*one_sees, other], BOUND), ("n1", "n4"), 50)
    assert fd.weak_completeness([pair("n1", "n2")], BOUND).verdict == "unknown"
    assert fd.weak_completeness([pair("n1", "n2", crash_us=95)], BOUND).verdict == "unknown"


# --- accuracy -------------------------------------------------------------------------------------


def test_strong_accuracy_catches_a_suspicion_before_the_crash():
    wrong = pair("n1", "n2", (30, S), (33, T), (45, S), crash_us=40, event_ids=(3, 4, 5))
    assert_violated(fd.strong_accuracy([wrong]), ("n1", "n2"), 30, "both up", events=(3,))
    right = pair("n1", "n2", (40, S), crash_us=40)  # at the moment of the crash it is down
    assert fd.strong_accuracy([right]).verdict == "ok"
    assert_violated(fd.strong_accuracy([pair("n1", "n2", (39, S), crash_us=40)]), ("n1", "n2"), 39)
    assert_violated(fd.strong_accuracy([pair("n1", "n2", (100, S))]), ("n1", "n2"), 100)
    assert fd.strong_accuracy([pair("n1", "n2", (100, S), crash_us=100)]).verdict == "ok"
    suspects_at_once = pair("n1", "n2", initially_suspected=True)
    assert_violated(fd.strong_accuracy([suspects_at_once], BOUND), ("n1", "n2"), 0)


def test_strong_accuracy_gives_a_recovered_process_the_bound():
    back = pair("n1", "n2", (45, S), (65, T), downs=((40, 60),))
    assert fd.strong_accuracy([back], BOUND).verdict == "ok"
    assert_violated(fd.strong_accuracy([back], 4), ("n1", "n2"), 64)
    assert fd.strong_accuracy([back], 5).verdict == "ok"


def test_strong_accuracy_of_nothing_is_unknown():
    assert fd.strong_accuracy([]).verdict == "unknown"
    assert fd.strong_accuracy([pair("n1", "n2", crash_us=0)]).verdict == "unknown"


def test_weak_accuracy_needs_one_process_never_suspected():
    assert fd.strong_accuracy(GOOD_RUN).verdict == "violated"
    # n2 falls at 5 (by n1); n1, the last candidate, at 6 (by n2, before n3 at 20)
    assert_violated(fd.weak_accuracy(GOOD_RUN), ("n2", "n1"), 6, "all 2 correct targets")
    clean = pair("n1", "n4")
    assert fd.weak_accuracy([*GOOD_RUN, clean]).facts() == {"unsuspected": ("n4",)}
    crashed = pair("n1", "n4", crash_us=50)  # never suspected, but not correct
    assert fd.weak_accuracy([*GOOD_RUN, crashed]).verdict == "violated"
    assert fd.weak_accuracy([crashed]).verdict == "unknown"


def test_one_accuser_is_enough_to_spoil_a_process():
    two = [pair("n1", "n3"), pair("n2", "n3", (10, S), (11, T))]
    assert_violated(fd.weak_accuracy(two), ("n2", "n3"), 10)


def test_eventual_strong_accuracy_forgives_before_and_not_after():
    result = fd.eventual_strong_accuracy(GOOD_RUN, stable_from_us=5, bound_us=BOUND)
    assert isinstance(result, Ok)
    assert result.facts() == {"pairs": 2, "shortest_watch_us": 85}
    late = pair("n2", "n1", (6, S), (16, T))
    assert_violated(fd.eventual_strong_accuracy([late], 5, BOUND), ("n2", "n1"), 15, "is up")
    relapse = pair("n2", "n1", (6, S), (9, T), (90, S), (91, T), event_ids=(1, 2, 3, 4))
    found = fd.eventual_strong_accuracy([relapse], 5, BOUND)
    assert_violated(found, ("n2", "n1"), 90, "no longer did at 90", events=(3,))


def test_nothing_observed_after_stability_is_unknown():
    clean = pair("n1", "n2")
    assert fd.eventual_strong_accuracy([clean], 90, BOUND).verdict == "unknown"
    assert fd.eventual_strong_accuracy([clean], 500, BOUND).verdict == "unknown"
    assert fd.eventual_strong_accuracy([clean], 89, BOUND).verdict == "ok"


def test_no_correct_pair_is_unknown():
    lonely = [pair("n1", "n2", crash_us=40), pair("n2", "n1", monitor_downs=((40, 100),))]
    result = fd.eventual_strong_accuracy(lonely, 0, BOUND)
    assert "no pair of correct processes" in result.why
    assert fd.eventual_weak_accuracy(lonely, 0, BOUND).verdict == "unknown"


def test_recoveries_restart_the_bound_of_accuracy():
    back = pair("n1", "n2", (45, S), (68, T), downs=((40, 60),))
    assert fd.eventual_strong_accuracy([back], 0, BOUND).verdict == "ok"
    assert_violated(fd.eventual_strong_accuracy([back], 0, 7), ("n1", "n2"), 67)


def test_eventual_weak_accuracy_needs_one_process_in_the_end():
    flaky = [pair("n2", "n1", (90, S)), pair("n1", "n2", (20, S), (22, T))]
    assert fd.eventual_strong_accuracy(flaky, 0, BOUND).verdict == "violated"
    assert fd.weak_accuracy(flaky).verdict == "violated"
    assert fd.eventual_weak_accuracy(flaky, 15, BOUND).facts() == {"unsuspected": ("n2",)}
    both = [pair("n2", "n1", (90, S)), pair("n1", "n2", (95, S))]
    assert_violated(fd.eventual_weak_accuracy(both, 0, BOUND), ("n1", "n2"), 95)
    assert fd.eventual_weak_accuracy(both, 95, BOUND).verdict == "unknown"


# --- classes --------------------------------------------------------------------------------------


def test_a_good_run_is_eventually_perfect_and_not_perfect():
    assert fd.eventually_perfect(GOOD_RUN, 5, BOUND).verdict == "ok"
    assert fd.eventually_strong(GOOD_RUN, 5, BOUND).verdict == "ok"
    assert fd.eventually_weak(GOOD_RUN, 5, BOUND).verdict == "ok"
    assert fd.perfect(GOOD_RUN, BOUND).verdict == "violated"
    assert fd.strong(GOOD_RUN, BOUND).verdict == "violated"
    exact = [pair("n1", "n2", (45, S), crash_us=40), pair("n1", "n3")]
    assert fd.perfect(exact, BOUND).verdict == "ok"
    assert fd.strong(exact, BOUND).verdict == "ok"


def test_eventually_perfect_waits_for_stability_on_both_sides():
    # found late, at 70, because of a partition until 65
    late = [pair("n1", "n2", (70, S), crash_us=40), pair("n1", "n3", (42, S), (71, T))]
    assert fd.eventually_perfect(late, 65, BOUND).verdict == "ok"
    assert fd.eventually_perfect(late, 55, BOUND).verdict == "violated"


def test_eventually_perfect_without_a_crash_is_unknown_but_still_catches_mistakes():
    assert fd.eventually_perfect([pair("n1", "n2")], 0, BOUND).verdict == "unknown"
    wrong = pair("n1", "n2", (50, S))
    assert_violated(fd.eventually_perfect([wrong], 0, BOUND), ("n1", "n2"), 50)


def test_a_negative_bound_is_refused():
    for check in (fd.strong_completeness, fd.weak_completeness, fd.strong_accuracy):
        with pytest.raises(ValueError, match="bound_us is -1"):
            check(GOOD_RUN, -1)
    with pytest.raises(ValueError, match="bound_us is -1"):
        fd.eventual_strong_accuracy(GOOD_RUN, 0, -1)


# --- against the definition, moment by moment -----------------------------------------------------


@st.composite
def runs(draw):
    nodes = ["n1", "n2", "n3"]
    crash = {node: draw(st.none() | st.integers(0, 60)) for node in nodes}
    records = []
    for monitor, target in ((m, t) for m in nodes for t in nodes if m != t):
        times = sorted(draw(st.sets(st.integers(0, 60), max_size=4)))
        start = draw(st.booleans())
        transitions = tuple((t, i % 2 == start) for i, t in enumerate(times))
        down = () if crash[monitor] is None else ((crash[monitor], 61),)
        records.append(
            PairRecord(
                monitor, target, 0, 60, transitions, start, crash[target], monitor_downs=down
            )
        )
    return crash, records


def says(record, t):
    said = [suspected for at, suspected in record.transitions if at <= t]
    return said[-1] if said else record.initially_suspected


@given(runs(), st.integers(0, 30), st.integers(0, 40))
def test_verdicts_agree_with_the_definition(run, bound, stable):
    crash, records = run
    correct = [r for r in records if crash[r.monitor] is None]
    dead = [r for r in correct if crash[r.target] is not None]
    live = [r for r in correct if crash[r.target] is None]
    kept = {
        r.monitor + r.target: [says(r, t) for t in range(crash[r.target] + bound, 61)] for r in dead
    }
    verdict = fd.strong_completeness(records, bound).verdict
    if any(not all(said) for said in kept.values()):
        assert verdict == "violated"
    else:
        assert verdict == ("ok" if kept and all(kept.values()) else "unknown")
    after = range(stable + bound, 61) if stable + bound < 60 else ()
    verdict = fd.eventual_strong_accuracy(records, stable, bound).verdict
    if any(says(r, t) for r in live for t in after):
        assert verdict == "violated"
    else:
        assert verdict == ("ok" if live and after else "unknown")


ORDER = {"violated": 0, "unknown": 1, "ok": 2}


@given(runs(), st.integers(0, 30), st.integers(0, 40))
def test_a_stronger_class_implies_the_weaker(run, bound, stable):
    _, records = run
    implications = [
        (fd.strong_completeness(records, bound), fd.weak_completeness(records, bound)),
        (
            fd.eventual_strong_accuracy(records, stable, bound),
            fd.eventual_weak_accuracy(records, stable, bound),
        ),
        (
            fd.eventually_perfect(records, stable, bound),
            fd.eventually_strong(records, stable, bound),
        ),
        (fd.eventually_strong(records, stable, bound), fd.eventually_weak(records, stable, bound)),
    ]
    for stronger, weaker in implications:
        assert stronger.verdict != "ok" or weaker.verdict == "ok"
        assert weaker.verdict != "violated" or stronger.verdict == "violated"
