"""Topologies: links, shortest routes against networkx, failure domains, regions, files."""

from __future__ import annotations

import csv
import hashlib
import pickle
import random
from itertools import pairwise
from math import sqrt
from typing import Any

import networkx as nx
import pytest

from sim.fields import FieldError, FieldErrors
from sim.latency import Constant, Exponential, LogNormal, Normal, Uniform
from sim.links import LinkSpec
from sim.presets import RTT_PRESETS, rtt_matrix
from sim.random_graphs import barabasi_albert, erdos_renyi, random_regular, watts_strogatz
from sim.rtt import Jitter, RttMatrix
from sim.topology import DEFAULT_LINK, GraphTopology, Topology, parse_topology
from tests.shared_data import shared_data

LINK = LinkSpec(Constant(7))


def names(n: int) -> tuple[str, ...]:
    return tuple(f"n{i}" for i in range(1, n + 1))


# Full mesh


def test_full_mesh_shares_one_link_and_never_lists_pairs() -> None:
    mesh = Topology.full_mesh(names(100_000), LINK)  # 10^10 pairs
    assert mesh.link("n1", "n99999") is LINK
    assert mesh.uniform is LINK
    assert mesh.path("n5", "n2") == ("n5", "n2")
    assert mesh.route("n5", "n2") == (LINK,)
    assert len(mesh.neighbours("n2")) == 99_999
    assert mesh.neighbours("n2")[:2] == ("n1", "n3")


def test_a_message_to_itself_uses_no_link() -> None:
    for topology in (Topology.full_mesh(["a", "b"]), parse_topology("ring", ["a", "b"])):
        assert topology.link("a", "a") is None
        assert topology.path("a", "a") == ("a",)
        assert topology.route("a", "a") == ()


def test_unknown_and_repeated_nodes_are_refused() -> None:
    for topology in (
        Topology.full_mesh(names(3)),
        parse_topology({"ring": None, "mode": "hops"}, names(3)),
        Topology.regions(dict.fromkeys(names(3), "Dallas"), rtt_matrix("ibm-cloud-2024")),
    ):
        for ask in (topology.link, topology.path, topology.route):
            for pair in (("n1", "n9"), ("n9", "n1"), ("n9", "n9")):
                with pytest.raises(FieldError, match="a node of this topology: n1, n2, n3"):
                    ask(*pair)
        with pytest.raises(FieldError, match="a node of this topology"):
            topology.neighbours("n9")
    with pytest.raises(FieldError, match="each node once"):
        Topology.full_mesh(["a", "b", "a"])


# Graphs


def in_order(graph: nx.Graph[Any], path: list[object]) -> list[int]:
    rank = {node: at for at, node in enumerate(graph.nodes)}
    return [rank[node] for node in path]


GRAPHS = [
    nx.gnp_random_graph(25, 0.12, seed=1),  # with unreachable pairs
    nx.gnp_random_graph(25, 0.1, seed=2, directed=True),
    nx.hypercube_graph(4),  # nodes are tuples, 24 shortest paths between corners
    nx.grid_2d_graph(5, 4),
    nx.star_graph(300),  # more than 255 links at one node
]


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
def test_hops_take_the_first_of_all_shortest_paths(graph: nx.Graph[Any]) -> None:
    topology = Topology.from_graph(graph, LINK, mode="hops")
    assert topology.nodes == tuple(map(str, graph.nodes))
    for src in list(graph.nodes)[:30]:
        for dst in list(graph.nodes)[:30]:
            found = topology.path(str(src), str(dst))
            if not nx.has_path(graph, src, dst):
                assert found is None
                assert topology.route(str(src), str(dst)) is None
                continue
            first = min(nx.all_shortest_paths(graph, src, dst), key=lambda p: in_order(graph, p))
            assert found == tuple(map(str, first))
            assert topology.route(str(src), str(dst)) == (LINK,) * (len(first) - 1)


