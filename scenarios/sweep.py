"""Sweeps: one scenario under every combination of some settings, each with the same seeds.

    sweep = plan_sweep("detectors-five-regions", [("link.loss", ("0%", "1%", "5%"))], range(1, 21))
    rows = run_sweep(sweep, workers=4)

A row is plain data and depends on scenario, settings, seed and code only, so that any number of
workers gives the same rows. Rows of a sweep with a folder are on disk as soon as they are there
(:mod:`scenarios.sweep_store`); a sweep that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from scenarios._version import __version__

__all__ = ["Job", "Row", "Sweep", "SweepError", "parse_vary", "plan_sweep", "run_job", "run_sweep"]

Row = dict[str, Any]
"""``job``, ``settings``, ``seed``, ``verdict``, ``why``, ``metrics``: plain data, one run."""
Vary = tuple[str, tuple[Any, ...]]
"""The dotted path of a setting, and the values it takes."""
Progress = Callable[[int, int], None]
"""Called with how many runs are done, and how many there are."""

MOST_RUNS = 100_000


class SweepError(ValueError):
    """A sweep that makes no sense: what was given, what is allowed, what to try."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run: its number in the sweep, what differs from the scenario, the seed."""

    index: int
    settings: Mapping[str, Any]
    seed: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """A scenario as plain data (and the file it came from), what to vary, and the seeds."""

    name: str
    raw: Mapping[str, Any]
    vary: tuple[Vary, ...]
    seeds: tuple[int, ...]
    source: Path | None = None

    def jobs(self) -> Iterator[Job]:
        """Every combination of settings with every seed; the last setting varies quickest."""
        index = 0
        for values in product(*(values for _, values in self.vary)):
            settings = dict(zip((path for path, _ in self.vary), values, strict=True))
            for seed in self.seeds:
                yield Job(index, settings, seed)
                index += 1

    def __len__(self) -> int:
        runs = len(self.seeds)
        for _, values in self.vary:
            runs *= len(values)
        return runs

    @property
    def digest(self) -> str:
        """What rows of this sweep depend on, in hex: scenario, settings, seeds and code."""
        from scenarios.code import code_digest

        content = [__version__, self.raw, self.vary, self.seeds, code_digest(self.raw["protocol"])]
        text = json.dumps(content, sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


# -- what to run ------------------------------------------------------------------------------


def parse_vary(text: str) -> Vary:
    """``link.loss=0%,1%,5%`` as path and values; the values as in a scenario file (YAML)."""
    from scenarios.yaml_read import UnreadableError, read_yaml

    path, equals, values = text.partition("=")
    if not (path.strip() and equals and values.strip()):
        raise SweepError(f"--vary {text}: write SETTING=VALUE,VALUE, such as link.loss=0%,1%,5%")
    try:
        document = read_yaml(f"[{values}]".encode())
    except UnreadableError as error:
        raise SweepError(f"--vary {text}: the values cannot be read: {error.error}") from None
    if document.flaws:
        raise SweepError(f"--vary {text}: {document.flaws[0].error}")
    return path.strip(), tuple(document.value)


def plan_sweep(name: str | Path, vary: Sequence[Vary], seeds: Iterable[int] = ()) -> Sweep:
    """The sweep over the scenario ``name`` (of the library, or a file); no seeds: the scenario's.

    Every combination of settings is read, so that a mistake comes to light before anything runs:
    ScenarioError for a scenario that isn't valid, SweepError for a sweep that makes no sense.
    """
    from scenarios.loader import find, load

    scenario = load(name)
    chosen = tuple(dict.fromkeys(seeds)) or scenario.seeds
    sweep = Sweep(scenario.name, scenario.raw, tuple(vary), chosen, find(name))
    _check(sweep)
    for job in sweep.jobs():
        if job.seed == chosen[0]:
            _scenario(sweep, job)
    return sweep


def _check(sweep: Sweep) -> None:
    paths = [path for path, _ in sweep.vary]
    for path, values in sweep.vary:
        if not values:
            raise SweepError(f"{path}: give at least one value to vary it over")
        if paths.count(path) > 1:
            raise SweepError(f"{path} is varied twice; give all its values in one list")
        if len(values) != len({json.dumps(value, sort_keys=True) for value in values}):
            raise SweepError(f"{path}: the same value is given twice")
    if len(sweep) > MOST_RUNS:
        raise SweepError(f"{len(sweep)} runs; at most {MOST_RUNS}: vary less, or take fewer seeds")


def _scenario(sweep: Sweep, job: Job) -> Any:
    from scenarios.loader import from_value
    from scenarios.overrides import with_overrides

    return from_value(with_overrides(sweep.raw, job.settings), sweep.source)


# -- running ----------------------------------------------------------------------------------


def run_job(sweep: Sweep, job: Job) -> Row:
    """Run one job, without a trace. A protocol that raises gives a row with verdict "error"."""
    from scenarios.metrics import by_itself
    from scenarios.runner import run_scenario

    row: Row = {"job": job.index, "settings": dict(job.settings), "seed": job.seed}
    try:
        run = run_scenario(by_itself(_scenario(sweep, job)), job.seed, trace=False)
    except Exception as error:  # a bug of one setting must not lose the runs of the others
        return {**row, "verdict": "error", "why": f"{type(error).__name__}: {error}", "metrics": {}}
    found = run.verdict
    return {**row, "verdict": found.verdict, "why": found.why, "metrics": run.metrics}


def run_sweep(
    sweep: Sweep,
    *,
    workers: int = 1,
    done: Iterable[Row] = (),
    keep: Callable[[Row], None] | None = None,
    progress: Progress | None = None,
) -> list[Row]:
    """All rows, in the order of the jobs. ``done``: rows that need not be run again.

    ``keep`` is given each new row as soon as it is there. KeyboardInterrupt stops the workers and
    goes on to the caller, who has been given all that was done.
    """
    if workers < 1:
        raise SweepError(f"{workers} workers; at least 1 is needed")
    found = {row["job"]: row for row in done}
    left = [job for job in sweep.jobs() if job.index not in found]
    for row in _rows(sweep, left, min(workers, len(left))):
        found[row["job"]] = row
        if keep is not None:
            keep(row)
        if progress is not None:
            progress(len(found), len(sweep))
    return [found[index] for index in sorted(found)]


def _rows(sweep: Sweep, jobs: Sequence[Job], workers: int) -> Iterator[Row]:
    if workers > 1:
        yield from _parallel(sweep, jobs, workers)
        return
    for job in jobs:
        yield run_job(sweep, job)


def _parallel(sweep: Sweep, jobs: Sequence[Job], workers: int) -> Iterator[Row]:
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_die_quietly
    )
    try:
        waiting: list[Future[Row]] = [pool.submit(run_job, sweep, job) for job in jobs]
        for future in as_completed(waiting):
            yield future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()
        raise
    pool.shutdown()


def _die_quietly() -> None:
    """In a worker: Ctrl-C ends it without a traceback; the main process tells."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
