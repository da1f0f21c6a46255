"""Random graphs for scenario files: the same edges from the same seed, whatever is installed.

A scenario that says `random_regular: {degree: 8, seed: 1}` must mean the same graph for ever, so
these four are written here rather than taken from a library whose generators may change. Each takes
the number of nodes and a seed and returns edges between nodes numbered from 0, no edge twice.
"""

from __future__ import annotations

from math import log
from random import Random

__all__ = ["Edge", "barabasi_albert", "erdos_renyi", "random_regular", "watts_strogatz"]

Edge = tuple[int, int]


def erdos_renyi(n: int, p: float, seed: int) -> list[Edge]:
    """Every pair is an edge with probability `p`: G(n, p), in O(n + edges).

    Skips of geometric length over the pairs: Batagelj and Brandes, Phys. Rev. E 71 (2005), Alg. 1.
    """
    if p <= 0:
        return []
    if p >= 1:
        return [(low, high) for high in range(n) for low in range(high)]
    random, scale = Random(seed).random, log(1 - p)
    edges: list[Edge] = []
    high, low = 1, -1
    while high < n:
        low += 1 + int(log(1 - random()) / scale)
        while low >= high and high < n:
            low, high = low - high, high + 1
        if high < n:
            edges.append((low, high))
    return edges


def random_regular(n: int, degree: int, seed: int) -> list[Edge]:
    """Every node has `degree` edges; n * degree must be even and degree < n.

    Pairs free ends at random, keeping what is a new edge, and starts again when it is stuck:
    Steger and Wormald, Combinatorics, Probability and Computing 8 (1999).
    """
    rng = Random(seed)
    while True:
        edges = _paired(n, degree, rng)
        if edges is not None:
            return edges


def _paired(n: int, degree: int, rng: Random) -> list[Edge] | None:
    edges: dict[Edge, None] = {}
    ends = [node for node in range(n) for _ in range(degree)]
    while ends:
        rng.shuffle(ends)
        left: list[int] = []
        for a, b in zip(ends[::2], ends[1::2], strict=True):
            edge = (a, b) if a < b else (b, a)
            if a == b or edge in edges:
                left += (a, b)
            else:
                edges[edge] = None
        if left and not _can_pair(left, edges):
            return None
        ends = left
    return list(edges)


def _can_pair(ends: list[int], edges: dict[Edge, None]) -> bool:
    nodes = sorted(dict.fromkeys(ends))
    return any((low, high) not in edges for at, high in enumerate(nodes) for low in nodes[:at])


def watts_strogatz(n: int, k: int, p: float, seed: int) -> list[Edge]:
    """A small world: a ring of nodes that know their `k` nearest (even), edges rewired with `p`.

    Watts and Strogatz, Nature 393 (1998): lap by lap, the far end moves to a uniformly chosen node,
    no loop and no edge twice.
    """
    rng = Random(seed)
    steps = [*range(1, k // 2 + 1), *range(-(k // 2), 0)]
    linked = [dict.fromkeys((u + step) % n for step in steps) for u in range(n)]
    for j in range(1, k // 2 + 1):
        for u in range(n):
            v = (u + j) % n
            if rng.random() < p and len(linked[u]) < n - 1:
                w = _stranger(u, linked[u], n, rng)
                del linked[u][v], linked[v][u]
                linked[u][w] = linked[w][u] = None
    return [(u, v) for u in range(n) for v in sorted(linked[u]) if u < v]


def _stranger(u: int, linked: dict[int, None], n: int, rng: Random) -> int:
    while True:
        w = rng.randrange(n)
        if w != u and w not in linked:
            return w


def barabasi_albert(n: int, m: int, seed: int) -> list[Edge]:
    """Grows a graph: each new node links to `m` earlier ones, drawn in proportion to their degree.

    Barabasi and Albert, Science 286 (1999). Starts as a star of m + 1 nodes; 1 <= m < n.
    """
    rng = Random(seed)
    edges: list[Edge] = [(0, leaf) for leaf in range(1, m + 1)]
    ends = [node for edge in edges for node in edge]
    for new in range(m + 1, n):
        chosen: dict[int, None] = {}
        while len(chosen) < m:
            chosen[rng.choice(ends)] = None
        for old in chosen:
            edges.append((old, new))
            ends += (old, new)
    return edges
