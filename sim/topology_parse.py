"""Building a topology from a scenario file: shapes, edges, regions, zones and racks.

The public way in is `sim.topology.parse_topology`, which lists what can be written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from sim.fields import FieldError, FieldErrors, Fields, unknown_name
from sim.links import LinkSpec, parse_link
from sim.rtt import Jitter, RttMatrix, parse_jitter, parse_rtt_matrix
from sim.shapes import SHAPES
from sim.topology import GraphTopology, Mode, Topology, latency_cost

__all__ = ["build_topology"]

Links = list[tuple[str, str, LinkSpec]]
Places = dict[str, dict[str, str]]
_SHAPES = ("full", *SHAPES, "edges", "regions")
_OPTIONS = ("link", "zones", "racks", "mode", "weight")
_PRESET = "ibm-cloud-2024"
_LINKS: Mode = "links"


def build_topology(value: object, nodes: tuple[str, ...], link: LinkSpec) -> Topology:
    """See `sim.topology.parse_topology`."""
    if value is None or isinstance(value, str):
        value = {value or "full": None}
    fields = Fields(value, (*_SHAPES, *_OPTIONS), "a topology (shapes and options)")
    shape = _shape(fields)
    base = fields.read("link", partial(parse_link, base=link), link)
    if fields.errors:  # the rest is read only to find what else is wrong
        base = link
    none: dict[str, str] = {}
    zones = fields.read("zones", partial(_parse_groups, nodes=nodes), none) or none
    racks = fields.read("racks", partial(_parse_groups, nodes=nodes), none) or none
    places = _places(zones=zones, racks=racks)
    if shape == "full":
        return fields.build(lambda: Topology.full_mesh(nodes, base, places))
    if shape == "regions":
        parse = partial(_parse_regions, nodes=nodes, link=base, places=places)
        return fields.attempt_done("regions", parse)
    return _graph(fields, shape, nodes, base, places)


def _shape(fields: Fields) -> str:
    """The shape that is asked for; options that it cannot take are noted as mistakes."""
    given = [name for name in _SHAPES if name in fields.value]
    if len(given) > 1:
        one = f"one shape, of {', '.join(_SHAPES)}"
        fields.errors.append(FieldError(given, one, hint=f"keep {given[0]} only"))
    shape = given[0] if given else "full"
    if shape == "full" and fields.value.get("full") not in (None, {}):
        fields.errors.append(
            FieldError(fields.value["full"], "nothing, full has no parameters", path=("full",))
        )
    for option in ("mode", "weight") if shape in ("full", "regions") else ():
        if option in fields.value:
            only = f"only beside a graph; in {shape} every pair has a link"
            fields.errors.append(FieldError(fields.value[option], only, path=(option,)))
    return shape


def _graph(
    fields: Fields, shape: str, nodes: tuple[str, ...], base: LinkSpec, places: Places
) -> Topology:
    mode = fields.read("mode", _parse_mode, _LINKS)
    by_latency = fields.read("weight", _parse_weight, False)
    parse: Callable[[object], Links] = (
        partial(_parse_edges, nodes=nodes, base=base)
        if shape == "edges"
        else partial(_parse_shape, shape=shape, nodes=nodes, base=base)
    )
    links = fields.attempt_done(shape, parse)

    def made() -> Topology:
        costs = {(a, b): latency_cost(link, (a, b)) for a, b, link in links}
        weights = costs if by_latency else None
        return GraphTopology(nodes, links, mode, costs=weights, attributes=places)

    return fields.build(made)


def _parse_shape(value: object, shape: str, nodes: tuple[str, ...], base: LinkSpec) -> Links:
    pairs = SHAPES[shape](value, len(nodes))
    return [(nodes[src], nodes[dst], base) for a, b in pairs for src, dst in ((a, b), (b, a))]


def _parse_edges(value: object, nodes: tuple[str, ...], base: LinkSpec) -> Links:
    if not isinstance(value, (list, tuple)):
        raise FieldError(value, "a list of edges such as [[n1, n2], [n2, n3]]")
    known = dict.fromkeys(nodes)
    links: dict[tuple[str, str], LinkSpec] = {}
    errors: list[FieldError] = []
    for index, edge in enumerate(value):
        try:
            _add_edge(edge, known, base, links)
        except FieldError as error:
            errors.append(error.under(index))
    if errors:
        raise FieldErrors(errors)
    return [(a, b, link) for (a, b), link in links.items()]


def _add_edge(
    edge: object,
    nodes: Mapping[str, None],
    base: LinkSpec,
    links: dict[tuple[str, str], LinkSpec],
) -> None:
    if not isinstance(edge, (list, tuple)) or len(edge) not in (2, 3):
        raise FieldError(edge, "[n1, n2] or [n1, n2, {latency: 5ms}]")
    for at in (0, 1):
        if not _is_one_of(nodes, edge[at]):
            raise unknown_name(edge[at], nodes, "the nodes", (at,))
    a, b = edge[0], edge[1]
    if a == b:
        raise FieldError(edge, "two different nodes")
    if (a, b) in links:
        raise FieldError(edge, "each edge once (an edge goes both ways)", hint="drop this one")
    links[a, b] = links[b, a] = _edge_link(edge[2], base) if len(edge) == 3 else base


def _edge_link(value: object, base: LinkSpec) -> LinkSpec:
    try:
        return parse_link(value, base)
    except FieldError as error:
        raise error.under(2) from None


def _parse_mode(value: object) -> Mode:
    if value == "links":
        return "links"
    if value == "hops":
        return "hops"
    raise FieldError(value, '"links" (only neighbours talk) or "hops" (routed)')


def _parse_weight(value: object) -> bool:
    if value == "latency":
        return True
    if value in (None, "hops"):
        return False
    raise FieldError(value, '"latency" (least mean delay) or "hops" (fewest links)')


def _parse_groups(value: object, nodes: tuple[str, ...]) -> dict[str, str]:
    """Node to group from {group: [nodes]}."""
    if not isinstance(value, Mapping):
        raise FieldError(value, "a mapping such as {z1: [n1, n2], z2: [n3]}")
    known = dict.fromkeys(nodes)
    group_of: dict[str, str] = {}
    errors: list[FieldError] = []
    for name, members in value.items():
        if not isinstance(members, (list, tuple)):
            errors.append(FieldError(members, "a list of nodes", path=(str(name),)))
            continue
        for at, node in enumerate(members):
            if not _is_one_of(known, node):
                errors.append(unknown_name(node, nodes, "the nodes", (str(name), at)))
            elif group_of.setdefault(node, str(name)) != str(name):
                once = f"each node once, it is in {group_of[node]} already"
                errors.append(FieldError(node, once, path=(str(name), at)))
    if errors:
        raise FieldErrors(errors)
    return group_of


def _is_one_of(nodes: Mapping[str, None], node: object) -> bool:
    return isinstance(node, str) and node in nodes


def _places(zones: Mapping[str, str], racks: Mapping[str, str]) -> Places:
    places: Places = {}
    for kind, group_of in (("zone", zones), ("rack", racks)):
        for node, name in group_of.items():
            places.setdefault(node, {})[kind] = name
    return places


def _parse_regions(
    value: object, nodes: tuple[str, ...], link: LinkSpec, places: Places
) -> Topology:
    if isinstance(value, (list, tuple)):
        value = {"place": value}
    fields = Fields(value, ("matrix", "place", "jitter"), "regions")
    no_matrix: RttMatrix | None = None
    matrix = fields.read("matrix", parse_rtt_matrix, no_matrix) or parse_rtt_matrix(_PRESET)
    jitter = fields.read("jitter", parse_jitter, Jitter())
    placed = fields.need(
        "place", partial(_parse_place, nodes=nodes), "{n1: Dallas, ...} or [Dallas, Frankfurt]"
    )
    fields.done()
    _check_once(placed, places)
    try:
        return Topology.regions(placed, matrix, jitter=jitter, link=link, attributes=places)
    except FieldError as error:
        raise error.under("place") from None


def _parse_place(value: object, nodes: tuple[str, ...]) -> dict[str, str]:
    if isinstance(value, (list, tuple)) and value:
        return {node: str(value[at % len(value)]) for at, node in enumerate(nodes)}
    if not isinstance(value, Mapping):
        raise FieldError(value, "{n1: Dallas, n2: Frankfurt/z1} or [Dallas, Frankfurt]")
    known = dict.fromkeys(nodes)
    strange = [node for node in value if node not in known]
    errors = [unknown_name(node, nodes, "the nodes", (str(node),)) for node in strange]
    left: Sequence[str] = [node for node in nodes if node not in value]
    if left:
        errors.append(FieldError(None, f"a place for every node, also for {', '.join(left[:9])}"))
    if errors:
        raise FieldErrors(errors)
    return {node: str(value[node]) for node in nodes}


def _check_once(placed: Mapping[str, str], places: Places) -> None:
    """A zone or a rack is given in one way only: behind the region or under zones and racks."""
    for node, of in places.items():
        for depth, kind in ((1, "zone"), (2, "rack")):
            if kind in of and placed[node].count("/") >= depth:
                once = f"the {kind} of {node} once, {kind}s says {of[kind]!r}"
                raise FieldError(placed[node], once, path=("place", node))
