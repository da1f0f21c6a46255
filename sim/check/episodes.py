"""The raw observations of one pair, before any statistics: mistakes, good periods, detections.

See :mod:`sim.check.qos` for what is counted and what is censored.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TypeAlias

from sim.check.timeline import Change, PairRecord, Stretch, before

Piece: TypeAlias = tuple[int, int, int]  # (suspected_us, length_us, mistakes)


@dataclass(frozen=True, slots=True)
class Observations:
    """Samples (µs, in time order) of one pair, as :mod:`sim.check.qos` names them.

    ``pieces`` cut the observed time at every S-transition: each is ``(suspected_us, length_us,
    mistakes)``, and their lengths sum up to ``observed_us``. ``undetected_us`` are lower bounds
    of the detection times that were never seen, ``missed_downs`` counts those of them that ended
    because the target recovered.
    """

    observed_us: int
    suspected_us: int
    mistakes: int
    open_mistakes: int
    missed_downs: int
    t_d_us: tuple[int, ...]
    undetected_us: tuple[int, ...]
    t_mr_us: tuple[int, ...]
    t_m_us: tuple[int, ...]
    t_g_us: tuple[int, ...]
    t_r_us: tuple[int, ...]
    pieces: tuple[Piece, ...]


def measure(record: PairRecord) -> Observations:
    """Return the raw observations of one pair."""
    changes = record.changes()
    tally = _Tally()
    for stretch in record.stretches():
        _walk(tally, record, stretch, changes)
    detected, undetected, missed = _detections(record, changes)
    return Observations(
        observed_us=sum(length for _, length, _ in tally.pieces),
        suspected_us=sum(suspected for suspected, _, _ in tally.pieces),
        mistakes=sum(mistakes for _, _, mistakes in tally.pieces),
        open_mistakes=tally.open_mistakes,
        missed_downs=missed,
        t_d_us=tuple(detected),
        undetected_us=tuple(undetected),
        t_mr_us=tuple(tally.t_mr),
        t_m_us=tuple(tally.t_m),
        t_g_us=tuple(tally.t_g),
        t_r_us=tuple(tally.t_r),
        pieces=tuple(tally.pieces),
    )


def _walk(tally: _Tally, record: PairRecord, stretch: Stretch, changes: list[Change]) -> None:
    low, high = before(changes, stretch.start_us), before(changes, stretch.end_us)
    suspected = changes[low - 1].suspected if low else record.initially_suspected
    tally.begin(stretch, suspected)
    for change in changes[low:high]:
        if change.suspected:
            tally.suspect(change.time_us)
        else:
            tally.trust(change.time_us)
    tally.end(stretch.end_us)


class _Tally:
    """Counts the episodes of one stretch after the other."""

    def __init__(self) -> None:
        self.t_mr: list[int] = []
        self.t_m: list[int] = []
        self.t_g: list[int] = []
        self.t_r: list[int] = []
        self.pieces: list[Piece] = []
        self.open_mistakes = 0

    def begin(self, stretch: Stretch, suspected: bool) -> None:
        self.after = stretch.after
        self.piece_start, self.piece_suspected, self.piece_mistakes = stretch.start_us, 0, 0
        self.suspected_since = stretch.start_us if suspected else None
        self.last_s: int | None = None
        self.last_t: int | None = None

    def suspect(self, time_us: int) -> None:
        if self.last_s is not None:
            self.t_mr.append(time_us - self.last_s)
        if self.last_t is not None:
            self.t_g.append(time_us - self.last_t)
        self._close_piece(time_us)
        self.piece_mistakes = 1
        self.last_s = self.suspected_since = time_us

    def trust(self, time_us: int) -> None:
        assert self.suspected_since is not None, "a change to trusted follows a suspicion"
        lasted = time_us - self.suspected_since
        if self.last_s is not None:
            self.t_m.append(lasted)
        elif self.after == "target":
            self.t_r.append(lasted)
        self.piece_suspected += lasted
        self.suspected_since, self.last_t = None, time_us

    def end(self, time_us: int) -> None:
        if self.suspected_since is not None:
            self.piece_suspected += time_us - self.suspected_since
            self.open_mistakes += self.last_s is not None
        self._close_piece(time_us)

    def _close_piece(self, time_us: int) -> None:
        length = time_us - self.piece_start
        if length or self.piece_mistakes:
            self.pieces.append((self.piece_suspected, length, self.piece_mistakes))
        self.piece_start, self.piece_suspected, self.piece_mistakes = time_us, 0, 0


def _detections(record: PairRecord, changes: list[Change]) -> tuple[list[int], list[int], int]:
    """Return detection times, lower bounds of the unseen ones, and how many were missed."""
    detected, undetected, missed = [], [], 0
    for crash, recovery in record.target_downs():
        until = min(recovery, record.end_us, _monitor_up_until(record, crash))
        if not record.start_us <= crash < until:
            continue
        at = before(changes, until)
        if not (changes[at - 1].suspected if at else record.initially_suspected):
            undetected.append(until - crash)
            missed += until == recovery
        else:
            since = changes[at - 1].time_us if at else crash
            detected.append(max(0, since - crash))
    return detected, undetected, missed


def _monitor_up_until(record: PairRecord, time_us: int) -> int:
    """Return when the monitor next goes down after ``time_us``; ``time_us`` if it is down."""
    ends = [to for _, to in record.monitor_downs]
    at = bisect_right(ends, time_us)  # the first down that ends later
    if at == len(ends):
        return record.end_us
    return max(time_us, record.monitor_downs[at][0])
