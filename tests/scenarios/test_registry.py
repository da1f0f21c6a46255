"""Protocols by name and by module:Class, and their parameters."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from protocols.detectors.heartbeat import PushHeartbeat
from protocols.detectors.phi_presets import akka
from protocols.detectors.ping_ack import PingAck
from protocols.detectors.timeouts import FixedTimeout
from protocols.dissemination.anti_entropy import AntiEntropy
from protocols.dissemination.rumor import RumorMongering
from protocols.values import SECOND
from scenarios import registry
from scenarios.loader import ScenarioError, from_value
from sim.fields import FieldError
from sim.topology import Topology, parse_topology

NODES = ("n1", "n2", "n3", "n4")
MESH = Topology.full_mesh(NODES)
NUMBERS = count(1)

OWN = '''
from enum import Enum
from typing import Literal
from protocols.api import (Context, Map, NodeId, operation, on_operation, process, volatile)

class Role(Enum):
    FOLLOWER = 1
    LEADER = 2

@operation
class Do:
    what: str
    times: int = 1

@process
class Own:
    """Does nothing, with many parameters.

    At length.
    """

    me: NodeId
    peers: tuple[NodeId, ...]
    nodes: tuple[NodeId, ...]
    count: int
    pause_us: int
    share: float = 0.5
    loud: bool = False
    kind: Literal["a", "b", 3] = "a"
    start: Role = Role.FOLLOWER
    wait_us: int | tuple[int, int] | None = None
    waits_us: tuple[int, ...] = ()
    pair: tuple[int, str] = (1, "x")
    friends: frozenset[NodeId] = frozenset()
    weights: Map[str, float] = Map()
    odd: complex = 0j

    role: Role | None = volatile(None)

    @on_operation(Do)
    def do(self, ctx: Context, id: int, op: Do) -> None:
        pass

@process
class Hooked:
    me: NodeId
    table: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def scenario_parameters(raw):
        return {"table": tuple((key, int(value)) for key, value in raw["table"].items())}

@process
class Picky:
    me: NodeId
    level: int = 1

def check_parameters(process):
    if isinstance(process, Picky) and process.level < 1:
        raise ValueError(f"level={process.level}: give at least 1")
    if isinstance(process, Picky) and process.level > 9:
        raise RuntimeError("too much")

@process
class Unreadable:
    me: NodeId
    what: Missing = 1

class Plain:
    pass

function = print
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of the user's in the current folder."""
    name = f"own_{next(NUMBERS)}"  # a new module for each test
    (tmp_path / f"{name}.py").write_text("from __future__ import annotations\n" + OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def mistakes(protocol: str, parameters: object) -> list[str]:
    with pytest.raises(FieldError) as caught:
        registry.bind(registry.resolve(protocol), parameters, NODES, MESH)
    return [str(error) for error in caught.value.errors]


def made(protocol: str, parameters: object, topology: Topology = MESH, me: str = "n2") -> Any:
    return registry.make_process(registry.resolve(protocol), me, NODES, topology, parameters)


# -- the bundled ones -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("heartbeat", PushHeartbeat),
        ("ping-ack", PingAck),
        ("rumor", RumorMongering),
        ("anti-entropy", AntiEntropy),
    ],
)
def test_bundled_protocols(name: str, cls: type) -> None:
    protocol = registry.resolve(name)
    assert protocol.cls is cls
    assert protocol.name == name
    assert protocol.summary and protocol.paper
    assert protocol.path == f"{cls.__module__}:{cls.__name__}"
    assert registry.roles(name) == ()
    assert isinstance(made(name, {}), cls)


def test_the_defaults_of_heartbeat() -> None:
    process = made("heartbeat", {})
    assert (process.me, process.peers) == ("n2", ("n1", "n3", "n4"))
    assert process.detectors == (("heartbeat", FixedTimeout(3 * SECOND)),)


def test_detectors_by_name() -> None:
    process = made(
        "heartbeat",
        {
            "interval": "500ms",
            "first_beat": "0s..1s",
            "initial_grace": None,
            "monitors": ["n1"],
            "detectors": {
                "slow": {"use": "fixed", "timeout": "9s"},
                "fixed": {"timeout": "3s"},
                "akka": {},
                "phi": {"use": "akka", "threshold": 9.5, "max_interval": None},
            },
        },
    )
    assert (process.interval_us, process.first_beat_us) == (500_000, (0, SECOND))
    assert (process.initial_grace_us, process.monitors) == (None, ("n1",))
    assert process.detectors == (
        ("slow", FixedTimeout(9 * SECOND)),
        ("fixed", FixedTimeout(3 * SECOND)),
        ("akka", akka()),
        ("phi", akka(threshold=9.5, max_interval_us=None)),
    )


