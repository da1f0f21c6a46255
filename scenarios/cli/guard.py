"""From whatever ends a command to its exit code, with a message that helps and no traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable
from typing import IO, Any

import click

__all__ = [
    "BROKEN_PIPE",
    "INCONCLUSIVE",
    "INTERNAL",
    "INTERRUPTED",
    "USAGE",
    "Refusal",
    "RunStopped",
    "exit_code_of",
    "worst",
]

USAGE, INTERNAL, INCONCLUSIVE = 2, 3, 4
INTERRUPTED, BROKEN_PIPE = 130, 141
"""By the shells' convention, 128 and the number of the signal."""


class Refusal(click.ClickException):
    """What was asked for cannot be done: says what was given, what is allowed, what to try."""

    exit_code = USAGE

    def show(self, file: IO[Any] | None = None) -> None:
        """The message alone, on stderr."""
        click.echo(f"splitbrain: {self.format_message()}", err=True)


class RunStopped(Exception):
    """A run ended in an exception, its ``__cause__``; ``what`` run, and how to do it again."""

    def __init__(self, what: str, again: str) -> None:
        self.what, self.again = what, again
        super().__init__(what)


def worst(verdicts: list[str]) -> int:
    """The exit code of several verdicts: a violation beats what is unknown, which beats ok."""
    return 1 if "violated" in verdicts else INCONCLUSIVE if "unknown" in verdicts else 0


def exit_code_of(run: Callable[[], None], traceback_wanted: Callable[[], bool]) -> int:
    """Call ``run``; the exit code, what went wrong having been told on stderr."""
    _print_anything()
    shown = contextlib.suppress(OSError)  # stderr may be closed: the exit code must still be right
    try:
        try:
            run()
            sys.stdout.flush()
        except click.exceptions.Exit as end:
            sys.stdout.flush()
            return end.exit_code
        return 0
    except BrokenPipeError:
        _close_quietly()
        return BROKEN_PIPE
    except (KeyboardInterrupt, EOFError, click.Abort):
        with shown:
            click.echo("\nsplitbrain: interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        with shown:
            error.show()
        return max(error.exit_code, USAGE)
    except Exception as error:
        with shown:
            return _explain(error, show=traceback_wanted())
        return INTERNAL


def _print_anything() -> None:
    """No character is a reason to fail, whatever the terminal's encoding."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _close_quietly() -> None:
    """Whoever read our output has gone: let nothing more be said, not even when Python ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())


def _explain(error: Exception, *, show: bool) -> int:
    if isinstance(error, RunStopped):
        return _stopped(error, show=show)
    if _is_about_input(error):
        text = str(error)
        click.echo(text if _has_place(text) else f"splitbrain: {text}", err=True)
        return USAGE
    if isinstance(error, OSError) and error.errno is not None:
        what = f"cannot use {error.filename}" if error.filename else "input or output failed"
        click.echo(f"splitbrain: {what}: {os.strerror(error.errno)}", err=True)
        return USAGE if error.filename or error.errno == errno.ENOSPC else INTERNAL
    return _internal(error, show=show)


def _is_about_input(error: Exception) -> bool:
    """Mistakes in scenarios, traces and requests, and what isn't installed; all tell the cure."""
    from scenarios.plots.errors import MissingExtra, PlotError
    from scenarios.problems import ScenarioError
    from scenarios.sweep import SweepError
    from sim.fields import FieldError
    from sim.trace_check import TraceError

    kinds = (MissingExtra, PlotError, ScenarioError, SweepError, FieldError, TraceError)
    return isinstance(error, kinds)


def _has_place(text: str) -> bool:
    """Whether the message begins with ``file:line:``, which editors understand."""
    return text.split(":", 2)[1:2] != [] and text.split(":", 2)[1].isdigit()


def _stopped(error: RunStopped, *, show: bool) -> int:
    from protocols.api import ProtocolError
    from scenarios.cli.frames import place_of
    from sim.node import RunError

    cause = error.__cause__ or error
    in_a_step = isinstance(cause, RunError)
    root = cause.__cause__ or cause if in_a_step else cause
    place, ours = place_of(root)
    ours = ours and not isinstance(
        root, ProtocolError
    )  # a breach of the contract is the protocol's
    told = str(cause) if in_a_step else _named(cause)
    click.echo(f"splitbrain: {error.what} stopped: {told}", err=True)
    click.echo(f"  at {place}", err=True)
    if ours:
        _how_to_report()
    else:
        click.echo("  This is a mistake in the protocol, not a verdict on it.", err=True)
    click.echo(f"  Again, with the traceback: SPLITBRAIN_TRACEBACK=1 {error.again}", err=True)
    _traceback(cause, show=show)
    return INTERNAL


def _internal(error: Exception, *, show: bool) -> int:
    click.echo(f"splitbrain: internal error: {_named(error)}", err=True)
    _how_to_report()
    click.echo("  For the traceback set SPLITBRAIN_TRACEBACK=1 and try again.", err=True)
    _traceback(error, show=show)
    return INTERNAL


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _how_to_report() -> None:
    text = "This is a bug in splitbrain. Please report it with the command, the scenario and the"
    click.echo(f"  {text} traceback.", err=True)


def _traceback(error: BaseException, *, show: bool) -> None:
    if not show:
        return
    import traceback

    click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
