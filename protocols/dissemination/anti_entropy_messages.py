"""What sites say to each other, to clients and to observers when they resolve differences.

Demers et al., Xerox CSL-89-1, §1.3; used by :mod:`protocols.dissemination.anti_entropy`.
"""

from __future__ import annotations

from typing import Any

from protocols.api import Map, NodeId, message, observation, operation, timer
from protocols.dissemination.entries import Entry, Stamp


@message
class Entries:
    """Entries for you to merge."""

    entries: Map[str, Entry]


@message
class Offer:
    """All that I have: merge it, and send me what you have that is newer (full, push-pull)."""

    entries: Map[str, Entry]


@message
class Ask:
    """Send me all that you have (full, pull)."""


@message
class Digest:
    """The versions I have: tell me what is newer here (``push``), send what you have newer
    (``pull``).
    """

    versions: Map[str, Stamp]
    push: bool
    pull: bool


@message
class Request:
    """Send me the entries of these keys."""

    keys: tuple[str, ...]


@timer
class ExchangeDue:
    """Time to resolve differences with a partner."""


@operation
class Put:
    """A client writes ``value``, an immutable one, under ``key``."""

    key: str
    value: Any


@operation
class Get:
    """A client reads the value of ``key`` at this site; None if there is none."""

    key: str


@operation
class Delete:
    """A client deletes ``key``; fails where the site has no value for it."""

    key: str


@observation
class Updated:
    """The site's entry of ``key`` is now this version of this writer."""

    key: str
    version: int
    writer: NodeId


def entries_in(message: object) -> int:
    """How many entries a message carries; digests and requests carry none."""
    return len(message.entries) if isinstance(message, Entries | Offer) else 0
