"""The command ``splitbrain``: run scenarios, replay and compare runs, look into their traces.

Data goes to stdout, progress and remarks to stderr. Exit codes: 0 holds, 1 violation, 2 usage or
invalid input, 3 internal error, 4 inconclusive, 130 interrupted. ``docs/cli.md`` tells the rest.
"""

from __future__ import annotations

from scenarios.cli.group import main

__all__ = ["main"]
