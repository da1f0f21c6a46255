"""Human quantities at the edge: "150ms", "10Mbit/s", "64KiB", "1%" and back.

Inside, time is whole microseconds, size whole bytes, bandwidth whole bits per second. A text is
converted here, exactly (no float in between), and a quantity without a unit is refused, because
nobody can tell whether `timeout: 10` meant milliseconds or seconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from sim.fields import FieldError, FieldErrors, did_you_mean

__all__ = [
    "FieldError",
    "FieldErrors",
    "UnitError",
    "format_bandwidth",
    "format_duration",
    "format_size",
    "parse_bandwidth",
    "parse_duration",
    "parse_probability",
    "parse_size",
]


class UnitError(FieldError):
    """A quantity that cannot be read: what was given, what is allowed, what to try."""


class _Quantity(NamedTuple):
    """A kind of quantity: its units, each worth so many of the smallest, and how to say it."""

    units: Mapping[str, int]
    whole: str
    allowed: str
    example: str


_US, _MS, _S, _M, _H, _D = 1, 1_000, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
_DURATION = _Quantity(
    {"us": _US, "µs": _US, "μs": _US, "ms": _MS, "s": _S, "m": _M, "h": _H, "d": _D},
    "µs",
    'a duration with a unit (us, ms, s, m, h, d) such as "150ms", or 0',
    "ms",
)
_SIZE = _Quantity(
    {
        "B": 1,
        "kB": 10**3,
        "MB": 10**6,
        "GB": 10**9,
        "KiB": 2**10,
        "MiB": 2**20,
        "GiB": 2**30,
    },
    "bytes",
    'a size with a unit (B, kB, MB, GB, KiB, MiB, GiB) such as "64KiB", or 0',
    "B",
)
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BANDWIDTH = _Quantity(
    {f"{prefix}bit/s": times for prefix, times in _PREFIXES.items()}
    | {f"{prefix}bps": times for prefix, times in _PREFIXES.items()}
    | {f"{unit}/s": 8 * times for unit, times in _SIZE.units.items()},
    "bit/s",
    "a bandwidth with a unit (bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s, KiB/s, MiB/s) "
    'such as "10Mbit/s", above 0',
    "Mbit/s",
)
_WORDS = {  # what people write instead, in the singular
    **dict.fromkeys(("microsecond", "micro", "usec"), "us"),
    **dict.fromkeys(("millisecond", "milli", "msec"), "ms"),
    **dict.fromkeys(("second", "sec"), "s"),
    **dict.fromkeys(("minute", "min"), "m"),
    **dict.fromkeys(("hour", "hr"), "h"),
    "day": "d",
}
_NUMBER = r"[0-9]{1,18}(?:\.[0-9]{1,18})?"
_TEXT = re.compile(rf"\s*([+-]?{_NUMBER})\s*(.*?)\s*", re.DOTALL)
_SHARE = re.compile(rf"\s*({_NUMBER})\s*(%?)\s*")


def parse_duration(value: object, *, allow_negative: bool = False) -> int:
    """Whole microseconds of "150ms", "2s", "10us", "1.5s", "2m", "1h", "3d" or 0.

    Exact decimal arithmetic. UnitError for a number without a unit (other than 0), an unknown
    unit, a fraction of a microsecond, and a negative value unless `allow_negative`.
    """
    us = _whole(value, _DURATION)
    if us < 0 and not allow_negative:
        raise UnitError(value, _DURATION.allowed, hint="it must not be negative")
    return us


def parse_size(value: object) -> int:
    """Whole bytes of "1400B", "1.5kB" (1,500) or "64KiB" (65,536); UnitError otherwise."""
    size_bytes = _whole(value, _SIZE)
    if size_bytes < 0:
        raise UnitError(value, _SIZE.allowed, hint="it must not be negative")
    return size_bytes


def parse_bandwidth(value: object) -> int:
    """Whole bits per second of "10Mbit/s", "1.5 MB/s" (12 Mbit/s) or "9600bps"; above 0.

    B is a byte of 8 bits, k, M, G, T are powers of 1,000, Ki, Mi, Gi of 1,024. UnitError otherwise.
    """
    bps = _whole(value, _BANDWIDTH)
    if bps <= 0:
        raise UnitError(value, _BANDWIDTH.allowed, hint="for a dead link use loss: 100%")
    return bps


def parse_probability(value: object) -> float:
    """A probability in [0, 1] from a number (0.01) or a text ("1%"); UnitError otherwise."""
    share = _share(value)
    if share is None or not 0 <= share <= 1:
        allowed = 'a probability from 0 to 1 such as 0.01, or from "0%" to "100%"'
        raise UnitError(value, allowed, hint=_share_hint(share))
    return float(share)


def format_duration(us: int) -> str:
    """The shortest familiar text for so many microseconds; `parse_duration` gives back `us`.

    Whole days, hours and minutes are said as such, all else in s, ms or us: "2m", "1.5s", "150ms".
    """
    sign, size = ("-", -us) if us < 0 else ("", us)
    for unit, worth in (("d", _D), ("h", _H), ("m", _M)):
        if size and size % worth == 0:
            return f"{sign}{size // worth}{unit}"
    unit, digits = ("s", 6) if size >= _S or not size else ("ms", 3) if size >= _MS else ("us", 0)
    whole, rest = divmod(size, 10**digits)
    fraction = f".{rest:0{digits}d}".rstrip("0") if rest else ""
    return f"{sign}{whole}{fraction}{unit}"


def format_size(size_bytes: int) -> str:
    """The largest unit that holds `size_bytes` a whole number of times: "64KiB", "1400B"."""
    return _largest(size_bytes, _SIZE, ("GiB", "MiB", "KiB", "GB", "MB", "kB", "B"))


def format_bandwidth(bps: int) -> str:
    """The largest unit that holds `bps` a whole number of times: "10Mbit/s", "1500bit/s"."""
    names = ("Tbit/s", "Gbit/s", "Mbit/s", "kbit/s", "bit/s")
    return _largest(bps, _BANDWIDTH, names)


def _largest(amount: int, kind: _Quantity, names: tuple[str, ...]) -> str:
    fits = (name for name in names if amount and amount % kind.units[name] == 0)
    name = next(fits, names[-1])
    return f"{amount // kind.units[name]}{name}"


def _whole(value: object, kind: _Quantity) -> int:
    amount = _amount(value, kind)
    if amount.denominator != 1:
        rounded = max(1, round(amount))
        unit = min(kind.units, key=lambda name: kind.units[name])
        hint = f'it is not a whole number of {kind.whole}; try "{rounded}{unit}"'
        raise UnitError(value, kind.allowed, hint=hint)
    return int(amount)


def _amount(value: object, kind: _Quantity) -> Fraction:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _bare(value, str(value), kind)
    match = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise UnitError(value, kind.allowed)
    number, unit = match.groups()
    if not unit:
        return _bare(value, number, kind)
    if unit not in kind.units:
        raise UnitError(value, kind.allowed, hint=_unit_hint(unit, kind))
    return Fraction(number) * kind.units[unit]


def _bare(value: object, number: str, kind: _Quantity) -> Fraction:
    if float(number) == 0:
        return Fraction(0)
    raise UnitError(value, kind.allowed, hint=f'add a unit: "{number}{kind.example}"')


def _unit_hint(unit: str, kind: _Quantity) -> str:
    if unit in ("KB", "KB/s"):
        slash = unit[2:]
        return f"write kB{slash} for 1,000 bytes or KiB{slash} for 1,024"
    if unit == "ns":
        return "the smallest unit is us"
    word = unit.lower().removesuffix("s")
    unit_of = _WORDS.get(word) if kind is _DURATION else None
    guess = f"did you mean {unit_of!r}?" if unit_of else did_you_mean(unit, kind.units)
    return f"unknown unit {unit!r}" + (f"; {guess}" if guess else "")


def _share(value: object) -> Fraction | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        finite = float("-inf") < value < float("inf")
        return Fraction(value) if finite else None
    match = _SHARE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    number, percent = match.groups()
    return Fraction(number) / (100 if percent else 1)


def _share_hint(share: Fraction | None) -> str:
    return f'for {float(share):g} percent write "{float(share):g}%"' if share and share > 1 else ""
