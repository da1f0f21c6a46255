"""Reading the plain keys of a scenario file: names, nodes, seeds, one value each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from protocols.values import NodeId
from scenarios.metrics import METRICS
from sim.fields import FieldError, FieldErrors, Fields, parse_whole, unknown_name
from sim.latency import parse_latency
from sim.units import parse_duration

__all__ = [
    "MAX_NODES",
    "MAX_SEEDS",
    "NAME",
    "NODE_ID",
    "each",
    "listed",
    "parse_disk",
    "parse_flag",
    "parse_length",
    "parse_metrics",
    "parse_name",
    "parse_nodes",
    "parse_seeds",
    "parse_text",
    "parse_title",
]

MAX_NODES = 100_000
MAX_SEEDS = 100_000
NODE_ID = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
NAME = r"[a-z0-9]+(-[a-z0-9]+)*"
_SEEDS = re.compile(r"\s*([0-9]{1,18})\s*\.\.\s*([0-9]{1,18})\s*")
T = TypeVar("T")


def listed(value: object, example: str) -> list[object] | tuple[object, ...]:
    """A list as it is; FieldError for anything else."""
    if isinstance(value, (list, tuple)):
        return value
    raise FieldError(value, f"a list such as {example}")


def each(values: Iterable[object], parse: Callable[[object], T]) -> list[T]:
    """Parse every value of a list, gathering the mistakes of all."""
    found: list[T] = []
    errors: list[FieldError] = []
    for index, value in enumerate(values):
        try:
            found.append(parse(value))
        except FieldError as error:
            errors.append(error.under(index))
    if errors:
        raise FieldErrors(errors)
    return found


def parse_name(value: object) -> str:
    """The name of a scenario: words joined by hyphens."""
    if isinstance(value, str) and re.fullmatch(NAME, value) and len(value) <= 80:
        return value
    hint = ""
    if isinstance(value, str):
        tried = "-".join(re.findall(r"[a-z0-9]+", value.lower()))
        hint = f"try {tried}" if tried else ""
    raise FieldError(value, "words of a-z and 0-9 joined by -, at most 80 characters", hint=hint)


def parse_title(value: object) -> str:
    """A title of one line."""
    if isinstance(value, str) and value.strip() and "\n" not in value.strip():
        return value.strip()
    raise FieldError(value, "a text of one line", hint="longer texts go under text:")


def parse_text(value: object) -> str:
    """A text of any number of lines."""
    if isinstance(value, str):
        return value
    raise FieldError(value, "a text", hint="write text: | and the lines below it, indented")


def parse_flag(value: object) -> bool:
    """True or false."""
    if isinstance(value, bool):
        return value
    raise FieldError(value, "true or false")


def parse_length(value: object) -> int:
    """How long a run is, µs, above 0."""
    duration_us = parse_duration(value)
    if duration_us == 0:
        raise FieldError(value, 'a duration above 0 such as "60s"')
    return duration_us


def parse_seeds(value: object) -> tuple[int, ...]:
    """Seeds from a list, a range such as "1..20", or one number."""
    if isinstance(value, str):
        return _parse_seed_range(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, (list, tuple)) or not value:
        raise FieldError(value, 'seeds such as [1, 2, 3] or "1..20"')
    seen: dict[int, None] = {}

    def parse(one: object) -> int:
        seed = parse_whole(one)
        if seed in seen:
            raise FieldError(seed, "each seed once")
        seen[seed] = None
        return seed

    return tuple(each(value, parse))


def _parse_seed_range(value: str) -> tuple[int, ...]:
    match = _SEEDS.fullmatch(value)
    if match is None:
        raise FieldError(value, 'seeds such as [1, 2, 3] or "1..20"')
    first, last = map(int, match.groups())
    if not first <= last < first + MAX_SEEDS:
        allowed = f"a range from the smaller to the greater, at most {MAX_SEEDS} seeds"
        raise FieldError(value, allowed)
    return tuple(range(first, last + 1))


def parse_nodes(value: object) -> tuple[NodeId, ...]:
    """Node ids from a list, or n1, n2, ... from their number."""
    if isinstance(value, (list, tuple)):
        return _parse_node_list(value)
    if not isinstance(value, int):
        raise FieldError(value, "a number of nodes such as 5, or a list of ids such as [n1, n2]")
    return tuple(f"n{at}" for at in range(1, parse_whole(value, least=1, most=MAX_NODES) + 1))


def _parse_node_list(values: list[object] | tuple[object, ...]) -> tuple[NodeId, ...]:
    if not 1 <= len(values) <= MAX_NODES:
        raise FieldError(values, f"1 to {MAX_NODES} nodes")
    seen: dict[str, None] = {}

    def parse(value: object) -> NodeId:
        if not isinstance(value, str) or not re.fullmatch(NODE_ID, value) or value == "all":
            allowed = "a node id: a letter, then letters, digits, _ and -, not the word all"
            raise FieldError(value, allowed)
        if value in seen:
            raise FieldError(value, "each node once")
        seen[value] = None
        return value

    return tuple(each(values, parse))


def parse_metrics(value: object) -> tuple[str, ...]:
    """Names of :data:`scenarios.metrics.METRICS`."""

    def parse(name: object) -> str:
        if not isinstance(name, str) or name not in METRICS:
            raise unknown_name(name, METRICS, "a metric family")
        return name

    return tuple(dict.fromkeys(each(listed(value, "[qos]"), parse)))


def parse_disk(value: object) -> Any:
    """The latency of a disk's sync."""
    fields = Fields(value, ("sync",), "disk")
    sync = fields.need("sync", parse_latency, 'a latency such as "2ms"')
    fields.done()
    return sync
