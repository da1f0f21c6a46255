"""``splitbrain check``: is a recorded history of client operations linearizable?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scenarios.cli.common import coloured, examples, json_option, note, say, say_json
from scenarios.cli.guard import Refusal, worst

if TYPE_CHECKING:
    from sim.check.linearizable import Analysis, Budget, Failure
    from sim.history import History, Operation

__all__ = ["command"]

SCHEMA = "splitbrain.check/1"
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)(ms|s|min)", re.ASCII)
_STEPS = re.compile(r"\d{1,3}(?:_?\d{3})*|\d+", re.ASCII)
_WORTH = {"ms": 0.001, "s": 1.0, "min": 60.0}


@click.command(
    epilog=examples(
        "splitbrain check history.jsonl",
        "splitbrain check jepsen.log --model cas-register",
        "splitbrain check store/history.edn --keyed --budget 30s --json",
    )
    + "\n\n\b\nModels: register cas-register kv append queue set lock counter.",
)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--model", metavar="NAME", help="The data type; if the file doesn't tell, needed.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["jsonl", "edn", "log"]),
    help="By default told from the content.",
)
@click.option("--keyed", is_flag=True, help="Values are [key value], as in independent tests.")
@click.option(
    "--budget",
    metavar="STEPS|TIME",
    help="Steps of the search (2000000), or a time: 500ms, 30s, 2min.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    file: Path,
    model: str | None,
    format_: Any,
    keyed: bool,
    budget: str | None,
    as_json: bool,
) -> None:
    """Judge whether a history of operations is linearizable.

    FILE is JSON Lines of ours, EDN of Jepsen or Porcupine, or the log of a Jepsen test, plain or
    gzip. Exits with 0 if it is, 1 if it isn't, 4 if the budget was spent before that was known.
    """
    from sim.check.linearizable import ModelError, analyse
    from sim.history import HistoryError, read_history

    limit = parse_budget(budget)
    try:
        history = read_history(file, format=format_, keyed=keyed)
        analysis = analyse(history, model, limit)
    except HistoryError as error:
        raise Refusal(str(error)) from None
    except ModelError as error:
        raise Refusal(f"{_printable(file)}: {error} (--model NAME)") from None
    if as_json:
        say_json(_as_json(file, history, analysis))
    else:
        _print(history, analysis)
    ctx.exit(worst([analysis.result.verdict]))


def parse_budget(text: str | None) -> Budget:
    """The budget of the command line; Refusal for a text that is none."""
    from sim.check.linearizable import Budget

    if text is None:
        return Budget()
    timed = _SECONDS.fullmatch(text)
    try:
        if timed is not None:
            return Budget(2**62, float(timed.group(1)) * _WORTH[timed.group(2)])
        if _STEPS.fullmatch(text) and len(text) <= 18:
            return Budget(int(text))
    except ValueError as error:
        raise Refusal(f"--budget {text}: {error}") from None
    allowed = "a number of steps (2000000) or a time (500ms, 30s, 2min)"
    raise Refusal(f"--budget: given {text!r}, allowed: {allowed}")


def _printable(path: Path) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(path))


# -- output -----------------------------------------------------------------------------------


def _print(history: History, analysis: Analysis) -> None:
    result = analysis.result
    words = {"ok": "OK", "violated": "VIOLATED", "unknown": "UNKNOWN"}
    say(f"{coloured(result.verdict, words[result.verdict])}: {result.why}")
    returned = sum(part.returned for part in analysis.parts)
    objects = len(analysis.parts)
    say(
        f"  {len(history):,} operations, {returned:,} returned, {objects:,} "
        f"object{'' if objects == 1 else 's'}, {analysis.steps:,} steps"
    )
    if analysis.failure is not None:
        say()
        say(analysis.failure.text(history.unit))
    elif result.verdict == "unknown" and analysis.parts:
        note("  a larger --budget may decide it")


def _as_json(file: Path, history: History, analysis: Analysis) -> dict[str, Any]:
    failure = analysis.failure
    return {
        "schema": SCHEMA,
        "file": _printable(file),
        "model": analysis.model,
        "unit": history.unit,
        "operations": len(history),
        "result": analysis.result.to_json(),
        "steps": analysis.steps,
        "objects": [
            {
                "key": _value(part.key),
                "operations": part.operations,
                "returned": part.returned,
                "verdict": part.verdict,
                "ordered": part.ordered,
                "steps": part.steps,
                "method": part.method,
            }
            for part in analysis.parts
        ],
        "failure": None if failure is None else _failure(failure),
    }


def _failure(failure: Failure) -> dict[str, Any]:
    prefix = failure.prefix
    return {
        "key": _value(failure.key),
        "operation": _operation(failure.operation),
        "prefix": None if prefix is None else [_operation(each) for each in prefix],
        "state": _value(failure.state),
        "possible": [_value(answer) for answer in failure.possible],
        "complete": failure.complete,
        "certain": failure.certain,
        "concurrent": [_operation(each) for each in failure.concurrent],
    }


def _operation(operation: Operation) -> dict[str, Any]:
    names = ("id", "client", "start", "end", "kind", "op", "line")
    told = {name: getattr(operation, name) for name in names}
    values = {name: _value(getattr(operation, name)) for name in ("key", "value", "result")}
    return {**told, **values}


def _value(value: Any) -> Any:
    """A value as JSON: what JSON has no word for as a text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else repr(value)
    if isinstance(value, tuple | list):
        return [_value(item) for item in value]
    if isinstance(value, frozenset):
        return [_value(item) for item in sorted(value, key=repr)]
    return repr(value)
