"""Who suspected whom when, and how strongly: what detectors told, sorted for drawing.

Detectors are known by the names of what they observe: ``Suspect``, ``Trust``, ``SuspicionLevel``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scenarios.plots.view import RunView, Span, spans

__all__ = ["Key", "Level", "choose_pairs", "counts", "levels", "pair_name", "suspected"]

Key = tuple[str, str, str]
"""Detector, monitor, target."""
Level = tuple[int, float]
"""Time µs and level, on the detector's own scale."""


def pair_name(pair: tuple[str, str]) -> str:
    """``n1 → n2``: n1 monitors n2."""
    return f"{pair[0]} → {pair[1]}"


def suspected(run: RunView) -> dict[Key, list[Span]]:
    """When each detector's output was "suspected". A monitor that goes down forgets."""
    told: dict[Key, list[tuple[int, str]]] = {}
    for t, monitor, kind, seen in run.of_kind("Suspect", "Trust"):
        told.setdefault((seen["detector"], monitor, seen["peer"]), []).append((t, kind))
    crashes: dict[str, list[tuple[int, str]]] = {}
    for t, node, what in run.lifecycle:
        if what in ("crash", "leave"):
            crashes.setdefault(node, []).append((t, "Trust"))
    return {
        key: spans(_merged(changes, crashes.get(key[1], [])), ("Suspect",), ("Trust",), run.end_us)
        for key, changes in told.items()
    }


def _merged(a: list[tuple[int, str]], b: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return sorted([*a, *b], key=lambda change: change[0]) if b else a


def levels(run: RunView) -> dict[Key, list[Level]]:
    """The sampled levels of suspicion."""
    found: dict[Key, list[Level]] = {}
    for t, monitor, _, seen in run.of_kind("SuspicionLevel"):
        key = (seen["detector"], monitor, seen["peer"])
        found.setdefault(key, []).append((t, seen["milli"] / 1000))
    return found


def choose_pairs(
    run: RunView, found: Mapping[Key, Iterable[object]], most: int = 3
) -> list[tuple[str, str]]:
    """The pairs most worth looking at: one per target, crashed targets first, then doubted ones."""
    doubts = suspected(run)
    pairs: dict[tuple[str, str], int] = {}
    for key in (*found, *doubts):
        pairs.setdefault(key[1:], 0)
    for key, times in doubts.items():
        pairs[key[1:]] += len(times)
    downs = {node: bool(run.downs(node)) for node in run.nodes}

    def rank(pair: tuple[str, str]) -> tuple[bool, bool, int]:
        monitor, target = pair
        return (downs.get(monitor, False), not downs.get(target, False), -pairs[pair])

    chosen: dict[str, tuple[str, str]] = {}
    for pair in sorted(pairs, key=rank):
        chosen.setdefault(pair[1], pair)
    return list(chosen.values())[:most]


def counts(run: RunView, detector: str, *, of_dead: bool) -> list[tuple[int, int]]:
    """How many pairs are suspected over time, the target being down (``of_dead``) or up."""
    steps: dict[int, int] = {0: 0}
    for (name, _, target), times in suspected(run).items():
        if name == detector:
            for span in times:
                for start, end in _split(span, run.downs(target), inside=of_dead):
                    steps[start] = steps.get(start, 0) + 1
                    steps[end] = steps.get(end, 0) - 1
    total, curve = 0, []
    for t in sorted(steps):
        total += steps[t]
        curve.append((t, total))
    if curve[-1][0] == run.end_us and len(curve) > 1:  # what lasts to the end doesn't end there
        curve[-1] = (run.end_us, curve[-2][1])
    return curve


def _split(span: Span, downs: list[Span], *, inside: bool) -> list[Span]:
    """The parts of ``span`` in the ``downs``, or outside them."""
    parts, at = [], span[0]
    for down in downs:
        start, end = max(at, down[0]), min(span[1], down[1])
        if start < end:
            parts.append((start, end) if inside else (at, start))
            at = end
    if not inside:
        parts.append((at, span[1]))
    return [part for part in parts if part[0] < part[1]]