@pytest.mark.parametrize("fractions", [False, True])
def test_weighted_hops_take_the_first_of_the_cheapest_paths(fractions: bool) -> None:
    graph = nx.gnp_random_graph(20, 0.25, seed=3, directed=True)
    rng = random.Random(4)
    for edge in graph.edges.values():
        edge["cost"] = rng.randrange(1, 4) * (0.25 if fractions else 1)  # exact, with many ties
    topology = Topology.from_graph(graph, LINK, "hops", weight="cost")
    for src in graph:
        for dst in graph:
            if nx.has_path(graph, src, dst):
                paths = nx.all_shortest_paths(graph, src, dst, weight="cost")
                first = min(paths, key=lambda p: in_order(graph, p))
                assert topology.path(str(src), str(dst)) == tuple(map(str, first))


def test_routes_do_not_depend_on_the_order_of_edges() -> None:
    edges = [(0, 2), (2, 3), (0, 1), (1, 3)]
    for some in (edges, edges[::-1]):
        graph: nx.Graph[Any] = nx.Graph()
        graph.add_nodes_from(range(4))
        graph.add_edges_from(some)
        assert Topology.from_graph(graph, mode="hops").path("0", "3") == ("0", "1", "3")


def test_weight_latency_prefers_the_quick_detour() -> None:
    edges = [["a", "c", "50ms"], ["a", "b", "10ms"], ["b", "c", "10ms"]]
    value = {"edges": edges, "mode": "hops"}
    assert parse_topology(value, "abc").path("a", "c") == ("a", "c")
    by_delay = parse_topology({**value, "weight": "latency"}, "abc")
    assert by_delay.path("a", "c") == ("a", "b", "c")
    assert by_delay.route("a", "c") == (LinkSpec(Constant(10_000)),) * 2


def test_mode_links_lets_only_neighbours_talk() -> None:
    topology = Topology.from_graph(nx.path_graph(3), LINK)
    assert topology.link("0", "1") is LINK
    assert topology.path("0", "1") == ("0", "1")
    for ask in (topology.link, topology.path, topology.route):
        assert ask("0", "2") is None
    assert topology.neighbours("1") == ("0", "2")
    assert topology.uniform is None


def test_attributes_of_graphs() -> None:
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    graph.add_node(2, region="eu", zone="z1", colour="red")
    graph.add_node(1, zone="z1", rack=7)
    graph.add_edge(2, 1, latency="9ms", loss="1%")
    graph.add_edge(2, 1, latency="3ms..5ms")  # the quicker of the two counts
    graph.add_edge(1, 2, link=LINK)
    graph.add_edge(1, 1)
    topology = Topology.from_graph(graph)
    assert topology.nodes == ("2", "1")
    assert topology.link("2", "1") == LinkSpec(Uniform(3_000, 5_000))
    assert topology.link("1", "2") is LINK
    assert topology.link("1", "1") is None
    assert dict(topology.attributes("2")) == {"region": "eu", "zone": "z1"}
    assert dict(topology.attributes("1")) == {"zone": "z1", "rack": "7"}
    assert topology.members("zone", "z1") == ("2", "1")


@pytest.mark.parametrize(
    ("edge", "weight", "says"),
    [
        ({"loss": 7}, None, "edges.0.1.loss: given 7"),
        ({"cost": 0}, "cost", "edges.0.1.cost: given 0, allowed: a number above 0"),
        ({}, "cost", "edges.0.1.cost: given nothing"),
        ({"latency": {"pareto": {"scale": "1ms", "alpha": 1}}}, "latency", "a finite mean"),
    ],
)
def test_wrong_edges_are_refused(edge: dict[str, object], weight: str | None, says: str) -> None:
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_edge(0, 1, **edge)
    with pytest.raises(FieldError) as caught:
        Topology.from_graph(graph, weight=weight)
    assert says in str(caught.value)


def test_ten_thousand_nodes_of_degree_eight() -> None:
    value = {"random_regular": {"degree": 8, "seed": 1}, "mode": "hops"}
    topology = parse_topology(value, names(10_000))
    assert all(len(topology.neighbours(node)) == 8 for node in topology.nodes)
    path = topology.path("n1", "n5000")
    assert path is not None
    assert all(topology.link(a, b) is DEFAULT_LINK for a, b in pairwise(path))


def test_old_route_tables_make_room() -> None:
    topology = parse_topology({"ring": None, "mode": "hops"}, names(9))
    before = [topology.path("n1", dst) for dst in topology.nodes]
    assert isinstance(topology, GraphTopology)
    assert topology._routes is not None
    topology._routes._tables_max = 2
    topology._routes._tables.clear()
    assert [topology.path("n1", dst) for dst in topology.nodes] == before
    assert len(topology._routes._tables) == 2


