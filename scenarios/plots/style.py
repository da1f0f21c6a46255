"""How all figures look: colours, lines, lanes, bands of faults, caption, file.

Colours are Okabe and Ito's ("Color Universal Design", 2008), told apart with every common kind of
colour-blindness; lines differ in their dashes as well, so that a grey print will do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenarios.plots.errors import MissingExtra, PlotError
from scenarios.plots.view import FaultSpan, RunView, Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLACK",
    "COLOURS",
    "DASHES",
    "FAULT",
    "Lane",
    "caption",
    "draw_lanes",
    "fault_lanes",
    "new_figure",
    "save",
    "seconds",
    "shade",
    "styled",
]

BLACK = "#000000"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#5A5A5A", "#8C6D00")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
FAULT = "#B0B0B0"
BAND = "#DDDDDD"
SECOND = 1_000_000
FORMATS = (".svg", ".png", ".pdf")
MOST_FAULTS = 8

_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.titlesize": 9.0,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "legend.handlelength": 3.0,
    "figure.dpi": 150.0,
    "savefig.dpi": 150.0,
    "svg.hashsalt": "splitbrain",
    "svg.fonttype": "path",
    "hatch.linewidth": 0.5,
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw with these settings and no others, whatever the user's own matplotlibrc says."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("plot") from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_figure(heights: Sequence[float], width: float = 7.5) -> tuple[Figure, list[Axes]]:
    """A figure of panels above each other that share the time axis; sizes in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, sum(heights) + 0.95), layout="constrained")
    grid = figure.subplots(
        len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": list(heights)}
    )
    return figure, [axes[0] for axes in grid]


def seconds(us: float) -> float:
    """µs in seconds, for an axis."""
    return us / SECOND


def caption(figure: Figure, run: RunView, more: str = "") -> None:
    """The title above, and below it all that is needed to get the same run again."""
    figure.suptitle(_cut(run.title or run.name, 90), fontsize=10.5, x=0.02, ha="left")
    digest = f"trace {run.digest}" if run.digest else "not recorded"
    text = f"scenario {run.name} · seed {run.seed} · {digest}"
    figure.supxlabel(f"{text}\n{more}" if more else text, fontsize=6.5, x=0.02, ha="left")


def save(figure: Figure, path: str | Path) -> Path:
    """Write the figure; the ending says in which format. No date or version goes into it."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in FORMATS:
        raise PlotError(f"{path}: a figure's name must end in {', '.join(FORMATS)}")
    nothing = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None}}
    metadata = nothing.get(ending, {"CreationDate": None, "Producer": None, "Creator": None})
    target.parent.mkdir(parents=True, exist_ok=True)
    _settle(figure)
    figure.savefig(target, format=ending[1:], metadata=metadata)
    return target


def _settle(figure: Figure) -> None:
    """Fix the layout, rounded: the solver's last bits depend on where objects lie in memory."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position((*_rounded(box.p0), *_rounded(box.size)))
    for text in figure.texts:
        text.set_position(_rounded(text.get_position()))


def _rounded(pair: Sequence[float]) -> tuple[float, float]:
    return round(float(pair[0]), 4), round(float(pair[1]), 4)


# -- lanes ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of bars. ``text`` is written into the row; ``marks`` are single moments."""

    label: str
    bars: Sequence[Span]
    colour: str = BLACK
    hatch: str = ""
    text: str = ""
    marks: Sequence[int] = ()


def lanes_height(count: int) -> float:
    """Inches for so many lanes."""
    return 0.21 * count + 0.12


def draw_lanes(axes: Axes, lanes: Sequence[Lane], end_us: int) -> None:
    """Draw rows of thick bars, the first at the top."""
    for row, lane in enumerate(lanes):
        for start, end in lane.bars:
            _bar(axes, row, (start, end), lane)
        for at in lane.marks:
            axes.plot([seconds(at)], [row], marker="v", markersize=5, color=BLACK, clip_on=False)
        if lane.text:
            _write(axes, row, lane, end_us)
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.set_yticks(range(len(lanes)), [lane.label for lane in lanes], fontsize=7.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlim(0, seconds(end_us))


def _bar(axes: Axes, row: int, span: Span, lane: Lane) -> None:
    start, end = map(seconds, span)
    axes.broken_barh(
        [(start, end - start)],
        (row - 0.32, 0.64),
        facecolor=lane.colour if not lane.hatch else "white",
        edgecolor=lane.colour,
        hatch=lane.hatch or None,
        linewidth=0.6,
    )


def _write(axes: Axes, row: int, lane: Lane, end_us: int) -> None:
    """Write right or left of the lane's bars, where there is room; over them if there is none."""
    places = [*lane.marks, *(at for span in lane.bars for at in span)]
    first, last = min(places), max(places)
    wide = first < 0.4 * end_us and last > 0.6 * end_us
    after = wide or last + first < end_us
    gap = 3 if lane.bars else 7
    axes.annotate(
        _cut(lane.text, 75),
        (seconds(first if wide or not after else last), row),
        xytext=(gap if after else -gap, 0),
        textcoords="offset points",
        va="center",
        ha="left" if after else "right",
        fontsize=7,
        bbox=None if wide else {"boxstyle": "square,pad=0.05", "fc": "white", "ec": "none"},
    )


# -- faults -----------------------------------------------------------------------------------


def fault_lanes(run: RunView) -> list[Lane]:
    """A labelled lane for each fault of the plan, at most :data:`MOST_FAULTS` of them."""
    lanes = []
    for number, fault in enumerate(run.faults[:MOST_FAULTS]):
        end = min(fault.end_us or fault.start_us, run.end_us)
        label = f"fault {_letter(number)}"
        if fault.start_us >= run.end_us:
            continue
        if end > fault.start_us:
            span = ((fault.start_us, end),)
            lanes.append(Lane(label, span, FAULT, text=_short(fault.text)))
        else:
            lanes.append(Lane(label, (), text=_short(fault.text), marks=(fault.start_us,)))
    return lanes


def shade(axes: Axes, run: RunView, *, letters: bool) -> None:
    """Shade the time of each fault that lasts; ``letters`` above, as in the lanes."""
    for number, fault in enumerate(run.faults[:MOST_FAULTS]):
        end = min(fault.end_us or fault.start_us, run.end_us)
        if fault.start_us < end:
            axes.axvspan(seconds(fault.start_us), seconds(end), color=BAND, lw=0, zorder=0)
            if letters:
                _letter_above(axes, _letter(number), fault, end)


def _letter_above(axes: Axes, letter: str, fault: FaultSpan, end: int) -> None:
    axes.annotate(
        letter,
        (seconds(fault.start_us + end) / 2, 1.0),
        xycoords=axes.get_xaxis_transform(),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=7.5,
        annotation_clip=False,
    )


def _letter(number: int) -> str:
    return chr(ord("A") + number)


_WHEN = re.compile(r"^(from \S+ (to \S+|on) |at \S+ )")


def _short(text: str) -> str:
    """A fault's text without its times, which the axis shows."""
    return _WHEN.sub("", text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
