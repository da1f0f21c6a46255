"""One directed link: how it delays, loses, duplicates, reorders, corrupts and queues messages.

`LinkSpec` is the declaration: a frozen value, shared by many links. What a running link keeps is in
`sim.burst_loss` (bursts of loss) and `sim.link_queue` (bandwidth, order), offered here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from sim.burst_loss import GilbertElliott, GilbertElliottState, parse_burst
from sim.fields import FieldError, Fields, check_probability
from sim.latency import LATENCY_FORMS, Latency, parse_latency
from sim.link_queue import BandwidthQueue, FifoClock
from sim.units import (
    format_bandwidth,
    format_size,
    parse_bandwidth,
    parse_probability,
    parse_size,
)

__all__ = [
    "LINK_KEYS",
    "BandwidthQueue",
    "CorruptMode",
    "FifoClock",
    "GilbertElliott",
    "GilbertElliottState",
    "LinkSpec",
    "parse_link",
]

CorruptMode = Literal["drop", "deliver"]


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """What one directed link does to messages. Probabilities are per message and independent.

    latency        delay of a message, µs
    loss           lost on its own; `burst` loses in bursts, on top of it
    duplicate      delivered twice, the copy with a delay of its own
    reorder        delayed by one more draw of `reorder_extra` (None: of `latency`), so that later
                   messages may overtake it (they may anyway where `latency` varies)
    corrupt        damaged; `corrupt_mode` says whether the receiver's checksum drops it ("drop")
                   or the damaged message is delivered ("deliver")
    bandwidth_bps  bits per second, None: unlimited; `queue_bytes` may wait, None: unlimited
    fifo           messages never overtake each other
    """

    latency: Latency
    loss: float = 0.0
    burst: GilbertElliott | None = None
    duplicate: float = 0.0
    reorder: float = 0.0
    reorder_extra: Latency | None = None
    corrupt: float = 0.0
    corrupt_mode: CorruptMode = "drop"
    bandwidth_bps: int | None = None
    queue_bytes: int | None = None
    fifo: bool = False

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "reorder", "corrupt"):
            check_probability(name, getattr(self, name))
        if not isinstance(self.latency, Latency):
            raise FieldError(self.latency, 'a latency such as "10ms"', path=("latency",))
        if self.corrupt_mode not in _MODES:
            raise FieldError(self.corrupt_mode, _MODE, path=("corrupt_mode",))
        if self.bandwidth_bps is not None and self.bandwidth_bps < 1:
            raise FieldError(self.bandwidth_bps, "at least 1 bit/s", path=("bandwidth",))
        if self.queue_bytes is not None:
            self._check_queue(self.queue_bytes)
        if self.fifo and self.reorder:
            raise FieldError(
                self.reorder,
                "0 on a fifo link",
                path=("reorder",),
                hint="drop either fifo: true or reorder",
            )

    def _check_queue(self, queue_bytes: int) -> None:
        if queue_bytes < 0:
            raise FieldError(queue_bytes, "at least 0 bytes", path=("queue",))
        if self.bandwidth_bps is None:
            raise FieldError(
                format_size(queue_bytes),
                "a queue only beside a bandwidth",
                path=("queue",),
                hint="add bandwidth: 10Mbit/s",
            )

    def to_value(self) -> dict[str, object]:
        """Plain data for a scenario file, defaults left out; `parse_link` reads it back."""
        value: dict[str, object] = {
            "latency": self.latency.to_value(),
            "loss": self.loss or None,
            "burst": self.burst and self.burst.to_value(),
            "duplicate": self.duplicate or None,
            "reorder": self._reorder_value(),
            "corrupt": self.corrupt or None,
            "corrupt_mode": None if self.corrupt_mode == "drop" else self.corrupt_mode,
            "bandwidth": self.bandwidth_bps and format_bandwidth(self.bandwidth_bps),
            "queue": None if self.queue_bytes is None else format_size(self.queue_bytes),
            "fifo": self.fifo or None,
        }
        return {key: one for key, one in value.items() if one is not None}

    def _reorder_value(self) -> object:
        if self.reorder_extra is None:
            return self.reorder or None
        return {"probability": self.reorder, "extra": self.reorder_extra.to_value()}


_MODES = ("drop", "deliver")
_MODE = '"drop" (a checksum finds it) or "deliver"'


# Reading a link from a scenario file.


def _parse_reorder(value: object) -> tuple[float, Latency | None]:
    if not isinstance(value, Mapping):
        return parse_probability(value), None
    fields = Fields(value, ("probability", "extra"), "reorder")
    probability = fields.need("probability", parse_probability, 'a probability such as "1%"')
    extra = fields.read("extra", parse_latency, None)
    fields.done()
    return probability, extra


def _parse_mode(value: object) -> CorruptMode:
    if value not in _MODES:
        raise FieldError(value, _MODE)
    return cast(CorruptMode, value)


def _parse_flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise FieldError(value, "true or false")


def _or_none(parse: Callable[[object], object]) -> Callable[[object], object]:
    return lambda value: None if value is None else parse(value)


_PARSERS: Mapping[str, tuple[str, Callable[[object], object]]] = {
    "latency": ("latency", parse_latency),
    "loss": ("loss", parse_probability),
    "burst": ("burst", _or_none(parse_burst)),
    "duplicate": ("duplicate", parse_probability),
    "reorder": ("reorder", _parse_reorder),
    "corrupt": ("corrupt", parse_probability),
    "corrupt_mode": ("corrupt_mode", _parse_mode),
    "bandwidth": ("bandwidth_bps", _or_none(parse_bandwidth)),
    "queue": ("queue_bytes", _or_none(parse_size)),
    "fifo": ("fifo", _parse_flag),
}
LINK_KEYS = tuple(_PARSERS)
"""The keys of a link in a scenario file."""


def parse_link(value: object, base: LinkSpec | None = None) -> LinkSpec:
    """A link from a mapping with the keys `LINK_KEYS`, or from what `parse_latency` reads.

    {latency: 10ms, loss: 1%, burst: {loss: 1%, length: 4}, duplicate: 1%, reorder: 1% or
    {probability: 1%, extra: 20ms}, corrupt: 1%, corrupt_mode: deliver, bandwidth: 10Mbit/s,
    queue: 64KiB, fifo: true}. A key that is left out is as in `base` (without a base: latency
    is required, the rest is off); burst, bandwidth and queue may be null for none, and a queue
    goes with its bandwidth. FieldErrors gathers all mistakes.
    """
    if isinstance(value, LinkSpec):
        return value
    fields = Fields({"latency": value} if _is_latency(value) else value, LINK_KEYS, "a link")
    if base is None and "latency" not in fields.value:
        fields.need("latency", parse_latency, 'a latency such as "10ms"')
    given: dict[str, Any] = {
        name: fields.attempt(key, parse)
        for key, (name, parse) in _PARSERS.items()
        if key in fields.value
    }
    return fields.build(lambda: _made(given, base))


def _is_latency(value: object) -> bool:
    form = isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in LATENCY_FORMS
    return form or isinstance(value, (str, Latency))


def _made(given: dict[str, Any], base: LinkSpec | None) -> LinkSpec:
    if "reorder" in given:
        given["reorder"], given["reorder_extra"] = given["reorder"]
    if "bandwidth_bps" in given and given["bandwidth_bps"] is None:
        given.setdefault("queue_bytes", None)
    return LinkSpec(**given) if base is None else replace(base, **given)
