"""Shortest routes over a graph, found when they are first needed.

Towards one destination all routes are found by one search from it, against the direction of the
links, and kept as one small number per node: which of its links comes next. Of several shortest
routes the one through the node that comes first in node order is taken, at every hop, so a route
never depends on how the graph was built.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from fractions import Fraction
from heapq import heappop, heappush

__all__ = ["Cost", "Routes"]

Cost = int | Fraction
_TABLES_BYTES_MAX = 256 * 2**20


class Routes:
    """Shortest routes between nodes numbered from 0.

    `successors[u]` are the nodes that u has a link to, ascending; `costs[u]` the cost of each of
    these links, above 0 and exact (None: every link costs the same).
    """

    def __init__(
        self,
        successors: Sequence[Sequence[int]],
        costs: Sequence[Sequence[Cost]] | None = None,
    ) -> None:
        self._successors, self._costs = successors, costs
        self._predecessors = _reversed(successors)
        degree_max = max(map(len, successors), default=0)
        self._code = "B" if degree_max < 255 else "H" if degree_max < 65_535 else "L"
        self._none = (1 << 8 * array(self._code).itemsize) - 1
        self._tables: dict[int, array[int]] = {}
        table_bytes = max(1, len(successors)) * array(self._code).itemsize
        self._tables_max = max(1, _TABLES_BYTES_MAX // table_bytes)

    def path(self, src: int, dst: int) -> list[int] | None:
        """The nodes from `src` to `dst`, both included; None where there is no route."""
        table = self._tables.get(dst) or self._towards(dst)
        path = [src]
        while src != dst:
            slot = table[src]
            if slot == self._none:
                return None
            src = self._successors[src][slot]
            path.append(src)
        return path

    def _towards(self, dst: int) -> array[int]:
        """The table for `dst`, kept for the next time; the oldest makes room."""
        if len(self._tables) >= self._tables_max:
            del self._tables[next(iter(self._tables))]
        search = self._by_hops if self._costs is None else self._by_cost
        table = self._tables[dst] = search(dst)
        return table

    def _by_hops(self, dst: int) -> array[int]:
        table = array(self._code, [self._none]) * len(self._successors)
        seen = bytearray(len(self._successors))
        seen[dst] = 1
        frontier = [dst]
        while frontier:
            found: list[int] = []
            for node in frontier:  # ascending, so the first to reach one is its first next hop
                for before, slot in self._predecessors[node]:
                    if not seen[before]:
                        seen[before] = 1
                        table[before] = slot
                        found.append(before)
            found.sort()
            frontier = found
        return table

    def _by_cost(self, dst: int) -> array[int]:
        far = self._distances(dst)
        table = array(self._code, [self._none]) * len(self._successors)
        for node, after in enumerate(self._successors):
            if node in far and node != dst:
                costs = self._cost_of(node)
                table[node] = next(
                    slot
                    for slot, then in enumerate(after)
                    if then in far and costs[slot] + far[then] == far[node]
                )
        return table

    def _distances(self, dst: int) -> dict[int, Cost]:
        """Dijkstra (1959) from `dst` against the links."""
        far: dict[int, Cost] = {}
        heap: list[tuple[Cost, int]] = [(0, dst)]
        while heap:
            cost, node = heappop(heap)
            if node in far:
                continue
            far[node] = cost
            for before, slot in self._predecessors[node]:
                if before not in far:
                    heappush(heap, (cost + self._cost_of(before)[slot], before))
        return far

    def _cost_of(self, node: int) -> Sequence[Cost]:
        assert self._costs is not None
        return self._costs[node]


def _reversed(successors: Sequence[Sequence[int]]) -> list[list[tuple[int, int]]]:
    """For each node, who has a link to it and which of theirs (its slot) that is."""
    before: list[list[tuple[int, int]]] = [[] for _ in successors]
    for node, after in enumerate(successors):
        for slot, then in enumerate(after):
            before[then].append((node, slot))
    return before
