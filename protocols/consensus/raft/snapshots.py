"""Log compaction (§7; dissertation §5): snapshots, and InstallSnapshot in chunks (figure 13).

The state machine is a persistent value, so a snapshot is a reference to it and costs nothing to
take. Chunks are parts of the machine, then of the sessions.
"""

from __future__ import annotations

from itertools import islice

from protocols.api import Context, Log, Map, NodeId, on
from protocols.consensus.raft.entries import Chunk, Snapshot
from protocols.consensus.raft.messages import InstallSnapshot, SnapshotReply
from protocols.consensus.raft.observations import SnapshotTaken
from protocols.consensus.raft.progress import Incoming, Progress, Sending
from protocols.consensus.raft.state import RaftState, Role

__all__ = ["Snapshots"]


class Snapshots(RaftState):
    """Takes, sends and installs snapshots."""

    # -- taking ---------------------------------------------------------------------------

    def snapshot_if_due(self, ctx: Context) -> None:
        """§5.1.3: when enough entries were applied since the last one."""
        if self.last_applied - self.snapshot_index >= self.options.snapshot_every:
            self.take_snapshot(ctx)

    def take_snapshot(self, ctx: Context) -> None:
        """Each server compacts its own log, independently: the prefix that it has applied."""
        index = self.last_applied
        if index <= self.snapshot_index:
            return
        covered = [pair for pair in self.configurations if pair[0] <= index]
        self.snapshot = Snapshot(
            index,
            self.term_at(index),
            covered[-1][1],
            self.machine,
            self.sessions,
            self.log[index].time_us,
        )
        self.configurations = self.configurations[len(covered) - 1 :]
        self.log = self.log.discard(index - self.options.trailing)
        ctx.observe(SnapshotTaken(index))

    # -- sending --------------------------------------------------------------------------

    def start_sending(self, ctx: Context, peer: NodeId) -> None:
        """§7: the next entry that the follower needs is compacted: send the snapshot."""
        snapshot = self.snapshot
        assert snapshot is not None, "entries are compacted only by a snapshot"
        self.sending = self.sending.set(peer, Sending(snapshot, self.chunks_of(snapshot)))
        self.progress = self.progress.set(peer, Progress.SNAPSHOT)
        self.next_index = self.next_index.set(peer, snapshot.last_index + 1)
        self.send_chunk(ctx, peer)

    def chunks_of(self, snapshot: Snapshot) -> tuple[Chunk, ...]:
        """The snapshot in chunks of at most ``options.chunk`` items."""
        size = self.options.chunk
        chunks = [Chunk("machine", part) for part in snapshot.machine.parts(size)]
        items = iter(snapshot.sessions.items())
        while part := tuple(islice(items, size)):
            chunks.append(Chunk("sessions", part))
        return tuple(chunks)

    def send_chunk(self, ctx: Context, peer: NodeId) -> None:
        """Send the outstanding chunk, again with each heartbeat until it is acknowledged."""
        sending = self.sending[peer]
        snapshot, number = sending.snapshot, sending.next
        message = InstallSnapshot(
            self.current_term,
            snapshot.last_index,
            snapshot.last_term,
            snapshot.configuration,
            snapshot.time_us,
            number,
            sending.chunks[number],
            number + 1 == len(sending.chunks),
            self.round,
        )
        ctx.send(peer, message)

    @on(SnapshotReply)
    def receive_snapshot_reply(self, ctx: Context, src: NodeId, m: SnapshotReply) -> None:
        """Send the next chunk; once all are there, go on with the log."""
        match = self.match_index.get(src)
        if m.term != self.current_term or match is None:
            self.observe_term(ctx, m.term)
            return
        self.hear_follower(ctx, src, m.round)
        if m.done:
            self.sent_whole(ctx, src, m.last_index)
            return
        sending = self.sending.get(src)
        if sending is None or sending.snapshot.last_index != m.last_index:
            return
        if m.received < len(sending.chunks) and m.received != sending.next:
            self.sending = self.sending.set(
                src, Sending(sending.snapshot, sending.chunks, m.received)
            )
            if m.received > sending.next:
                self.send_chunk(ctx, src)

    def sent_whole(self, ctx: Context, peer: NodeId, index: int) -> None:
        """The follower's state covers ``index``."""
        sending = self.sending.get(peer)
        if sending is not None and sending.snapshot.last_index <= index:
            self.sending = self.sending.delete(peer)
            self.progress = self.progress.set(peer, Progress.PROBE)
        if index > self.match_index.get(peer, index):
            self.matched(ctx, peer, index)

    # -- installing -----------------------------------------------------------------------

    @on(InstallSnapshot)
    def receive_install_snapshot(self, ctx: Context, src: NodeId, m: InstallSnapshot) -> None:
        """Figure 13, receiver implementation 1 to 8."""
        if m.term < self.current_term:
            ctx.send(src, SnapshotReply(self.current_term, m.last_index, 0, False, m.round))
            return
        if m.term > self.current_term or self.leader != src or self.role is not Role.FOLLOWER:
            self.follow(ctx, m.term, src)
        self.hear_leader(ctx)
        received, done = len(self.collect(m).chunks), False
        if self.holds(m.last_index, m.last_term):  # 6: nothing to install, but it is committed
            self.commit_to(ctx, m.last_index)
            self.incoming, done = None, True
        elif m.done and received == m.number + 1:
            self.install(ctx, m)
            done = True
        reply = SnapshotReply(self.current_term, m.last_index, received, done, m.round)
        ctx.send(src, reply)

    def holds(self, index: int, term: int) -> bool:
        """Whether the log, or what was applied, contains this entry."""
        return index <= self.commit_index or self.term_at(index) == term

    def collect(self, m: InstallSnapshot) -> Incoming:
        """2 to 4: keep the chunk if it is the next one; a chunk of another snapshot begins anew."""
        incoming = self.incoming
        same = incoming is not None and (incoming.last_index, incoming.last_term) == (
            m.last_index,
            m.last_term,
        )
        if incoming is None or not same:
            incoming = Incoming(m.last_index, m.last_term)
        if m.number == len(incoming.chunks):
            chunks = incoming.chunks.append(m.chunk)
            incoming = Incoming(m.last_index, m.last_term, chunks)
        self.incoming = incoming
        return incoming

    def install(self, ctx: Context, m: InstallSnapshot) -> None:
        """5, 7 and 8: the snapshot replaces the whole log and the state machine (S61)."""
        assert self.incoming is not None
        chunks, self.incoming = self.incoming.chunks, None
        parts = tuple(chunk.data for chunk in chunks if chunk.kind == "machine")
        pairs = [pair for chunk in chunks if chunk.kind == "sessions" for pair in chunk.data]
        machine = type(self.initial).from_parts(parts)
        self.snapshot = Snapshot(
            m.last_index, m.last_term, m.configuration, machine, Map(pairs), m.time_us
        )
        self.log = Log(first=m.last_index + 1)
        self.load_snapshot()
        ctx.observe(SnapshotTaken(m.last_index, installed=True))
        if self.granted:
            self.answer_granted(ctx)

    def load_snapshot(self) -> None:
        """Take the state of the snapshot, if there is one, and the configurations after it."""
        snapshot = self.snapshot
        if snapshot is not None:
            self.machine, self.sessions = snapshot.machine, snapshot.sessions
            self.commit_index = self.last_applied = snapshot.last_index
            if self.term_at(snapshot.last_index) != snapshot.last_term or (
                self.log.last_index < snapshot.last_index
            ):
                self.log = Log(first=snapshot.last_index + 1)
        self.load_configurations()
