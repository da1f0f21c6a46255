"""Anti-entropy: sentences of Demers et al., CSL-89-1, §1.3 and §2, and convergence."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.api import MS, SECOND, Map
from protocols.client import fail, ok
from protocols.dissemination.anti_entropy import (
    AntiEntropy,
    Ask,
    Delete,
    Digest,
    Entries,
    ExchangeDue,
    Get,
    Offer,
    Put,
    Request,
    Updated,
    converged,
    entries_in,
)
from protocols.dissemination.entries import Death, Entry, living, newer, stamps
from protocols.step import (
    Fire,
    Invoke,
    Observe,
    Receive,
    Reply,
    Send,
    SetTimer,
    Start,
    durable_state,
    recovered,
    step,
)
from tests.protocols.dissemination.driver import Driver

ALL = ("n1", "n2", "n3")
OLD = Entry(1, "n2", "old")
NEW = Entry(2, "n3", "new")
AGAIN = SetTimer(ExchangeDue(), SECOND)
MODES = ("push", "pull", "push-pull")
EXCHANGES = ("full", "digest")


def site(store: dict[str, Entry] | None = None, **parameters: Any) -> AntiEntropy:
    made = AntiEntropy(me="n1", members=ALL, **parameters)
    made.store = Map(store or {})
    return made


def begins(made: AntiEntropy, now_us: int = SECOND) -> tuple[Any, ...]:
    return step(made, Fire(ExchangeDue()), now_us=now_us)


def receive(made: AntiEntropy, message: Any, now_us: int = SECOND) -> tuple[Any, ...]:
    return step(made, Receive("n2", message), now_us=now_us)


# -- operations ------------------------------------------------------------------------------------


def test_the_first_exchange_comes_at_a_random_moment_of_the_first_period() -> None:
    assert step(site(), Start()) == (SetTimer(ExchangeDue(), (1, SECOND)),)


def test_a_write_has_the_next_version_of_its_key() -> None:
    made = site({"x": NEW})
    effects = step(made, Invoke(1, Put("x", "mine")))
    assert effects == (Observe(Updated("x", 3, "n1")), Reply(1, ok()))
    assert made.store == Map({"x": Entry(3, "n1", "mine")})


def test_a_key_begins_at_version_one() -> None:
    made = site()
    step(made, Invoke(1, Put("x", "mine")))
    assert made.store["x"] == Entry(1, "n1", "mine")


@pytest.mark.parametrize(
    ("store", "value"),
    [({"x": NEW}, "new"), ({}, None), ({"x": Entry(3, "n2", None, Death(0))}, None)],
)
def test_a_read_gives_the_value_of_this_site(store: Any, value: Any) -> None:
    assert step(site(store), Invoke(1, Get("x"))) == (Reply(1, ok(value)),)


def test_what_a_site_holds_survives_a_crash() -> None:
    made = site({"x": NEW})
    assert recovered(made, durable_state(made)).store == Map({"x": NEW})


# -- one exchange, full (§1.3, ResolveDifference) --------------------------------------------------


def test_push_sends_all_that_the_site_has() -> None:
    made = site({"x": NEW}, mode="push")
    assert begins(made) == (AGAIN, Send("n2", Entries(Map({"x": NEW}))))


def test_pull_asks_for_all_that_the_other_has() -> None:
    assert begins(site({"x": NEW}, mode="pull")) == (AGAIN, Send("n2", Ask()))
    assert receive(site({"x": NEW}), Ask()) == (Send("n2", Entries(Map({"x": NEW}))),)


def test_push_pull_sends_all_and_gets_back_what_is_newer() -> None:
    assert begins(site({"x": NEW})) == (AGAIN, Send("n2", Offer(Map({"x": NEW}))))
    made = site({"x": NEW, "y": OLD})
    effects = receive(made, Offer(Map({"x": OLD, "y": NEW, "z": OLD})))
    assert effects == (
        Observe(Updated("y", 2, "n3")),
        Observe(Updated("z", 1, "n2")),
        Send("n2", Entries(Map({"x": NEW}))),
    )
    assert made.store == Map({"x": NEW, "y": NEW, "z": OLD})


def test_sites_that_agree_have_nothing_to_add() -> None:
    assert receive(site({"x": NEW}), Offer(Map({"x": NEW}))) == ()
    assert receive(site(), Ask()) == ()


def test_with_neighbours_only_they_are_partners() -> None:
    assert begins(site(neighbours=("n9",), mode="pull"))[1] == Send("n9", Ask())


# -- one exchange, by digest -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "push", "pull"),
    [("push", True, False), ("pull", False, True), ("push-pull", True, True)],
)
def test_digest_sends_the_versions_first(mode: Any, push: bool, pull: bool) -> None:
    made = site({"x": NEW}, mode=mode, exchange="digest")
    digest = Digest(Map({"x": (2, "n3", -1)}), push, pull)
    assert begins(made) == (AGAIN, Send("n2", digest))


def test_digest_then_only_what_differs() -> None:
    made = site({"same": NEW, "mine": NEW, "theirs": OLD})
    versions = stamps({"same": NEW, "mine": OLD, "theirs": NEW, "unheard": OLD})
    ours = Send("n2", Entries(Map({"mine": NEW})))
    wanted = Send("n2", Request(("theirs", "unheard")))
    assert receive(made, Digest(versions, push=True, pull=False)) == (wanted,)
    assert receive(made, Digest(versions, push=False, pull=True)) == (ours,)
    assert receive(made, Digest(versions, push=True, pull=True)) == (ours, wanted)


def test_digest_of_sites_that_agree_ends_there() -> None:
    assert receive(site({"x": NEW}), Digest(stamps({"x": NEW}), push=True, pull=True)) == ()


def test_digest_the_requested_entries_are_sent() -> None:
    effects = receive(site({"x": NEW, "y": OLD}), Request(("x", "gone")))
    assert effects == (Send("n2", Entries(Map({"x": NEW}))),)


def test_digest_carries_fewer_entries_than_full() -> None:
    counts = {}
    for exchange in EXCHANGES:
        driver = cluster(3, exchange=exchange)
        for key in "abcdefgh":
            driver.invoke("n1", Put(key, key))
        driver.run_until(20 * SECOND)
        assert converged(driver.nodes.values())
        counts[exchange] = sum(entries_in(message) for _, _, message in driver.sends)
    # 8 entries to 2 sites, each but once; crossing exchanges may fetch a few of them twice.
    assert 16 <= counts["digest"] <= 32
    assert counts["full"] > 10 * counts["digest"]


# -- the order of versions -------------------------------------------------------------------------


ORDERED = (
    Entry(1, "n1", "a"),
    Entry(1, "n2", "b"),
    Entry(1, "n2", None, Death(5)),
    Entry(1, "n2", None, Death(9)),
    Entry(2, "n1", "c"),
)


@pytest.mark.parametrize(("low", "high"), list(combinations(ORDERED, 2)))
def test_version_then_writer_then_activation(low: Entry, high: Entry) -> None:
    assert low.stamp < high.stamp
    for first, second in ((low, high), (high, low)):
        made = site({"x": first})
        receive(made, Entries(Map({"x": second})))
        assert made.store["x"] == high


def test_newer_lists_what_the_other_lacks() -> None:
    mine = {"x": NEW, "y": OLD, "z": OLD}
    assert newer(mine, stamps({"x": OLD, "y": OLD})) == Map({"x": NEW, "z": OLD})


# -- deletion and death certificates (§2) ----------------------------------------------------------


def test_a_deletion_writes_a_death_certificate() -> None:
    made = site({"x": NEW}, retention_sites=1)
    effects = step(made, Invoke(1, Delete("x")), now_us=7)
    assert effects == (Observe(Updated("x", 3, "n1")), Reply(1, ok()))
    assert made.store["x"] == Entry(3, "n1", None, Death(7, ("n2",)))
    assert living(made.store) == Map()


@pytest.mark.parametrize("store", [{}, {"x": Entry(3, "n2", None, Death(0))}])
def test_deleting_what_is_not_there_fails(store: Any) -> None:
    assert step(site(store), Invoke(1, Delete("x"))) == (Reply(1, fail("n1 has no value for 'x'")),)


def test_a_certificate_cancels_older_copies_and_not_newer_writes() -> None:
    certificate = Entry(2, "n3", None, Death(0))
    made = site({"older": OLD, "newer": Entry(3, "n2", "again")})
    receive(made, Entries(Map({"older": certificate, "newer": certificate})))
    assert living(made.store) == Map({"newer": "again"})


def test_a_new_write_after_a_deletion_is_newer_than_the_certificate() -> None:
    made = site({"x": Entry(3, "n2", None, Death(0))})
    step(made, Invoke(1, Put("x", "again")))
    assert made.store["x"] == Entry(4, "n1", "again")


DAY = 1_000 * SECOND
CERTIFICATE = Entry(2, "n3", None, Death(0, ("n1",)))
KEEPING: dict[str, Any] = {"retention_us": DAY, "dormant_us": 9 * DAY}


def test_certificates_are_kept_for_ever_by_default() -> None:
    made = site({"x": CERTIFICATE})
    begins(made, now_us=1_000 * DAY)
    assert "x" in made.store


def test_after_its_retention_a_certificate_is_dropped() -> None:
    made = site({"x": Entry(2, "n3", None, Death(0))}, **KEEPING)
    begins(made, now_us=DAY - 1)
    assert "x" in made.store
    begins(made, now_us=DAY)
    assert "x" not in made.store


def test_a_certificate_that_has_expired_is_not_taken_back() -> None:
    made = site(**KEEPING)
    assert receive(made, Entries(Map({"x": Entry(2, "n3", None, Death(0))})), now_us=DAY) == ()


def test_its_retention_sites_keep_it_dormant_and_do_not_spread_it() -> None:
    made = site({"x": CERTIFICATE}, **KEEPING)
    assert begins(made, now_us=2 * DAY) == (AGAIN, Send("n2", Offer(Map())))
    assert made.store["x"] == CERTIFICATE
    begins(made, now_us=10 * DAY)
    assert "x" not in made.store


def test_a_dormant_certificate_that_meets_an_obsolete_copy_is_activated_again() -> None:
    made = site({"x": CERTIFICATE}, **KEEPING)
    awake = Entry(2, "n3", None, Death(2 * DAY, ("n1",)))
    assert receive(made, Offer(Map({"x": OLD})), now_us=2 * DAY) == (
        Observe(Updated("x", 2, "n3")),
        Send("n2", Entries(Map({"x": awake}))),
    )


def test_a_digest_that_tells_of_an_obsolete_copy_activates_it_as_well() -> None:
    made = site({"x": CERTIFICATE}, **KEEPING)
    receive(made, Digest(stamps({"x": OLD}), push=True, pull=False), now_us=2 * DAY)
    assert made.store["x"].death == Death(2 * DAY, ("n1",))


def test_a_dormant_certificate_gives_way_to_a_newer_write() -> None:
    made = site({"x": CERTIFICATE}, **KEEPING)
    write = Entry(3, "n2", "again")
    receive(made, Entries(Map({"x": write})), now_us=2 * DAY)
    assert made.store["x"] == write


def away_during_a_deletion(**parameters: Any) -> Driver:
    """n3 has a copy and is away while n1 deletes the item, for longer than the retention."""
    driver = cluster(3, retention_us=20 * SECOND, **parameters)
    driver.invoke("n1", Put("x", "old"))
    driver.run_until(10 * SECOND)
    assert driver.invoke("n3", Get("x")) == ok("old")
    driver.down = frozenset({"n3"})
    driver.invoke("n1", Delete("x"))
    driver.run_until(60 * SECOND)
    driver.down = frozenset()
    driver.do("n3", Start())
    driver.run_until(90 * SECOND)
    return driver


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("mode", MODES)
def test_dropped_before_all_sites_had_it_the_item_comes_back(mode: Any, exchange: Any) -> None:
    driver = away_during_a_deletion(mode=mode, exchange=exchange)
    assert [driver.invoke(node, Get("x")) for node in ALL] == [ok("old")] * 3


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("mode", MODES)
def test_a_dormant_certificate_keeps_it_dead(mode: Any, exchange: Any) -> None:
    # Both others are asked to keep it; n3 has not heard of it, so that n2 is the one that does.
    keep = {"retention_sites": 2, "dormant_us": 900 * SECOND}
    driver = away_during_a_deletion(mode=mode, exchange=exchange, **keep)
    assert [driver.invoke(node, Get("x")) for node in ALL] == [ok(None)] * 3


# -- convergence -----------------------------------------------------------------------------------


def cluster(n: int, *, seed: int = 1, lost: Any = None, **parameters: Any) -> Driver:
    members = tuple(f"n{i}" for i in range(1, n + 1))
    sites = {me: AntiEntropy(me=me, members=members, **parameters) for me in members}
    return Driver(sites, seed=seed, **({"lost": lost} if lost else {}))


@pytest.mark.parametrize(("mode", "exchange"), list(product(MODES, EXCHANGES)))
def test_every_update_reaches_every_site_though_half_the_messages_are_lost(
    mode: Any, exchange: Any
) -> None:
    driver = cluster(8, mode=mode, exchange=exchange)
    driver.lost = lambda src, sent: driver.rng.random() < 0.5
    for number, node in enumerate(driver.nodes):
        driver.run_until(number * 100 * MS)
        driver.invoke(node, Put("x", node))
        driver.invoke(node, Put(f"own-{node}", number))
    assert not converged(driver.nodes.values())
    driver.run_until(60 * SECOND)
    assert converged(driver.nodes.values())
    assert len(driver.nodes["n1"].store) == 9


writes = st.lists(
    st.tuples(st.sampled_from(ALL), st.sampled_from("xyz"), st.booleans()), max_size=12
)


@given(writes=writes, data=st.data())
def test_any_order_and_repetition_of_delivery_leaves_replicas_equal(
    writes: list[tuple[str, str, bool]], data: st.DataObject
) -> None:
    """Sites write, each unheard; then all that they have is delivered in any order, repeated."""
    sites = {me: AntiEntropy(me=me, members=ALL) for me in ALL}
    sent = [Entries(Map())]
    for number, (me, key, delete) in enumerate(writes):
        operation = Delete(key) if delete else Put(key, number)
        step(sites[me], Invoke(number, operation), now_us=number)
        sent.append(Entries(sites[me].store))
        if data.draw(st.booleans()):
            receive(sites[data.draw(st.sampled_from(ALL))], data.draw(st.sampled_from(sent)))
    final = [Entries(made.store) for made in sites.values()]
    for made in sites.values():
        repeated = final + data.draw(st.lists(st.sampled_from(sent), max_size=6))
        for message in data.draw(st.permutations(repeated)):
            receive(made, message)
    assert sites["n1"].store == sites["n2"].store == sites["n3"].store


@given(store=st.dictionaries(st.sampled_from("xyz"), st.sampled_from(ORDERED)), data=st.data())
def test_full_and_digest_exchange_come_to_the_same(
    store: dict[str, Entry], data: st.DataObject
) -> None:
    """One exchange of two sites leaves them with the same, whichever way they compared."""
    other = data.draw(st.dictionaries(st.sampled_from("xyz"), st.sampled_from(ORDERED)))
    ends = []
    for exchange in EXCHANGES:
        way: dict[str, Any] = {"members": ("n1", "n2"), "exchange": exchange}
        pair = {me: AntiEntropy(me=me, **way) for me in ALL[:2]}
        pair["n1"].store, pair["n2"].store = Map(store), Map(other)
        driver = Driver(pair)
        driver.do("n1", Fire(ExchangeDue()))
        driver.run_until(10 * MS)
        ends += [made.store for made in pair.values()]
    assert all(end == ends[0] for end in ends)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"mode": "shout"}, r"mode='shout': allowed are push, pull, push-pull"),
        ({"exchange": "merkle"}, r"exchange='merkle': allowed are full, digest"),
        ({"period_us": 0}, r"period_us=0: give a whole number, at least 1"),
        ({"retention_us": 0}, r"retention_us=0: give a whole number, at least 1"),
        ({"retention_sites": -1}, r"retention_sites=-1: give a whole number, at least 0"),
        ({"dormant_us": -1}, r"dormant_us=-1: give"),
        ({"members": ()}, r"give members \(one tuple for all\) or neighbours"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        step(AntiEntropy(**{"me": "n1", "members": ALL, **parameters}), Start())
