"""Measured figures as tables: quality of service of detectors, spreading, operations, others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from scenarios.cli.common import table
from scenarios.cli.quantities import NOTHING, count, duration, interval_of, probability

__all__ = ["metric_lines"]

_MOST_PAIRS = 40


def metric_lines(metrics: Mapping[str, Any]) -> Iterator[str]:
    """The lines about all families of metrics that were asked for."""
    for family, found in metrics.items():
        yield ""
        yield from _FAMILIES.get(family, _others)(family, found)


# -- detectors ----------------------------------------------------------------------------------

_Show = Callable[[float | None], str]
_QOS: tuple[tuple[str, str, _Show], ...] = (
    ("t_d", "T_D   crash to lasting suspicion", duration),
    ("t_mr", "T_MR  one mistake to the next", duration),
    ("t_m", "T_M   how long a mistake lasts", duration),
    ("p_a", "P_A   share of time without one", probability),
)


def _qos(_: str, found: Mapping[str, Any]) -> Iterator[str]:
    if not found:
        yield "quality of service: no detector was at work"
        return
    yield "quality of service of the detectors, all pairs together"
    rows = [row for name, summary in found.items() for row in _qos_rows(name, summary)]
    header = ("detector", "metric", "mean", "95% interval", "n", "censored")
    yield from table(header, rows, right=(2, 4, 5))
    yield "  n: how many were observed (P_A: mistakes); censored: how many the run cut off"
    if any(row[3] == NOTHING for row in rows):
        yield f"  {NOTHING}: too little for a mean, or too few independent observations"


def _qos_over_seeds(_: str, found: Mapping[str, Any]) -> Iterator[str]:
    lines = list(_qos("", found))
    yield lines[0].replace("all pairs together", "all seeds of the scenario together")
    yield from lines[1:]


def _qos_rows(name: str, summary: Mapping[str, Any]) -> Iterator[list[str]]:
    for key, text, show in _QOS:
        metric = summary[key]
        shown = name if key == _QOS[0][0] else ""
        if metric is None:
            cut_off = count(summary["undetected"]) if key == "t_d" else "0"
            yield [shown, text, NOTHING, NOTHING, "0", cut_off]
            continue
        interval = interval_of(metric, show)
        many = [count(metric["n"]), count(metric["censored"])]
        yield [shown, text, show(metric["value"]), interval, *many]


def _qos_pairs(_: str, found: Mapping[str, Any]) -> Iterator[str]:
    header = ("detector", "pair", "mistakes", *(key.upper() for key, _, _ in _QOS))
    rows = [
        [name, pair, count(summary["mistakes"]), *_values(summary)]
        for name, pairs in found.items()
        for pair, summary in pairs.items()
    ]
    yield "quality of service of each pair"
    yield from table(header, rows[:_MOST_PAIRS], right=range(2, 7))
    if len(rows) > _MOST_PAIRS:
        yield f"  and {len(rows) - _MOST_PAIRS} pairs more in result.json"


def _values(summary: Mapping[str, Any]) -> Iterator[str]:
    for key, _, show in _QOS:
        yield show(summary[key]["value"] if summary[key] else None)


# -- spreading ----------------------------------------------------------------------------------


def _gossip(_: str, found: Mapping[str, Any]) -> Iterator[str]:
    if not found:
        yield "spreading: nothing was published"
        return
    yield "how the rumors spread"
    rows = [[rumor, *_spread(figures)] for rumor, figures in list(found.items())[:_MOST_PAIRS]]
    header = ("rumor", "nodes", "residue", "messages/node", "mean delay", "last", "half", "99%")
    yield from table(header, rows, right=range(1, 8))
    yield "  residue: share of the nodes that never learned it; half, 99%: delay until so many had"
    if len(found) > _MOST_PAIRS:
        yield f"  and {len(found) - _MOST_PAIRS} rumors more in result.json"


def _spread(figures: Mapping[str, Any]) -> list[str]:
    coverage, traffic = figures["coverage"], figures["traffic"]
    return [
        count(figures["n"]),
        f"{figures['residue']:.2%}",
        NOTHING if traffic is None else f"{traffic:.2f}",
        duration(figures["t_ave"]),
        duration(figures["t_last"]),
        duration(coverage["0.5"]),
        duration(coverage["0.99"]),
    ]


# -- operations and others ----------------------------------------------------------------------


def _operations(_: str, found: Mapping[str, Any]) -> Iterator[str]:
    latency = found["latency_us"]
    yield "client operations"
    header = ("ok", "fail", "info", "open", "median", "99%")
    counts = [count(found[kind]) for kind in ("ok", "fail", "info", "open")]
    row = [*counts, duration(latency["p50"]), duration(latency["p99"])]
    yield from table(header, [row], right=range(6))
    yield "  latency of those that ended ok; info: nobody knows whether it took effect"


def _others(family: str, found: Any) -> Iterator[str]:
    """A family without a table of its own: its values, one a line."""
    yield family
    yield from table(("value", ""), [[name, shown] for name, shown in _flat("", found)], right=(1,))


def _flat(name: str, found: Any) -> Iterator[tuple[str, str]]:
    if isinstance(found, Mapping):
        for key, value in found.items():
            yield from _flat(f"{name}.{key}" if name else str(key), value)
    elif isinstance(found, Sequence) and not isinstance(found, str):
        yield name, ", ".join(map(str, found))
    elif isinstance(found, (int, float)) and not isinstance(found, bool):
        yield name, duration(found) if name.endswith("_us") else f"{found:,}"
    else:
        yield name, NOTHING if found is None else str(found)


_FAMILIES: Mapping[str, Callable[[str, Any], Iterator[str]]] = {
    "qos": _qos,
    "qos-over-seeds": _qos_over_seeds,
    "qos-pairs": _qos_pairs,
    "gossip": _gossip,
    "operations": _operations,
}
