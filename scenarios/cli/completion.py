"""``splitbrain completion``: what makes a shell complete commands, options and scenarios."""

from __future__ import annotations

import os
from pathlib import Path

import click

from scenarios.cli.common import examples, say
from scenarios.cli.guard import Refusal

__all__ = ["command"]

_SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog=examples(
        'eval "$(splitbrain completion bash)"              # in ~/.bashrc',
        'eval "$(splitbrain completion zsh)"               # in ~/.zshrc',
        "splitbrain completion fish | source               # in ~/.config/fish/config.fish",
    )
)
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
@click.pass_context
def command(ctx: click.Context, shell: str | None) -> None:
    """Print the completion script of a shell; without a name, of the one you use."""
    from click.shell_completion import get_completion_class

    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in _SHELLS:
        given = f"SHELL is {name!r}" if name else "SHELL is not set"
        raise Refusal(f"{given}; name one of {', '.join(_SHELLS)}: splitbrain completion bash")
    found = get_completion_class(name)
    assert found is not None
    made = found(ctx.find_root().command, {}, "splitbrain", "_SPLITBRAIN_COMPLETE")
    say(made.source_template % made.source_vars())
