"""What a failure detector tells: the output whose history the quality of service is judged by.

The simulator knows these classes by their names and field names, so that a detector written
elsewhere is judged alike; keep both.
"""

from __future__ import annotations

from protocols.api import NodeId, observation

__all__ = ["Suspect", "SuspicionLevel", "Trust"]


@observation
class Suspect:
    """The output about ``peer`` turns to "suspected" (Chen et al. 2002: an S-transition)."""

    detector: str
    peer: NodeId


@observation
class Trust:
    """The output about ``peer`` turns to "trusted" (Chen et al. 2002: a T-transition)."""

    detector: str
    peer: NodeId


@observation
class SuspicionLevel:
    """A sample of the level on which ``detector`` decides, in thousandths: for plots."""

    detector: str
    peer: NodeId
    milli: int
