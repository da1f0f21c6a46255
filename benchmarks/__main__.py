"""Run the benchmarks and print one table per module."""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import platform
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import benchmarks
from benchmarks import Row


def modules() -> list[str]:
    """The benchmark modules, sorted."""
    found = (m.name for m in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name for name in found if not name.startswith("_"))


def show(name: str, rows: list[Row]) -> None:
    """Print a module's rows."""
    print(f"\n{name}")
    for row in rows:
        ratio = f"{row.ratio:8.2f} × {row.to}" if row.ratio is not None else ""
        mark = {True: "reached", False: "MISSED", None: ""}[row.ok]
        target = f"  target {row.target}: {mark}" if row.target else ""
        print(f"  {row.name:<52}{row.value:>14,.6g} {row.unit:<12}{ratio}{target}  {row.note}")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of: {', '.join(modules())}; all by default")
    parser.add_argument("--smoke", action="store_true", help="once and briefly: does it run?")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in modules()]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are: {', '.join(modules())}")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    results = {}
    for name in options.names or modules():
        rows = import_module(f"benchmarks.{name}").run(options.smoke)
        show(name, rows)
        results[name] = [asdict(row) for row in rows]
        sys.stdout.flush()
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
