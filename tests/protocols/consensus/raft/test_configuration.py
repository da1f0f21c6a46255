"""Configurations: the value, its algebra, and what its errors say."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from protocols.canonical import digest, plain, why_mutable
from protocols.consensus.raft.configuration import (
    NO_NODE,
    AddLearner,
    AddVoter,
    Configuration,
    ConfigurationError,
    Remove,
    Update,
)

THREE = Configuration(("n1", "n2", "n3"))


def test_groups_are_sorted_and_free_of_repetitions() -> None:
    made = Configuration(frozenset({"n3", "n1", "n2"}), ["l2", "l1", "l2"])
    assert made == Configuration(("n1", "n2", "n3"), ("l1", "l2"))
    assert hash(made) == hash(Configuration(["n2", "n3", "n1"], ("l1", "l2")))
    assert made.voters == ("n1", "n2", "n3") and made.learners == ("l1", "l2")


def test_a_configuration_is_a_value_that_messages_and_traces_can_hold() -> None:
    made = THREE.enter_joint(True, [AddVoter("n4"), AddLearner("n1")])
    assert why_mutable(made) is None
    assert pickle.loads(pickle.dumps(made)) == made == replace(made)
    assert plain(made) == {
        "$": "Configuration",
        "voters": ["n2", "n3", "n4"],
        "learners": [],
        "voters_outgoing": ["n1", "n2", "n3"],
        "learners_next": ["n1"],
        "auto_leave": True,
    }
    assert digest(made) != digest(replace(made, auto_leave=False))


def test_members_voters_and_learners() -> None:
    made = Configuration(("n5", "n1"), ("n4",), ("n1", "n2", "n3"), ("n3",))
    assert made.joint and not THREE.joint
    assert made.members() == ("n1", "n2", "n3", "n4", "n5")
    assert [n for n in made.members() if made.is_voter(n)] == ["n1", "n2", "n3", "n5"]
    assert [n for n in made.members() if made.is_learner(n)] == ["n4"]
    assert "n4" in made and "n3" in made and "n9" not in made
    assert THREE.members() == THREE.voters and Configuration().members() == ()


def test_the_text_shows_both_halves() -> None:
    made = Configuration(("n5", "n1"), ("n4",), ("n1", "n3"), ("n3",), True)
    assert str(made) == "(n1 n5)&&(n1 n3) learners=(n4) learners_next=(n3) auto_leave"
    assert (str(THREE), str(Configuration())) == ("(n1 n2 n3)", "()")


# §4.1


def test_a_simple_change_differs_in_one_voter() -> None:
    four = THREE.simple([AddVoter("n4"), AddLearner("l1")])
    assert four == Configuration(("n1", "n2", "n3", "n4"), ("l1",))
    assert four.simple([Remove("n1"), Remove("l1")]) == Configuration(("n2", "n3", "n4"))
    assert four.simple([AddVoter("l1")]).voters == ("l1", "n1", "n2", "n3", "n4")
    assert four.simple([AddLearner("n2")]) == Configuration(("n1", "n3", "n4"), ("l1", "n2"))


def test_the_first_voter_is_added_to_nothing() -> None:
    assert Configuration().simple([AddVoter("n1")]) == Configuration(("n1",))


@pytest.mark.parametrize(
    "changes",
    [(), (AddVoter("n1"),), (Remove("n9"),), (Update("n1"), Update("n9")), (AddVoter(NO_NODE),)],
)
def test_changes_that_are_so_already_change_nothing(changes: tuple[Any, ...]) -> None:
    assert THREE.simple(changes) == THREE
    assert THREE.enter_joint(False, changes).leave_joint() == THREE


# §4.3


def test_joint_consensus_replaces_any_number_of_voters() -> None:
    new = [AddVoter("n7"), AddVoter("n8"), AddVoter("n9"), *map(Remove, THREE.voters)]
    joint = THREE.enter_joint(True, new)
    assert joint == Configuration(("n7", "n8", "n9"), (), THREE.voters, (), True)
    assert joint.leave_joint() == Configuration(("n7", "n8", "n9"))


def test_a_demoted_voter_is_a_learner_only_after_the_joint_configuration() -> None:
    joint = THREE.enter_joint(False, [AddLearner("n1"), AddLearner("l1")])
    assert (joint.learners, joint.learners_next) == (("l1",), ("n1",))
    assert joint.is_voter("n1") and not joint.is_learner("n1")
    assert joint.leave_joint() == Configuration(("n2", "n3"), ("l1", "n1"))
    assert THREE.enter_joint(False, [AddLearner("n1"), AddVoter("n1")]).learners_next == ()


# Errors say what was given, what is allowed and what to try.


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda: THREE.simple([Remove("n1"), AddVoter("n4")]), "n1, n4 differ; .* enter_joint"),
        (lambda: THREE.simple([Remove(n) for n in THREE.voters]), "removed all voters .*keep"),
        (lambda: THREE.enter_joint(True, [Remove(n) for n in THREE.voters]), "removed all voters"),
        (lambda: THREE.enter_joint(True, ()).simple([]), r"\(n1 n2 n3\)&&.* is joint: no change"),
        (lambda: THREE.enter_joint(True, ()).enter_joint(True, ()), "already: leave_joint"),
        (lambda: Configuration().enter_joint(True, [AddVoter("n1")]), "without voters .* first"),
        (lambda: Configuration().simple([AddLearner("n1")]), "removed all voters"),
        (lambda: THREE.leave_joint(), r"\(n1 n2 n3\) is not joint"),
        (lambda: THREE.simple(["n4"]), "'n4' is no change; give AddVoter"),
        (lambda: THREE.enter_joint(True, [AddVoter]), "is no change"),
        (lambda: Configuration("n1"), r"voters='n1': give several names, such as \('n1',\)"),
        (lambda: Configuration(("n1", "")), "a node's name is not empty"),
        (lambda: Configuration(("n1",), ("n1",)), "n1 is a learner and a voter"),
        (lambda: Configuration(("n1",), ("n2",), ("n2",)), "n2 is a learner and a voter"),
        (lambda: Configuration(("n1",), (), ("n1",), ("n1",)), "n1 is in learners_next, but stays"),
        (lambda: Configuration(("n1",), (), ("n2",), ("n3",)), "only nodes of voters_outgoing"),
        (lambda: Configuration((), (), ("n1",)), "leads to at least one voter"),
        (lambda: Configuration(("n1",), auto_leave=True), "give voters_outgoing too"),
    ],
)
def test_errors(change: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        change()


def test_nothing_depends_on_the_order_of_hashes() -> None:
    program = (
        "from protocols.consensus.raft.configuration import *\n"
        "c = Configuration({'n%d' % i for i in range(9)}, {'l1', 'l2', 'l3'})\n"
        "c = c.enter_joint(True, [AddLearner('n3'), AddLearner('n4'), Remove('n5')])\n"
        "print(c, c.members(), c.leave_joint())\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
