"""Which parts of Raft a cluster uses, and its timing. All servers must be given the same.

Section numbers are those of the dissertation (Ongaro, 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from protocols.values import MINUTE, MS

__all__ = ["RaftOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftOptions:
    """The options of a Raft server. ValueError, naming the option, for values that can't work.

    Timing (§3.9, §9)
      ``election_timeout_us``: range of the randomised election timeout, both ends included.
      ``heartbeat_us``: pace of the leader's heartbeats; well below the least timeout.
    Elections
      ``pre_vote`` (§9.6): ask whether an election could be won before starting it.
      ``check_quorum`` (§6.2): a leader that did not hear from a quorum for the least election
      timeout steps down.
      ``sticky_leader`` (§4.2.3): disregard requests for votes within the least election timeout
      of hearing from a leader.
      ``priorities`` (not in the dissertation; raft-rs, Ratis): a server refuses its vote to a
      candidate of lower priority, unless that one's log is more up-to-date.
    Replication
      ``noop`` (§6.4): begin each term with a no-op, without which entries of older terms stay
      uncommitted, and reads and changes wait, until a client writes.
      ``fast_backup`` (§3.5): go back by whole terms, not by single entries.
      ``pipeline`` (§10.2.1): send on before the last AppendEntries was acknowledged.
      ``window``: entries sent but not acknowledged per follower, at most (flow control).
      ``max_batch`` (§10.2.2): entries per AppendEntries, at most.
      ``batch_us`` (§10.2.2): gather entries for so long before sending them; 0: send at once.
    Clients
      ``max_uncommitted``: uncommitted entries above which requests are refused; 0: no limit.
      ``forward`` (§6.2): a follower passes requests on to the leader instead of refusing them.
      ``session_lifetime_us`` (§6.3): a session expires after so long without a command, by the
      time in the log; 0: never. ``session_sweep``: expired ones are cleared every so many entries.
    Reads
      ``reads``: "log": as entries; "index" (§6.4): after a round of heartbeats; "lease" (§6.4.1):
      from the leader's clock alone while a lease lasts, else like "index".
      ``follower_reads`` (§6.4): followers answer reads too, asking the leader for a read index.
      ``clock_drift_ppm``: for leases, and required for them: how much faster than the leader's
      clock any other clock may run, at most.
    Snapshots (§5)
      ``snapshot_every``: take one after so many applied entries; 0: never by itself.
      ``trailing``: entries kept before a snapshot, for followers that are a little behind.
      ``chunk``: items per chunk of InstallSnapshot.
    Membership (§4)
      ``catch_up_rounds`` (§4.2.1): a new voter is first brought up to date within so many rounds
      of replication; the change is refused if the last one takes longer than the least election
      timeout. 0: it becomes a voter at once.
    ``observe_commits``: observe Committed for every step of the commit index.
    """

    election_timeout_us: tuple[int, int] = (150 * MS, 300 * MS)
    heartbeat_us: int = 50 * MS
    pre_vote: bool = True
    check_quorum: bool = True
    sticky_leader: bool = True
    priorities: bool = False
    noop: bool = True
    fast_backup: bool = True
    pipeline: bool = True
    window: int = 1024
    max_batch: int = 256
    batch_us: int = 0
    max_uncommitted: int = 0
    forward: bool = False
    session_lifetime_us: int = 60 * MINUTE
    session_sweep: int = 1024
    reads: Literal["log", "index", "lease"] = "index"
    follower_reads: bool = False
    clock_drift_ppm: int | None = None
    snapshot_every: int = 0
    trailing: int = 0
    chunk: int = 1000
    catch_up_rounds: int = 10
    observe_commits: bool = False

    def __post_init__(self) -> None:
        low, high = self.election_timeout_us
        if not 0 < low <= high:
            raise ValueError(f"election_timeout {low}..{high} µs: give 0 < shortest ≤ longest")
        for name in ("heartbeat_us", "window", "max_batch", "chunk", "session_sweep"):
            _at_least(self, name, 1)
        for name in ("batch_us", "max_uncommitted", "session_lifetime_us", "snapshot_every"):
            _at_least(self, name, 0)
        for name in ("trailing", "catch_up_rounds"):
            _at_least(self, name, 0)
        if self.reads not in ("log", "index", "lease"):
            raise ValueError(f'reads {self.reads!r}: "log", "index" or "lease"')
        if self.reads == "lease":
            self._check_lease()

    def _check_lease(self) -> None:
        if self.clock_drift_ppm is None or self.clock_drift_ppm < 0:
            raise ValueError(
                f"clock_drift_ppm {self.clock_drift_ppm}: reads by lease rest on a bound of clock "
                'drift; declare one (200 for 0.02 %), or use reads "index"'
            )
        if not self.sticky_leader:
            raise ValueError(
                'sticky_leader False: with reads "lease" no one may be elected while a follower '
                "has just heard from the leader (§6.4.1)"
            )

    @property
    def lease_us(self) -> int:
        """How long a lease lasts on the leader's clock: the least timeout on the fastest clock."""
        drift = self.clock_drift_ppm or 0
        return self.election_timeout_us[0] * 1_000_000 // (1_000_000 + drift)


def _at_least(options: RaftOptions, name: str, least: int) -> None:
    value = getattr(options, name)
    if value < least:
        raise ValueError(f"{name} {value}: give at least {least}")
