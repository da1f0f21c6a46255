"""Named random streams from one seed: a draw in one never shifts another.

Streams: ``network`` (latency, loss), ``faults`` (draws made by fault rules), ``nemesis`` (random
targets and plans), ``workload``, ``tie-break`` and ``node/<id>`` (timer ranges and choices).
"""

from __future__ import annotations

from random import Random


class Streams:
    """The random streams of one run. ``streams["network"]`` is made on first use."""

    __slots__ = ("_made", "seed")

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._made: dict[str, Random] = {}

    def __getitem__(self, name: str) -> Random:
        stream = self._made.get(name)
        if stream is None:
            # A str seed goes through SHA-512: the same under any PYTHONHASHSEED and version.
            stream = self._made[name] = Random(f"splitbrain/{self.seed}/{name}")
        return stream

    def node(self, node: str) -> Random:
        """The stream of one node."""
        return self[f"node/{node}"]
