"""Who can talk to whom, over which links, and where each node stands.

A `Topology` is immutable and lazy: a full mesh of 100,000 nodes is one shared `LinkSpec`, a graph
stores its own edges, and routes are searched when a message first needs one. Nodes have the
attributes region, zone and rack, which faults can aim at. A node's message to itself uses no link.
`sim.topology_parse` reads a topology from a scenario file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from sim.fields import FieldError, unknown_name
from sim.latency import Constant
from sim.links import LINK_KEYS, LinkSpec, parse_link
from sim.routes import Cost, Routes
from sim.rtt import Jitter, RttMatrix

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "DEFAULT_LINK",
    "DOMAINS",
    "GraphTopology",
    "Jitter",
    "MeshTopology",
    "Mode",
    "RegionTopology",
    "RttMatrix",
    "Topology",
    "parse_topology",
]

Mode = Literal["links", "hops"]
Attributes = Mapping[str, Mapping[str, str]]
DOMAINS = ("region", "zone", "rack")
"""The attributes of a node, from the widest failure domain to the narrowest."""
DEFAULT_LINK = LinkSpec(Constant(1_000))
"""What a link is where nothing else is said: 1 ms, nothing lost."""


class Topology(ABC):
    """Nodes in their order, their attributes, and the directed links between them.

    Made by `full_mesh`, `regions`, `from_graph` or `parse_topology`. Every method raises FieldError
    for a node, a kind or a name that does not exist.
    """

    def __init__(self, nodes: Iterable[str], attributes: Attributes | None = None) -> None:
        self.nodes: tuple[str, ...] = tuple(nodes)
        self._index = {node: at for at, node in enumerate(self.nodes)}
        if len(self._index) != len(self.nodes):
            twice = next(n for at, n in enumerate(self.nodes) if self._index[n] != at)
            raise FieldError(twice, "each node once", path=("nodes",))
        self._attributes = {node: _ordered(of) for node, of in (attributes or {}).items()}
        for node in self._attributes:
            self._at(node)
        self._members = self._grouped()

    @staticmethod
    def full_mesh(
        nodes: Iterable[str], link: LinkSpec = DEFAULT_LINK, attributes: Attributes | None = None
    ) -> Topology:
        """Every node is linked to every other by the one shared `link`."""
        return MeshTopology(nodes, link, attributes)

    @staticmethod
    def regions(
        placement: Mapping[str, str],
        matrix: RttMatrix,
        *,
        jitter: Jitter | float = 0.0,
        link: LinkSpec = DEFAULT_LINK,
        attributes: Attributes | None = None,
    ) -> Topology:
        """Every node is linked to every other; delays are half the round trips of `matrix`.

        `placement` maps a node to "region", "region/zone" or "region/zone/rack", in node order.
        `link` gives everything but the latency.
        """
        scatter = jitter if isinstance(jitter, Jitter) else Jitter(jitter)
        return RegionTopology(placement, matrix, scatter, link, attributes)

    @staticmethod
    def from_graph(
        graph: nx.Graph[Any] | nx.DiGraph[Any],
        link: LinkSpec = DEFAULT_LINK,
        mode: Mode = "links",
        *,
        weight: str | None = None,
        attributes: Attributes | None = None,
    ) -> Topology:
        """The nodes and edges of any networkx graph; nodes are named str(node), in graph order.

        Node attributes region, zone, rack and edge attributes named like the keys of a link
        (latency, loss, ...) or `link` (a whole LinkSpec) are used; other attributes and loops are
        not. Of parallel edges the one with the least mean delay counts. For `mode` see
        `GraphTopology`; `weight` is the edge attribute that shortest routes add up ("latency":
        the mean delay; None: count the links).
        """
        at = {node: str(node) for node in graph.nodes}
        places = {at[node]: _places(data) for node, data in graph.nodes(data=True)}
        for node, more in (attributes or {}).items():
            places[node] = {**places.get(node, {}), **more}
        edges: dict[tuple[str, str], tuple[LinkSpec, Mapping[str, Any]]] = {}
        for a, b, data in graph.edges(data=True):
            made = (_edge_link(data, link, (at[a], at[b])), data)
            pairs = [(a, b)] if graph.is_directed() else [(a, b), (b, a)]
            for pair in ((at[src], at[dst]) for src, dst in pairs if src != dst):
                if pair not in edges or _mean_us(made) < _mean_us(edges[pair]):
                    edges[pair] = made
        links = ((src, dst, made[0]) for (src, dst), made in edges.items())
        costs = _weights(edges, weight)
        return GraphTopology(at.values(), links, mode, costs=costs, attributes=places)

    @property
    def uniform(self) -> LinkSpec | None:
        """The one link that every pair of nodes shares; None where links differ or are missing."""
        return None

    @abstractmethod
    def link(self, src: str, dst: str) -> LinkSpec | None:
        """The direct link from `src` to `dst`; None where there is none (or src is dst)."""

    @abstractmethod
    def neighbours(self, node: str) -> tuple[str, ...]:
        """The nodes that `node` has a link to, in node order."""

    def path(self, src: str, dst: str) -> tuple[str, ...] | None:
        """The nodes that a message visits, `src` and `dst` included; None where it cannot get."""
        if src == dst:
            self._at(src)
            return (src,)
        return None if self.link(src, dst) is None else (src, dst)

    def route(self, src: str, dst: str) -> tuple[LinkSpec, ...] | None:
        """The links along `path`, in order: () to itself, None where there is no path."""
        path = self.path(src, dst)
        if path is None:
            return None
        return tuple(self._linked(a, b) for a, b in pairwise(path))

    def attributes(self, node: str) -> Mapping[str, str]:
        """The region, zone and rack of `node`, as far as given."""
        self._at(node)
        return MappingProxyType(self._attributes.get(node, {}))

    def names(self, kind: str) -> tuple[str, ...]:
        """The regions, zones or racks that exist, in the order of their first nodes."""
        key = self._kind(kind)
        placed = (self._attributes.get(node, {}) for node in self.nodes)
        return tuple(dict.fromkeys(of[key] for of in placed if key in of))

    def members(self, kind: str, name: str) -> tuple[str, ...]:
        """The nodes of one region, zone or rack, in node order.

        Zones of different regions may share a name: "z1" means all of them, "Dallas/z1" one.
        """
        found = self._members[self._kind(kind)]
        if name not in found:
            raise unknown_name(name, found, f"a {kind} of this topology")
        return tuple(found[name])

    def _grouped(self) -> dict[str, dict[str, list[str]]]:
        groups: dict[str, dict[str, list[str]]] = {kind: {} for kind in DOMAINS}
        for node in self.nodes if self._attributes else ():
            of = self._attributes.get(node, {})
            for depth, kind in enumerate(DOMAINS):
                for name in _names_of(of, depth) if kind in of else ():
                    groups[kind].setdefault(name, []).append(node)
        return groups

    def _kind(self, kind: str) -> str:
        if kind not in DOMAINS:
            raise unknown_name(kind, DOMAINS, "a kind of failure domain")
        return kind

    def _at(self, node: str) -> int:
        at = self._index.get(node)
        if at is None:
            raise unknown_name(node, self.nodes, "a node of this topology")
        return at

    def _linked(self, src: str, dst: str) -> LinkSpec:
        link = self.link(src, dst)
        assert link is not None
        return link


class _FullTopology(Topology):
    """Every node linked to every other."""

    def neighbours(self, node: str) -> tuple[str, ...]:
        at = self._at(node)
        return self.nodes[:at] + self.nodes[at + 1 :]


class MeshTopology(_FullTopology):
    """Every node linked to every other by one shared link."""

    def __init__(
        self, nodes: Iterable[str], link: LinkSpec, attributes: Attributes | None = None
    ) -> None:
        super().__init__(nodes, attributes)
        self._link = link

    @property
    def uniform(self) -> LinkSpec | None:
        return self._link

    def link(self, src: str, dst: str) -> LinkSpec | None:
        if src in self._index and dst in self._index:
            return None if src == dst else self._link
        self._at(src)
        self._at(dst)
        return None


class RegionTopology(_FullTopology):
    """Every node linked to every other, as far as a matrix of round trips says.

    Two nodes that both say their zone, the same one in the same region, are inside a zone; any
    other two of a region are between zones.
    """

    def __init__(
        self,
        placement: Mapping[str, str],
        matrix: RttMatrix,
        jitter: Jitter,
        link: LinkSpec,
        attributes: Attributes | None = None,
    ) -> None:
        places = {node: _place(node, place, matrix) for node, place in placement.items()}
        for node, more in (attributes or {}).items():
            places[node] = {**places.get(node, {}), **more}
        super().__init__(placement, places)
        self._matrix, self._jitter, self._base = matrix, jitter, link
        self._links: dict[tuple[str, str, bool], LinkSpec] = {}

    def link(self, src: str, dst: str) -> LinkSpec | None:
        if self._at(src) == self._at(dst):
            return None
        a, b = self._attributes[src], self._attributes[dst]
        same = a["region"] == b["region"] and "zone" in a and a["zone"] == b.get("zone")
        key = (a["region"], b["region"], same)
        found = self._links.get(key)
        if found is None:
            found = self._links[key] = self._made(*key)
        return found

    def _made(self, src: str, dst: str, same_zone: bool) -> LinkSpec:
        one_way_us = self._matrix.one_way_us(src, dst, same_zone=same_zone)
        return replace(self._base, latency=self._jitter.around(one_way_us))


class GraphTopology(Topology):
    """The links of a graph.

    mode "links": only neighbours can talk. mode "hops": a message travels over a shortest route,
    of equal ones the one through the earliest nodes. `costs` weigh the links of a route, above 0
    (None: each link counts 1).
    """

    def __init__(
        self,
        nodes: Iterable[str],
        links: Iterable[tuple[str, str, LinkSpec]],
        mode: Mode = "links",
        *,
        costs: Mapping[tuple[str, str], Cost] | None = None,
        attributes: Attributes | None = None,
    ) -> None:
        super().__init__(nodes, attributes)
        if mode not in ("links", "hops"):
            raise FieldError(mode, '"links" or "hops"', path=("mode",))
        self.mode, self._costs = mode, costs
        self._links: dict[str, dict[str, LinkSpec]] = {node: {} for node in self.nodes}
        for src, dst, link in links:
            self._at(src)
            self._at(dst)
            self._links[src][dst] = link
        rank = self._index.__getitem__
        self._links = {
            src: {dst: out[dst] for dst in sorted(out, key=rank)}
            for src, out in self._links.items()
        }
        self._routes: Routes | None = None

    def link(self, src: str, dst: str) -> LinkSpec | None:
        out = self._links.get(src)
        found = None if out is None else out.get(dst)
        if found is None:
            self._at(src)
            self._at(dst)
        return found

    def neighbours(self, node: str) -> tuple[str, ...]:
        self._at(node)
        return tuple(self._links[node])

    def path(self, src: str, dst: str) -> tuple[str, ...] | None:
        if self.mode == "links":
            return super().path(src, dst)
        if self._routes is None:
            self._routes = self._searcher()
        found = self._routes.path(self._at(src), self._at(dst))
        return None if found is None else tuple(self.nodes[at] for at in found)

    def _searcher(self) -> Routes:
        successors = [[self._index[dst] for dst in out] for out in self._links.values()]
        if self._costs is None:
            return Routes(successors)
        weigh = self._costs.__getitem__
        costs = [[weigh((src, dst)) for dst in out] for src, out in self._links.items()]
        return Routes(successors, costs)


def parse_topology(value: object, nodes: Iterable[str], link: LinkSpec = DEFAULT_LINK) -> Topology:
    """A topology over `nodes` from plain data: one shape and options, or the shape's name alone.

    Shapes: full (usual), ring, line, star, {grid: {width}}, {tree: {branching}},
    {random_regular: {degree, seed}}, {erdos_renyi: {p, seed}}, {watts_strogatz: {k, p, seed}},
    {barabasi_albert: {m, seed}}, {edges: [[n1, n2], [n2, n3, {latency: 5ms}]]}, and
    {regions: {matrix: ibm-cloud-2024, place: {n1: Dallas/z1}, jitter: 5%}}, where place may be a
    list that the nodes take in turn, as in {regions: [Dallas, Frankfurt]}.
    Options: link (over the given `link`), zones and racks ({z1: [n1, n2]}), and for graphs
    mode (links, hops) and weight (latency). FieldErrors gathers all mistakes.
    """
    from sim.topology_parse import build_topology

    return build_topology(value, tuple(nodes), link)


def _ordered(of: Mapping[str, str]) -> dict[str, str]:
    for kind in of:
        if kind not in DOMAINS:
            raise unknown_name(kind, DOMAINS, "an attribute of a node")
    return {kind: of[kind] for kind in DOMAINS if kind in of}


def _names_of(of: Mapping[str, str], depth: int) -> list[str]:
    """All names of a node's domain at `depth`: "r1", "z1/r1", "Dallas/z1/r1"."""
    wider = [of[kind] for kind in DOMAINS[: depth + 1] if kind in of]
    return ["/".join(wider[start:]) for start in range(len(wider) - 1, -1, -1)]