# Shapes


def edges_of(topology: Topology) -> list[tuple[str, str]]:
    return [(a, b) for a in topology.nodes for b in topology.neighbours(a)]


@pytest.mark.parametrize(
    ("value", "n", "like"),
    [
        ("ring", 5, nx.cycle_graph(5)),
        ("ring", 2, nx.path_graph(2)),
        ("ring", 1, nx.empty_graph(1)),
        ({"line": {}}, 5, nx.path_graph(5)),
        ("star", 5, nx.star_graph(4)),
        ("full", 4, nx.complete_graph(4)),
        (None, 4, nx.complete_graph(4)),
        ({"link": "7us"}, 4, nx.complete_graph(4)),
        ({"tree": {"branching": 3}}, 13, nx.balanced_tree(3, 2)),
        ("tree", 7, nx.balanced_tree(2, 2)),
        ({"grid": {"width": 3}}, 6, nx.convert_node_labels_to_integers(nx.grid_2d_graph(2, 3))),
        ("grid", 9, nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3))),
        ({"watts_strogatz": {"k": 4, "p": 0}}, 9, nx.watts_strogatz_graph(9, 4, 0)),
        ({"erdos_renyi": {"p": 1}}, 6, nx.complete_graph(6)),
        ({"erdos_renyi": {"p": 0}}, 6, nx.empty_graph(6)),
        ({"edges": [["n1", "n3"], ["n3", "n2"]]}, 3, nx.Graph([(0, 2), (2, 1)])),
    ],
    ids=str,
)
def test_shapes_are_the_graphs_of_that_name(value: object, n: int, like: nx.Graph[Any]) -> None:
    topology = parse_topology(value, names(n), LINK)
    wanted = {(f"n{a + 1}", f"n{b + 1}") for a, b in like.to_directed().edges}
    edges = edges_of(topology)
    assert set(edges) == wanted
    assert len(edges) == len(wanted)
    assert all(topology.link(*edge) == LINK for edge in edges)


def test_a_grid_may_end_with_a_short_row() -> None:
    topology = parse_topology({"grid": {"width": 3}}, names(5))  # n1 n2 n3 / n4 n5
    assert topology.neighbours("n5") == ("n2", "n4")
    assert topology.neighbours("n3") == ("n2",)


@pytest.mark.parametrize(("n", "degree"), [(10, 3), (9, 4), (5, 4), (200, 7), (4, 0)])
def test_random_regular(n: int, degree: int) -> None:
    graph = nx.Graph(random_regular(n, degree, seed=3))
    graph.add_nodes_from(range(n))
    assert nx.number_of_selfloops(graph) == 0
    assert all(graph.degree(node) == degree for node in range(n))
    assert len(random_regular(n, degree, seed=3)) == n * degree // 2


def test_erdos_renyi_has_binomially_many_edges() -> None:
    """M = n(n-1)/2 = 79,800 pairs, p = 0.05: sd = sqrt(M p (1-p)) = 61.6; 5 of them."""
    edges = erdos_renyi(400, 0.05, seed=2)
    assert len(set(edges)) == len(edges)
    assert all(0 <= low < high < 400 for low, high in edges)
    assert abs(len(edges) - 79_800 * 0.05) <= 5 * sqrt(79_800 * 0.05 * 0.95)
    # Each half of the nodes gets its share: 19,900 pairs below 200, sd 30.7.
    inner = sum(high < 200 for _, high in edges)
    assert abs(inner - 19_900 * 0.05) <= 5 * sqrt(19_900 * 0.05 * 0.95)


def test_watts_strogatz_rewires_p_of_the_ring() -> None:
    """Of n k/2 = 2,000 edges each moves with p = 0.3: 600 on average, sd sqrt(2000 0.3 0.7) = 20.5.

    A moved edge lands on a free place of the lattice with a probability below 4/980 (four places,
    at least 980 nodes to choose from), which lowers the mean by less than 0.41 %.
    """
    edges = watts_strogatz(1_000, 4, 0.3, seed=8)
    assert len(set(edges)) == len(edges) == 2_000
    assert all(0 <= u < v < 1_000 for u, v in edges)
    lattice = {tuple(sorted((u, (u + j) % 1_000))) for u in range(1_000) for j in (1, 2)}
    moved = sum(edge not in lattice for edge in edges)
    assert 600 - 0.0041 * 600 - 5 * 20.5 <= moved <= 600 + 5 * 20.5