def test_known_wrong_variants_are_read_like_the_right_one() -> None:
    process = made("protocols.mistakes.detectors:NeverTrustsAgain", {"detectors": {"akka": {}}})
    assert process.detectors == (("akka", akka()),)
    assert mistakes("protocols.mistakes.dissemination:NeverSetsBack", {"k": 0}) == [
        "k: given 0, allowed: give a whole number, at least 1"
    ]


def test_members_are_one_tuple_for_all() -> None:
    make = registry.bind(registry.resolve("rumor"), {}, NODES, MESH)
    assert make("n1").members is make("n2").members
    assert make("n1").neighbours == ()


def test_neighbours_come_from_the_topology() -> None:
    ring = parse_topology("ring", NODES)
    assert made("rumor", {}, ring, "n1").neighbours == ("n2", "n4")
    assert made("heartbeat", {}, ring, "n1").peers == ("n2", "n4")


def test_routed_topologies_let_everybody_reach_everybody() -> None:
    routed = parse_topology({"ring": None, "mode": "hops"}, NODES)
    assert made("heartbeat", {}, routed, "n1").peers == ("n2", "n3", "n4")
    assert made("rumor", {}, routed, "n1").neighbours == ("n2", "n4")


def test_many_nodes_are_cheap() -> None:
    many = tuple(f"n{at}" for at in range(100_000))
    make = registry.bind(registry.resolve("rumor"), {"k": 3}, many, Topology.full_mesh(many))
    processes = [make(node) for node in many[::100]]
    assert all(process.members is many and process.k == 3 for process in processes)


# -- module:Class ---------------------------------------------------------------------------------


def test_a_module_of_the_current_folder(own: str) -> None:
    protocol = registry.resolve(f"{own}:Own")
    assert protocol.cls.__name__ == "Own"
    assert protocol.summary == "Does nothing, with many parameters."
    assert registry.roles(f"{own}:Own") == ("follower", "leader")
    assert registry.parameter_names(protocol)[:3] == ["count", "pause", "share"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hartbeat", "did you mean 'heartbeat'?"),
        (7, "a protocol: heartbeat, ping-ack, rumor, anti-entropy, raft or package.module:Class"),
        ("no.such:Thing", "ModuleNotFoundError: No module named 'no'"),
        (":Thing", "package.module:Class"),
        ("a b:c", "package.module:Class"),
        ("protocols.api:", "package.module:Class"),
        ("protocols.detectors.ping_ack:PingAk", "did you mean 'PingAck'?"),
        ("protocols.detectors.ping_ack:Ping", "Ping is not a process: decorate it with @process"),
        ("protocols.detectors.ping_ack:replace", "a class of protocols.detectors.ping_ack"),
    ],
)
def test_what_cannot_be_resolved(name: object, words: str) -> None:
    with pytest.raises(FieldError) as caught:
        registry.resolve(name)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "code", ["1/0", "import nothing_like_this", "def", "raise SystemExit(3)", "raise RuntimeError"]
)
def test_a_module_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    name = f"broken_{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FieldError, match="that can be imported from the current folder"):
        registry.resolve(f"{name}:X")


# -- parameters by annotation ---------------------------------------------------------------------


