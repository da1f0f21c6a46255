"""Cluster membership changes (§6; dissertation §4): by joint consensus, or one server at a time.

A server uses the latest configuration in its log, committed or not. A change is accepted when the
one before it is committed and the leader has committed an entry of its own term (without which
single-server changes are unsafe: the author's note to raft-dev, July 2015). New voters are first
brought up to date (§4.2.1). A leader that is no member any more steps down once that is committed.
"""

from __future__ import annotations

from dataclasses import replace

from protocols.api import Context, NodeId, operation
from protocols.client import fail, info, ok
from protocols.clients.messages import NOT_LEADER, STEPPED_DOWN
from protocols.consensus.raft.admin import Asker, answer
from protocols.consensus.raft.configuration import Configuration
from protocols.consensus.raft.observations import ConfigurationChanged
from protocols.consensus.raft.progress import Staging
from protocols.consensus.raft.state import RaftState, Role

__all__ = ["ChangeMembership", "Membership"]


@operation
class ChangeMembership:
    """Change the members of the cluster. Answer: None, once the new configuration is committed.

    ``changes``: AddVoter, AddLearner and Remove values. ``joint``: by joint consensus (§4.3);
    None: only if there is more than one change. ``auto_leave``: leave the joint configuration
    as soon as it is committed; otherwise ask for no changes, ``()``, to leave it.
    """

    changes: tuple[object, ...]
    joint: bool | None = None
    auto_leave: bool = True


