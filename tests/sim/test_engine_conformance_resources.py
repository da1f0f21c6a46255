"""What SimPy's documentation promises of shared resources, on SimPy and on the engine.

Every test runs on both. Sections follow SimPy's guide "Shared Resources".
"""

from __future__ import annotations

from collections.abc import Generator

import pytest
import simpy
from simpy.resources.resource import Preempted

from sim.engine import Engine


@pytest.fixture(params=[simpy.Environment, Engine], ids=["simpy", "engine"])
def env(request: pytest.FixtureRequest) -> simpy.Environment:
    return request.param()


@pytest.fixture
def log() -> list:
    return []


def user(
    env: simpy.Environment,
    log: list,
    resource: simpy.Resource,
    name: str,
    *,
    arrival: int = 0,
    use: int = 3,
    **how: object,
) -> Generator:
    """Arrive, ask for a resource, use it, give it back."""
    yield env.timeout(arrival)
    with resource.request(**how) as request:
        yield request
        log.append((env.now, name, "has"))
        try:
            yield env.timeout(use)
            log.append((env.now, name, "done"))
        except simpy.Interrupt as interrupt:
            log.append((env.now, name, interrupt.cause))


# -- Resource ---------------------------------------------------------------------------------


def test_a_resource_serves_in_the_order_of_asking(env, log) -> None:
    resource = simpy.Resource(env, capacity=2)
    for name in "abc":
        env.process(user(env, log, resource, name))
    env.run(until=1)
    assert (resource.capacity, resource.count, len(resource.queue)) == (2, 2, 1)
    assert len(resource.users) == 2
    env.run()
    done = [(3, "a", "done"), (3, "b", "done"), (3, "c", "has"), (6, "c", "done")]
    assert log == [(0, "a", "has"), (0, "b", "has"), *done]
    assert resource.count == 0


def test_a_request_that_is_given_up_leaves_the_queue(env, log) -> None:
    resource = simpy.Resource(env)

    def impatient():
        yield env.timeout(0)  # to ask after a
        with resource.request() as request:
            got = yield request | env.timeout(2)
            log.append((env.now, "reneges", request in got))

    env.process(user(env, log, resource, "a"))
    env.process(impatient())
    env.process(user(env, log, resource, "b"))
    env.run()
    assert log[1:4] == [(2, "reneges", False), (3, "a", "done"), (3, "b", "has")]
    assert resource.queue == [] and env.now == 6


def test_release_is_an_event_and_a_request_knows_its_place(env, log) -> None:
    resource = simpy.Resource(env)

    def process():
        request = resource.request()
        yield request
        yield env.timeout(1)
        yield resource.release(request)
        log.append((env.now, request.usage_since, request.resource is resource))

    env.process(process())
    env.run()
    assert log == [(1, 0, True)] and resource.count == 0


@pytest.mark.parametrize("kind", [simpy.Resource, simpy.Container, simpy.Store])
def test_a_capacity_must_be_positive(env, kind) -> None:
    with pytest.raises(ValueError, match="must be > 0"):
        kind(env, capacity=0)


# -- PriorityResource -------------------------------------------------------------------------


def test_lower_numbers_are_served_first_and_equal_ones_by_arrival(env, log) -> None:
    resource = simpy.PriorityResource(env)
    env.process(user(env, log, resource, "holds", priority=9))
    for name, arrival, priority in [("b", 1, 1), ("c", 2, 1), ("a", 2, 0), ("first", 2, -1)]:
        env.process(user(env, log, resource, name, arrival=arrival, priority=priority))
    env.run()
    served = [(at, name) for at, name, what in log if what == "has"]
    assert served == [(0, "holds"), (3, "first"), (6, "a"), (9, "b"), (12, "c")]


# -- PreemptiveResource -----------------------------------------------------------------------


def test_a_more_urgent_request_preempts_and_the_victim_is_told(env, log) -> None:
    resource = simpy.PreemptiveResource(env)
    env.process(user(env, log, resource, "victim", priority=1, use=10))
    robber = env.process(user(env, log, resource, "robber", arrival=4, priority=0))
    env.run()
    assert [entry[:2] for entry in log] == [
        (0, "victim"),
        (4, "victim"),
        (4, "robber"),
        (7, "robber"),
    ]
    cause = log[1][2]
    assert isinstance(cause, Preempted)
    assert (cause.by, cause.usage_since, cause.resource) == (robber, 0, resource)


def test_equal_priority_or_preempt_false_does_not_preempt(env, log) -> None:
    resource = simpy.PreemptiveResource(env)
    env.process(user(env, log, resource, "holds", priority=1))
    env.process(user(env, log, resource, "equal", arrival=1, priority=1))
    env.process(user(env, log, resource, "polite", arrival=1, priority=0, preempt=False))
    env.run()
    served = [(at, name) for at, name, what in log if what == "has"]
    assert served == [(0, "holds"), (3, "polite"), (6, "equal")]


def test_a_polite_request_that_waits_in_front_is_not_overtaken_by_a_less_urgent_robber(
    env, log
) -> None:
    """The guide's case: preemption respects the queue: -1 without preemption is before 0."""
    resource = simpy.PreemptiveResource(env)
    env.process(user(env, log, resource, "holds", priority=1))
    env.process(user(env, log, resource, "polite", arrival=1, priority=-1, preempt=False))
    env.process(user(env, log, resource, "robber", arrival=2, priority=0, preempt=True))
    env.run()
    served = [(at, name) for at, name, what in log if what == "has"]
    assert served == [(0, "holds"), (3, "polite"), (6, "robber")]


