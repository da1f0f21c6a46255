"""What the commands share: options, how a scenario is named, JSON, tables, colours."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from scenarios.model import Scenario

    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType  # not generic in older versions of click

__all__ = [
    "SCENARIO",
    "ScenarioName",
    "coloured",
    "examples",
    "json_option",
    "json_text",
    "load_scenario",
    "note",
    "quiet_option",
    "say",
    "say_json",
    "table",
]

F = TypeVar("F", bound=Callable[..., Any])
_COLOURS = {"ok": "green", "violated": "red", "unknown": "yellow", "unused": "yellow"}


class ScenarioName(_TextType):
    """A scenario: a name of the library, or a file. Shells complete both."""

    name = "scenario"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        from click.shell_completion import CompletionItem

        library = Path(__file__).parents[1] / "library"
        names = sorted(path.stem for path in library.glob("*.yaml"))
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


SCENARIO = ScenarioName()


def load_scenario(name: str, changes: Sequence[str] = ()) -> Scenario:
    """The scenario ``name`` with ``changes`` (``path=value``); ScenarioError with all mistakes.

    The module of a protocol may lie in the folder of the scenario's file.
    """
    from scenarios.loader import find, from_value, load, read_raw

    path = find(name)
    if str(path) == name and str(path.parent.resolve()) not in sys.path:
        sys.path.append(str(path.parent.resolve()))
    if not changes:
        return load(name)
    from scenarios.overrides import parse_assignment, with_overrides

    raw = with_overrides(read_raw(name), dict(parse_assignment(change) for change in changes))
    return from_value(raw, path)


# -- options ----------------------------------------------------------------------------------


def json_option(function: F) -> F:
    """``--json``: one JSON value on stdout, and nothing else there."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")(function)


def quiet_option(function: F) -> F:
    """``--quiet``: no progress and no remarks."""
    return click.option("-q", "--quiet", is_flag=True, help="No progress, no remarks.")(function)


def examples(*lines: str) -> str:
    r"""The epilog of a command: its examples, one a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


# -- output -----------------------------------------------------------------------------------


def say(text: str = "") -> None:
    """Data, on stdout."""
    click.echo(text)


def note(text: str) -> None:
    """A remark, on stderr."""
    click.echo(text, err=True)


def json_text(data: Any) -> str:
    """``data`` as readable JSON; the same data give the same text."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def say_json(data: Any) -> None:
    """``data`` as JSON on stdout, escaped where the output's encoding needs it."""
    text = json_text(data)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeError:
        text = json.dumps(data, indent=2, allow_nan=False)
    click.echo(text)


def coloured(word: str, text: str | None = None) -> str:
    """``text`` (or the word) in the colour of a verdict; click drops it where none is wanted."""
    return click.style(word if text is None else text, fg=_COLOURS.get(word))


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()
) -> list[str]:
    """Lines of aligned columns, two spaces apart; the columns in ``right`` are flush right.

    On a terminal the last column is wrapped to what room there is.
    """
    body = [list(row) for row in rows]
    widths = [max(map(_width, column)) for column in zip(header, *body, strict=True)]
    lines = [click.style(line, bold=True) for line in _row(header, widths, right)]
    return lines + [line for row in body for line in _row(row, widths, right)]


def _row(cells: Sequence[str], widths: Sequence[int], right: Collection[int]) -> list[str]:
    *first, last = cells
    start = "  " + "".join(
        f"{_padded(cell, width, left=index in right)}  "
        for index, (cell, width) in enumerate(zip(first, widths, strict=False))
    )
    if len(cells) - 1 in right:
        return [(start + _padded(last, widths[-1], left=True)).rstrip()]
    begun, *rest = _wrapped(last, _width(start)) or [""]
    return [(start + begun).rstrip(), *(" " * _width(start) + line for line in rest)]


def _wrapped(text: str, indent: int) -> list[str]:
    room = shutil.get_terminal_size().columns - indent
    if room < 20 or _width(text) <= room or not sys.stdout.isatty():
        return [text]
    return textwrap.wrap(text, room)


def _padded(text: str, width: int, *, left: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if left else text + space


def _width(text: str) -> int:
    return len(click.unstyle(text))
