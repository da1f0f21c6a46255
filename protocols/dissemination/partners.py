"""Choosing whom to talk to: some distinct others, uniformly, from a tuple that all nodes share."""

from __future__ import annotations

from protocols.api import Context, NodeId

FEW = 64
"""Up to so many members the others are listed, so that an explorer tries each of them once."""


def partners(
    ctx: Context, me: NodeId, members: tuple[NodeId, ...], count: int
) -> tuple[NodeId, ...]:
    """``count`` distinct members other than ``me``, uniform; all others if there are no more.

    ``members`` may hold ``me``: one tuple serves all nodes, and with many members none of them
    copies it. There a draw that hits ``me``, or a partner chosen already, is drawn again.
    """
    if len(members) <= max(FEW, 2 * count):
        return _from_few(ctx, tuple(one for one in members if one != me), count)
    chosen: tuple[NodeId, ...] = ()
    while len(chosen) < count:
        one = ctx.choose(members)
        if one != me and one not in chosen:
            chosen = (*chosen, one)
    return chosen


def _from_few(ctx: Context, others: tuple[NodeId, ...], count: int) -> tuple[NodeId, ...]:
    chosen: tuple[NodeId, ...] = ()
    while others and len(chosen) < count:
        one = ctx.choose(others)
        chosen = (*chosen, one)
        others = tuple(other for other in others if other != one)
    return chosen
