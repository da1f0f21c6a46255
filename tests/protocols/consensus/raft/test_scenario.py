"""Parameters as scenario files write them."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.api import MS, SECOND
from protocols.consensus.raft.options import RaftOptions
from protocols.consensus.raft.scenario import scenario_parameters
from protocols.machines.bank import Bank
from protocols.machines.kv import KeyValueStore


def test_every_kind_of_parameter() -> None:
    raw: dict[object, object] = {
        "election_timeout": ["150ms", "0.3s"],
        "heartbeat": "50ms",
        "pre_vote": False,
        "machine": "bank",
        "snapshot_every": 1000,
        "session_lifetime": 0,
        "learners": ["n4"],
        "priority": 2,
        "reads": "log",
    }
    assert scenario_parameters(raw) == {
        "initial": Bank(),
        "learners": ("n4",),
        "priority": 2,
        "options": RaftOptions(
            election_timeout_us=(150 * MS, 300 * MS),
            heartbeat_us=50 * MS,
            pre_vote=False,
            snapshot_every=1000,
            session_lifetime_us=0,
            reads="log",
        ),
    }
    assert scenario_parameters({}) == {"options": RaftOptions()}


@pytest.mark.parametrize(
    ("value", "us"),
    [("1s..2s", (SECOND, 2 * SECOND)), ("1s", (SECOND, SECOND)), (["1ms", "1.5 ms"], (1000, 1500))],
)
def test_ranges(value: object, us: tuple[int, int]) -> None:
    assert scenario_parameters({"election_timeout": value})["options"].election_timeout_us == us


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({"speed": 3}, "no parameter speed; there are machine, voters"),
        ({"machine": "tape"}, "machine 'tape': one of kv, bank, lock, counter"),
        ({"heartbeat": 50}, "heartbeat 50: a duration, such as 150ms or 2s"),
        ({"heartbeat": "0ms"}, "heartbeat_us 0: give at least 1"),
        ({"heartbeat": "0.0001ms"}, "heartbeat '0.0001ms': finer than 1us"),
        ({"election_timeout": ["1s", "2s", "3s"]}, "a range, such as"),
        ({"election_timeout": ["2s", "1s"]}, "give 0 < shortest ≤ longest"),
        ({"pre_vote": "yes"}, "pre_vote 'yes': true or false"),
        ({"window": 1.5}, "window 1.5: a whole number"),
        ({"window": 0}, "window 0: give at least 1"),
        ({"trailing": -1}, "trailing -1: give at least 0"),
        ({"reads": "fast"}, 'reads \'fast\': "log", "index" or "lease"'),
        ({"reads": "lease"}, "declare one"),
        ({"voters": "n1"}, "voters 'n1': a list of nodes"),
    ],
)
def test_mistakes_are_named(raw: Any, says: str) -> None:
    with pytest.raises(ValueError) as caught:
        scenario_parameters(raw)
    assert says in str(caught.value)


def test_a_cluster_of_servers_from_a_scenario() -> None:
    from scenarios.parameters import bind
    from scenarios.registry import resolve
    from sim.topology import Topology
    from tests.sim.talkers import mesh

    protocol = resolve("protocols.consensus.raft.server:RaftServer")
    topology: Topology = mesh(3)
    make = bind(protocol, {"machine": "kv", "heartbeat": "20ms"}, topology.nodes, topology)
    made = make("n2")
    assert (made.me, made.members, made.options.heartbeat_us) == ("n2", topology.nodes, 20 * MS)
    assert made.initial == KeyValueStore()
