"""What a server keeps on stable storage besides its term and vote: log entries and a snapshot.

Source: Ongaro, "Consensus: Bridging Theory and Practice", 2014 ("the dissertation"), figure 3.1
(entries), §4.1 (configurations are entries), §5.1 (what a snapshot holds), §6.3 (time in entries),
§6.4 (the no-op at the start of a term).
"""

from __future__ import annotations

from typing import Any, Literal

from protocols.api import Map, NodeId, message
from protocols.consensus.raft.configuration import Configuration
from protocols.consensus.raft.sessions import Session
from protocols.machines.machine import Machine

__all__ = ["NOOP", "Chunk", "Entry", "Noop", "Snapshot"]


@message
class Noop:
    """The command of the entry with which a leader begins its term (§6.4)."""


NOOP = Noop()


@message
class Entry:
    """One log entry: the term in which a leader made it, and what it says.

    ``command`` is a client's ``Request``, a ``Configuration`` or ``NOOP``. ``time_us``: the
    leader's clock when it made the entry, never less than that of the entry before; all servers
    expire sessions, and apply commands, by this time (§6.3).
    """

    term: int
    command: Any
    time_us: int = 0


@message
class Snapshot:
    """The state after entry ``last_index`` was applied; it stands for the log up to there (§5.1).

    ``configuration`` is the latest one in that prefix of the log, ``sessions`` what is needed to
    recognise repeated requests, ``time_us`` the time of the last entry.
    """

    last_index: int
    last_term: int
    configuration: Configuration
    machine: Machine
    sessions: Map[NodeId, Session]
    time_us: int = 0


@message
class Chunk:
    """A piece of a snapshot: a part of the machine, or some (client, session) pairs."""

    kind: Literal["machine", "sessions"]
    data: Any
