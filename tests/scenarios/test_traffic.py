"""Traffic: what a file may say, what clients then call, and when."""

from __future__ import annotations

from collections import Counter as Tally
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from protocols.api import MS, SECOND
from protocols.client import fail, info, ok
from protocols.clients.policy import Backoff, ClientOptions
from protocols.machines import Bank, Counter, KeyValueStore, LockService
from protocols.machines.bank import Balance, Total, Transfer
from protocols.machines.kv import Append, Cas, Delete, Get, Put
from protocols.machines.lock import Acquire, Holder, Release
from scenarios.traffic import BREATH_US, TRAFFIC_KEYS, Traffic, parse_traffic, schedule
from scenarios.traffic_calls import CALLERS
from scenarios.traffic_keys import Evenly, Zipf
from sim.cluster import Cluster
from sim.fields import FieldErrors
from sim.latency import Constant, Uniform
from sim.links import LinkSpec
from sim.topology import Topology
from tests.protocols.clients.toy_servers import SingleCopy


def run(
    traffic: dict[str, Any],
    *,
    seed: int = 1,
    for_us: int = 10 * SECOND,
    link: LinkSpec | None = None,
    crash: tuple[int, int] | None = None,
) -> Cluster:
    """A cluster of one server, n1, after so long; ``crash``: c1 is down from when until when."""
    parsed = parse_traffic(traffic)
    link = LinkSpec(Constant(5 * MS)) if link is None else link
    cluster = Cluster(seed=seed, topology=Topology.full_mesh(("n1", "c1", "c2", "c3"), link))
    cluster.add("n1", SingleCopy(me="n1", initial=parsed.initial_machine()))
    schedule(cluster, parsed, cluster.streams["traffic"])
    cluster.start()
    if crash is not None:
        cluster.engine.call_at(crash[0], cluster.crash, "c1")
        cluster.engine.call_at(crash[1], cluster.recover, "c1")
    cluster.run_until(for_us)
    return cluster


def calls(cluster: Cluster, *classes: type) -> list[Any]:
    return [r.call for r in cluster.history if not classes or isinstance(r.call, classes)]


def times(cluster: Cluster, client: str = "c1") -> list[int]:
    return [record.invoked_us for record in cluster.history if record.node == client]


# -- what a file may say -------------------------------------------------------------------


def test_everything_can_be_said_in_a_file() -> None:
    assert parse_traffic(
        {
            "clients": 5,
            "loop": "open",
            "rate": "30/m",
            "arrivals": "even",
            "operations": 7,
            "machine": "bank",
            "keys": 8,
            "distribution": {"zipf": 1.2},
            "mix": {"transfer": "75%", "total": 0.25},
            "balance": 50,
            "amount": 3,
            "from": "1s",
            "until": "20s",
            "client": {
                "timeout": "100ms",
                "deadline": None,
                "backoff": {"base": "1ms", "factor": 3, "cap": "9ms", "jitter": "25%"},
                "attempts": 4,
                "hedge": "20ms",
                "queue": 9,
                "queue-time": "80ms",
                "network-duplicates": False,
            },
        }
    ) == Traffic(
        clients=5,
        loop="open",
        rate=Fraction(1, 2),
        arrivals="even",
        operations=7,
        machine="bank",
        keys=8,
        distribution=Zipf(1.2),
        mix=(("transfer", 0.75), ("total", 0.25)),
        balance=50,
        amount=3,
        from_us=SECOND,
        until_us=20 * SECOND,
        options=ClientOptions(
            timeout_us=100 * MS,
            deadline_us=None,
            backoff=Backoff(1 * MS, 3, 9 * MS, 0.25),
            attempts_max=4,
            hedge_us=20 * MS,
            queue_limit=9,
            queue_us=80 * MS,
            network_duplicates=False,
        ),
    )


def test_what_is_left_out_is_as_usual() -> None:
    assert parse_traffic({}) == Traffic()
    assert Traffic().mix == (("get", 0.5), ("put", 0.3), ("cas", 0.1), ("append", 0.1))
    assert parse_traffic({"think": "1ms..3ms"}).think == Uniform(1 * MS, 3 * MS)
    assert parse_traffic({"distribution": "zipf"}).distribution == Zipf(0.99)
    assert parse_traffic({"distribution": "uniform"}).distribution == Evenly()
    assert parse_traffic(Traffic(keys=3)) == Traffic(keys=3)
    for name in CALLERS:
        assert abs(sum(CALLERS[name].mix.values()) - 1) < 1e-9


