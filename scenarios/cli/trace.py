"""``splitbrain trace``: the events of a run, filtered; why something happened; clocks; ShiViz."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scenarios.cli.common import examples, json_option, note, say, say_json
from scenarios.cli.guard import Refusal

if TYPE_CHECKING:
    from sim.trace_query import Filter
    from sim.trace_read import Trace

__all__ = ["command"]

SCHEMA = "splitbrain.events/1"
_SCREENFUL = 200


@click.command(
    epilog=examples(
        "splitbrain trace RUN                                everything, a line per event",
        "splitbrain trace RUN node=n1,n2 kind=drop t=10s..12s",
        "splitbrain trace RUN type=Heartbeat 'text=no quorum'",
        "splitbrain trace RUN --why 217                      its cause, the cause of that, ...",
        "splitbrain trace RUN --cone 217 kind=message        what could have influenced it",
        "splitbrain trace RUN --shiviz run.log               for bestchai.bitbucket.io/shiviz",
    )
    + "\n\n\b\nKeys of filters: node src kind type field t id text; != for what does not fit.",
)
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.argument("terms", nargs=-1, metavar="[KEY=VALUE...]")
@click.option(
    "--why", type=click.IntRange(0), metavar="ID", help="The chain of causes of an event."
)
@click.option(
    "--cone",
    type=click.IntRange(0),
    metavar="ID",
    help="What could have influenced an event, and what it could have influenced.",
)
@click.option("--clocks", is_flag=True, help="The vector clock of each event.")
@click.option("--limit", type=click.IntRange(0), help="At most so many events; 0: all.")
@click.option(
    "--shiviz",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a log for ShiViz (- for stdout) instead.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    run: Path,
    terms: tuple[str, ...],
    why: int | None,
    cone: int | None,
    clocks: bool,
    limit: int | None,
    shiviz: Path | None,
    as_json: bool,
) -> None:
    """Look into the trace of a run, given by its folder or by its trace file.

    On a terminal at most 200 events are shown, unless --limit says otherwise.
    """
    from scenarios.artifacts import read_run

    if shiviz is not None and (as_json or terms or why is not None or cone is not None):
        ctx.fail("--shiviz writes the whole trace; leave out filters, --why, --cone and --json")
    if why is not None and cone is not None:
        ctx.fail("--why and --cone exclude each other; --cone shows more")
    chosen = parse_filter(terms)
    trace = read_run(run).trace
    if shiviz is not None:
        _write_shiviz(trace, shiviz)
        return
    events = list(chosen.select(_events(trace, why, cone)))
    most = _limit(limit, as_json)
    known = _clocks(trace) if clocks else None
    if as_json:
        say_json(_as_json(run, trace, events, events[:most], known))
        return
    _print(events[:most], known, why, cone)
    if len(events) > (most or len(events)):
        note(f"{most} of {len(events):,} events; --limit 0 shows all, KEY=VALUE chooses")
    elif not events:
        note(f"none of {len(trace.events):,} events fits")


def parse_filter(terms: Sequence[str]) -> Filter:
    """The filter of the words on the command line; FilterError for one that makes no sense.

    The shell has taken the quotes off ``text="no quorum"``: a word with spaces that is no list of
    terms is one term.
    """
    from sim.trace_query import Filter, FilterError

    words = []
    for word in terms:
        try:
            Filter.parse(word)
        except FilterError:
            word = _quoted(word)
        words.append(word)
    return Filter.parse(" ".join(words))


def _quoted(word: str) -> str:
    key, equals, value = word.partition("=")
    if equals and " " in value and '"' not in value and " " not in key:
        return f'{key}="{value}"'
    return word


def _events(trace: Trace, why: int | None, cone: int | None) -> Sequence[dict[str, Any]]:
    from sim import trace_query

    if why is None and cone is None:
        return trace.events
    try:
        if why is not None:
            return trace_query.why(trace, why)
        assert cone is not None
        past, future = trace_query.light_cone(trace, cone)
    except ValueError as error:
        raise Refusal(str(error)) from None
    return [trace.events[number] for number in (*past, cone, *future)]


def _limit(limit: int | None, as_json: bool) -> int | None:
    if limit is None:
        return _SCREENFUL if sys.stdout.isatty() and not as_json else None
    return limit or None


def _clocks(trace: Trace) -> Sequence[Mapping[str, int]]:
    from sim.trace_query import vector_clocks

    return vector_clocks(trace)


# -- output ---------------------------------------------------------------------------------------


def _print(
    events: Sequence[dict[str, Any]],
    clocks: Sequence[Mapping[str, int]] | None,
    why: int | None,
    cone: int | None,
) -> None:
    for line in _lines(events, why, cone):
        number, text = line
        if clocks is not None:
            entries = " ".join(f"{name}:{count}" for name, count in clocks[number].items())
            text = f"{text}  [{entries}]"
        say(text)


def _lines(
    events: Sequence[dict[str, Any]], why: int | None, cone: int | None
) -> Iterator[tuple[int, str]]:
    from sim.trace_text import format_event

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for event in events:
        number = event["id"]
        mark = ""
        if why is not None and number != why:
            mark = "  because "
        elif cone is not None:
            mark = "past    " if number < cone else "future  " if number > cone else "this    "
        yield number, mark + format_event(event, None if width is None else width - len(mark))


def _as_json(
    run: Path,
    trace: Trace,
    events: Sequence[dict[str, Any]],
    shown: Sequence[dict[str, Any]],
    clocks: Sequence[Mapping[str, int]] | None,
) -> dict[str, Any]:
    listed = [
        event if clocks is None else {**event, "clock": dict(clocks[event["id"]])}
        for event in shown
    ]
    return {
        "schema": SCHEMA,
        "run": str(run),
        "digest": trace.digest,
        "end_us": trace.end_us,
        "events_total": len(trace.events),
        "events_matching": len(events),
        "events": listed,
    }


def _write_shiviz(trace: Trace, path: Path) -> None:
    from sim.interop.shiviz import shiviz_text
    from sim.trace import write_bytes

    text = shiviz_text(trace)
    if str(path) == "-":
        click.echo(text, nl=False)
        return
    write_bytes(path, text.encode())
    note(f"{path}: {len(trace.events):,} events of {len(trace.nodes)} nodes, for ShiViz")
