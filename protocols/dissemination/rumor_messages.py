"""What sites say to each other, to clients and to observers when they spread rumors.

Demers et al., Xerox CSL-89-1, §1.4; used by :mod:`protocols.dissemination.rumor`.
"""

from __future__ import annotations

from protocols.api import message, observation, operation, timer


@message
class Push:
    """Here are my hot rumors (§1.4, push). ``cycle`` is the sender's, for the feedback."""

    rumors: tuple[str, ...]
    cycle: int


@message
class Pull:
    """What is hot at your site? (§1.4, pull)."""

    cycle: int


@message
class Exchange:
    """Here are my hot rumors, possibly none; what is hot at your site? (push-pull)."""

    rumors: tuple[str, ...]
    cycle: int


@message
class Answer:
    """My hot rumors, for you who asked. ``cycle`` is the sender's."""

    rumors: tuple[str, ...]
    cycle: int


@message
class Feedback:
    """Which of the rumors sent in your ``cycle`` I needed, and which I knew already."""

    cycle: int
    needed: tuple[str, ...]
    known: tuple[str, ...]


@message
class Refused:
    """I have accepted as many connections as I may in this cycle (§1.4, connection limit)."""

    cycle: int


@timer
class CycleDue:
    """The site's next cycle, by number, begins."""

    cycle: int


@timer
class PhaseDrawn:
    """With phase "random": the moment from which the site counts its cycles."""


@operation
class Publish:
    """A client gives the site a rumor to spread."""

    rumor: str


@observation
class Learned:
    """The site heard of the rumor for the first time."""

    rumor: str


@observation
class Removed:
    """The site lost interest in the rumor."""

    rumor: str


def updates_in(message: object) -> int:
    """How many updates a message carries: what the paper counts as traffic (times 1/n: m).

    A push that is answered with :class:`Refused` should be taken off again: with connections, as
    in the paper, it would not have been sent.
    """
    return len(message.rumors) if isinstance(message, Push | Exchange | Answer) else 0
