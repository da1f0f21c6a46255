"""Estimators by name, with plain parameters: what a scenario file can say.

``estimator("phi", threshold=8, form="logistic")`` makes a fresh one; ``detectors({"heartbeat":
{"kind": "fixed", "timeout_us": 3_000_000}, "phi": {"kind": "akka"}})`` makes the pairs that
:class:`~protocols.detectors.heartbeat.PushHeartbeat` hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from protocols.detectors import phi_presets
from protocols.detectors.bertier import Bertier
from protocols.detectors.chen import NfdE, NfdS
from protocols.detectors.estimator import Estimator
from protocols.detectors.phi_accrual import PhiAccrual, PhiOptions
from protocols.detectors.timeouts import Deadline, FixedTimeout
from protocols.detectors.window import Window

__all__ = ["KINDS", "detectors", "estimator"]

_REQUIRED = object()
_FRACTIONAL = ("threshold", "gamma", "beta", "phi")
_WORDS = ("form", "suspected_gap", "undefined")
_MAY_BE_NONE = (
    "first_heartbeat_deviation_us",
    "first_heartbeat_estimate_us",
    "first_margin_us",
    "max_interval_us",
)
_PHI: dict[str, object] = {
    name: field.default for name, field in PhiOptions.__dataclass_fields__.items()
}


def _phi(**params: object) -> PhiAccrual:
    return PhiAccrual(PhiOptions(**params))  # type: ignore[arg-type]


def _with_window(make: Callable[..., Estimator], size: int) -> Callable[..., Estimator]:
    def build(*, window: int = size, **params: object) -> Estimator:
        return make(window=Window(window), **params)

    return build


_NFD_E = {"eta_us": _REQUIRED, "alpha_us": _REQUIRED, "window": 32}
_BERTIER = {
    "eta_us": _REQUIRED,
    "gamma": 0.1,
    "beta": 1.0,
    "phi": 4.0,
    "first_margin_us": None,
    "window": 1000,
}

KINDS: dict[str, tuple[Callable[..., Estimator], Mapping[str, object]]] = {
    "fixed": (FixedTimeout, {"timeout_us": _REQUIRED}),
    "deadline": (Deadline, {"interval_us": 3_000_000, "acceptable_pause_us": 10_000_000}),
    "phi": (_phi, _PHI),
    "akka": (phi_presets.akka, _PHI),
    "pekko-remote-watch": (phi_presets.pekko_remote_watch, _PHI),
    "cassandra": (phi_presets.cassandra, _PHI),
    "hazelcast": (phi_presets.hazelcast, _PHI),
    "chitchat": (phi_presets.chitchat, _PHI),
    "greptime": (phi_presets.greptime, _PHI),
    "nfd-s": (NfdS, {"eta_us": _REQUIRED, "delta_us": _REQUIRED, "origin_us": 0}),
    "nfd-e": (_with_window(NfdE, 32), _NFD_E),
    "bertier": (_with_window(Bertier, 1000), _BERTIER),
}
"""Name → how to make it, and the parameters it takes."""


def estimator(name: str, **params: object) -> Estimator:
    """Return a fresh estimator of the kind ``name``.

    ValueError for an unknown kind or a value out of range; TypeError for a parameter that the
    kind doesn't take, that is missing, or that isn't a number where one is needed.
    """
    if name not in KINDS:
        raise ValueError(f"no detector is called {name!r}{_hint(name, KINDS)}; {_all(KINDS)}")
    make, takes = KINDS[name]
    for given in params:
        if given not in takes:
            raise TypeError(
                f"the detector {name!r} has no parameter {given!r}{_hint(given, takes)}; "
                f"it takes: {', '.join(takes)}"
            )
    missing = [p for p, default in takes.items() if default is _REQUIRED and p not in params]
    if missing:
        raise TypeError(f"the detector {name!r} needs {', '.join(missing)}, in microseconds")
    for given, value in params.items():
        _check_kind_of_value(name, given, value)
    return make(**params)


def _check_kind_of_value(name: str, parameter: str, value: object) -> None:
    """Whole µs and counts must be ints: a float or "2s" would come to light much later."""
    if value is None and parameter in _MAY_BE_NONE:
        return
    allowed: tuple[type, ...] = (int,)
    what = "whole microseconds" if parameter.endswith("_us") else "a whole number"
    if parameter in _FRACTIONAL:
        allowed, what = (int, float), "a number"
    elif parameter in _WORDS:
        allowed, what = (str,), "a word"
    if not isinstance(value, allowed) or isinstance(value, bool):
        raise TypeError(f"the detector {name!r}: {parameter} = {value!r}: give {what}")


def detectors(
    described: Mapping[str, Mapping[str, object]],
) -> tuple[tuple[str, Estimator], ...]:
    """Return (name, fresh estimator) pairs from ``{name: {"kind": kind, **parameters}}``.

    The kind may be left out if the name is one. Errors as for :func:`estimator`.
    """
    made = []
    for name, options in described.items():
        params = dict(options)
        kind = params.pop("kind", name)
        made.append((name, estimator(str(kind), **params)))
    return tuple(made)


def _hint(word: str, known: Mapping[str, object]) -> str:
    near = get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _all(known: Mapping[str, object]) -> str:
    return f"choose one of {', '.join(known)}"
