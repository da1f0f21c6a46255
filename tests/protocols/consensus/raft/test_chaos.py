"""Random faults, many seeds: what figure 3 promises always holds, and all is well after they end.

Each run: five servers, three clients that append unique tokens to one key and read it, and faults
from 0.5 s to 4 s; then one second of calm, after which a read must succeed within five.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from protocols.api import MS, SECOND, Context
from protocols.client import Outcome, ok
from protocols.clients.messages import Request
from protocols.consensus.raft.admin import TakeSnapshot, TransferLeadership
from protocols.consensus.raft.configuration import AddLearner, AddVoter, Remove
from protocols.consensus.raft.membership import ChangeMembership
from protocols.consensus.raft.server import RaftServer
from protocols.machines.kv import Append, Get
from sim import faults as f
from sim.latency import Uniform
from sim.node import RunError
from tests.protocols.consensus.raft.clusters import Raft, at, check_appends, servers

BEGIN, END = 500 * MS, 4 * SECOND
NODES = servers(5)
EVERYTHING: dict[str, Any] = {"snapshot_every": 7, "trailing": 2, "chunk": 2, "max_batch": 3}
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "figure 2 alone": {
        **{"pre_vote": False, "check_quorum": False, "sticky_leader": False, "noop": False},
        **{"fast_backup": False, "pipeline": False, "reads": "log"},
    },
    "hectic": {
        **{"pre_vote": False, "check_quorum": False, "sticky_leader": False},
        **{"election_timeout_us": (20 * MS, 40 * MS), "heartbeat_us": 8 * MS},
    },
    "follower reads, snapshots": {**EVERYTHING, "follower_reads": True, "forward": True},
    "changing members": {"admin": True, "catch_up_rounds": 3, **EVERYTHING},
    "changing members at once": {"admin": True, "catch_up_rounds": 0, "trailing": 3},
    "slow disks": {"disks": Uniform(0, 8 * MS), "snapshot_every": 10},
    "leases, small window": {"reads": "lease", "clock_drift_ppm": 1000, "window": 2, "batch_us": 3},
}
Draw = Callable[[Random, int, int], f.Fault]


def crash(rng: Random, begin: int, end: int) -> f.Fault:
    targets = at(*rng.sample(NODES, 1 + rng.randrange(3)))
    return f.Crash(at_us=begin, until_us=end, targets=targets)


def crash_inside(rng: Random, begin: int, end: int) -> f.Fault:
    targets = at(rng.choice(NODES))
    return f.Crash(at_us=begin, until_us=end, targets=targets, escape=rng.randrange(4))


def crash_leader(rng: Random, begin: int, end: int) -> f.Fault:
    return f.Crash(at_us=begin, until_us=end, targets=(f.Target("role", "leader"),))


def cut_leader_off(rng: Random, begin: int, end: int) -> f.Fault:
    leader = (f.Target("role", "leader"),)
    return f.Partition(at_us=begin, until_us=end, shape="isolate", groups=(leader,))


def pause(rng: Random, begin: int, end: int) -> f.Fault:
    return f.Pause(at_us=begin, until_us=end, targets=at(rng.choice(NODES)))


def partition(rng: Random, begin: int, end: int) -> f.Fault:
    shape = rng.choice(("halves", "ring", "bridge", "majority", "isolate", "one_way"))
    one, rest = rng.choice(NODES), NODES
    groups: tuple[f.Targets, ...] = ()
    if shape in ("majority", "isolate"):
        groups = (at(one),)
    elif shape == "one_way":
        groups = (at(one), at(*(node for node in rest if node != one)))
    return f.Partition(at_us=begin, until_us=end, shape=shape, groups=groups)  # type: ignore[arg-type]


def bad_links(rng: Random, begin: int, end: int) -> f.Fault:
    return f.Link(
        at_us=begin,
        until_us=end,
        src=(f.Target("all"),),
        dst=(f.Target("all"),),
        loss=rng.choice((0.0, 0.2)),
        duplicate=rng.choice((0.0, 0.3)),
        jitter_us=rng.choice((0, 40 * MS)),
    )


KINDS: tuple[Draw, ...] = (
    *(crash, crash_inside, crash_leader, cut_leader_off),
    *(pause, partition, bad_links),
)


def plan(rng: Random) -> tuple[f.Fault, ...]:
    """Up to six faults, overlapping as they like."""
    faults = []
    for _ in range(2 + rng.randrange(5)):
        begin = BEGIN + rng.randrange(END - BEGIN - 100 * MS)
        end = min(END, begin + 50 * MS + rng.randrange(1500 * MS))
        faults.append(rng.choice(KINDS)(rng, begin, end))
    return tuple(faults)


def administration(rng: Random) -> object:
    """An operation that some administrator thinks wise."""
    one, two = rng.sample(NODES, 2)
    wishes = (AddVoter(one), AddLearner(one), Remove(one))
    return rng.choice(
        (
            TransferLeadership(one),
            TakeSnapshot(),
            ChangeMembership((rng.choice(wishes),)),
            ChangeMembership((AddVoter(two), rng.choice(wishes))),
            ChangeMembership(tuple(AddVoter(node) for node in NODES)),
        )
    )


def run(seed: int, *, admin: bool = False, **options: Any) -> Raft:
    rng = Random(seed)
    raft = Raft(5, seed=seed, clients=3, latency=Uniform(MS, 6 * MS), plan=plan(rng), **options)
    for number in range(40):
        client = f"c{1 + rng.randrange(3)}"
        raft.invoke_at(rng.randrange(END), client, Append("x", f"<{number}>"))
        raft.invoke_at(rng.randrange(END), client, Get("x"))
    for _ in range(60 if admin else 0):
        raft.invoke_at(rng.randrange(END), rng.choice(NODES), administration(rng))
    raft.run(END + SECOND)
    check_appends(raft, "x")
    raft.run_for(SECOND)
    raft.safety.check(raft.everybody)
    (leader,) = raft.leaders()
    applied = {raft[node].last_applied for node in raft[leader].configuration.members()}
    assert len(applied) == 1, f"not all caught up: {applied}"
    return raft


class AnswersReadsAtOnce(RaftServer):
    """Believes that it leads, and asks nobody."""

    def serve_read(self, ctx: Context, request: Request) -> None:
        self.answer_read(ctx, request)


class KeepsNoSessions(RaftServer):
    """Applies a command as often as it is in the log."""

    def execute(self, request: Request, now_us: int) -> Outcome | None:
        self.machine, answer = self.machine.apply(request.command, now_us)
        return ok(answer)


class VotesForAnyLog(RaftServer):
    """Without the restriction of §5.4.1."""

    def good_enough(self, m: object) -> bool:
        return True


@pytest.mark.parametrize(
    ("mistake", "setting", "seed", "says"),
    [
        (AnswersReadsAtOnce, "default", 4, "a read misses"),
        (KeepsNoSessions, "default", 1, "times after"),
        (VotesForAnyLog, "default", 6, "leads with"),
    ],
)
def test_the_checks_can_fail(mistake: type[RaftServer], setting: str, seed: int, says: str) -> None:
    with pytest.raises((AssertionError, RunError), match=says):
        run(seed, server=mistake, **SETTINGS[setting])


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("seed", range(2))
def test_faults_do_no_harm(setting: str, seed: int) -> None:
    run(seed, **SETTINGS[setting])


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_faults_do_no_harm_in_two_hundred_runs(setting: str) -> None:
    """Two hundred seeds in all, each under one of the settings."""
    for seed in range(list(SETTINGS).index(setting), 200, len(SETTINGS)):
        run(seed, **SETTINGS[setting])
