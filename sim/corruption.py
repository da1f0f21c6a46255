"""A message damaged in flight: one field changed, for the study of Byzantine behaviour."""

from __future__ import annotations

import dataclasses
from enum import Enum
from random import Random
from typing import Any, cast

from protocols.api import Inner


def corrupted(message: object, rng: Random) -> object:
    """A copy of ``message`` with one field of a simple type changed.

    A number has one of its low 16 bits flipped, a truth value is negated, a text or tuple loses
    its last item, an Enum gets another member. A message without such a field comes back as is.
    """
    if isinstance(message, Inner):  # the envelope of an inner process arrives at its own
        return Inner(message.part, corrupted(message.value, rng))
    fields = [f.name for f in dataclasses.fields(cast(Any, message))]
    rng.shuffle(fields)
    for name in fields:
        value = getattr(message, name)
        damaged = _damaged(value, rng)
        if damaged != value:
            return dataclasses.replace(cast(Any, message), **{name: damaged})
    return message


def _damaged(value: object, rng: Random) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, Enum):
        others = [member for member in type(value) if member is not value]
        return rng.choice(others) if others else value
    if isinstance(value, int):
        return value ^ (1 << rng.randrange(16))
    if isinstance(value, str | bytes | tuple):
        return value[:-1]
    return value
