"""What a Raft server tells to checkers and charts."""

from __future__ import annotations

from protocols.api import observation
from protocols.consensus.raft.configuration import Configuration

__all__ = ["BecameLeader", "Committed", "ConfigurationChanged", "SnapshotTaken", "SteppedDown"]


@observation
class BecameLeader:
    """The server won the election of ``term``."""

    term: int


@observation
class SteppedDown:
    """The server leads ``term`` no more."""

    term: int


@observation
class Committed:
    """The server knows that all entries up to ``index`` are committed; it is in ``term``."""

    index: int
    term: int


@observation
class ConfigurationChanged:
    """The entry at ``index`` with this configuration was committed."""

    index: int
    configuration: Configuration


@observation
class SnapshotTaken:
    """The server has a new snapshot, up to ``index``; ``installed``: it came from the leader."""

    index: int
    installed: bool = False
