"""Our servers, led through the interaction tests of etcd-io/raft.

After each directive that moves messages, and wherever a script asks, our servers must be in the
state that the script's output tells: roles, terms, votes, leaders, commit indexes, last entries,
configurations, whole logs, and what a leader knows of its followers. How they get there (which
messages, in which order) is not compared. The scripts reach the same states, except that

| script | the semantic that differs |
|---|---|
| confchange_v1_remove_leader_stepdown | Ours uses a configuration as soon as it is in the log (dissertation §4.1), theirs once it is applied. So here the removal of n1 needs n2 *and* n3, not n1 and n2; and n1, which has stepped down at the commit of the removal, leaves it to the next leader to commit what follows and to tell the others: see the test after this one. |
| confchange_v1_add_single, confchange_v2_add_double_implicit | Ours, the only voter, wins its election and commits the no-op in the step in which it campaigns; theirs does so when its own vote and entry have been stored. |
| prevote | Ours grants no pre-vote within an election timeout of hearing from a leader (dissertation §9.6), theirs does unless CheckQuorum is on. So an election timeout passes before each campaign of this script. |
| snapshot_succeed_via_app_resp | Ours probes a follower with the heartbeat itself, so that the snapshot is on its way, and acknowledged, one round trip earlier. |

Not visible in states, but why the states agree only at the end of some directives: ours tells the
commit index with the next heartbeat instead of an empty append at once (the driver lets leaders
beat for that, see ``interaction.py``), and takes a snapshot only when told to, where theirs has
one after each applied entry.
"""  # noqa: E501

from __future__ import annotations

import pytest

from tests.protocols.consensus.raft.datadriven import Block, blocks
from tests.protocols.consensus.raft.expectations import Expectations, ask
from tests.protocols.consensus.raft.interaction import ELECTION_US, Interaction
from tests.shared_data import shared_data

MOVES = ("stabilize", "process-ready", "deliver-msgs", "campaign", "tick-election")
QUESTIONS = ("status", "raft-state", "raft-log")
DIFFERENCES: dict[str, dict[int, list[str]]] = {
    "campaign": {},
    "campaign_learner_must_vote": {},
    "checkquorum": {},
    "confchange_v1_add_single": {
        10: ["1: role candidate, ours leader"],
        15: ["1: commit 2, ours 3"],
    },
    "confchange_v1_remove_leader_stepdown": {
        37: ["raft-state: 1 Leader Voter 1 1, ours 1 Leader Non-Voter 1 1"],
        84: ["1: commit 5, ours 3", "1: leader 0, ours 1", "1: role follower, ours leader"],
        113: ["raft-state: 1 Follower Non-Voter 1 0, ours 1 Leader Non-Voter 1 1"],
        120: [
            *("1: commit 5, ours 3", "1: leader 0, ours 1", "1: role follower, ours leader"),
            "2: commit 5, ours 3",
        ],
        141: [
            *("1: commit 5, ours 3", "1: leader 0, ours 1", "1: role follower, ours leader"),
            "2: commit 5, ours 3",
        ],
        149: ["1: commit 5, ours 4", "2: commit 5, ours 3", "3: commit 5, ours 3"],
        188: ["1: commit 5, ours 4", "2: commit 5, ours 3", "3: commit 5, ours 3"],
    },
    "confchange_v2_add_double_implicit": {
        14: ["1: role candidate, ours leader"],
        19: ["1: commit 2, ours 3"],
    },
    "heartbeat_resp_recovers_from_probing": {},
    "lagging_commit": {},
    "prevote": {},
    "probe_and_replicate": {},
    "slow_follower_after_compaction": {},
    "snapshot_succeed_via_app_resp": {
        71: ["3: commit 0, ours 11", "3: configuration voters=(), ours voters=(1 2 3)"],
        85: ["3: commit 0, ours 11", "3: configuration voters=(), ours voters=(1 2 3)"],
        97: ["status: 3: Snapshot 0 12, ours 3: Replicate 11 12"],
    },
}


def script(name: str) -> tuple[Block, ...]:
    return tuple(blocks(shared_data("raft", "interaction", f"{name}.txt")))


def run(name: str) -> tuple[Interaction, dict[int, list[str]], int]:
    """The servers after the script, where they differed, and how many facts were compared."""
    world, expected = Interaction(), Expectations()
    found: dict[int, list[str]] = {}
    compared = 0
    for block in script(name):
        different: list[str] = []
        if block.command in QUESTIONS:
            different = list(ask(block, world.nodes))
            compared += len(block.expected)
        elif block.command != "log-level":
            if name == "prevote" and block.command == "campaign":
                world.wait(ELECTION_US)
            world.run(block)
            expected.learn(block)
            if block.command in MOVES:
                different = list(expected.differences(world.nodes))
                compared += len(expected)
        if different:
            found[block.line] = sorted(different)
    return world, found, compared


def test_every_script_is_run() -> None:
    files = shared_data("raft", "interaction").glob("*.txt")
    assert sorted(file.stem for file in files) == sorted(DIFFERENCES)


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_servers_are_in_the_states_that_the_script_tells(name: str) -> None:
    _, found, facts = run(name)
    assert facts > 0
    print(f"interaction/{name}.txt: {facts} facts compared")
    assert found == DIFFERENCES[name]


def test_what_a_removed_leader_left_is_committed_by_the_next_one() -> None:
    """There, n2 and n3 hear of the commit before n1 steps down; here, n2 or n3 finds out."""
    world, _, _ = run("confchange_v1_remove_leader_stepdown")
    world.campaign("2")
    world.stabilize(("1", "2", "3"))
    logs = [[entry.term for entry in world.nodes[n].log] for n in ("1", "2", "3")]
    assert logs == [[1, 1, 1, 1], [1, 1, 1, 1, 2], [1, 1, 1, 1, 2]]
    assert [world.nodes[n].commit_index for n in ("1", "2", "3")] == [4, 7, 7]


def test_proposals_to_the_removed_leader_are_refused() -> None:
    world, _, _ = run("confchange_v1_remove_leader_stepdown")
    assert (world.answers[-1].kind, world.answers[-1].value) == ("fail", "not-leader")
    assert world.nodes["1"].role.name == "FOLLOWER" and world.nodes["1"].current_term == 1
