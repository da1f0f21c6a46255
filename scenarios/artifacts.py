"""A run's folder: trace, result, scenario and plan, written whole or not at all.

runs/detectors-five-regions-seed1-fe30e716/
    trace.jsonl.gz   what happened; `splitbrain replay` needs nothing else
    result.json      verdicts and figures: what `run --json` prints
    scenario.yaml    the scenario with all overrides
    plan.yaml        every fault of the run, those that the nemesis drew too
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.fields import FieldError
from sim.trace import write_bytes

if TYPE_CHECKING:
    from scenarios.runner import RunResult
    from sim.trace_read import Trace

__all__ = [
    "RUNS",
    "Stored",
    "check_folder",
    "default_folder",
    "read_run",
    "trace_file",
    "write_run",
    "yaml_text",
]

RUNS = "SPLITBRAIN_RUNS"
"""The environment variable with the folder of the runs; without it, ``runs`` where one is."""

TRACE, RESULT, SCENARIO, PLAN = "trace.jsonl.gz", "result.json", "scenario.yaml", "plan.yaml"
_PLAIN = re.compile(r"[A-Za-z0-9]([\w./%+-]|[ ](?! |$))*", re.ASCII)
_FIGURES = (".png", ".svg", ".pdf")
Extra = Callable[[Path], Sequence[str]]
"""Writes more files into a folder; their names."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A run read back. ``result`` is None if only its trace is there."""

    path: Path
    trace: Trace
    result: Mapping[str, Any] | None = None


# -- where --------------------------------------------------------------------------------------


def default_folder(run: RunResult) -> Path:
    """``runs/<scenario>-seed<seed>-<first 8 digits of the digest>``."""
    digest = run.digest
    ending = "untraced" if digest is None else digest[:8]
    base = Path(os.environ.get(RUNS) or "runs")
    return base / f"{run.scenario.name}-seed{run.seed}-{ending}"


def check_folder(folder: Path) -> None:
    """FieldError unless a run may be written to ``folder``: it is new, empty, or a run's."""
    allowed = "a new or empty folder, or the folder of an earlier run"
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise FieldError(str(folder), allowed, hint="there is something else of that name")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RESULT).is_file():
        raise FieldError(str(folder), allowed, hint="it holds other files; name a folder in it")


# -- writing ------------------------------------------------------------------------------------


def write_run(run: RunResult, folder: Path, extra: Extra | None = None) -> dict[str, Any]:
    """Write ``run`` into ``folder``; the object of ``run --json``, which ``result.json`` holds.

    All is written into a temporary folder beside it, which then takes its name. What somebody put
    into the folder of an earlier run is kept. FieldError if ``folder`` holds something else.
    """
    check_folder(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        result = _fill(run, temporary, folder, extra)
        _keep_foreign(folder, temporary, run.digest)
        _take_name(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return result


def _fill(run: RunResult, at: Path, final: Path, extra: Extra | None) -> dict[str, Any]:
    from sim.plan import to_values

    recorder = run.cluster.recorder
    if recorder is not None:
        recorder.write(at / TRACE, run.end_us)
    write_bytes(at / SCENARIO, yaml_text(dict(run.scenario.raw)).encode())
    write_bytes(at / PLAN, yaml_text(to_values(run.plan)).encode())
    figures = [] if extra is None else list(extra(at))
    artifacts = {
        "folder": str(final),
        "trace": None if recorder is None else str(final / TRACE),
        "result": str(final / RESULT),
        "scenario": str(final / SCENARIO),
        "plan": str(final / PLAN),
        "figures": [str(final / name) for name in figures],
    }
    result = {**run.to_json(), "artifacts": artifacts}
    text = json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False)
    write_bytes(at / RESULT, f"{text}\n".encode())
    return result


def _keep_foreign(old: Path, new: Path, digest: str | None) -> None:
    """Copy what isn't ours from ``old``, and figures if they show this very run."""
    if not old.is_dir():
        return
    same = digest is not None and (read_result(old) or {}).get("digest") == digest
    for path in sorted(old.iterdir()):
        stale = path.name in (TRACE, RESULT, SCENARIO, PLAN) or (
            path.suffix in _FIGURES and not same
        )
        if stale or (new / path.name).exists():
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, new / path.name, symlinks=True)
        else:
            shutil.copy2(path, new / path.name, follow_symlinks=False)


def _take_name(temporary: Path, folder: Path) -> None:
    """Put ``temporary`` in the place of ``folder``, also if another process does so now."""
    old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    for _ in range(10):
        try:
            temporary.rename(folder)
            return
        except OSError:
            if not folder.is_dir():
                raise
        try:
            folder.rename(old)
        except FileNotFoundError:
            continue
        try:
            temporary.rename(folder)
            return
        except BaseException:
            if not folder.exists():
                old.rename(folder)
            raise
        finally:
            shutil.rmtree(old, ignore_errors=True)
    raise FieldError(str(folder), "a folder that nobody else writes to", hint="try again")


def yaml_text(data: Any) -> str:
    """Plain data as YAML 1.2, innermost collections on one line, keys in their order."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = _representer()
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.default_flow_style = None
    yaml.allow_unicode = True
    yaml.width = 98
    stream = StringIO()
    yaml.dump(data, stream)
    return stream.getvalue()


@cache
def _representer() -> type:
    from ruamel.yaml.representer import SafeRepresenter

    class Representer(SafeRepresenter):
        """Writes equal parts twice, without anchors, and puts texts in quotes."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    Representer.add_representer(str, _text)
    return Representer


def _text(representer: Any, text: str) -> Any:
    """A text in quotes, unless it is a plain word (that ruamel quotes if it means a number)."""
    style = None if _PLAIN.fullmatch(text) else "|" if "\n" in text else '"'
    return representer.represent_scalar("tag:yaml.org,2002:str", text, style=style)


# -- reading ------------------------------------------------------------------------------------


def trace_file(path: Path) -> Path:
    """The trace in a run's folder, or ``path`` itself; FieldError if there is none."""
    allowed = "the folder of a run (runs/...), or a trace (.jsonl, .jsonl.gz)"
    if path.is_dir():
        found = [p for name in (TRACE, "trace.jsonl") if (p := path / name).is_file()]
        if found:
            return found[0]
        untraced = (path / RESULT).is_file()
        hint = "it was run with --no-trace; run it again without" if untraced else _runs_in(path)
        raise FieldError(str(path), allowed, hint=hint or "there is no trace.jsonl.gz in it")
    if not path.exists():
        raise FieldError(str(path), allowed, hint=_near(path))
    return path


def _near(path: Path) -> str:
    """A hint for a path that isn't there: runs whose names are close."""
    from sim.fields import did_you_mean

    base = path.parent
    names = sorted(p.name for p in base.iterdir()) if base.is_dir() else []
    if close := did_you_mean(path.name, names):
        return close
    runs = Path(os.environ.get(RUNS) or "runs")
    return _runs_in(runs) or "there is no such file; `splitbrain run` makes one"


def _runs_in(folder: Path) -> str:
    found = sorted(p.parent.name for p in folder.glob(f"*/{TRACE}")) if folder.is_dir() else []
    return f"in {folder} there are: {', '.join(found[:5])}" if found else ""


def read_result(folder: Path) -> dict[str, Any] | None:
    """The ``result.json`` of a folder; None if there is none that can be read."""
    try:
        found = json.loads((folder / RESULT).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def read_run(path: Path) -> Stored:
    """The run in a folder or trace; FieldError or TraceError if it cannot be read."""
    from sim.trace_read import read_trace

    file = trace_file(path)
    return Stored(file, read_trace(file), read_result(file.parent))