def test_initial_machines() -> None:
    assert parse_traffic({"machine": "kv"}).initial_machine() == KeyValueStore()
    assert parse_traffic({"machine": "lock"}).initial_machine() == LockService()
    assert parse_traffic({"machine": "counter"}).initial_machine() == Counter()
    bank = parse_traffic({"machine": "bank", "keys": 2, "balance": 7}).initial_machine()
    assert bank == Bank.of(("a1", "a2"), 7)


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("kv", ["a mapping with the keys clients, loop"]),
        ({"client": 3}, ["client: given 3, allowed: a mapping with the keys timeout"]),
        ({"clints": 3}, ["clints: given 'clints'", "did you mean 'clients'?"]),
        ({"clients": 0, "keys": "x"}, ["clients: given 0", "keys: given 'x'"]),
        ({"loop": "opened", "rate": "5/s"}, ["did you mean 'open'?"]),
        ({"loop": ["open"]}, ["loop: given ['open'], allowed: a word"]),
        ({"loop": "open"}, ["rate: given nothing, allowed: a rate such as 50/s; add this key"]),
        ({"loop": "open", "rate": 50}, ['add a unit: "50/s"']),
        ({"loop": "open", "rate": "0/s"}, ["rate: given '0/s'", "above 0"]),
        ({"loop": "open", "rate": "2000/ms"}, ["rate: given '2e+06/s'", "at most 1000000/s"]),
        ({"rate": "5/s"}, ["rate: given '5/s', allowed: rate only with loop: open"]),
        (
            {"loop": "open", "rate": "5/s", "think": "1s"},
            ["think: given '1s', allowed: think only with loop: closed"],
        ),
        ({"balance": 5}, ["balance only with machine: bank"]),
        ({"machine": "lock", "unique": True}, ["unique only with machine: kv"]),
        ({"machine": "kvs"}, ["machine: given 'kvs'", "did you mean 'kv'?"]),
        ({"mix": {"gte": "100%"}}, ["mix.gte: given 'gte'", "did you mean 'get'?"]),
        ({"mix": {"get": "60%", "put": "60%"}}, ["mix: given '1.2 together'", "make 100%"]),
        ({"mix": {"get": 2}}, ["mix.get: given 2", "a probability"]),
        ({"mix": {}}, ["mix: given {}, allowed: a mapping of shares"]),
        ({"distribution": "zpif"}, ["did you mean 'zipf'?"]),
        ({"distribution": {"zipf": 0}}, ["distribution.zipf: given 0", "exponent above 0"]),
        ({"distribution": 5}, ["uniform, zipf or {zipf: exponent}"]),
        ({"from": "2s", "until": "1s"}, ["until: given '1s'", "not before from, 2s"]),
        ({"unique": "yes"}, ["unique: given 'yes', allowed: true or false"]),
        (
            {"client": {"hedge": "2s", "timeout": "1s"}},
            ["options that fit together: hedge_us = 2000000: below timeout_us = 1000000"],
        ),
        ({"client": {"backoff": {"base": "2s"}}}, ["client.backoff: given", "cap_us = 1000000"]),
    ],
)
def test_mistakes_are_told_with_what_is_allowed(value: object, messages: list[str]) -> None:
    with pytest.raises(FieldErrors) as caught:
        parse_traffic(value)
    for message in messages:
        assert message in str(caught.value)


def test_all_keys_are_known() -> None:
    assert len(TRAFFIC_KEYS) == len(Traffic.__slots__)


# -- what is called ------------------------------------------------------------------------


def caller(machine: str, **more: Any) -> Any:
    traffic = Traffic(machine=machine, **more)
    return traffic.caller("c1", traffic, Random(1))


def test_commands_come_in_the_shares_of_the_mix() -> None:
    drawn = caller("kv", mix=(("get", 0.5), ("put", 0.25), ("delete", 0.25), ("cas", 0.0)))
    tally = Tally(type(drawn.next_command()) for _ in range(4_000))
    # Binomial: the standard deviation is at most sqrt(4000 / 4) = 32; five of them.
    assert abs(tally[Get] - 2_000) < 160
    assert abs(tally[Put] - 1_000) < 160
    assert abs(tally[Delete] - 1_000) < 160
    assert tally[Cas] == 0


def test_keys_are_drawn_evenly_or_by_zipf() -> None:
    even = Evenly().sampler(4, Random(1))
    assert sorted(Tally(even() for _ in range(400))) == [0, 1, 2, 3]
    draw = Zipf(1.0).sampler(4, Random(1))
    tally = Tally(draw() for _ in range(25_000))
    # 1 + 1/2 + 1/3 + 1/4 = 25/12: shares 12/25, 6/25, 4/25, 3/25; five standard deviations.
    for key, expected in enumerate((12_000, 6_000, 4_000, 3_000)):
        assert abs(tally[key] - expected) < 5 * expected**0.5
    assert {Zipf(10).sampler(1, Random(1))() for _ in range(10)} == {0}