class Membership(RaftState):
    """Which configuration is in use, and how it changes."""

    # -- the configuration in use ---------------------------------------------------------

    def load_configurations(self) -> None:
        """Find the configurations in the log, after that of the snapshot or the first one (S57)."""
        base = (0, self.first_configuration())
        if self.snapshot is not None:
            base = (self.snapshot.last_index, self.snapshot.configuration)
        later = [
            (index, entry.command)
            for index, entry in enumerate(self.log, self.log.first)
            if index > base[0] and isinstance(entry.command, Configuration)
        ]
        self.configurations = (base, *later)
        self.use(self.configurations[-1][1])

    def first_configuration(self) -> Configuration:
        """That of the cluster's first start."""
        learners = frozenset(self.learners)
        voters = frozenset(self.members if self.voters is None else self.voters)
        return Configuration(voters - learners if self.voters is None else voters, learners)

    def use(self, configuration: Configuration) -> None:
        """From now on, this one counts."""
        staged = () if self.staging is None else self.staging.nodes
        members = configuration.members()
        self.configuration = configuration
        everybody = (*members, *(node for node in staged if node not in members))
        self.others = tuple(node for node in everybody if node != self.me)

    def adopt(self, index: int, configuration: Configuration) -> None:
        """§4.1: a server adopts a configuration as soon as it is in its log."""
        self.configurations = (*self.configurations, (index, configuration))
        self.use(configuration)

    def unadopt_from(self, index: int) -> None:
        """The log was truncated: fall back to the configuration before (§4.1)."""
        if self.configurations[-1][0] >= index:
            self.configurations = tuple(c for c in self.configurations if c[0] < index)
            self.use(self.configurations[-1][1])

    # -- changing it ----------------------------------------------------------------------

    def change_membership(self, ctx: Context, asker: Asker, operation: ChangeMembership) -> None:
        """Refuse, or bring new voters up to date, or propose the new configuration."""
        refused = self.why_no_change(operation)
        if refused:
            answer(ctx, asker, fail(refused))
            return
        try:
            change = self.changed(operation)
        except ValueError as error:
            answer(ctx, asker, fail(str(error)))
            return
        present = self.configuration
        new = tuple(n for n in change.members() if change.is_voter(n) and not present.is_voter(n))
        if new and self.options.catch_up_rounds:
            self.stage(ctx, asker, change, new)
        else:
            self.propose_change(ctx, asker, change)

    def why_no_change(self, operation: ChangeMembership) -> str | None:
        """Why no change is possible now; None if it is."""
        if self.role is not Role.LEADER:
            return NOT_LEADER
        if self.transfer is not None:
            return f"leadership is being transferred to {self.transfer.to}"
        if self.staging is not None or self.configurations[-1][0] > self.commit_index:
            return "another change is under way"
        if self.configuration.voters_outgoing and operation.changes:
            return "the configuration is joint: leave it first (no changes)"
        if not self.committed_in_own_term:
            return "the leader has committed nothing in its term yet"
        return None

    def changed(self, operation: ChangeMembership) -> Configuration:
        """The next configuration; ValueError if the changes make none."""
        present, changes = self.configuration, operation.changes
        if present.voters_outgoing or not changes:
            return present.leave_joint()
        joint = len(changes) > 1 if operation.joint is None else operation.joint
        if joint:
            return present.enter_joint(operation.auto_leave, changes)
        return present.simple(changes)

    def propose_change(self, ctx: Context, asker: Asker, change: Configuration) -> None:
        """The new configuration is an entry like any other; it counts at once."""
        self.change_asker = (self.last_index + 1, asker)
        self.propose(ctx, change)

    def configuration_committed(
        self, ctx: Context, index: int, configuration: Configuration
    ) -> None:
        """Tell; answer whoever asked for it; a leader that is no voter steps down (S37)."""
        ctx.observe(ConfigurationChanged(index, configuration))
        asked = self.change_asker
        leaves = configuration.voters_outgoing and configuration.auto_leave
        if asked is not None and asked[0] == index and not leaves:
            self.change_asker = None
            answer(ctx, asked[1], ok())
        leading = self.role is Role.LEADER and index == self.configurations[-1][0]
        if leading and not configuration.is_voter(self.me):
            self.follow(ctx, self.current_term, None)

    def leave_joint_if_due(self, ctx: Context) -> None:
        """§4.3: once C_old,new is committed, the leader proposes C_new."""
        index, present = self.configurations[-1]
        if self.role is not Role.LEADER or index > self.commit_index or not present.auto_leave:
            return
        if self.change_asker is not None:
            self.change_asker = (self.last_index + 1, self.change_asker[1])
        self.propose(ctx, present.leave_joint())

    def give_up_change(self, ctx: Context) -> None:
        """No leader any more: a change in the log may still be committed."""
        if self.staging is not None:
            self.end_staging(ctx, NOT_LEADER)
        if self.change_asker is not None:
            answer(ctx, self.change_asker[1], info(STEPPED_DOWN))
            self.change_asker = None

    # -- bringing new voters up to date ---------------------------------------------------

    def stage(
        self, ctx: Context, asker: Asker, change: Configuration, nodes: tuple[NodeId, ...]
    ) -> None:
        """§4.2.1: replicate to the new servers in rounds; they count for nothing yet (S59)."""
        self.staging = Staging(change, asker, nodes, nodes, self.last_index, 1, ctx.now())
        known = self.others
        self.use(self.configuration)
        self.start_tracking(ctx)
        for node in self.others:
            if node not in known:
                self.probe(ctx, node)
        for node in nodes:
            self.staged_matched(ctx, node, self.match_index.get(node, self.last_index))

    def staged_matched(self, ctx: Context, peer: NodeId, index: int) -> None:
        """A round ends when all new servers have what the log held at its beginning."""
        staging = self.staging
        if staging is None or peer not in staging.waiting or index < staging.target:
            return
        waiting = tuple(node for node in staging.waiting if node != peer)
        self.staging = replace(staging, waiting=waiting)
        if not waiting:
            self.end_round(ctx, self.staging)

    def end_round(self, ctx: Context, staging: Staging) -> None:
        """Near enough if the round was shorter than an election timeout; else another round."""
        took = ctx.now() - staging.began_us
        if took < self.options.election_timeout_us[0]:
            self.staging = None
            self.propose_change(ctx, staging.asker, staging.change)
        elif staging.round >= self.options.catch_up_rounds:
            self.end_staging(ctx, f"{', '.join(staging.nodes)} can't keep up")
        else:
            again = replace(
                staging,
                waiting=staging.nodes,
                target=self.last_index,
                round=staging.round + 1,
                began_us=ctx.now(),
            )
            self.staging = again
            for node in again.nodes:
                self.staged_matched(ctx, node, self.match_index.get(node, again.target))

    def check_staging(self, ctx: Context) -> None:
        """Give a change up whose new servers do not answer: no round may take for ever."""
        staging = self.staging
        limit = self.options.catch_up_rounds * self.options.election_timeout_us[1]
        if staging is not None and ctx.now() - staging.began_us > limit:
            self.end_staging(ctx, f"{', '.join(staging.waiting)} can't be brought up to date")

    def end_staging(self, ctx: Context, why: str) -> None:
        """The change surely did not and will not happen."""
        assert self.staging is not None
        asker, self.staging = self.staging.asker, None
        self.use(self.configuration)
        if self.role is Role.LEADER:
            self.start_tracking(ctx)
        answer(ctx, asker, fail(why))
