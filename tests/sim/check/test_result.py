"""Three answers, never a bool."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.check.result import Counterexample, Ok, Unknown, Violated, combine


def violated(time_us, name="n1"):
    return Violated(f"broken at {time_us}", Counterexample((name,), time_us, (7,), "look here"))


RESULTS = [Ok("fine", {"pairs": 3}), violated(5), Unknown("ran too short")]


@pytest.mark.parametrize("result", RESULTS)
def test_a_result_has_no_truth_value(result):
    with pytest.raises(TypeError, match=r"\.verdict"):
        bool(result)
    with pytest.raises(TypeError):
        if result:
            pass
    with pytest.raises(TypeError):
        assert not result


def test_each_answer_names_its_verdict():
    assert [r.verdict for r in RESULTS] == ["ok", "violated", "unknown"]


@pytest.mark.parametrize("result", RESULTS)
def test_results_are_values(result):
    assert pickle.loads(pickle.dumps(result)) == result
    assert hash(pickle.loads(pickle.dumps(result))) == hash(result)
    with pytest.raises(AttributeError):
        result.why = "other"


def test_to_json_is_ready_for_json():
    shown = [json.loads(json.dumps(r.to_json())) for r in RESULTS]
    assert shown == [
        {"verdict": "ok", "why": "fine", "evidence": {"pairs": 3}},
        {
            "verdict": "violated",
            "why": "broken at 5",
            "counterexample": {
                "nodes": ["n1"],
                "time_us": 5,
                "event_ids": [7],
                "explanation": "look here",
            },
        },
        {"verdict": "unknown", "why": "ran too short"},
    ]


def test_evidence_is_frozen_from_a_mapping_or_pairs():
    names = ["a", "b"]
    result = Ok("fine", {"names": names, "n": 2})
    names.append("c")
    assert result.facts() == {"names": ("a", "b"), "n": 2}
    assert result == Ok("fine", (("names", ("a", "b")), ("n", 2)))
    assert result.to_json()["evidence"] == {"names": ["a", "b"], "n": 2}


def test_evidence_of_another_type_is_refused():
    with pytest.raises(TypeError, match="'who' is a set"):
        Ok("fine", {"who": {"n1"}})


def test_combining_nothing_is_unknown():
    assert combine([]) == Unknown("nothing was checked")
    assert combine(iter(())).verdict == "unknown"


def test_one_result_comes_back_unchanged():
    assert [combine([r]) for r in RESULTS] == RESULTS


def test_the_earliest_violation_is_kept():
    both = combine([Ok("fine"), violated(9), Unknown("?"), violated(4, "n2"), violated(4, "n3")])
    assert isinstance(both, Violated)
    assert both.counterexample == violated(4, "n2").counterexample
    assert both.why == "3 of 5 checks violated; earliest: broken at 4"


def test_unknown_names_the_first_reasons_and_counts_the_rest():
    many = combine([Ok("fine"), *(Unknown(f"reason {i}") for i in range(5))])
    assert many == Unknown(
        "5 of 6 checks unknown: reason 0; reason 1; reason 2; and 2 more",
    )


def test_all_ok_lists_what_was_checked():
    both = combine([Ok("first"), Ok("second"), Ok("first")])
    assert both == Ok("all 3 checks hold", {"checks": 3, "whys": ("first", "second")})


@given(st.lists(st.lists(st.sampled_from(RESULTS), min_size=1), min_size=1))
def test_the_verdict_does_not_depend_on_grouping_or_order(groups):
    flat = [result for group in groups for result in group]
    verdict = combine(flat).verdict
    assert combine([combine(group) for group in groups]).verdict == verdict
    assert combine(flat[::-1]).verdict == verdict
    found = {r.verdict for r in flat}
    assert verdict == next(v for v in ("violated", "unknown", "ok") if v in found)
