"""How a scenario file describes a Raft cluster.

    parameters:
      election_timeout: [150ms, 300ms]   # or 150ms..300ms
      heartbeat: 50ms
      pre_vote: true
      machine: kv                        # kv, bank, lock or counter
      snapshot_every: 1000

Every option of :class:`~protocols.consensus.raft.options.RaftOptions` may be given (``x_us`` is
written ``x``), and ``machine``, ``voters``, ``learners``, ``priority``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from protocols.consensus.raft.options import RaftOptions
from protocols.machines import MACHINES
from protocols.values import MINUTE, MS, SECOND, US

__all__ = ["scenario_parameters"]

_OPTIONS = {field.name.removesuffix("_us"): field for field in dataclasses.fields(RaftOptions)}
_UNITS = {"us": US, "ms": MS, "s": SECOND, "m": MINUTE, "min": MINUTE, "h": 60 * MINUTE}
_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?(us|ms|s|min|m|h)")


def scenario_parameters(raw: Mapping[object, object]) -> dict[str, Any]:
    """The parameters of `RaftServer` but ``me`` and ``members``, which the cluster gives.

    ValueError, naming the parameter, for one that does not exist or a value that can't be.
    """
    given: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for key, value in raw.items():
        name = str(key)
        if name in _OPTIONS:
            field = _OPTIONS[name]
            options[field.name] = _option(name, field, value)
        else:
            given.update(_parameter(name, value))
    return {**given, "options": RaftOptions(**options)}


def _parameter(name: str, value: object) -> dict[str, Any]:
    if name == "machine":
        if not isinstance(value, str) or value not in MACHINES:
            raise ValueError(f"machine {value!r}: one of {', '.join(MACHINES)}")
        return {"initial": MACHINES[value]()}
    if name in ("voters", "learners"):
        if not isinstance(value, list | tuple) or not all(isinstance(n, str) for n in value):
            raise ValueError(f"{name} {value!r}: a list of nodes, such as [n1, n2, n3]")
        return {name: tuple(value)}
    if name == "priority":
        return {name: _whole(name, value)}
    known = ", ".join(("machine", "voters", "learners", "priority", *_OPTIONS))
    raise ValueError(f"no parameter {name}; there are {known}")


def _option(name: str, field: dataclasses.Field[Any], value: object) -> object:
    if name == "election_timeout":
        return _range(name, value)
    if field.name.endswith("_us"):
        return _duration(name, value)
    if isinstance(field.default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{name} {value!r}: true or false")
        return value
    return value if name == "reads" else _whole(name, value)


def _whole(name: str, value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{name} {value!r}: a whole number")
    return value


def _range(name: str, value: object) -> tuple[int, int]:
    ends = value.split("..") if isinstance(value, str) and ".." in value else value
    if not isinstance(ends, list | tuple):
        ends = [ends, ends]
    if len(ends) != 2:
        raise ValueError(f"{name} {value!r}: a range, such as [150ms, 300ms] or 150ms..300ms")
    return _duration(name, ends[0]), _duration(name, ends[1])


def _duration(name: str, value: object) -> int:
    """Whole µs from text such as "150ms"; 0 stands for itself."""
    if value == 0 and type(value) is int:
        return 0
    found = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{name} {value!r}: a duration, such as 150ms or 2s")
    us = float(found[1]) * _UNITS[found[2]]
    if us != int(us):
        raise ValueError(f"{name} {value!r}: finer than 1us")
    return int(us)