def test_no_two_writes_write_the_same() -> None:
    cluster = run({"clients": 3, "mix": {"put": "60%", "append": "40%"}})
    written = [call.value for call in calls(cluster, Put, Append)]
    assert len(set(written)) == len(written) > 100
    cluster = run({"clients": 3, "unique": False, "mix": {"put": 1}})
    assert sorted({call.value for call in calls(cluster)}) == ["v1", "v2", "v3", "v4", "v5"]


def test_cas_expects_what_the_client_last_knew() -> None:
    kv = caller("kv", keys=1, mix=(("cas", 1.0),))
    assert kv.next_command() == Cas("k1", None, "c1.1")
    kv.heard(Get("k1"), ok("x"))
    assert kv.next_command() == Cas("k1", "x", "c1.2")
    kv.heard(Cas("k1", "x", "c1.2"), fail("timeout"))
    assert kv.next_command() == Cas("k1", "x", "c1.3")
    kv.heard(Cas("k1", "x", "c1.3"), ok(True))
    assert kv.next_command() == Cas("k1", "c1.3", "c1.4")
    kv.heard(Append("k1", ",y"), ok("c1.3,y"))
    assert kv.next_command() == Cas("k1", "c1.3,y", "c1.5")
    kv.heard(Put("k1", "z"), ok(None))
    assert kv.next_command() == Cas("k1", "z", "c1.6")
    for command, outcome in (
        (Cas("k1", "z", "c1.6"), ok(False)),
        (Put("k1", "w"), info("timeout")),
        (Delete("k1"), ok(True)),
    ):
        kv.heard(Put("k1", "z"), ok(None))
        kv.heard(command, outcome)
        assert kv.next_command().expected is None


def test_some_cas_succeed() -> None:
    cluster = run({"clients": 2, "keys": 3})
    answers = Tally(
        r.outcome.value for r in cluster.history if isinstance(r.call, Cas) and r.outcome
    )
    assert answers[True] > 0
    assert answers[False] > 0


def test_transfers_go_to_another_account_and_conserve_the_total() -> None:
    cluster = run({"clients": 3, "machine": "bank", "keys": 3, "balance": 20, "amount": 9})
    for transfer in calls(cluster, Transfer):
        assert transfer.src != transfer.dst
        assert {transfer.src, transfer.dst} <= {"a1", "a2", "a3"}
        assert 1 <= transfer.amount <= 9
    assert calls(cluster, Balance)
    totals = [r.outcome for r in cluster.history if isinstance(r.call, Total)]
    assert {outcome.value for outcome in totals if outcome} == {60}
    assert caller("bank", keys=1, mix=(("transfer", 1.0),)).next_command().dst == "a1"


def test_locks_are_acquired_released_and_contended_for() -> None:
    cluster = run({"clients": 3, "machine": "lock", "keys": 2, "think": "3ms"})
    ends = Tally(
        (type(r.call).__name__, r.outcome.value is None or r.outcome.value is False)
        for r in cluster.history
        if r.outcome is not None
    )
    assert ends["Acquire", False] > 50
    assert ends["Acquire", True] > 20  # someone else held it
    assert ends["Release", False] > 50
    assert ends["Release", True] == 0
    tokens = [r.outcome.value for r in cluster.history if isinstance(r.call, Acquire) and r.outcome]
    granted = [token for token in tokens if token is not None]
    assert sorted(set(granted)) == list(range(1, len(granted) + 1))


def test_an_acquire_whose_end_nobody_knows_is_done_again() -> None:
    lock = caller("lock", mix=(("acquire", 1.0),), keys=1_000)
    first = lock.next_command()
    lock.heard(first, info("timeout"))
    assert lock.next_command() == first
    lock.heard(Holder(first.name), ok(("c9", 3)))
    lock.heard(first, ok(7))
    release = Release(first.name, "c1", 7)
    assert lock.next_command() == release
    lock.heard(release, fail("timeout"))
    assert lock.next_command() == release
    lock.heard(release, info("timeout"))
    assert lock.next_command() == first
    lock.heard(first, ok(None))
    assert lock.next_command().name != first.name


def test_counters_count() -> None:
    cluster = run({"clients": 3, "machine": "counter"})
    added = sum(1 for call in calls(cluster) if getattr(call, "by", 0))
    assert cluster.nodes["n1"].process.machine.count == pytest.approx(added, abs=3)


# -- when ----------------------------------------------------------------------------------


def test_a_closed_loop_waits_for_the_answer_and_thinks() -> None:
    cluster = run({"think": "20ms", "from": "1s", "until": "2s"})
    # The first call comes after a first thought; then 5 ms there, 5 ms back, and 20 ms.
    assert times(cluster)[:3] == [1_020 * MS, 1_050 * MS, 1_080 * MS]
    assert times(cluster)[-1] == 1_980 * MS
    assert len(times(cluster)) == 33


