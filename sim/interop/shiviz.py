r"""Traces as ShiViz logs: space-time diagrams with vector clocks in the browser.

ShiViz (Beschastnikh, Liu, Xing, Wang, Brun, Ernst: "Visualizing Distributed System Executions",
TOSEM 2020) reads a text with a regular expression whose groups ``host``, ``clock`` and ``event``
it needs; other groups become fields of the event. A file begins with that expression, then a line
with the delimiter of executions (empty: only one), then the log. Each host's own clock must count
1, 2, 3, …, and a clock may only name events that the log has.

An event of a node gives two lines:

    150000 n2 {"n1":1,"n2":2}
    message Ping(number=1) from n1
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import msgspec

from sim.trace_check import ENVIRONMENT, WIRE
from sim.trace_order import clocks_of, order_of, processes
from sim.trace_read import Trace
from sim.trace_text import format_what

__all__ = ["PARSER", "shiviz_log", "shiviz_text"]

PARSER = r"(?<time>\d+) (?<host>\S+) (?<clock>\{.*\})\n(?<event>.*)"
"""The expression that parses the log, in ShiViz's notation (JavaScript with named groups)."""

_LANES = {**dict.fromkeys(WIRE, "(network)"), **dict.fromkeys(ENVIRONMENT, "(nemesis)")}


def shiviz_text(trace: Trace, *, environment: bool = False) -> str:
    """A file for ShiViz's "upload": parser, no delimiter, log. See :func:`shiviz_log`."""
    return "\n".join([PARSER, "", *shiviz_log(trace, environment=environment), ""])


def shiviz_log(trace: Trace, *, environment: bool = False) -> Iterator[str]:
    """The log, two lines an event; a later process of a node is a host of its own (``n1#2``).

    Events of nodes only, unless ``environment``: then what happened on the wire and the faults
    of the plan too, at the hosts ``(network)`` and ``(nemesis)``. Characters that a host name
    must not have are percent-encoded.
    """
    lanes = [None if lane is None else _host(lane) for lane in processes(trace)]
    if environment:
        kinds = [event["kind"] for event in trace.events]
        lanes = [_LANES.get(kind, lane) for kind, lane in zip(kinds, lanes, strict=True)]
    clocks = clocks_of(lanes, order_of(trace, lanes))
    for event, lane, clock in zip(trace.events, lanes, clocks, strict=True):
        if lane is not None:
            yield f"{event['t']} {lane} {msgspec.json.encode(clock).decode()}"
            yield format_what(event)


def _host(process: str) -> str:
    return quote(process, safe="#:/@.,+~!*'")