def test_every_kind_of_parameter(own: str) -> None:
    process = made(
        f"{own}:Own",
        {
            **{"count": 3, "pause": "2s", "share": "25%", "loud": True, "kind": 3},
            **{"start": "leader", "wait": "1s..2s", "waits": ["1s", 0], "pair": [2, "y"]},
            **{"friends": ["n1"], "weights": {"a": 1}},
        },
    )
    assert (process.nodes, process.peers) == (NODES, ("n1", "n3", "n4"))
    assert (process.count, process.pause_us, process.share) == (3, 2 * SECOND, 0.25)
    assert (process.loud, process.kind, process.start.name) == (True, 3, "LEADER")
    assert (process.wait_us, process.waits_us) == ((SECOND, 2 * SECOND), (SECOND, 0))
    assert (process.pair, process.friends) == ((2, "y"), frozenset({"n1"}))
    assert dict(process.weights.items()) == {"a": 1.0}


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"count": "3"}, "count: given '3', allowed: a whole number"),
        ({"count": True}, "count: given True, allowed: a whole number"),
        ({"pause": 2}, "pause: given 2, allowed: a duration with a unit"),
        ({"share": "half"}, "share: given 'half', allowed: a number such as 0.5 or a share"),
        ({"loud": "yes"}, "loud: given 'yes', allowed: true or false"),
        ({"kind": "c"}, "kind: given 'c', allowed: one of: a, b, 3"),
        ({"start": "king"}, "start: given 'king', allowed: a Role: follower, leader"),
        ({"wait": "2s..1s"}, "wait: given '2s..1s', allowed: a duration"),
        ({"wait": ["1s"]}, "wait: given ['1s'], allowed: a duration"),
        ({"waits": ["1s", 5]}, "waits[1]: given 5, allowed: a duration"),
        ({"waits": "1s"}, "waits: given '1s', allowed: a list"),
        ({"pair": [1]}, "pair: given [1], allowed: a list of 2 values"),
        ({"friends": ["n1", 4]}, "friends[1]: given 4, allowed: a text"),
        ({"weights": {"a": "b"}}, "weights.a: given 'b', allowed: a number"),
        ({"odd": 1}, "odd: given 1, allowed: what a scenario file cannot say (complex)"),
        ({"me": "n1"}, "me: given 'me', allowed: the parameters of"),
        ({"role": 1}, "role is state, not a parameter"),
        ({"pause_us": 5}, "write pause: with a duration"),
        ({"cuont": 5}, "did you mean 'count'?"),
    ],
)
def test_what_does_not_fit(own: str, parameters: dict[str, Any], said: str) -> None:
    full = {"count": 3, "pause": "1s", **parameters}
    (mistake,) = mistakes(f"{own}:Own", full)
    assert said in mistake


def test_all_that_is_missing_at_once(own: str) -> None:
    assert mistakes(f"{own}:Own", {}) == [
        "count: given nothing, allowed: a value, it has no default; add this parameter",
        "pause: given nothing, allowed: a value, it has no default; add this parameter",
    ]
    assert "a mapping with the parameters count, pause" in mistakes(f"{own}:Own", [1])[0]


def test_a_process_may_read_its_parameters_itself(own: str) -> None:
    assert made(f"{own}:Hooked", {"table": {"a": "1"}}).table == (("a", 1),)
    (mistake,) = mistakes(f"{own}:Hooked", {"table": 5})
    assert "what scenario_parameters accepts; AttributeError" in mistake
    (mistake,) = mistakes(f"{own}:Hooked", {})
    assert "KeyError" in mistake


def test_a_process_may_refuse_its_parameters(own: str) -> None:
    assert made(f"{own}:Picky", {"level": 2}).level == 2
    assert mistakes(f"{own}:Picky", {"level": 0}) == ["level: given 0, allowed: give at least 1"]
    (mistake,) = mistakes(f"{own}:Picky", {"level": 10})
    assert (
        mistake
        == "given {'level': 10}, allowed: what the protocol accepts (RuntimeError: too much)"
    )


def test_annotations_that_cannot_be_read(own: str) -> None:
    (mistake,) = mistakes(f"{own}:Unreadable", {})
    assert "NameError: name 'Missing' is not defined" in mistake


def test_node_ids_are_nodes(own: str) -> None:
    assert mistakes("heartbeat", {"monitors": ["n1", "n7"]}) == [
        "monitors[1]: given 'n7', allowed: the nodes: n1, n2, n3, n4"
    ]


def test_an_own_protocol_in_a_scenario(own: str) -> None:
    raw = {
        **{"name": "own", "title": "Own", "protocol": f"{own}:Own", "nodes": 3},
        **{"duration": "5s", "parameters": {"count": 1, "pause": "1s"}},
        "workload": [{"at": "1s", "node": "n1", "invoke": "Do", "with": {"what": "x{i}"}}],
        "faults": [{"at": "1s", "crash": "leader"}],
    }
    scenario = from_value(raw)
    assert scenario.workload[0].arguments == {"what": "x{i}"}
    with pytest.raises(ScenarioError, match=r"faults\[0\].crash: given 'king', allowed: a node, a"):
        from_value({**raw, "faults": [{"at": "1s", "crash": "king"}]})
    with pytest.raises(ScenarioError, match=r"sole_roles\[0\]: given 'king', allowed: a role of"):
        from_value({**raw, "nemesis": {"sole_roles": ["king"]}})
