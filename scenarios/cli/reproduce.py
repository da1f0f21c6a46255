"""``splitbrain reproduce``: published figures beside ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from scenarios.reproduce.rows import Row
from scenarios.reproduce.targets import Part, names, parts, to_json, to_markdown

__all__ = ["reproduce"]


@click.command()
@click.argument("target", type=click.Choice(names()), default="all")
@click.option("--quick", is_flag=True, help="Seconds instead of minutes: fewer figures.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write reproduce.json and reproduce.md into this folder as well.",
)
@click.pass_context
def reproduce(
    ctx: click.Context, target: str, quick: bool, as_json: bool, out: Path | None
) -> None:
    """Compare published figures with what the formulas and the simulator give.

    TARGET is detectors, gossip or all. Exit code 0 if every figure is within its tolerance, 1 if
    one is not.
    """
    found: list[tuple[Part, list[Row]]] = []
    wanted = [part for part in parts(target) if not quick or part.quick is not None]
    for number, part in enumerate(wanted, 1):
        click.echo(f"[{number}/{len(wanted)}] {part.title} ({part.cost})", err=True)
        rows = part.rows(quick=quick)
        found.append((part, rows))
        if not as_json:
            _print(part, rows)
    summary = to_json(target, found, quick=quick)
    if as_json:
        click.echo(json.dumps(summary, ensure_ascii=False, indent=2))
    if out is not None:
        _write(out, json.dumps(summary, ensure_ascii=False, indent=2), to_markdown(found))
    _conclude(ctx, [line for _, rows in found for line in rows], quiet=as_json)


def _print(part: Part, rows: list[Row]) -> None:
    click.echo(f"\n{part.title}")
    width = max(len(line.name) for line in rows)
    click.echo(f"     {'figure':{width}}  {'published':>12}  {'ours':>12}  {'tolerance':>10}")
    source = ""
    for line in rows:
        told = "ok " if line.ok else "NO "
        figures = f"{line.published:>12.10g}  {line.ours:>12.10g}  {line.tolerance:>10.3g}"
        click.echo(f" {told} {line.name:{width}}  {figures}")
        if line.source != source:
            click.echo(f"       source: {line.source}")
        if line.assumption:
            click.echo(f"       assumption: {line.assumption}")
        source = line.source


def _write(folder: Path, data: str, tables: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reproduce.json").write_text(data + "\n", encoding="utf-8")
    (folder / "reproduce.md").write_text(tables, encoding="utf-8")


def _conclude(ctx: click.Context, rows: list[Row], *, quiet: bool) -> None:
    wrong = [line for line in rows if not line.ok]
    if not quiet:
        click.echo(f"\n{len(rows) - len(wrong)} of {len(rows)} figures within their tolerance")
    for line in wrong:
        click.echo(f"not reproduced: {line.name}", err=True)
    sys.stdout.flush()
    ctx.exit(1 if wrong else 0)
