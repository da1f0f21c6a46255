"""Clients on a bad network: each operation takes effect at most once, and histories are honest.

The servers are linearizable by construction, so whatever is wrong with a history is the client's
fault. Texts appended to one key tell all: a token in the final text twice was done twice; the
answer to an append is the text up to and including its token, so the answers give the order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from protocols.api import MS, SECOND, Context, NodeId, volatile
from protocols.clients.policy import Backoff, ClientOptions
from protocols.clients.session_client import SessionClient
from protocols.machines import Counter, KeyValueStore, Machine
from protocols.machines.counter import Add
from protocols.machines.kv import Append, Get
from sim.cluster import Cluster, OperationRecord
from sim.latency import Uniform
from sim.links import LinkSpec
from sim.topology import Topology
from tests.protocols.clients.toy_servers import Redirecting, SingleCopy

SERVERS = ("n1", "n2", "n3")
CLIENTS = ("c1", "c2", "c3")
FAST = Backoff(5 * MS, 2, 40 * MS, 0.5)
PATIENT = ClientOptions(timeout_us=60 * MS, deadline_us=None, backoff=FAST)
HASTY = ClientOptions(timeout_us=30 * MS, deadline_us=120 * MS, backoff=FAST, hedge_us=20 * MS)
HASTY_ON_TCP = ClientOptions(
    timeout_us=90 * MS,
    deadline_us=300 * MS,
    backoff=FAST,
    queue_us=150 * MS,
    network_duplicates=False,
)
OPERATIONS = 40  # per client


def cluster(
    seed: int,
    initial: Machine,
    options: ClientOptions,
    *,
    duplicate: float = 0.1,
    loss: float = 0.1,
    slowest_us: int = 40 * MS,
    flip_us: int = 0,
    client: type[SessionClient] = SessionClient,
) -> Cluster:
    link = LinkSpec(Uniform(1 * MS, slowest_us), loss=loss, duplicate=duplicate)
    made = Cluster(seed=seed, topology=Topology.full_mesh((*SERVERS, *CLIENTS), link))
    made.add("n1", SingleCopy(me="n1", initial=initial, flip_us=flip_us))
    for server in SERVERS[1:]:
        made.add(server, Redirecting(me=server, leader="n1"))
    for name in CLIENTS:
        made.add(name, client(me=name, servers=SERVERS, options=options))
    made.start()
    return made


def invoke_at(made: Cluster, at_us: int, client: NodeId, command: object) -> None:
    made.engine.call_at(at_us, lambda _: made.invoke(client, command), None)


def append_at_random(made: Cluster) -> None:
    rng = made.streams["workload"]
    for client in CLIENTS:
        at = 0
        for number in range(OPERATIONS):
            at += rng.randrange(80 * MS)
            read = rng.random() < 0.3
            invoke_at(made, at, client, Get("k") if read else Append("k", f"{client}.{number};"))


def final(made: Cluster) -> str:
    machine = made.nodes["n1"].process.machine
    text = machine.items.get("k", "")
    assert isinstance(text, str)
    return text


def appends(made: Cluster, *kinds: str) -> list[str]:
    """The tokens of the appends that ended so ("open": not at all)."""
    return [
        record.call.value
        for record in made.history
        if isinstance(record.call, Append)
        and (record.outcome.kind if record.outcome else "open") in kinds
    ]


def dishonest(made: Cluster) -> list[str]:
    """What in the history contradicts the final text."""
    tokens = [token + ";" for token in final(made).split(";")[:-1]]
    found = [f"{token} twice" for token in set(tokens) if tokens.count(token) > 1]
    found += [f"{token} failed and is there" for token in appends(made, "fail") if token in tokens]
    found += [f"{token} ok and not there" for token in appends(made, "ok") if token not in tokens]
    return sorted(found)


def out_of_order(history: list[OperationRecord], text: str) -> list[str]:
    """Answers that are not the text of one moment between invocation and completion."""
    done = [r for r in history if r.outcome and r.outcome.kind == "ok"]
    found = []
    for record in done:
        assert record.outcome is not None
        answer = record.outcome.value or ""
        if not text.startswith(answer):
            found.append(f"{record}: not a beginning of the text")
        if isinstance(record.call, Append) and not answer.endswith(record.call.value):
            found.append(f"{record}: another's answer")
        for earlier in done:
            assert earlier.outcome is not None
            before = (earlier.completed_us or 0) < record.invoked_us
            if before and len(earlier.outcome.value or "") > len(answer):
                found.append(f"{record}: older than {earlier}")
    return found


def hasty(seed: int, client: type[SessionClient], options: ClientOptions = HASTY) -> Cluster:
    made = cluster(seed, KeyValueStore(), options, flip_us=100 * MS, client=client)
    append_at_random(made)
    made.run_until(30 * SECOND)
    return made


def on_tcp(seed: int) -> Cluster:
    tcp: Any = {"duplicate": 0, "loss": 0.05, "slowest_us": 5 * MS, "flip_us": 300 * MS}
    made = cluster(seed, KeyValueStore(), HASTY_ON_TCP, **tcp)
    append_at_random(made)
    made.run_until(30 * SECOND)
    return made


@pytest.mark.parametrize("seed", range(5))
def test_as_many_increments_out_as_in(seed: int) -> None:
    made = cluster(seed, Counter(), PATIENT)
    for number in range(OPERATIONS):
        for client in CLIENTS:
            invoke_at(made, number * 50 * MS, client, Add(1))
    made.run_until(60 * SECOND)
    answers = [r.outcome.value for r in made.history if r.outcome and r.outcome.kind == "ok"]
    total = OPERATIONS * len(CLIENTS)
    assert made.nodes["n1"].process.machine == Counter(total)
    assert sorted(answers) == list(range(1, total + 1))
    # A bad network: of 240 messages at least a tenth, 24 in the mean, is lost, and as many doubled.
    assert made.network.duplicated >= 10
    assert made.network.drops()["loss"] >= 10


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("run", ["udp", "tcp"])
def test_what_is_told_of_an_operation_is_true(run: str, seed: int) -> None:
    made = on_tcp(seed) if run == "tcp" else hasty(seed, SessionClient)
    assert dishonest(made) == []
    assert out_of_order(made.history, final(made)) == []
    assert appends(made, "ok")
    assert appends(made, "info")
    assert not appends(made, "open")


def test_every_kind_of_end_comes_up() -> None:
    """Else the test above would say little."""
    infos_in_effect, fails = 0, dict[str, int]()
    for seed in range(12):
        made = on_tcp(seed)
        infos_in_effect += sum(token in final(made) for token in appends(made, "info"))
        for record in made.history:
            appended = isinstance(record.call, Append)
            if appended and record.outcome is not None and record.outcome.kind == "fail":
                reason = record.outcome.value
                fails[reason] = fails.get(reason, 0) + 1
    assert infos_in_effect > 0
    assert fails["not-leader"] > 0  # sent, and refused by all
    assert fails["timeout"] > 0  # never sent


@pytest.mark.parametrize("seed", range(8))
def test_clients_and_servers_that_crash_leave_honest_histories(seed: int) -> None:
    made = crashing(seed, SessionClient)
    assert dishonest(made) == []
    assert out_of_order(made.history, final(made)) == []
    assert appends(made, "open")


def crashing(seed: int, client: type[SessionClient]) -> Cluster:
    made = cluster(seed, KeyValueStore(), PATIENT, client=client)
    append_at_random(made)
    rng = made.streams["nemesis"]
    for at in range(200 * MS, 2 * SECOND, 200 * MS):
        victim = rng.choice(("n1", *CLIENTS))
        made.engine.call_at(at, made.crash, victim)
        made.engine.call_at(at + 90 * MS, made.recover, victim)
    made.run_until(60 * SECOND)
    return made


# -- clients with a mistake must be found out --------------------------------------------------


class Renumbering(SessionClient):
    """Gives a request that is sent again a new number."""

    def send_request(self, ctx: Context, server: NodeId) -> None:
        self.sequence += self.attempts > 0
        super().send_request(ctx, server)


class Forgetful(SessionClient):
    """Begins with session 1 after every crash."""

    session = volatile(0)


class Certain(SessionClient):
    """Takes silence for a refusal."""

    def surely_refused(self) -> bool:
        return True


MISTAKES: list[tuple[str, Callable[[int], Cluster], str]] = [
    ("renumbering", lambda seed: hasty(seed, Renumbering), "twice"),
    ("forgetful", lambda seed: crashing(seed, Forgetful), "ok and not there"),
    ("certain", lambda seed: hasty(seed, Certain), "failed and is there"),
    (
        "trusts refusals where requests come twice",
        lambda seed: hasty(seed, SessionClient, HASTY_ON_TCP),
        "failed and is there",
    ),
]


@pytest.mark.parametrize(("run", "found"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_shows(run: Callable[[int], Cluster], found: str) -> None:
    assert any(text.endswith(found) for seed in range(40) for text in dishonest(run(seed)))