def test_so_many_operations_and_no_more() -> None:
    assert Tally(r.node for r in run({"clients": 3, "operations": 7}).history) == {
        "c1": 7,
        "c2": 7,
        "c3": 7,
    }


def test_an_open_loop_does_not_wait() -> None:
    slow = LinkSpec(Constant(700 * MS))
    cluster = run(
        {"clients": 2, "loop": "open", "rate": "10/s", "arrivals": "even", "until": "1s"}, link=slow
    )
    assert times(cluster, "c1") == [0, 200 * MS, 400 * MS, 600 * MS, 800 * MS, SECOND]
    assert times(cluster, "c2") == [100 * MS, 300 * MS, 500 * MS, 700 * MS, 900 * MS]


def test_even_arrivals_keep_their_rate_where_the_distance_is_not_whole() -> None:
    cluster = run({"loop": "open", "rate": "3/s", "arrivals": "even", "until": "9s"})
    assert times(cluster)[:5] == [0, 333_333, 666_667, 1_000_000, 1_333_333]
    assert times(cluster)[-1] == 9 * SECOND


def test_poisson_arrivals_have_their_rate() -> None:
    cluster = run({"clients": 3, "loop": "open", "rate": "100/s"})
    # 1,000 in the mean in 10 s; five standard deviations of sqrt(1000) = 32.
    assert abs(len(cluster.history) - 1_000) < 160
    gaps = [b - a for a, b in zip(times(cluster), times(cluster)[1:], strict=False)]
    short = sum(gap < 30 * MS for gap in gaps)  # the mean: 1 - 1/e = 63 % are shorter
    assert abs(short / len(gaps) - 0.632) < 0.13  # five times sqrt(0.632 * 0.368 / 333)


def test_a_client_that_crashed_goes_on_after_it_recovered() -> None:
    cluster = run({"think": "20ms"}, crash=(1_000 * MS, 2_000 * MS))
    during = [at for at in times(cluster) if 1_000 * MS <= at < 2_000 * MS]
    assert during == []
    assert len([at for at in times(cluster) if at >= 2_000 * MS]) > 200
    opened = [record for record in cluster.history if record.outcome is None]
    assert len(opened) <= 2  # the one that was under way, and the last one


@pytest.mark.parametrize("at_us", [1_003 * MS, 1_015 * MS])
def test_it_goes_on_whether_it_was_calling_or_thinking(at_us: int) -> None:
    cluster = run({"think": "20ms"}, crash=(at_us, 2_000 * MS))
    assert next(at for at in times(cluster) if at >= at_us) == 2_020 * MS


def test_an_open_loop_leaves_out_what_comes_while_its_client_is_down() -> None:
    cluster = run(
        {"loop": "open", "rate": "10/s", "arrivals": "even", "until": "3s"},
        crash=(950 * MS, 2_050 * MS),
    )
    assert len(times(cluster)) == 10 + 10
    assert not [record for record in cluster.history if record.outcome is None]


def test_a_call_that_takes_no_time_is_followed_by_a_breath() -> None:
    cluster = run({"until": "1s"}, link=LinkSpec(Constant(0)))
    assert times(cluster) == list(range(0, 1_000 * MS + 1, BREATH_US))


def test_the_same_seed_gives_the_same_history_and_another_seed_another() -> None:
    def told(seed: int) -> list[str]:
        link = LinkSpec(Uniform(1 * MS, 9 * MS), loss=0.05)
        return [repr(r) for r in run({"clients": 3}, seed=seed, for_us=SECOND, link=link).history]

    assert told(1) == told(1)
    assert told(1) != told(2)


def test_a_client_more_does_not_change_what_the_others_call() -> None:
    def said(clients: int) -> list[object]:
        cluster = run({"clients": clients, "keys": 5, "mix": {"get": "50%", "put": "50%"}})
        return [record.call for record in cluster.history if record.node == "c1"]

    assert said(1) == said(3)


def test_clients_know_the_servers_that_are_there() -> None:
    cluster = Cluster(topology=Topology.full_mesh(("n1",), LinkSpec(Constant(0))))
    cluster.add("n1", SingleCopy(me="n1", initial=KeyValueStore()))
    names = schedule(cluster, Traffic(clients=2), Random(1))
    assert names == ("c1", "c2")
    assert [cluster.nodes[name].process.servers for name in names] == [("n1",), ("n1",)]
    with pytest.raises(ValueError, match="there is a node 'c1' already"):
        schedule(cluster, Traffic(), Random(1))