def test_barabasi_albert_prefers_the_well_linked() -> None:
    """m star edges, then m for each further node; P(degree = m) = 2/(m+2) as n grows (exact law
    2m(m+1)/(k(k+1)(k+2)), Bollobas et al. 2001): 0.5 for m = 2. A node more of them makes it
    likelier that the next step takes one away, so the sd is below the binomial sqrt(n p (1-p)) =
    35.4 for n = 5,000 (for m = 1 it is known to be sqrt(n/9) against sqrt(2n/9)); 5 of them.
    """
    n, m = 5_000, 2
    graph = nx.Graph(barabasi_albert(n, m, seed=5))
    assert graph.number_of_nodes() == n
    assert graph.number_of_edges() == m + (n - m - 1) * m
    least = sum(degree == m for _, degree in graph.degree)
    assert abs(least - n / 2) <= 5 * 35.4


PINNED_GRAPHS = "16dcc7f19e07b04e"


def test_random_graphs_are_pinned() -> None:
    """The same seed is the same graph for ever; a change here changes what scenarios mean."""
    graphs = [
        erdos_renyi(50, 0.1, 1),
        random_regular(50, 4, 1),
        watts_strogatz(50, 4, 0.2, 1),
        barabasi_albert(50, 2, 1),
    ]
    digest = hashlib.sha256(repr(graphs).encode()).hexdigest()[:16]
    assert digest == PINNED_GRAPHS


# Failure domains


def test_domains_in_node_order() -> None:
    value = {"zones": {"z2": ["n4", "n1"], "z1": ["n2"]}, "racks": {"r1": ["n1", "n2"]}}
    topology = parse_topology({"ring": None, **value}, names(4))
    assert topology.members("zone", "z2") == ("n1", "n4")
    assert topology.members("rack", "r1") == ("n1", "n2")
    assert topology.members("rack", "z2/r1") == ("n1",)
    assert topology.names("zone") == ("z2", "z1")
    assert topology.names("region") == ()
    assert dict(topology.attributes("n3")) == {}
    with pytest.raises(FieldError, match="a zone of this topology: z2, z1; did you mean 'z1'"):
        topology.members("zone", "z11")
    with pytest.raises(FieldError, match="region, zone, rack; did you mean 'rack'"):
        topology.members("racks", "r1")
    with pytest.raises(TypeError):
        topology.attributes("n1")["zone"] = "z9"  # type: ignore[index]


def test_zones_of_the_same_name_are_told_apart_by_region() -> None:
    placement = {"a": "Dallas/z1/r1", "b": "Dallas/z1/r2", "c": "London/z1", "d": "London"}
    topology = Topology.regions(placement, rtt_matrix("ibm-cloud-2024"))
    assert topology.members("region", "Dallas") == ("a", "b")
    assert topology.members("zone", "z1") == ("a", "b", "c")
    assert topology.members("zone", "Dallas/z1") == ("a", "b")
    assert topology.members("rack", "Dallas/z1/r2") == topology.members("rack", "r2") == ("b",)


# Regions


def test_region_delays_are_half_the_round_trips() -> None:
    placement = {"a": "Frankfurt/z1", "b": "Frankfurt/z1", "c": "Frankfurt/z2", "d": "Osaka"}
    topology = Topology.regions(placement | {"e": "Osaka"}, rtt_matrix("ibm-cloud-2024"), link=LINK)
    one_way_us = {
        ("a", "b"): 45,  # 0.09 ms inside a zone
        ("a", "c"): 1_000,  # 2.0 ms between zones
        ("a", "d"): 116_000,  # 232 ms
        ("d", "a"): 115_500,  # 231 ms, measured from Osaka
        ("d", "e"): 1_000,  # no zones given: taken as different ones
    }
    for pair, us in one_way_us.items():
        assert topology.link(*pair) == LinkSpec(Constant(us))
    assert topology.link("a", "d") is topology.link("b", "d")
    assert topology.link("a", "a") is None
    assert topology.neighbours("c") == ("a", "b", "d", "e")


