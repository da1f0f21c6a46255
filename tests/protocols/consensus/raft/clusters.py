"""Raft servers and clients on the simulator, and the properties of figure 3 as checks."""

from __future__ import annotations

from typing import Any

from protocols.api import MS, SECOND
from protocols.clients.policy import ClientOptions
from protocols.clients.session_client import SessionClient
from protocols.consensus.raft.entries import Entry
from protocols.consensus.raft.observations import BecameLeader, Committed
from protocols.consensus.raft.options import RaftOptions
from protocols.consensus.raft.server import RaftServer, Role
from protocols.machines.kv import Append, Get
from sim import faults as f
from sim.cluster import Cluster
from sim.inject import Injector
from sim.latency import Constant, Latency
from sim.links import LinkSpec
from sim.topology import Topology

PATIENT = ClientOptions(timeout_us=400 * MS, deadline_us=None)


def servers(n: int) -> tuple[str, ...]:
    return tuple(f"n{i}" for i in range(1, n + 1))


def at(*names: str) -> f.Targets:
    return tuple(f.Target("node", name) for name in names)


class Raft:
    """A cluster of ``n`` servers (and ``more`` that wait outside), with ``clients`` clients."""

    def __init__(
        self,
        n: int = 3,
        *,
        seed: int = 1,
        clients: int = 1,
        latency: Latency | None = None,
        plan: tuple[f.Fault, ...] = (),
        more: int = 0,
        disks: Latency | None = None,
        server: type[RaftServer] = RaftServer,
        parameters: Any = None,
        patience: ClientOptions = PATIENT,
        **options: Any,
    ) -> None:
        self.servers = servers(n)
        self.everybody = servers(n + more)
        self.clients = tuple(f"c{i}" for i in range(1, clients + 1))
        nodes = (*self.everybody, *self.clients)
        topology = Topology.full_mesh(nodes, LinkSpec(latency or Constant(2 * MS)))
        self.cluster = Cluster(seed=seed, topology=topology)
        self.safety = Safety(self.cluster)
        chosen = RaftOptions(observe_commits=True, **options)
        given = parameters or {}
        for node in self.everybody:
            voters: Any = {} if node in self.servers else {"voters": ()}
            process = server(
                me=node, members=self.servers, options=chosen, **voters, **given.get(node, {})
            )
            added = self.cluster.add(node, process)
            if disks is not None:
                added.own_disk().sync_us = disks.sampler(self.cluster.streams["disk"])
        for node in self.clients:
            client = SessionClient(me=node, servers=self.servers, options=patience)
            self.cluster.add(node, client)
        self.injector = Injector(self.cluster, plan, subjects=self.everybody)
        self.cluster.start()

    def run(self, until_us: int) -> None:
        self.cluster.run_until(until_us)

    def run_for(self, us: int) -> None:
        self.cluster.run_until(self.cluster.now + us)

    def __getitem__(self, node: str) -> Any:
        return self.cluster.nodes[node].process

    def leaders(self) -> list[str]:
        return [
            node
            for node in self.everybody
            if node in self.cluster.nodes
            and self.cluster.nodes[node].up
            and self[node].role is Role.LEADER
        ]

    def leader(self) -> str:
        """The leader of the latest term; waits for one for two seconds."""
        for _ in range(40):
            if found := self.leaders():
                return max(found, key=lambda node: int(self[node].current_term))
            self.run_for(50 * MS)
        raise AssertionError("no leader within two seconds")

    def ask(self, command: object, client: str = "c1", within_us: int = 2 * SECOND) -> Any:
        """Let a client invoke ``command``; its outcome, or None if there is none in time."""
        number = self.cluster.invoke(client, command)
        end = self.cluster.now + within_us
        while self.cluster.history[number].outcome is None and self.cluster.now < end:
            self.run_for(5 * MS)
        return self.cluster.history[number].outcome

    def invoke_at(self, at_us: int, client: str, command: object) -> None:
        self.cluster.engine.call_at(at_us, lambda _: self.cluster.invoke(client, command), None)

    def operate(self, node: str, operation: object, within_us: int = 2 * SECOND) -> Any:
        """An administrator's operation at a server."""
        return self.ask(operation, node, within_us)


