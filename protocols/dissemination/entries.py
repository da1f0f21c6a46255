"""Versioned entries of a replicated database, and death certificates for what was deleted.

Demers et al., Xerox CSL-89-1, §1.1 (timestamps), §2 (deletion and death certificates). Instead
of the paper's clock time an entry carries a version counter per key, and the writer's id breaks
ties, so that all sites order two entries alike whatever their clocks show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from protocols.api import Map, NodeId

Stamp = tuple[int, NodeId, int]
"""How new an entry is: version, writer, activation of its death certificate (-1 if alive)."""


@dataclass(frozen=True, slots=True)
class Death:
    """What makes an entry a death certificate: activation (local µs of a site), and the sites
    that keep it dormant when the others have dropped it.
    """

    activated_us: int
    sites: tuple[NodeId, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A value with its ``version`` (1, 2, … per key) and ``writer``; with ``death``: deleted."""

    version: int
    writer: NodeId
    value: Any = None
    death: Death | None = None

    @property
    def stamp(self) -> Stamp:
        """Version, then writer, then activation: a total order, the same at every site."""
        activated_us = -1 if self.death is None else max(0, self.death.activated_us)
        return self.version, self.writer, activated_us


class Age(Enum):
    """The stages of a death certificate's life (§2.1)."""

    ACTIVE = "active"
    DORMANT = "dormant"
    EXPIRED = "expired"


def newer(store: Mapping[str, Entry], than: Mapping[str, Stamp]) -> Map[str, Entry]:
    """The entries of ``store`` that are newer than ``than`` says, or missing there."""
    found = {}
    for key, entry in store.items():
        stamp = than.get(key)
        if stamp is None or entry.stamp > stamp:
            found[key] = entry
    return Map(found)


def stamps(store: Mapping[str, Entry]) -> Map[str, Stamp]:
    """The digest of a store: each key's stamp, without the values."""
    return Map({key: entry.stamp for key, entry in store.items()})


def living(store: Mapping[str, Entry]) -> Map[str, Any]:
    """The values that are there, death certificates left out."""
    return Map({key: entry.value for key, entry in store.items() if entry.death is None})
