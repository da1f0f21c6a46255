"""Graphs that a scenario file can name: ring, star, grid, tree and the random ones.

`SHAPES[name](parameters, n)` gives the edges between nodes numbered from 0, each pair once. A link
of a shape goes both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import isqrt

from sim.fields import FieldError, Fields, parse_whole
from sim.random_graphs import Edge, barabasi_albert, erdos_renyi, random_regular, watts_strogatz
from sim.units import parse_probability

__all__ = ["SHAPES", "Edge", "grid", "line", "ring", "star", "tree"]


def line(n: int) -> list[Edge]:
    """Each node is linked to the next."""
    return [(node, node + 1) for node in range(n - 1)]


def ring(n: int) -> list[Edge]:
    """A line whose ends are linked (two nodes: one link)."""
    return line(n) + ([(0, n - 1)] if n > 2 else [])


def star(n: int) -> list[Edge]:
    """The first node is linked to all others."""
    return [(0, leaf) for leaf in range(1, n)]


def grid(n: int, width: int) -> list[Edge]:
    """Rows of `width` nodes, the last perhaps shorter; right and lower neighbours are linked."""
    across = [(node, node + 1) for node in range(n - 1) if (node + 1) % width]
    return across + [(node, node + width) for node in range(n - width)]


def tree(n: int, branching: int) -> list[Edge]:
    """The first node is the root; each node has up to `branching` children, filled row by row."""
    return [((child - 1) // branching, child) for child in range(1, n)]


_PROBABILITY = 'a probability such as "1%"'
_COUNT = partial(parse_whole, least=1)


Parser = Callable[[object, int], list[Edge]]


def _parse_plain(make: Callable[[int], list[Edge]], name: str) -> Parser:
    def parse(value: object, n: int) -> list[Edge]:
        Fields({} if value is None else value, (), name).done()
        return make(n)

    return parse


def _parse_grid(value: object, n: int) -> list[Edge]:
    fields = Fields({} if value is None else value, ("width",), "grid")
    square = isqrt(max(n - 1, 0)) + 1
    width = fields.read("width", _COUNT, square)
    return fields.build(lambda: grid(n, width))


def _parse_tree(value: object, n: int) -> list[Edge]:
    fields = Fields({} if value is None else value, ("branching",), "tree")
    branching = fields.read("branching", _COUNT, 2)
    return fields.build(lambda: tree(n, branching))


def _parse_regular(value: object, n: int) -> list[Edge]:
    fields = Fields(value, ("degree", "seed"), "random_regular")
    degree = fields.need("degree", partial(parse_whole, most=max(n - 1, 0)), "a whole number")
    seed = fields.read("seed", parse_whole, 0)
    return fields.build(lambda: random_regular(n, _even(degree, n), seed))


def _even(degree: int, n: int) -> int:
    if degree * n % 2:
        hint = f"try {degree - 1} or {degree + 1}"
        raise FieldError(degree, f"an even degree for {n} nodes", path=("degree",), hint=hint)
    return degree


def _parse_erdos(value: object, n: int) -> list[Edge]:
    fields = Fields(value, ("p", "seed"), "erdos_renyi")
    p = fields.need("p", parse_probability, _PROBABILITY)
    seed = fields.read("seed", parse_whole, 0)
    return fields.build(lambda: erdos_renyi(n, p, seed))


def _parse_watts(value: object, n: int) -> list[Edge]:
    fields = Fields(value, ("k", "p", "seed"), "watts_strogatz")
    k = fields.need("k", partial(_parse_near, n=n), "an even number of nearest nodes")
    p = fields.need("p", parse_probability, _PROBABILITY)
    seed = fields.read("seed", parse_whole, 0)
    return fields.build(lambda: watts_strogatz(n, k, p, seed))


def _parse_near(value: object, n: int) -> int:
    k = parse_whole(value, least=2, most=n - 1)
    if k % 2:
        raise FieldError(k, "an even number of nearest nodes", hint=f"try {k - 1} or {k + 1}")
    return k


def _parse_barabasi(value: object, n: int) -> list[Edge]:
    fields = Fields(value, ("m", "seed"), "barabasi_albert")
    m = fields.need("m", partial(parse_whole, least=1, most=n - 1), "links of a new node")
    seed = fields.read("seed", parse_whole, 0)
    return fields.build(lambda: barabasi_albert(n, m, seed))


SHAPES: Mapping[str, Parser] = {
    "ring": _parse_plain(ring, "ring"),
    "line": _parse_plain(line, "line"),
    "star": _parse_plain(star, "star"),
    "grid": _parse_grid,
    "tree": _parse_tree,
    "random_regular": _parse_regular,
    "erdos_renyi": _parse_erdos,
    "watts_strogatz": _parse_watts,
    "barabasi_albert": _parse_barabasi,
}
