"""Sweeps: which runs they are, that workers change nothing, what is kept, and the summary."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from scenarios.cli.sweep import sweep as command
from scenarios.problems import ScenarioError
from scenarios.sweep import Row, Sweep, SweepError, parse_vary, plan_sweep, run_sweep
from scenarios.sweep_store import Store
from scenarios.sweep_table import choose_metrics, figures, points, table, to_json, unit_of

SCENARIO = """
name: swept
title: A detector on lossy links, and a crash
protocol: heartbeat
parameters: {interval: 1s, detectors: {timeout: {use: fixed, timeout: 2500ms}}}
nodes: 3
link: {latency: 10ms..20ms, loss: 1%}
faults: [{at: 20s, crash: n3}]
checks: [strong-completeness: {bound: 5s}]
metrics: [qos]
duration: 30s
seeds: [1, 2, 3]
"""
VARY = (("link.loss", ("0%", "10%")), ("parameters.interval", ("1s", "500ms")))


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "swept.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def planned(scenario: Path) -> Sweep:
    return plan_sweep(scenario, VARY)


# -- which runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("link.loss=0%,1%,5%", ("link.loss", ("0%", "1%", "5%"))),
        ("nodes=3, 5", ("nodes", (3, 5))),
        ("a.b=[1, 2],[3]", ("a.b", ([1, 2], [3]))),
        ("faults.0.for=5s", ("faults.0.for", ("5s",))),
        ("x={a: 1},{a: 2}", ("x", ({"a": 1}, {"a": 2}))),
    ],
)
def test_values_are_read_as_in_a_file(text: str, expected: tuple[str, tuple[Any, ...]]) -> None:
    assert parse_vary(text) == expected


@pytest.mark.parametrize("text", ["", "link.loss", "=1", "link.loss=", "a=[1", "a={b: 1, b: 2}"])
def test_unreadable_values_are_refused(text: str) -> None:
    with pytest.raises(SweepError, match="--vary"):
        parse_vary(text)


def test_every_combination_has_every_seed_the_last_setting_varying_quickest(
    planned: Sweep,
) -> None:
    jobs = list(planned.jobs())
    assert len(jobs) == len(planned) == 2 * 2 * 3
    assert [job.index for job in jobs] == list(range(12))
    assert [job.seed for job in jobs[:4]] == [1, 2, 3, 1]
    assert jobs[3].settings == {"link.loss": "0%", "parameters.interval": "500ms"}
    assert jobs[6].settings == {"link.loss": "10%", "parameters.interval": "1s"}


def test_mistakes_come_to_light_before_anything_runs(scenario: Path) -> None:
    for vary, message in (
        ([("link.lost", ("1%",))], "link.lost"),
        ([("link.loss", ("1%", "2"))], "from 0 to 1"),
        ([("parameters.interval", ("1s", "fast"))], "fast"),
    ):
        with pytest.raises(ScenarioError, match=message):
            plan_sweep(scenario, vary)
    for twice, message in (
        ([("nodes", (3, 4)), ("nodes", (5,))], "varied twice"),
        ([("nodes", (3, 3))], "the same value"),
        ([("nodes", ())], "at least one value"),
        ([("nodes", tuple(range(2, 60_000)))], "at most 100000"),
    ):
        with pytest.raises(SweepError, match=message):
            plan_sweep(scenario, twice)


# -- running --------------------------------------------------------------------------------------


def test_rows_are_the_same_whatever_the_number_of_workers(planned: Sweep) -> None:
    alone = run_sweep(planned, workers=1)
    together = run_sweep(planned, workers=2)
    assert json.dumps(alone) == json.dumps(together)
    assert [row["job"] for row in alone] == list(range(12))


def test_a_row_is_what_the_run_of_these_settings_gives(planned: Sweep) -> None:
    from scenarios.loader import from_value
    from scenarios.overrides import with_overrides
    from scenarios.runner import run_scenario

    row = run_sweep(planned)[7]
    settings = {"link.loss": "10%", "parameters.interval": "1s"}
    assert (row["settings"], row["seed"]) == (settings, 2)
    run = run_scenario(from_value(with_overrides(planned.raw, settings)), 2)
    assert row["metrics"] == run.metrics
    assert row["verdict"] == run.verdict.verdict


def test_progress_is_told_and_done_rows_are_not_run_again(planned: Sweep) -> None:
    first = run_sweep(planned)
    ran: list[Row] = []
    told: list[tuple[int, int]] = []
    again = run_sweep(
        planned,
        done=first[2:],
        keep=ran.append,
        progress=lambda done, total: told.append((done, total)),
    )
    assert again == first
    assert [row["job"] for row in ran] == [0, 1]
    assert told == [(11, 12), (12, 12)]


def test_a_protocol_that_raises_costs_its_own_rows_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fragile_protocol.py").write_text(
        "from protocols.api import Context, NodeId, process\n\n"
        "@process\nclass Fragile:\n    me: NodeId\n    strength: int = 1\n\n"
        "    def on_start(self, ctx: Context) -> None:\n        1 // self.strength\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    text = "name: f\ntitle: f\nprotocol: fragile_protocol:Fragile\nnodes: 1\nduration: 1s\n"
    (tmp_path / "f.yaml").write_text(text)
    sweep = plan_sweep(tmp_path / "f.yaml", [("parameters.strength", (1, 0, 2))])
    rows = run_sweep(sweep)
    assert [row["verdict"] for row in rows] == ["unknown", "error", "unknown"]
    assert "ZeroDivisionError" in rows[1]["why"]
    with Store(tmp_path / "out", sweep, resume=False) as store:
        store.finish(rows)
    assert len(Store(tmp_path / "out", sweep, resume=True).done) == 2, "errors are tried again"


# -- what is kept ---------------------------------------------------------------------------------


def test_an_interrupted_sweep_goes_on_to_the_same_file(planned: Sweep, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with Store(whole, planned, resume=False) as store:
        store.finish(run_sweep(planned, keep=store.keep))

    with Store(broken, planned, resume=False) as store, pytest.raises(KeyboardInterrupt):

        def interrupt(row: Row) -> None:
            store.keep(row)
            if row["job"] == 4:
                raise KeyboardInterrupt

        run_sweep(planned, keep=interrupt)
    with (broken / "rows.jsonl").open("a") as file:
        file.write('{"job": 5, "settings')  # cut off in the middle of a line

    with Store(broken, planned, resume=True) as store:
        assert [row["job"] for row in store.done] == [0, 1, 2, 3, 4]
        store.finish(run_sweep(planned, done=store.done, keep=store.keep))
    assert (broken / "rows.jsonl").read_bytes() == (whole / "rows.jsonl").read_bytes()


def test_a_row_is_on_disk_as_soon_as_it_is_kept(planned: Sweep, tmp_path: Path) -> None:
    with Store(tmp_path / "out", planned, resume=False) as store:
        row: Row = {"job": 0, "verdict": "ok"}
        store.keep(row)
        lines = store.path.read_text().splitlines()
        assert json.loads(lines[1]) == row


def test_results_are_neither_overwritten_nor_mixed(planned: Sweep, tmp_path: Path) -> None:
    with Store(tmp_path / "out", planned, resume=False):
        pass
    with pytest.raises(SweepError, match="there are results already"):
        Store(tmp_path / "out", planned, resume=False)
    other = Sweep(planned.name, planned.raw, planned.vary, (1, 2), planned.source)
    with pytest.raises(SweepError, match="results of another sweep"):
        Store(tmp_path / "out", other, resume=True)


# -- the summary ----------------------------------------------------------------------------------


def rows_of(*values: float | None) -> list[Row]:
    """Three seeds a setting."""
    return [
        {
            "job": job,
            "settings": {"x": job // 3},
            "seed": job % 3 + 1,
            "verdict": "ok" if job else "violated",
            "why": "",
            "metrics": {"qos": {"d": {"t_d": None if value is None else {"value": value}}}},
        }
        for job, value in enumerate(values)
    ]


SMALL = Sweep("small", {"protocol": "heartbeat"}, (("x", (0, 1)),), (1, 2, 3))


def test_means_and_student_intervals_over_the_seeds() -> None:
    found = points(SMALL, rows_of(1.0, 2.0, 3.0, 5.0, None, 5.0), ["qos.d.t_d"])
    cell = found[0].cells["qos.d.t_d"]
    # mean 2, s = 1, n = 3: half = t(0.975; 2)/sqrt(3) = 4.302653/1.732051 = 2.484138
    assert (cell.n, cell.mean) == (3, 2.0)
    assert cell.interval is not None
    assert cell.interval.high - 2.0 == pytest.approx(2.484138, abs=1e-6)
    assert found[0].verdicts == {"ok": 2, "violated": 1, "unknown": 0, "error": 0}
    second = found[1].cells["qos.d.t_d"]
    assert (second.n, second.mean, second.interval) == (2, 5.0, None)  # no spread, no interval


def test_figures_are_found_by_dotted_paths() -> None:
    metrics = {"qos": {"d": {"p_a": {"value": 0.5, "n": 3}, "t_r": None, "pairs": 2}, "ok": True}}
    assert figures(metrics) == {"qos.d.p_a": 0.5, "qos.d.pairs": 2.0}


def test_an_unknown_metric_is_refused_with_what_there_is() -> None:
    rows = rows_of(1.0)
    assert choose_metrics(rows) == ["qos.d.t_d"]
    with pytest.raises(
        SweepError, match=r"no run has the metric qos\.d\.td; did you mean qos\.d\.t_d"
    ):
        choose_metrics(rows, ["qos.d.td"])


def test_times_are_shown_in_seconds() -> None:
    assert unit_of("qos.phi.t_d") == (1e-6, "s")
    assert unit_of("operations.latency_us.p99") == (1e-6, "s")
    assert unit_of("gossip.r1.coverage.0.5") == (1e-6, "s")
    assert unit_of("qos.phi.p_a") == (1.0, "")
    text = table(points(SMALL, rows_of(2e6, 3e6, 4e6), ["qos.d.t_d"]), ["qos.d.t_d"])
    assert "qos.d.t_d, s" in text
    assert "x=0  3  [0.515862, 5.48414]  n=3" in text
    assert "x=0  2 ok, 1 violated" in text


def test_the_summary_as_data_keeps_microseconds() -> None:
    data = to_json(SMALL, points(SMALL, rows_of(2e6, 3e6, 4e6), ["qos.d.t_d"]))
    assert data["schema"] == "splitbrain.sweep/1"
    assert data["points"][0]["metrics"]["qos.d.t_d"]["mean"] == 3e6
    json.dumps(data)


# -- command line ---------------------------------------------------------------------------------


def invoke(*arguments: str | int | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_the_command_prints_data_alone_on_standard_output(scenario: Path) -> None:
    done = invoke(
        scenario, "--vary", "link.loss=0%,10%", "--seeds", "1..2", "--json", "--workers", 1
    )
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert [point["settings"] for point in data["points"]] == [
        {"link.loss": "0%"},
        {"link.loss": "10%"},
    ]
    assert "4 of 4 runs" in done.stderr


def test_the_command_draws_error_bars(scenario: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawn = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for path in drawn:
        done = invoke(scenario, "--vary", "link.loss=0%,10%", "--plot", path, "--workers", 1)
        assert done.exit_code == 0, done.output
    assert drawn[0].read_bytes() == drawn[1].read_bytes()
    text = drawn[0].read_text()
    for shown in ("qos.timeout.t_d, s", "link.loss", "10%", "scenario swept · 3 seeds"):
        assert f"<!-- {shown}" in text, shown


def test_violated_checks_give_code_1(scenario: Path) -> None:
    done = invoke(
        scenario, "--vary", "parameters.detectors.timeout.timeout=2500ms,9s", "--workers", 1
    )
    assert done.exit_code == 1, done.output
    assert "3 violated" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "link.loss"], "--vary link.loss: write SETTING=VALUE"),
        (["--seeds", "5..2"], "--seeds 5..2: write 1..20"),
        (["--seeds", "1..999999999999"], "at most 100000"),
        (["--resume"], "--resume needs --out"),
        (["--metric", "qos.nothing"], "no run has the metric"),
        (["--vary", "nodes=3,x"], "nodes"),
        (["--plot", "x.svg"], "nothing to draw"),
    ],
)
def test_the_command_refuses_with_code_2(
    scenario: Path, arguments: Sequence[str], message: str
) -> None:
    done = invoke(scenario, "--workers", "1", *arguments)
    assert done.exit_code == 2, done.output
    assert message in done.output


def test_an_unknown_scenario_is_refused_with_code_2() -> None:
    assert invoke("detectors-five-region").exit_code == 2


def nobody_left(group: int) -> bool:
    """Whether all processes of a group end, within a while."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_keeps_what_is_done_and_leaves_no_process(
    workers: str, scenario: Path, tmp_path: Path
) -> None:
    code = "from scenarios.cli.sweep import sweep; sweep()"
    out = tmp_path / "out"
    arguments = [str(scenario), "--seeds", "1..5000", "--out", str(out), "--workers", workers]
    child = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not (out / "rows.jsonl").exists() or (out / "rows.jsonl").read_bytes().count(b"\n") < 5:
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGINT)  # the main process only: workers must be told by it
    told, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert "go on with --resume" in errors
    assert "Traceback" not in errors
    assert "verdicts" in told
    assert nobody_left(child.pid)
    rows = (out / "rows.jsonl").read_text().splitlines()
    assert len(rows) > 3
    assert all(json.loads(row) for row in rows)
