"""Measured figures that scenarios can name. Each module holds one source's numbers and names it."""

from __future__ import annotations

from sim.fields import unknown_name
from sim.presets import ibm_cloud_2024
from sim.rtt import RttMatrix

__all__ = ["RTT_PRESETS", "rtt_matrix"]

_MATRICES = {ibm_cloud_2024.NAME: ibm_cloud_2024.matrix}
RTT_PRESETS = tuple(_MATRICES)
"""The names of the round-trip matrices."""


def rtt_matrix(name: str) -> RttMatrix:
    """The round-trip matrix called `name`; FieldError for a name that is none of `RTT_PRESETS`."""
    if name not in _MATRICES:
        raise unknown_name(name, RTT_PRESETS, "a preset matrix")
    return _MATRICES[name]()
