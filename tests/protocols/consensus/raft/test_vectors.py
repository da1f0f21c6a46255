"""Our majorities and configurations against the test vectors of etcd-io/raft.

The vectors name nodes by numbers, in whose order they are printed; here these are node names.
Their error texts are matched with ours by kind: see ``ERRORS``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from protocols.api import NodeId
from protocols.consensus.raft.configuration import (
    NO_NODE,
    AddLearner,
    AddVoter,
    Change,
    Configuration,
    ConfigurationError,
    Remove,
    Update,
)
from protocols.consensus.raft.quorum import (
    UNBOUNDED,
    VoteResult,
    committed_index,
    majority_index,
    majority_vote,
    vote_result,
)
from tests.protocols.consensus.raft.datadriven import Block, blocks
from tests.protocols.consensus.raft.tracking import Tracker
from tests.shared_data import shared_data

QUORUM = ("majority_commit", "majority_vote", "joint_commit", "joint_vote")
CONFCHANGE = (
    *("joint_autoleave", "joint_idempotency", "joint_learners_next", "joint_safety"),
    *("simple_idempotency", "simple_promote_demote", "simple_safety", "update", "zero"),
)
OUTCOMES = {
    "VoteWon": VoteResult.WON,
    "VoteLost": VoteResult.LOST,
    "VotePending": VoteResult.PENDING,
}
ERRORS = {
    "removed all voters": "would have removed all voters",
    "more than one voter changed without entering joint config": "a simple change may differ in",
    "can't apply simple config change in joint config": "is joint: no change may begin",
    "config is already joint": "is joint already",
    "can't make a zero-voter config joint": "without voters cannot become joint",
    "can't leave a non-joint config": "is not joint: there is none to leave",
}
CHANGES: dict[str, type[Change]] = {"v": AddVoter, "l": AddLearner, "r": Remove, "u": Update}


def vectors(folder: str, name: str) -> tuple[Block, ...]:
    found = tuple(blocks(shared_data("raft", folder, f"{name}.txt")))
    assert found, f"{name}.txt holds no vectors"
    print(f"{folder}/{name}.txt: {len(found)} vectors")
    return found


def test_every_file_of_vectors_is_read() -> None:
    for folder, names in (("quorum", QUORUM), ("confchange", CONFCHANGE)):
        files = shared_data("raft", folder).glob("*.txt")
        assert sorted(file.stem for file in files) == sorted(names)


# -- majorities -------------------------------------------------------------------------------


def by_number(nodes: Iterable[NodeId]) -> list[NodeId]:
    return sorted(nodes, key=int)


def halves(block: Block) -> tuple[tuple[NodeId, ...], tuple[NodeId, ...]]:
    """``cfg`` and ``cfgj``, of which ``zero`` is the empty one."""
    other = block.arguments.get("cfgj", ())
    return block.arguments.get("cfg", ()), () if other == ("zero",) else other


def known(block: Block, name: str) -> dict[NodeId, str]:
    """What each voter says, in the order of first mention; ``_`` says nothing."""
    voters = list(dict.fromkeys((*halves(block)[0], *halves(block)[1])))
    said = block.arguments.get(name, ())
    return {v: s for v, s in zip(voters, said, strict=True) if s != "_"}


def configurations(block: Block) -> list[Configuration]:
    """The configuration of a vector, and others that must decide alike."""
    one, other = halves(block)
    if not one:
        return [Configuration()]
    if other:
        return [Configuration(one, (), other), Configuration(other, (), one)]
    return [Configuration(one), Configuration(one, (), one), Configuration(one, ["learner"])]


def picture(voters: Iterable[NodeId], match: dict[NodeId, int]) -> list[str]:
    """A bar per voter, as long as there are voters with less; ``?`` if nothing is known of it."""
    named = by_number(set(voters))
    held = [match.get(voter, 0) for voter in named]
    lines = [" " * len(named) + "    idx"]
    for voter, index in zip(named, held, strict=True):
        bar = "x" * sum(other < index for other in held) + ">" if voter in match else "?"
        lines.append(f"{bar:<{len(named) + 1}} {index:5d}    (id={voter})")
    return lines


def check_committed(block: Block) -> None:
    one, other = halves(block)
    match = {voter: int(index) for voter, index in known(block, "idx").items()}
    if not one:
        assert block.expected == ("<empty majority quorum>∞",)
        assert committed_index(Configuration(), match) == majority_index((), match) == UNBOUNDED
        return
    *drawn, result = block.expected
    for configuration in configurations(block):
        assert committed_index(configuration, match) == int(result), block.where
    assert min(majority_index(one, match), majority_index(other, match)) == int(result)
    assert picture((*one, *other), match) == drawn, block.where


def check_vote(block: Block) -> None:
    votes = {voter: vote == "y" for voter, vote in known(block, "votes").items()}
    (expected,) = (OUTCOMES[line] for line in block.expected)
    for configuration in configurations(block):
        assert vote_result(configuration, votes) is expected, block.where
    if not halves(block)[1]:
        assert majority_vote(halves(block)[0], votes) is expected, block.where


@pytest.mark.parametrize("name", QUORUM)
def test_majorities(name: str) -> None:
    checks = {"committed": check_committed, "vote": check_vote}
    for block in vectors("quorum", name):
        checks[block.command](block)


# -- configurations ---------------------------------------------------------------------------


def changes(block: Block) -> tuple[Change, ...]:
    """``v1 l2 r3 u4``; node 0 stands for none."""
    tokens = " ".join(block.input).split()
    return tuple(CHANGES[t[0]](NO_NODE if t[1:] == "0" else t[1:]) for t in tokens)


def apply(block: Block, tracker: Tracker) -> None:
    if block.command == "simple":
        tracker.simple(changes(block))
    elif block.command == "enter-joint":
        tracker.enter_joint(block.one("autoleave", "false") == "true", changes(block))
    else:
        assert block.command == "leave-joint" and not block.input
        tracker.leave_joint()


def printed(tracker: Tracker) -> tuple[str, ...]:
    """A configuration and the progress of its members, as the vectors show them."""
    now = tracker.configuration
    head = "voters=" + "&&".join(group(g) for g in (now.voters, now.voters_outgoing) if g)
    for name, nodes in (("learners", now.learners), ("learners_next", now.learners_next)):
        head += f" {name}={group(nodes)}" if nodes else ""
    head += " autoleave" if now.auto_leave else ""
    return (head, *(f"{n}: {tracker.progress[n]}" for n in by_number(tracker.progress)))


def group(nodes: Iterable[NodeId]) -> str:
    return f"({' '.join(by_number(nodes))})"


@pytest.mark.parametrize("name", CONFCHANGE)
def test_configurations(name: str) -> None:
    tracker = Tracker()
    for block in vectors("confchange", name):
        before = tracker.configuration
        if block.expected[0].startswith("voters="):
            apply(block, tracker)
            assert printed(tracker) == block.expected, block.where
            assert set(tracker.configuration.members()) == set(tracker.progress)
        else:
            (text,) = block.expected
            with pytest.raises(ConfigurationError, match=re.escape(ERRORS[text])):
                apply(block, tracker)
            assert tracker.configuration == before, block.where
        tracker.last_index += 1  # the vectors number their commands, refused ones too


def test_the_form_of_the_files(tmp_path: Path) -> None:
    """On a file of our own."""
    path = tmp_path / "own.txt"
    path.write_text("# why\nvote a=(1, 2) b=z w\nin\n----\nout\n  more\n\n\nnext\n----\nok\n")
    first, second = blocks(path)
    assert first.arguments == {"a": ("1", "2"), "b": ("z",)} and first.words == ("w",)
    assert (first.input, first.expected, first.where) == (("in",), ("out", "  more"), "own.txt:2")
    assert (second.command, second.expected, second.numbers("a")) == ("next", ("ok",), ())
    path.write_text("vote\n----\n\n")
    with pytest.raises(ValueError, match="no block"):
        list(blocks(path))