def test_halves_are_rounded_up() -> None:
    matrix = RttMatrix(("x", "y"), ((3, 5), (6, 0)))
    assert matrix.one_way_us("x", "y") == 3
    assert matrix.one_way_us("y", "x") == 3
    assert matrix.one_way_us("x", "x") == matrix.one_way_us("x", "x", same_zone=True) == 2


def test_jitter_around_a_one_way_time() -> None:
    assert Jitter(0.05).around(10_000) == Normal(10_000, 500)
    assert Jitter(0.05, "exponential").around(10_000) == Exponential(500, min_us=10_000)
    assert Jitter(0.05, "lognormal", 0.5).around(10_000) == LogNormal(500, 0.5, min_us=10_000)
    assert Jitter(0.0).around(10_000) == Constant(10_000)
    assert Jitter(0.05).around(9) == Constant(9)  # 0.45 µs rounds to no jitter


def test_regions_in_files() -> None:
    in_turn = parse_topology({"regions": ["Dallas", "London/z1"]}, names(3))
    assert in_turn.link("n1", "n2") == LinkSpec(Constant(56_500))  # 113 ms
    assert in_turn.members("region", "Dallas") == ("n1", "n3")
    value = {
        "regions": {
            "matrix": {
                "names": ["x", "y"],
                "rtt": [["2ms", "30ms"], ["40ms", "2ms"]],
                "zone": "1ms",
            },
            "place": {"n1": "x", "n2": "y", "n3": "x"},
            "jitter": {"lognormal": {"median": "10%", "sigma": 0.5}},
        },
        "zones": {"z": ["n1", "n3"]},
        "link": {"loss": "1%"},
    }
    topology = parse_topology(value, names(3))
    assert topology.link("n2", "n1") == LinkSpec(LogNormal(2_000, 0.5, min_us=20_000), loss=0.01)
    assert topology.link("n1", "n3") == LinkSpec(LogNormal(50, 0.5, min_us=500), loss=0.01)
    assert topology.members("zone", "x/z") == ("n1", "n3")
    value["regions"]["jitter"] = {"exponential": "10%"}  # type: ignore[index]
    topology = parse_topology(value, names(3))
    assert topology.link("n1", "n2") == LinkSpec(Exponential(1_500, min_us=15_000), loss=0.01)


def test_the_preset_is_the_published_matrix_cell_by_cell() -> None:
    path = shared_data("rtt", "ibm_cloud_2024-08-25.csv")
    with path.open(newline="", encoding="utf-8") as lines:
        head, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    matrix = rtt_matrix("ibm-cloud-2024")
    assert list(matrix.names) == head[1:] == [row[0] for row in rows]
    cells = 0
    for (name, *figures), ours in zip(rows, matrix.rtt_us, strict=True):
        for other, figure, us in zip(head[1:], figures, ours, strict=True):
            assert us == (2_000 if name == other else 1_000 * int(figure))
            cells += bool(figure)
    assert cells == 90


def test_presets_by_name() -> None:
    assert RTT_PRESETS == ("ibm-cloud-2024",)
    with pytest.raises(FieldError, match="did you mean 'ibm-cloud-2024'"):
        rtt_matrix("ibm-cloud")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: RttMatrix((), ()), "one or more names"),
        (lambda: RttMatrix(("a", "a"), ((0, 0), (0, 0))), "each once"),
        (lambda: RttMatrix(("a", "b"), ((0, 0),)), r"2 rows of 2 for 2 names"),
        (lambda: RttMatrix(("a",), ((-1,),)), r"rtt\[0\]\[0\]: given -1"),
        (lambda: RttMatrix(("a",), ((1,),)).one_way_us("a", "b"), "a region of the matrix: a"),
        (lambda: Jitter(2.0), "a share from 0 to 1"),
    ],
)
def test_wrong_matrices_are_refused(make: object, says: str) -> None:
    with pytest.raises(FieldError, match=says):
        make()  # type: ignore[operator]


