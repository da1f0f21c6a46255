"""Round-trip times between ten regions of IBM Cloud, averaged over 27 July to 25 August 2024.

Source: IBM Cloud VPC documentation, network latency dashboard (average round trips between regions,
in ms). The two directions of a pair were measured from their own ends and differ by a few ms.
Inside a region the source gives about 2.0 ms between zones (Dallas 2.03, 2.2, 2.18; Toronto 1.79,
1.99, 1.95) and about 0.09 ms inside one zone; these two are used for every region.
"""

from __future__ import annotations

from functools import cache

from sim.rtt import RttMatrix

NAME = "ibm-cloud-2024"
BETWEEN_ZONES_US = 2_000
INSIDE_ZONE_US = 90

# fmt: off
# From each region to all regions, in ms, in the order of the rows; None: inside the region.
ROUND_TRIPS_MS: dict[str, tuple[int | None, ...]] = {
    #                 Dal   Tor   Was   Fra   Lon   Mad   Osa   Syd   Tok   Sao
    "Dallas":        (None,   34,   31,  123,  113,  119,  150,  186,  143,  146),
    "Toronto":       (  34, None,   19,   93,   82,  108,  168,  215,  162,  129),
    "Washington DC": (  31,   19, None,   91,   75,   87,  172,  214,  164,  118),
    "Frankfurt":     ( 123,   93,   91, None,   13,   29,  232,  250,  233,  198),
    "London":        ( 113,   83,   75,   13, None,   27,  244,  261,  243,  188),
    "Madrid":        ( 122,  106,   88,   29,   27, None,  257,  275,  258,  209),
    "Osaka":         ( 150,  169,  172,  231,  243,  257, None,  122,    9,  293),
    "Sydney":        ( 186,  214,  214,  249,  261,  275,  122, None,  115,  328),
    "Tokyo":         ( 143,  162,  166,  233,  244,  256,    9,  115, None,  284),
    "Sao Paulo":     ( 144,  128,  119,  196,  187,  208,  291,  328,  283, None),
}
# fmt: on


@cache
def matrix() -> RttMatrix:
    """The matrix in µs, with the figures inside regions and zones."""
    rows = tuple(
        tuple(BETWEEN_ZONES_US if ms is None else 1_000 * ms for ms in row)
        for row in ROUND_TRIPS_MS.values()
    )
    return RttMatrix(tuple(ROUND_TRIPS_MS), rows, INSIDE_ZONE_US)
