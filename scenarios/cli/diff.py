"""``splitbrain diff``: where two runs part, and what made them part."""

from __future__ import annotations

from pathlib import Path

import click

from scenarios.cli.common import coloured, examples, json_option, say, say_json

__all__ = ["command"]

SCHEMA = "splitbrain.diff/1"


@click.command(
    epilog=examples(
        "splitbrain diff runs/mine-seed1-0a1b2c3d runs/mine-seed2-4e5f6071",
        "splitbrain diff before.jsonl.gz after.jsonl.gz --json",
    )
)
@click.argument("run_a", type=click.Path(path_type=Path), metavar="RUN_A")
@click.argument("run_b", type=click.Path(path_type=Path), metavar="RUN_B")
@click.option(
    "--context", type=click.IntRange(0, 1000), default=5, help="So many events before. [default: 5]"
)
@json_option
@click.pass_context
def command(ctx: click.Context, run_a: Path, run_b: Path, context: int, as_json: bool) -> None:
    """Compare two runs, given by their folders or traces: the first event that differs, and why.

    Exits with 0 if they are the same in every byte, with 1 if they differ.
    """
    from scenarios.artifacts import read_run
    from scenarios.cli.replay import divergence_json
    from sim.trace_diff import diff, format_divergence

    a, b = read_run(run_a), read_run(run_b)
    found = diff(a.trace, b.trace, context=context)
    if as_json:
        say_json(
            {
                "schema": SCHEMA,
                "a": {"trace": str(a.path), "digest": a.trace.digest},
                "b": {"trace": str(b.path), "digest": b.trace.digest},
                "identical": found is None,
                "divergence": None if found is None else divergence_json(found),
            }
        )
    elif found is None:
        say(f"{coloured('ok', 'IDENTICAL')}: {len(a.trace.events):,} events, {a.trace.digest}")
    else:
        say(f"{coloured('violated', 'DIFFERENT')}")
        say(format_divergence(found, (str(run_a), str(run_b))))
    ctx.exit(0 if found is None else 1)