def _place(node: str, place: str, matrix: RttMatrix) -> dict[str, str]:
    parts = place.split("/")
    if len(parts) > len(DOMAINS) or not all(parts):
        allowed = '"region", "region/zone" or "region/zone/rack"'
        raise FieldError(place, allowed, path=(node,))
    if parts[0] not in matrix.names:
        raise unknown_name(parts[0], matrix.names, "a region of the matrix", (node,))
    return dict(zip(DOMAINS, parts, strict=False))


def _places(data: Mapping[str, object]) -> dict[str, str]:
    return {kind: str(data[kind]) for kind in DOMAINS if data.get(kind) is not None}


def _edge_link(data: Mapping[str, Any], base: LinkSpec, pair: tuple[str, str]) -> LinkSpec:
    given = {key: data[key] for key in LINK_KEYS if key in data}
    base = data.get("link", base)
    try:
        return parse_link(given, base) if given else base
    except FieldError as error:
        raise error.under("edges", *pair) from None


def _mean_us(made: tuple[LinkSpec, Mapping[str, Any]]) -> float:
    return made[0].latency.expected_us


def _weights(
    edges: Mapping[tuple[str, str], tuple[LinkSpec, Mapping[str, Any]]], weight: str | None
) -> dict[tuple[str, str], Cost] | None:
    if weight is None:
        return None
    if weight == "latency":
        return {pair: latency_cost(link, pair) for pair, (link, _) in edges.items()}
    return {pair: _exact(data.get(weight), weight, pair) for pair, (_, data) in edges.items()}


def latency_cost(link: LinkSpec, pair: tuple[str, str]) -> int:
    """The mean delay of a link as its weight: whole µs, at least 1, so that every hop costs."""
    mean_us = link.latency.expected_us
    if mean_us == float("inf"):
        given = link.latency.to_value()
        raise FieldError(given, "a latency with a finite mean", path=("edges", *pair, "latency"))
    return max(1, round(mean_us))


def _exact(value: object, weight: str, pair: tuple[str, str]) -> Cost:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if isinstance(value, float) and 0 < value < float("inf"):
        return Fraction(value)
    raise FieldError(value, "a number above 0 on every edge", path=("edges", *pair, weight))
