"""Reading traffic from scenario files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from protocols.clients.policy import Backoff, ClientOptions
from scenarios.traffic_calls import CALLERS
from scenarios.traffic_keys import parse_distribution
from scenarios.traffic_spec import Traffic
from sim.fields import FieldError, Fields, parse_whole
from sim.latency import parse_latency
from sim.units import parse_duration, parse_probability

__all__ = ["TRAFFIC_KEYS", "parse_rate", "parse_traffic"]

_PER: Mapping[str, Fraction] = {
    "ms": Fraction(1_000),
    "s": Fraction(1),
    "m": Fraction(1, 60),
    "h": Fraction(1, 3_600),
}
_RATE = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*/\s*(ms|s|m|h)\s*")


def parse_rate(value: object) -> Fraction:
    """Calls per second from "50/s", "2.5/ms", "30/m" or "100/h"; above 0, FieldError otherwise."""
    if isinstance(value, Fraction):
        return value
    match = _RATE.fullmatch(value) if isinstance(value, str) else None
    allowed = 'a rate per ms, s, m or h, above 0, such as "50/s"'
    if match is None:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        raise FieldError(value, allowed, hint=f'add a unit: "{value}/s"' if number else "")
    rate = Fraction(match[1]) * _PER[match[2]]
    if rate == 0:
        raise FieldError(value, allowed)
    return rate


def _whole(least: int) -> Callable[[object], int]:
    return partial(parse_whole, least=least)


def _word(value: object) -> Any:
    if isinstance(value, str):
        return value  # Traffic says which words there are
    raise FieldError(value, "a word")


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise FieldError(value, "true or false")


def _mix(value: object) -> tuple[tuple[str, float], ...]:
    if not isinstance(value, Mapping) or not value:
        raise FieldError(value, "a mapping of shares such as {get: 50%, put: 50%}")
    fields = Fields(value, tuple(value), "a mix")
    shares = [(str(word), fields.attempt(word, parse_probability)) for word in value]
    fields.done()
    return tuple(shares)


_BACKOFF: Mapping[str, tuple[str, Callable[[object], Any]]] = {
    "base": ("base_us", parse_duration),
    "factor": ("factor", _whole(1)),
    "cap": ("cap_us", parse_duration),
    "jitter": ("jitter", parse_probability),
}


def _backoff(value: object) -> Any:
    return _options(value, _BACKOFF, "a backoff", Backoff)


_CLIENT: Mapping[str, tuple[str, Callable[[object], Any]]] = {
    "timeout": ("timeout_us", parse_duration),
    "deadline": ("deadline_us", lambda value: None if value is None else parse_duration(value)),
    "backoff": ("backoff", _backoff),
    "attempts": ("attempts_max", _whole(1)),
    "hedge": ("hedge_us", parse_duration),
    "queue": ("queue_limit", _whole(0)),
    "queue-time": ("queue_us", parse_duration),
    "network-duplicates": ("network_duplicates", _flag),
}


def _client(value: object) -> Any:
    return _options(value, _CLIENT, "a client", ClientOptions)


def _options(
    value: object,
    keys: Mapping[str, tuple[str, Callable[[object], Any]]],
    what: str,
    make: Callable[..., Any],
) -> Any:
    """``make`` of the options given; what it refuses becomes a FieldError."""
    if isinstance(value, (Backoff, ClientOptions)):
        return value
    fields = Fields(value, keys, what)
    found = {
        name: fields.attempt(key, read) for key, (name, read) in keys.items() if key in fields.value
    }
    fields.done()
    try:
        return make(**found)
    except ValueError as error:
        raise FieldError(value, f"options that fit together: {error}") from None


_KEYS: Mapping[str, tuple[str, Callable[[object], Any]]] = {
    "clients": ("clients", _whole(1)),
    "loop": ("loop", _word),
    "think": ("think", parse_latency),
    "rate": ("rate", parse_rate),
    "arrivals": ("arrivals", _word),
    "operations": ("operations", _whole(1)),
    "machine": ("machine", _word),
    "keys": ("keys", _whole(1)),
    "distribution": ("distribution", parse_distribution),
    "mix": ("mix", _mix),
    "unique": ("unique", _flag),
    "balance": ("balance", _whole(0)),
    "amount": ("amount", _whole(1)),
    "from": ("from_us", parse_duration),
    "until": ("until_us", parse_duration),
    "client": ("options", _client),
}
TRAFFIC_KEYS = tuple(_KEYS)
"""The keys of traffic in a scenario file."""
_ONLY_WITH = {
    **dict.fromkeys(("rate", "arrivals"), ("loop", "open")),
    "think": ("loop", "closed"),
    "unique": ("machine", "kv"),
    **dict.fromkeys(("balance", "amount"), ("machine", "bank")),
}
_WORDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "loop": ("closed", ("closed", "open")),
    "machine": ("kv", tuple(CALLERS)),
}


def parse_traffic(value: object) -> Traffic:
    """Traffic from a mapping with the keys `TRAFFIC_KEYS`; FieldErrors gathers all mistakes.

    {clients: 5, loop: closed, think: 10ms, machine: kv, keys: 10, distribution: zipf,
    mix: {get: 50%, put: 50%}, unique: true, operations: 100, from: 1s, until: 20s,
    client: {timeout: 100ms, deadline: 2s, hedge: 50ms, attempts: 5, queue: 100, queue-time: 1s,
    backoff: {base: 10ms, factor: 2, cap: 1s, jitter: 50%}, network-duplicates: false}};
    loop: open goes with rate: 50/s and arrivals: poisson or even; machine: bank with
    balance: 100 and amount: 5. A key that is left out is as in `Traffic`; deadline may be null.
    """
    if isinstance(value, Traffic):
        return value
    fields = Fields(value, _KEYS, "traffic")
    given = {
        name: fields.attempt(key, read)
        for key, (name, read) in _KEYS.items()
        if key in fields.value
    }
    fields.errors += _out_of_place(fields.value)
    return fields.build(lambda: Traffic(**given))


def _out_of_place(value: Mapping[object, object]) -> Iterator[FieldError]:
    """Keys that mean nothing beside the loop or the machine that is given."""
    for key, (other, needed) in _ONLY_WITH.items():
        usual, words = _WORDS[other]
        given = value.get(other, usual)
        if key in value and given in words and given != needed:
            yield FieldError(value[key], f"{key} only with {other}: {needed}", path=(key,))