class Safety:
    """Collects what was ever committed and who ever led; `check` judges it all at the end."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.leaders: dict[int, str] = {}
        self.committed: dict[int, Entry] = {}
        self.known: dict[str, int] = {}
        cluster.observers.append(self.observe)

    def observe(self, now: int, node: str, observation: object) -> None:
        if isinstance(observation, BecameLeader):
            self.became_leader(node, observation.term)
        elif isinstance(observation, Committed):
            self.commits(node, observation.index)

    def became_leader(self, node: str, term: int) -> None:
        assert self.leaders.setdefault(term, node) == node, f"two leaders in term {term}"
        server = self.cluster.nodes[node].process
        for index, entry in self.committed.items():  # Leader Completeness
            if index >= server.log.first:
                assert index <= server.last_index, f"{node} leads without entry {index}"
                assert server.log[index] == entry, f"{node} leads with another entry {index}"
            else:
                assert index <= server.snapshot_index

    def commits(self, node: str, upto: int) -> None:
        log = self.cluster.nodes[node].process.log
        for index in range(max(self.known.get(node, 0) + 1, log.first), upto + 1):
            entry = log[index]
            assert self.committed.setdefault(index, entry) == entry, f"two entries {index}"
        self.known[node] = upto

    def check(self, everybody: tuple[str, ...]) -> None:
        processes = [self.cluster.nodes[node].process for node in everybody]
        self.log_matching([p.log for p in processes])
        applied: dict[int, Any] = {}  # State Machine Safety
        for process in processes:
            state = (process.machine, process.sessions)
            assert applied.setdefault(process.last_applied, state) == state
            assert process.snapshot_index <= process.last_applied <= process.commit_index
            assert process.commit_index <= process.last_index

    @staticmethod
    def log_matching(logs: list[Any]) -> None:
        for number, one in enumerate(logs):
            for other in logs[:number]:
                same = False
                last = min(one.last_index, other.last_index)
                for index in range(last, max(one.first, other.first) - 1, -1):
                    same = same or one[index].term == other[index].term
                    assert not same or one[index] == other[index], f"logs differ at {index}"


def check_appends(raft: Raft, key: str) -> str:
    """Appends of unique tokens ("<1>") and reads of one key are linearizable; the final value.

    Each acknowledged token is there exactly once, each other at most once; every read is a
    prefix of the final value that holds what was acknowledged before it began.
    """
    history = raft.cluster.history
    appends = [r for r in history if isinstance(r.call, Append) and r.call.key == key]
    reads = [r for r in history if isinstance(r.call, Get) and r.call.key == key]
    final = raft.ask(Get(key), within_us=5 * SECOND)
    assert final is not None, "not live after the faults have ended"
    assert final.kind == "ok"
    value = final.value or ""
    for append in appends:
        assert isinstance(append.call, Append)
        count = value.count(append.call.value)
        outcome = append.outcome.kind if append.outcome else "info"
        allowed = {"ok": (1,), "fail": (0,), "info": (0, 1)}[outcome]
        assert count in allowed, f"{append.call.value} is there {count} times after {outcome}"
    for read in reads:
        if read.outcome is None or read.outcome.kind != "ok" or read.completed_us is None:
            continue
        seen = read.outcome.value or ""
        assert value.startswith(seen), f"read {seen!r}, but {value!r} in the end"
        for append in appends:
            assert isinstance(append.call, Append)
            done = append.outcome is not None and append.outcome.kind == "ok"
            if done and append.completed_us is not None and append.completed_us < read.invoked_us:
                assert append.call.value in seen, f"a read misses {append.call.value}"
            if append.invoked_us > read.completed_us:
                assert append.call.value not in seen
    return value
