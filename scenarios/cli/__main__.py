"""``python -m scenarios.cli``: the command, where it isn't on PATH."""

from __future__ import annotations

from scenarios.cli import main

main(prog_name="splitbrain")
