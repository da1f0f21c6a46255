"""The group of all commands. A command's module is imported only when that command is asked for.

So ``splitbrain --version`` and ``--help`` need nothing but click.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

import click

from scenarios._version import __version__
from scenarios.cli.guard import exit_code_of

__all__ = ["COMMANDS", "SplitbrainGroup", "main"]


class Lazy(NamedTuple):
    """Where a command is (``module:attribute``), and what it does in one line."""

    path: str
    text: str


COMMANDS: dict[str, Lazy] = {
    "list": Lazy("scenarios.cli.listing:command", "List the scenarios of the library."),
    "show": Lazy("scenarios.cli.show:command", "Tell what a scenario does."),
    "validate": Lazy("scenarios.cli.validate:command", "Check scenario files for mistakes."),
    "run": Lazy("scenarios.cli.run:command", "Run a scenario, judge it and measure."),
    "replay": Lazy("scenarios.cli.replay:command", "Run again what a trace says, and compare."),
    "trace": Lazy("scenarios.cli.trace:command", "Look into a trace: filter events, ask why."),
    "diff": Lazy("scenarios.cli.diff:command", "Find where two runs part."),
    "check": Lazy("scenarios.cli.check:command", "Judge a history: is it linearizable?"),
    "plot": Lazy("scenarios.cli.plot:plot", "Draw a run."),
    "sweep": Lazy("scenarios.cli.sweep:sweep", "Run a scenario under many settings."),
    "reproduce": Lazy("scenarios.cli.reproduce:reproduce", "Compare with figures of papers."),
    "schema": Lazy("scenarios.cli.schema:command", "Print the JSON Schema of scenario files."),
    "new": Lazy("scenarios.cli.new:command", "Begin a protocol of your own."),
    "completion": Lazy("scenarios.cli.completion:command", "Print what completes in your shell."),
}
"""Name → where it is, in the order of ``--help``."""


class SplitbrainGroup(click.Group):
    """Commands by name, imported when needed; every way to end has its exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].path.partition(":")
        found: click.Command = getattr(import_module(module), name)
        found.name = cmd_name
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not ctx.resilient_parsing and not name.startswith("-"):
            close = get_close_matches(name, COMMANDS, n=1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            ctx.fail(f"there is no command {name!r}; there are: {', '.join(COMMANDS)}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.text) for name, lazy in COMMANDS.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and exit, as :meth:`click.Command.main` does, but by our codes."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        extra.pop("windows_expand_args", None)
        prog_name = prog_name or "splitbrain"
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            extra.setdefault("color", False)
        self._main_shell_completion(extra, prog_name, complete_var)
        words = list(sys.argv[1:] if args is None else args)
        seen: list[click.Context] = []
        sys.exit(exit_code_of(lambda: self._run(prog_name, words, extra, seen), lambda: told(seen)))

    def _run(
        self, prog_name: str, args: list[str], extra: dict[str, Any], seen: list[click.Context]
    ) -> None:
        with self.make_context(prog_name, args, **extra) as ctx:
            seen.append(ctx)
            self.invoke(ctx)


def told(seen: list[click.Context]) -> bool:
    """Whether tracebacks were asked for, by the option or by its environment variable."""
    return any(ctx.params.get("traceback") for ctx in seen)


_EPILOG = """
\b
Examples:
  splitbrain list
  splitbrain run detectors-five-regions
  splitbrain run my-scenario.yaml --seed 7 --set link.loss=5%
  splitbrain replay runs/detectors-five-regions-seed1-fe30e716

\b
Exit codes: 0 holds, 1 violation (or a difference), 2 usage or invalid input,
3 internal error, 4 inconclusive, 130 interrupted.
"""


@click.group(
    cls=SplitbrainGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EPILOG,
)
@click.version_option(__version__, prog_name="splitbrain", message="%(prog)s %(version)s")
@click.option(
    "--traceback",
    is_flag=True,
    envvar="SPLITBRAIN_TRACEBACK",
    help="On an internal error show where it happened. [env: SPLITBRAIN_TRACEBACK=1]",
)
def main(traceback: bool) -> None:
    """Simulate distributed protocols, break them, and judge them; the same seed, the same run."""