def test_the_least_urgent_and_latest_user_is_the_victim(env, log) -> None:
    resource = simpy.PreemptiveResource(env, capacity=3)
    for name, arrival, priority in [("a", 0, 1), ("b", 1, 2), ("c", 2, 2)]:
        env.process(user(env, log, resource, name, arrival=arrival, priority=priority, use=9))
    env.process(user(env, log, resource, "robber", arrival=3, priority=0))
    env.run()
    victims = [(at, name) for at, name, what in log if isinstance(what, Preempted)]
    assert victims == [(3, "c")]


def test_a_victim_may_ask_again_and_finish_its_work(env, log) -> None:
    resource = simpy.PreemptiveResource(env)

    def machine():
        left = 10
        while left:
            with resource.request(priority=1) as request:
                yield request
                start = env.now
                try:
                    yield env.timeout(left)
                    left = 0
                except simpy.Interrupt:
                    left -= env.now - start
                    log.append((env.now, left))
        log.append((env.now, "finished"))

    env.process(machine())
    env.process(user(env, [], resource, "r1", arrival=3, use=2, priority=0))
    env.process(user(env, [], resource, "r2", arrival=8, use=1, priority=0))
    env.run()
    assert log == [(3, 7), (8, 4), (13, "finished")]


# -- Container --------------------------------------------------------------------------------


def test_a_container_makes_putters_and_getters_wait(env, log) -> None:
    tank = simpy.Container(env, capacity=10, init=5)

    def act(name, what, amount, at):
        yield env.timeout(at)
        yield what(amount)
        log.append((env.now, name, tank.level))

    env.process(act("get 8", tank.get, 8, 1))
    env.process(act("get 1", tank.get, 1, 2))  # waits behind the greater one: FIFO
    env.process(act("put 4", tank.put, 4, 3))
    env.process(act("put 10", tank.put, 10, 4))
    env.process(act("get 0.5", tank.get, 0.5, 5))
    env.process(act("put 0.5", tank.put, 0.5, 6))
    env.run()
    first = [(3, "put 4", 0), (3, "get 8", 0), (3, "get 1", 0)]
    assert log == [*first, (4, "put 10", 10), (5, "get 0.5", 9.5), (6, "put 0.5", 10.0)]


def test_a_container_refuses_what_makes_no_sense(env) -> None:
    with pytest.raises(ValueError, match='"init" must be <= "capacity"'):
        simpy.Container(env, capacity=1, init=2)
    tank = simpy.Container(env)
    for amount in (0, -1):
        with pytest.raises(ValueError, match="must be > 0"):
            tank.put(amount)
        with pytest.raises(ValueError, match="must be > 0"):
            tank.get(amount)


# -- stores -----------------------------------------------------------------------------------


def consumer(env: simpy.Environment, log: list, name: str, get: simpy.Event) -> Generator:
    item = yield get
    log.append((env.now, name, item))


def producer(env: simpy.Environment, log: list, store: simpy.Store, items: list) -> Generator:
    for item in items:
        yield env.timeout(1)
        yield store.put(item)
        log.append((env.now, "put", item))


def test_a_store_is_a_bounded_fifo_queue(env, log) -> None:
    store = simpy.Store(env, capacity=2)
    env.process(producer(env, log, store, [1, 2, 3]))
    env.run(until=10)
    assert log == [(1, "put", 1), (2, "put", 2)] and store.items == [1, 2]
    for name in "abcd":
        env.process(consumer(env, log, name, store.get()))
    env.run()
    assert log[2:] == [(10, "a", 1), (10, "b", 2), (10, "put", 3), (10, "c", 3)]
    assert len(store.get_queue) == 1


def test_a_filter_store_serves_whom_it_can(env, log) -> None:
    store = simpy.FilterStore(env)
    env.process(consumer(env, log, "even", store.get(lambda item: item % 2 == 0)))
    env.process(consumer(env, log, "any", store.get()))
    env.process(producer(env, log, store, [1, 3, 4]))
    env.run()
    assert [entry for entry in log if entry[1] != "put"] == [(1, "any", 1), (3, "even", 4)]
    assert store.items == [3]


def test_a_priority_store_gives_the_smallest_item(env, log) -> None:
    store = simpy.PriorityStore(env)
    for priority, item in [(3, "c"), (1, "a"), (2, "b")]:
        store.put(simpy.PriorityItem(priority, item))
    for name in "xyz":
        env.process(consumer(env, log, name, store.get()))
    env.run()
    assert [(name, got.item) for _, name, got in log] == [("x", "a"), ("y", "b"), ("z", "c")]


def test_a_cancelled_get_takes_nothing(env, log) -> None:
    store = simpy.Store(env)
    given_up = store.get()
    env.process(consumer(env, log, "patient", store.get()))
    env.run()
    given_up.cancel()
    env.process(producer(env, log, store, ["item"]))
    env.run()
    assert log == [(1, "put", "item"), (1, "patient", "item")]
    assert not given_up.triggered
