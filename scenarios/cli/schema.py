"""``splitbrain schema``: the JSON Schema of scenario files, for editors."""

from __future__ import annotations

import click

from scenarios.cli.common import examples, say_json

__all__ = ["command"]


@click.command(
    epilog=examples(
        "splitbrain schema > scenario.schema.json",
        "# then, as the first line of a scenario, for editors with a YAML language server:",
        "# yaml-language-server: $schema=scenario.schema.json",
    )
)
def command() -> None:
    """Print the JSON Schema (draft 2020-12) of scenario files."""
    from scenarios.schema import schema

    say_json(schema())