# Files


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        (5, (), "a mapping with the keys"),
        ("rign", ("rign",), "did you mean 'ring'?"),
        ({"ring": None, "star": None}, (), "keep ring only"),
        ({"ring": {"width": 3}}, ("ring", "width"), "the keys of ring: none"),
        ({"full": {"degree": 3}}, ("full",), "full has no parameters"),
        ({"full": None, "mode": "hops"}, ("mode",), "only beside a graph"),
        ({"ring": None, "mode": "hop"}, ("mode",), '"links"'),
        ({"ring": None, "weight": "cost"}, ("weight",), '"latency"'),
        ({"ring": None, "link": {"los": 1}}, ("link", "los"), "did you mean 'loss'?"),
        ({"grid": {"width": 0}}, ("grid", "width"), "at least 1"),
        ({"random_regular": None}, ("random_regular",), "a mapping with the keys degree, seed"),
        ({"random_regular": {"degree": 3}}, ("random_regular", "degree"), "try 2 or 4"),
        ({"random_regular": {"degree": 9}}, ("random_regular", "degree"), "at most 4"),
        ({"watts_strogatz": {"k": 3, "p": 0}}, ("watts_strogatz", "k"), "try 2 or 4"),
        ({"barabasi_albert": {"m": 5}}, ("barabasi_albert", "m"), "at most 4"),
        ({"edges": [["n1", "n2"], ["n2", "n9"]]}, ("edges", 1, 1), "the nodes: n1, n2"),
        ({"edges": [["n1", "n2"], ["n2", "n1"]]}, ("edges", 1), "drop this one"),
        ({"edges": [["n1", "n1"]]}, ("edges", 0), "two different nodes"),
        ({"edges": [["n1", "n2", {"loss": 3}]]}, ("edges", 0, 2, "loss"), "from 0 to 1"),
        ({"edges": [[["n1"], "n2"]]}, ("edges", 0, 0), "the nodes"),
        ({"edges": ["n1"]}, ("edges", 0), "[n1, n2]"),
        ({"edges": None}, ("edges",), "a list of edges"),
        ({"zones": ["n1"]}, ("zones",), "a mapping such as"),
        ({"zones": {"z": "n1"}}, ("zones", "z"), "a list of nodes"),
        ({"zones": {"z": ["n1", "n8"]}}, ("zones", "z", 1), "the nodes"),
        ({"racks": {"r": ["n1"], "s": ["n1"]}}, ("racks", "s", 0), "it is in r already"),
        ({"regions": ["Dalas"]}, ("regions", "place", "n1"), "did you mean 'Dallas'?"),
        ({"regions": ["Dallas/z/r/x"]}, ("regions", "place", "n1"), "region/zone/rack"),
        ({"regions": {"place": {"n1": "Dallas"}}}, ("regions", "place"), "also for n2, n3, n4, n5"),
        ({"regions": {}}, ("regions", "place"), "add this key"),
        ({"regions": {"matrix": "ibm", "place": ["x"]}}, ("regions", "matrix"), "ibm-cloud-2024"),
        ({"regions": {"place": ["Dallas"], "jitter": 5}}, ("regions", "jitter"), "5%"),
        (
            {"regions": {"place": ["Dallas"], "jitter": {"normal": "1%", "exponential": "1%"}}},
            ("regions", "jitter"),
            "exactly one form",
        ),
        ({"regions": ["Dallas/z1"], "zones": {"z2": ["n1"]}}, ("regions", "place", "n1"), "once"),
    ],
)
def test_refused(value: object, path: tuple[str | int, ...], says: str) -> None:
    with pytest.raises(FieldErrors) as caught:
        parse_topology(value, names(5))
    assert caught.value.path == path
    assert says in str(caught.value)


def test_all_mistakes_at_once() -> None:
    value = {"ring": None, "link": {"los": 1, "loss": 5}, "mode": 3, "zones": {"z": ["x", "n1"]}}
    with pytest.raises(FieldErrors) as caught:
        parse_topology(value, names(3))
    paths = [error.path for error in caught.value.errors]
    assert paths == [("link", "los"), ("link", "loss"), ("zones", "z", 0), ("mode",)]


def test_topologies_travel_to_other_processes() -> None:
    for value in ("full", "ring", {"regions": ["Dallas", "London"]}):
        topology = parse_topology(value, names(3))
        again = pickle.loads(pickle.dumps(topology))
        assert again.link("n1", "n2") == topology.link("n1", "n2")
        assert again.names("region") == topology.names("region")
