"""Invariants of a replicated log, checked after every step of every node, at low cost.

Source: Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm" (extended
version), figure 3: election safety, leader append-only, log matching, leader completeness, state
machine safety; and the runtime invariants that LogCabin asserts (terms and commit index monotone,
terms in the log monotone, applied ≤ committed ≤ last, …).

The checker knows a process by its field names, not by its class: ``current_term``, ``voted_for``,
``role`` (an Enum with LEADER), ``log`` (of entries with ``term``), ``commit_index``,
``last_applied``, and ``snapshot`` (with ``last_index``) if it has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.check.result import Counterexample, Ok, Result, Unknown, Violated

if TYPE_CHECKING:
    from sim.cluster import Cluster
    from sim.node import Node

__all__ = ["FIELDS", "ReplicatedLogInvariants"]

FIELDS = ("current_term", "voted_for", "role", "log", "commit_index")


class ReplicatedLogInvariants:
    """Watches the nodes of a cluster; the first breach is kept.

    Each step costs a few comparisons; entries are compared once per node, when it commits them.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.steps = 0
        self.leaders: dict[int, str] = {}  # term → who led it
        self.committed: dict[int, Any] = {}  # index → entry
        self.highest = 0  # committed index
        self.broken: Violated | None = None
        self._last: dict[str, tuple[Any, ...]] = {}
        self._compared: dict[str, int] = {}  # node → index up to which its log was compared
        for node in cluster.nodes.values():
            if all(hasattr(node.process, name) for name in FIELDS):
                node.watch = self.after_step

    def result(self) -> Result:
        """What was found, after the run."""
        if self.broken is not None:
            return self.broken
        if not self.steps:
            return Unknown("no node has the fields of a replicated log: nothing was checked")
        if not self.committed:
            return Unknown(f"{self.steps} steps were checked, but nothing was ever committed")
        return Ok(
            "all invariants of the replicated log held",
            {"steps": self.steps, "committed": len(self.committed), "terms": len(self.leaders)},
        )

    def after_step(self, node: Node) -> None:
        """Compare the node with what it was after its last step."""
        if self.broken is not None:
            return
        self.steps += 1
        p = node.process
        term, vote, role, log, commit = (
            p.current_term, p.voted_for, p.role, p.log, p.commit_index
        )  # fmt: skip
        before = self._last.get(node.id)
        now = (p, term, vote, role, log, commit)
        self._last[node.id] = now
        if before is not None:
            self._compare(node, before, now)
        if role is not (before[3] if before and before[0] is p else None) or (
            before is not None and term != before[1]
        ):
            self._role(node, term, role)
        if log is not (before[4] if before else None):
            self._log(node, log, term)
        if commit > self._compared.get(node.id, 0):
            self._commit(node, p, log, commit)
        self._bounds(node, p, log, commit)

    def _say(self, node: Node, what: str, source: str) -> None:
        now, event = self.cluster.engine.now, node.step_cause
        events = (event,) if event >= 0 else ()
        why = f"{source}: {node.id} {what}"
        if self.broken is None:
            self.broken = Violated(why, Counterexample((node.id,), now, events, why))

    def _compare(self, node: Node, before: tuple[Any, ...], now: tuple[Any, ...]) -> None:
        old, old_term, old_vote, old_role, old_log, old_commit = before
        process, term, vote, role, log, commit = now
        wiped = node.disk is not None and old is not process
        if term < old_term and not wiped:
            self._say(node, f"went back from term {old_term} to {term}", "terms are monotone")
        if term == old_term and old_vote is not None and vote != old_vote and not wiped:
            self._say(
                node,
                f"changed its vote in term {term} from {old_vote} to {vote}",
                "one vote per term (§5.2)",
            )
        if old is not process:
            self._compared[node.id] = 0  # it starts again: its log is compared anew
            return
        if commit < old_commit:
            self._say(
                node, f"took back its commit index, {old_commit} → {commit}", "commit is monotone"
            )
        leads = role.name == "LEADER" and old_role is role and term == old_term
        if leads and log is not old_log and not _grown(old_log, log):
            self._say(node, "changed its own log while it led", "leader append-only (§5.3)")

    def _role(self, node: Node, term: int, role: Any) -> None:
        if role.name != "LEADER":
            return
        other = self.leaders.setdefault(term, node.id)
        if other != node.id:
            self._say(node, f"leads term {term}, as {other} did", "election safety (§5.2)")
        log = node.process.log
        index = self.highest
        if index and log.last_index < index:
            self._say(
                node,
                f"leads term {term} with a log up to {log.last_index}, but {index} is committed",
                "leader completeness (§5.4)",
            )
        elif index >= log.first and index and log[index].term != self.committed[index].term:
            self._say(
                node,
                f"leads term {term} with another entry at the committed index {index}",
                "leader completeness (§5.4)",
            )

    def _log(self, node: Node, log: Any, term: int) -> None:
        if not len(log):
            return
        last = log[log.last_index]
        if last.term > term:
            self._say(
                node,
                f"holds an entry of term {last.term} in term {term}",
                "entries are not of the future",
            )
        if len(log) > 1 and log[log.last_index - 1].term > last.term:
            self._say(
                node, f"holds terms that go back at {log.last_index}", "terms in a log are monotone"
            )

    def _commit(self, node: Node, p: Any, log: Any, commit: int) -> None:
        start = max(self._compared.get(node.id, 0) + 1, log.first)
        for index in range(start, min(commit, log.last_index) + 1):
            entry = log[index]
            known = self.committed.get(index)
            if known is None:
                self.committed[index] = entry
                self.highest = max(self.highest, index)
            elif known is not entry and known != entry:
                self._say(
                    node,
                    f"committed another entry at {index} (term {entry.term}) than was committed "
                    f"there before (term {known.term})",
                    "state machine safety (§5.4.3)",
                )
                return
        self._compared[node.id] = commit

    def _bounds(self, node: Node, p: Any, log: Any, commit: int) -> None:
        if commit > log.last_index:
            self._say(
                node, f"committed {commit}, its log ends at {log.last_index}", "commit ≤ last index"
            )
        applied = getattr(p, "last_applied", 0)
        if applied > commit:
            self._say(node, f"applied {applied}, committed only {commit}", "applied ≤ committed")
        snapshot = getattr(p, "snapshot", None)
        if snapshot is not None:
            if snapshot.last_index > commit:
                self._say(
                    node,
                    f"has a snapshot up to {snapshot.last_index}, committed {commit}",
                    "a snapshot holds committed entries only",
                )
            if log.first > snapshot.last_index + 1:
                self._say(
                    node,
                    f"discarded up to {log.first - 1}, its snapshot ends at {snapshot.last_index}",
                    "no gap between snapshot and log",
                )


def _grown(old: Any, new: Any) -> bool:
    """Whether ``new`` holds all of ``old``, but for a compacted prefix."""
    return bool(new.last_index >= old.last_index and new.shared_prefix(old) >= old.last_index)
