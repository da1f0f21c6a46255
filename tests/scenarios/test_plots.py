"""Figures: what they show, that they are the same every time, and what cannot be drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from scenarios.cli.plot import plot
from scenarios.loader import from_value
from scenarios.plots import MissingExtra, PlotError, RunView, plot_run, view
from scenarios.plots.suspicions import choose_pairs, counts, levels, suspected
from scenarios.plots.view import FaultSpan, Observed, spans
from scenarios.runner import RunResult, run_scenario

pytest.importorskip("matplotlib")

SECOND = 1_000_000

DETECTORS: dict[str, Any] = {
    "name": "drawn",
    "title": "Two detectors, a partition, a pause and a crash",
    "protocol": "heartbeat",
    "parameters": {
        "interval": "1s",
        "sample_every": "500ms",
        "detectors": {"timeout": {"use": "fixed", "timeout": "3s"}, "phi": {"use": "akka"}},
    },
    "nodes": 4,
    "link": {"latency": "10ms..20ms"},
    "faults": [
        {"at": "8s", "until": "14s", "partition": [["n1", "n2"], ["n3", "n4"]]},
        {"at": "20s", "crash": "n4"},
        {"at": "18s", "until": "19s", "pause": "n2"},
    ],
    "duration": "30s",
}
GOSSIP: dict[str, Any] = {
    "name": "spread",
    "title": "Rumors",
    "protocol": "rumor",
    "nodes": 12,
    "workload": [{"at": "1s", "every": "1s", "times": 3, "node": "n1", "invoke": "Publish"}],
    "faults": [{"at": "2s", "until": "4s", "partition": [["n1", "n2", "n3"]]}],
    "duration": "20s",
}


def gossip(times: int) -> dict[str, Any]:
    calls = {**GOSSIP["workload"][0], "times": times, "every": "100ms", "with": {"rumor": "r{i}"}}
    return {**GOSSIP, "workload": [calls]}


@pytest.fixture(scope="module")
def run() -> RunResult:
    return run_scenario(from_value(DETECTORS), 1)


@pytest.fixture(scope="module")
def folder(run: RunResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("run")
    recorder = run.cluster.recorder
    assert recorder is not None
    recorder.write(made / "trace.jsonl.gz", run.end_us)
    return made


def texts(svg: Path) -> str:
    """Matplotlib writes each text into a comment, before its outlines."""
    lines = svg.read_text(encoding="utf-8").splitlines()
    return "\n".join(line.strip()[5:-4] for line in lines if line.strip().startswith("<!-- "))


# -- what a figure is drawn from ----------------------------------------------------------------


def test_a_trace_shows_the_same_run_as_the_result(run: RunResult, folder: Path) -> None:
    ours, theirs = view(run), view(folder)
    assert [(o.t, o.node, o.kind, dict(o.fields)) for o in ours.observations] == [
        (o.t, o.node, o.kind, dict(o.fields)) for o in theirs.observations
    ]
    for name in ("name", "title", "seed", "digest", "nodes", "end_us", "faults", "thresholds"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.lifecycle == theirs.lifecycle


def test_thresholds_are_on_the_scale_of_each_detector(run: RunResult) -> None:
    assert view(run).thresholds == {"timeout": 1.0, "phi": 8.0}


@pytest.mark.parametrize("kind", ["suspicion", "timeline"])
def test_a_figure_of_a_trace_is_that_of_the_result(
    kind: str, run: RunResult, folder: Path, tmp_path: Path
) -> None:
    plot_run(run, kind, tmp_path / "a.svg")
    plot_run(folder, kind, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_figures_are_the_same_every_time_whatever_the_settings(
    ending: str, run: RunResult, tmp_path: Path
) -> None:
    import matplotlib

    first = plot_run(run, "suspicion", tmp_path / f"a.{ending}").read_bytes()
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "other", "savefig.dpi": 50}):
        second = plot_run(run, "suspicion", tmp_path / f"b.{ending}").read_bytes()
        assert matplotlib.rcParams["font.size"] == 20
    assert first == second
    assert b"2026" not in first[:600]  # no date in the head


def test_figures_are_the_same_in_another_process(folder: Path, tmp_path: Path) -> None:
    here = plot_run(folder, "suspicion", tmp_path / "here.svg").read_bytes()
    code = "import sys; from scenarios.plots import plot_run; plot_run(*sys.argv[1:])"
    there = tmp_path / "there.svg"
    subprocess.run(
        [sys.executable, "-c", code, str(folder), "suspicion", str(there)],
        check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": ".", "MPLBACKEND": "svg"},
        timeout=60,
    )
    assert there.read_bytes() == here


# -- what is in it ------------------------------------------------------------------------------


def test_suspicion_names_all_that_one_needs_to_read_it(run: RunResult, tmp_path: Path) -> None:
    pairs = [("n1", "n4"), ("n1", "n2")]
    shown = texts(plot_run(run, "suspicion", tmp_path / "f.svg", pairs=pairs))
    for text in (
        DETECTORS["title"],
        "scenario drawn · seed 1",
        str(run.digest),
        "n4 crashes",
        "n4 down",
        "n2 paused",
        "timeout",
        "phi",
        "threshold",
        "the network is split: n1, n2 | n3, n4",
        "fault A",
        "time, s",
        "phi: n1 → n4",
    ):
        assert text in shown, text


def test_chosen_pairs_are_the_ones_shown(run: RunResult, tmp_path: Path) -> None:
    shown = texts(plot_run(run, "suspicion", tmp_path / "f.svg", pairs=[("n3", "n2")]))
    assert "phi: n3 → n2" in shown
    assert "n1 →" not in shown


def test_the_timeline_counts_right_and_wrong_suspicions(run: RunResult, tmp_path: Path) -> None:
    shown = texts(plot_run(run, "timeline", tmp_path / "f.svg"))
    for text in ("n1", "n4", "up", "down", "paused", "suspected, and up: mistakes", "fault C"):
        assert text in shown, text


def test_a_few_rumors_have_a_named_curve_each(tmp_path: Path) -> None:
    run = run_scenario(from_value(gossip(3)), 1)
    shown = texts(plot_run(run, "gossip", tmp_path / "f.svg"))
    assert "of 3 rumors reached all 12 nodes" in shown
    assert {"r1", "r2", "r3", "nodes that know it, %"} <= set(shown.splitlines())


def test_many_rumors_have_a_mean(tmp_path: Path) -> None:
    run = run_scenario(from_value(gossip(20)), 1)
    shown = texts(plot_run(run, "gossip", tmp_path / "f.svg"))
    assert "mean of 20 rumors" in shown
    assert "time since it was published, s" in shown


def test_nodes_that_nothing_happened_to_are_left_out_of_a_long_timeline(tmp_path: Path) -> None:
    faults = [{"at": "1s", "crash": "n7"}]
    raw = {**gossip(1), "nodes": 50, "faults": faults, "duration": "5s"}
    shown = texts(plot_run(run_scenario(from_value(raw), 1), "timeline", tmp_path / "f.svg"))
    assert "49 nodes that were up all the time are not shown" in shown
    assert "n7" in shown.splitlines()
    assert "n8" not in shown.splitlines()


def test_without_samples_there_are_lanes_and_a_word_about_it(tmp_path: Path) -> None:
    raw = {**DETECTORS, "parameters": {**DETECTORS["parameters"], "sample_every": "0s"}}
    shown = texts(plot_run(run_scenario(from_value(raw), 1), "suspicion", tmp_path / "f.svg"))
    assert "levels were not sampled: set sample_every" in shown
    assert "timeout: n1 → n4" in shown


# -- the arithmetic behind it -------------------------------------------------------------------


def made(
    *told: tuple[int, str, str, str],
    lifecycle: tuple[tuple[int, str, str], ...] = (),
    end_us: int = 100,
) -> RunView:
    """A run in which detector d told (t, monitor, kind, peer)."""
    seen = tuple(Observed(t, m, kind, {"detector": "d", "peer": p}) for t, m, kind, p in told)
    return RunView("x", "", 1, None, ("a", "b", "c"), end_us, seen, lifecycle, (), {"d": 1.0})


def test_spans_pair_beginnings_with_ends() -> None:
    events = [(1, "on"), (2, "on"), (5, "off"), (6, "off"), (9, "on")]
    assert spans(events, ("on",), ("off",), 20) == [(1, 5), (9, 20)]
    assert spans([(3, "on"), (3, "off")], ("on",), ("off",), 20) == []


def test_a_monitor_that_crashes_forgets_its_suspicions() -> None:
    run = made((10, "a", "Suspect", "b"), lifecycle=((30, "a", "crash"), (40, "a", "recover")))
    assert suspected(run) == {("d", "a", "b"): [(10, 30)]}


def test_suspicions_are_counted_by_whether_the_target_is_down() -> None:
    run = made(
        (10, "a", "Suspect", "b"),
        (20, "c", "Suspect", "b"),
        (50, "a", "Trust", "b"),
        lifecycle=((30, "b", "crash"),),
    )
    # b is up until 30: a suspects it wrongly from 10, c from 20; from 30 on both are right.
    assert counts(run, "d", of_dead=False) == [(0, 0), (10, 1), (20, 2), (30, 0)]
    assert counts(run, "d", of_dead=True) == [(0, 0), (30, 2), (50, 1), (100, 1)]


def test_crashed_targets_are_chosen_first_then_doubted_ones() -> None:
    run = made((1, "a", "Suspect", "c"), (2, "a", "Trust", "c"), lifecycle=((50, "b", "crash"),))
    keys = {("d", m, t): () for m, t in (("a", "b"), ("a", "c"), ("c", "a"), ("b", "c"))}
    assert choose_pairs(run, keys) == [("a", "b"), ("a", "c"), ("c", "a")]


def test_levels_are_in_units_not_thousandths() -> None:
    seen = Observed(5, "a", "SuspicionLevel", {"detector": "d", "peer": "b", "milli": 1500})
    run = RunView("x", "", 1, None, ("a", "b"), 10, (seen,), (), (), {})
    assert levels(run) == {("d", "a", "b"): [(5, 1.5)]}


def test_faults_are_in_order_of_time_and_end_with_the_run(tmp_path: Path) -> None:
    late = {"at": "25s", "until": "29s", "crash": "n3"}
    raw = {**DETECTORS, "faults": [late, *DETECTORS["faults"]]}
    faults = view(run_scenario(from_value(raw), 1)).faults
    assert [fault.start_us // SECOND for fault in faults] == [8, 18, 20, 25]
    assert faults[2] == FaultSpan(20 * SECOND, None, "n4 crashes at 20s")


# -- what cannot be drawn -----------------------------------------------------------------------


def test_a_missing_matplotlib_says_what_to_install(
    run: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"needs matplotlib: pip install 'splitbrain\[plot\]'"):
        plot_run(run, "suspicion", tmp_path / "f.svg")


def test_importing_the_plots_does_not_import_matplotlib() -> None:
    code = "import sys, scenarios.plots, scenarios.cli.plot; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_wrong_requests_say_what_there_is(run: RunResult, tmp_path: Path) -> None:
    for kind, name, pairs, message in (
        ("suspicions", "f.svg", (), "no figure is called 'suspicions'; there are: suspicion"),
        ("suspicion", "f.jpeg", (), r"must end in \.svg, \.png, \.pdf"),
        ("suspicion", "f.svg", [("n1", "n9")], "nothing was told about n1 → n9; there are n1 → n"),
        ("gossip", "f.svg", (), "no rumor was ever learned"),
    ):
        with pytest.raises(PlotError, match=message):
            plot_run(run, kind, tmp_path / name, pairs=pairs)
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_detectors_has_no_suspicions_to_draw(tmp_path: Path) -> None:
    with pytest.raises(PlotError, match="no suspicions"):
        plot_run(run_scenario(from_value(gossip(1)), 1), "suspicion", tmp_path / "f.svg")


def test_a_folder_without_a_trace_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(PlotError, match=r"there is no trace\.jsonl\.gz"):
        plot_run(tmp_path, "timeline", tmp_path / "f.svg")


# -- command line -------------------------------------------------------------------------------


def test_the_command_writes_beside_the_trace_and_says_where(folder: Path) -> None:
    done = CliRunner().invoke(plot, [str(folder), "--kind", "timeline"])
    assert done.exit_code == 0, done.output
    assert done.output.strip() == str(folder / "timeline.svg")
    assert (folder / "timeline.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pair", "n1"], "write MONITOR:TARGET"),
        (["--pair", "n1:n9"], "nothing was told about n1 → n9"),
        (["--kind", "gossip"], "no rumor"),
        (["--out", "x.bmp"], "must end in"),
    ],
)
def test_the_command_refuses_with_code_2(folder: Path, arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(plot, [str(folder), *arguments])
    assert done.exit_code == 2
    assert message in done.output


def test_the_command_refuses_a_damaged_trace(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_text("{}\n")
    done = CliRunner().invoke(plot, [str(tmp_path)])
    assert done.exit_code == 2
    assert "line 1" in done.output
