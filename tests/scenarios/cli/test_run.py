"""``splitbrain run``: exit codes, the JSON object, the report, the folder."""

from __future__ import annotations

import json
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from scenarios.cli import main
from scenarios.loader import read_raw
from scenarios.model import Scenario
from scenarios.runner import RunResult
from tests.scenarios.cli.conftest import TINY, Splitbrain

pytestmark = pytest.mark.usefixtures("without_matplotlib")

VIOLATED = "mistake-never-trusts-again"


def changed(folder: Path, old: str, new: str, name: str = "changed.yaml") -> str:
    assert old in TINY
    (folder / name).write_text(TINY.replace(old, new))
    return name


# -- exit codes ---------------------------------------------------------------------------------


def test_what_holds_exits_with_0(splitbrain: Splitbrain, tiny: Path) -> None:
    done = splitbrain("run", tiny)
    assert done.exit_code == 0
    assert "HOLDS" in done.stdout


def test_a_violation_exits_with_1(splitbrain: Splitbrain) -> None:
    done = splitbrain("run", VIOLATED)
    assert done.exit_code == 1
    assert "VIOLATED" in done.stdout


def test_nothing_checked_is_inconclusive_4(splitbrain: Splitbrain, folder: Path) -> None:
    name = changed(folder, "checks:\n  - converged: {field: store}\n", "")
    done = splitbrain("run", name)
    assert done.exit_code == 4
    assert "INCONCLUSIVE: nothing was checked" in done.stdout


def test_a_fault_that_touched_nothing_is_inconclusive(splitbrain: Splitbrain, folder: Path) -> None:
    name = changed(folder, "{at: 2s, for: 1s, crash: n2}", "{at: 2s, recover: n2}")
    done = splitbrain("run", name)
    assert done.exit_code == 4
    assert "unused" in done.stdout


def test_an_unknown_scenario_is_named_with_what_there_is(splitbrain: Splitbrain) -> None:
    done = splitbrain("run", "detectors-five-region")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "detectors-five-region" in done.stderr
    assert "did you mean 'detectors-five-regions'?" in done.stderr


def test_every_mistake_of_a_file_has_its_line(splitbrain: Splitbrain, folder: Path) -> None:
    wrong = TINY.replace("nodes: 3", "nodes: -3").replace("duration: 6s", "duration: 6")
    (folder / "wrong.yaml").write_text(wrong)
    done = splitbrain("run", "wrong.yaml")
    assert done.exit_code == 2
    lines = done.stderr.splitlines()
    assert [line.split(":")[:2] for line in lines] == [["wrong.yaml", "5"], ["wrong.yaml", "13"]]


@pytest.mark.parametrize(
    "args",
    [
        ("run",),
        ("run", "tiny.yaml", "--seed", "x"),
        ("run", "tiny.yaml", "--seed", "-1"),
        ("run", "tiny.yaml", "--seed", str(2**63)),
        ("run", "tiny.yaml", "--seed", "1", "--seeds", "1..2"),
        ("run", "tiny.yaml", "--seeds", "2..1"),
        ("run", "tiny.yaml", "--seeds", "1..99999"),
        ("run", "tiny.yaml", "--seeds", ""),
        ("run", "tiny.yaml", "--set", "nodes"),
        ("run", "tiny.yaml", "--set", "no.such=1"),
        ("run", "tiny.yaml", "--set", "nodes=many"),
        ("run", "tiny.yaml", "--seeds", "1..2", "--plot", "a.svg"),
        ("run", "tiny.yaml", "--out", "tiny.yaml"),
        ("run", "tiny.yaml", "--out", "tiny.yaml/x"),
        ("run", "tiny.yaml", "--no-such-option"),
    ],
)
def test_bad_usage_exits_with_2_and_runs_nothing(
    splitbrain: Splitbrain, tiny: Path, args: tuple[str, ...]
) -> None:
    done = splitbrain(*args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.strip()
    assert [path.name for path in tiny.parent.iterdir()] == ["tiny.yaml"]


# -- a protocol that raises -----------------------------------------------------------------------

BROKEN = '''\
from protocols.api import Context, NodeId, process


@process
class Broken:
    """Fails when it starts."""

    me: NodeId
    peers: tuple[NodeId, ...]

    def on_start(self, ctx: Context) -> None:
        raise LookupError("no such shelf")
'''


@pytest.fixture
def broken(folder: Path) -> str:
    (folder / "brokenprotocol.py").write_text(BROKEN)
    wrong = "protocol: anti-entropy\nparameters: {period: 500ms}"
    name = changed(folder, wrong, "protocol: brokenprotocol:Broken")
    text = (folder / name).read_text().split("workload:")[0] + "duration: 1s\n"
    (folder / name).write_text(text)
    return name


def test_a_protocol_that_raises_exits_with_3_and_is_blamed(
    splitbrain: Splitbrain, broken: str
) -> None:
    done = splitbrain("run", broken)
    assert (done.exit_code, done.stdout) == (3, "")
    assert "the run of tiny seed 1 stopped: LookupError: no such shelf" in done.stderr
    assert "brokenprotocol.py:12, in on_start" in done.stderr
    assert "mistake in the protocol" in done.stderr
    assert "report" not in done.stderr


def test_the_traceback_is_there_for_who_wants_it(splitbrain: Splitbrain, broken: str) -> None:
    done = splitbrain("run", broken, env={"SPLITBRAIN_TRACEBACK": "1"})
    assert done.exit_code == 3
    assert "Traceback (most recent call last)" in done.stderr
    asked = CliRunner().invoke(main, ["--traceback", "run", broken])
    assert "Traceback (most recent call last)" in asked.stderr


def test_our_own_bug_exits_with_3_and_asks_for_a_report(
    splitbrain: Splitbrain, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("scenarios.cli.report.report", fail)
    done = splitbrain("run", tiny)
    assert done.exit_code == 3
    assert "internal error: KeyError: 'lost'" in done.stderr
    assert "Please report it" in done.stderr


# -- JSON ---------------------------------------------------------------------------------------


def test_json_is_one_object_and_the_file_holds_the_same(splitbrain: Splitbrain, tiny: Path) -> None:
    done = splitbrain("run", tiny, "--seed", 2, "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, done.stderr) == (0, "")
    assert found["schema"] == "splitbrain.run/1"
    assert (found["scenario"], found["seed"], found["verdict"]) == ("tiny", 2, "ok")
    assert [check["check"] for check in found["checks"]] == ["converged"]
    assert len(found["digest"]) == 32
    artifacts = found["artifacts"]
    assert artifacts["folder"] == f"runs/tiny-seed2-{found['digest'][:8]}"
    assert set(artifacts) == {"folder", "trace", "result", "scenario", "plan", "figures"}
    assert json.loads(Path(artifacts["result"]).read_text()) == found
    assert read_raw(artifacts["scenario"]) == read_raw(tiny)
    files = {path.name for path in Path(artifacts["folder"]).iterdir()}
    assert files == {"trace.jsonl.gz", "result.json", "scenario.yaml", "plan.yaml"}


def test_equal_runs_print_the_same(splitbrain: Splitbrain, tiny: Path) -> None:
    for extra in ([], ["--json"], ["--seeds", "1..2"], ["--seeds", "1..2", "--json"]):
        assert splitbrain("run", tiny, *extra).stdout == splitbrain("run", tiny, *extra).stdout


def test_without_a_trace_there_is_no_digest(splitbrain: Splitbrain, tiny: Path) -> None:
    done = splitbrain("run", tiny, "--no-trace", "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["digest"], found["artifacts"]["trace"]) == (0, None, None)
    assert found["artifacts"]["folder"] == "runs/tiny-seed1-untraced"
    traced = json.loads(splitbrain("run", tiny, "--json").stdout)
    assert found["messages"] == traced["messages"]


def test_set_changes_the_scenario_and_what_is_kept_of_it(
    splitbrain: Splitbrain, tiny: Path
) -> None:
    done = splitbrain("run", tiny, "--set", "nodes=5", "--set", "link.loss=2%", "--json")
    kept = read_raw(json.loads(done.stdout)["artifacts"]["scenario"])
    assert (kept["nodes"], kept["link"]["loss"]) == (5, "2%")


def test_several_seeds_give_one_object(splitbrain: Splitbrain, tiny: Path) -> None:
    done = splitbrain("run", tiny, "--seeds", "all", "--json")
    found = json.loads(done.stdout)
    assert (found["schema"], found["seeds"], found["verdict"]) == (
        "splitbrain.runs/1",
        [1, 2, 3],
        "ok",
    )
    assert [run["seed"] for run in found["runs"]] == [1, 2, 3]
    alone = json.loads(splitbrain("run", tiny, "--seed", 3, "--json").stdout)
    assert found["runs"][2] == alone


def test_the_worst_verdict_of_several_seeds_decides(splitbrain: Splitbrain) -> None:
    done = splitbrain("run", VIOLATED, "--seeds", "1,2")
    assert done.exit_code == 1
    assert "2 seeds: 2 violated" in done.stdout


def test_ctrl_c_keeps_the_seeds_that_are_done(
    splitbrain: Splitbrain, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scenarios import runner

    def run(scenario: Scenario, seed: int, **more: Any) -> RunResult:
        if seed == 3:
            raise KeyboardInterrupt
        return whole(scenario, seed, **more)

    whole = runner.run_scenario
    monkeypatch.setattr(runner, "run_scenario", run)
    done = splitbrain("run", tiny, "--seeds", "1..9")
    assert (done.exit_code, done.stdout) == (130, "")
    assert "2 of 9 runs are done and kept" in done.stderr
    kept = sorted(path.name.split("-")[1] for path in Path("runs").iterdir())
    assert kept == ["seed1", "seed2"]
    assert len(list(Path("runs").glob("*/result.json"))) == 2


@pytest.mark.parametrize("seeds", ["1..3", "1,2,3", "1, 2..3", "3..3,1..2"])
def test_seeds_may_be_written_as_ranges_and_lists(
    splitbrain: Splitbrain, tiny: Path, seeds: str
) -> None:
    done = splitbrain("run", tiny, "--seeds", seeds, "--json")
    assert sorted(json.loads(done.stdout)["seeds"]) == [1, 2, 3]


# -- the report -----------------------------------------------------------------------------------


def test_the_report_tells_everything(splitbrain: Splitbrain, tiny: Path) -> None:
    done = splitbrain("run", tiny)
    found = json.loads(splitbrain("run", tiny, "--json").stdout)
    for told in (
        "tiny: Three sites that agree",
        "seed 1, 3 nodes, 6s simulated",
        "n2 crashes at 2s and recovers at 3s",
        f"{found['messages']['sent']} sent",
        found["digest"],
        found["artifacts"]["folder"],
    ):
        assert told in done.stdout
    assert "× real time" in done.stderr


def test_the_report_has_a_table_of_the_quality_of_service(splitbrain: Splitbrain) -> None:
    done = splitbrain("run", "detectors-five-regions", "--seed", 3, "--set", "metrics=[qos]")
    lines = done.stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("quality of service"))
    table = lines[start + 2 : start + 14]
    assert [line.split()[0] for line in table[::4]] == ["fixed", "phi", "nfd-e"]
    assert ["T_D" in line for line in table] == [True, False, False, False] * 3
    assert ["P_A" in line for line in table] == [False, False, False, True] * 3
    kept = json.loads(next(Path("runs").glob("*/result.json")).read_text())["metrics"]["qos"]
    mean_s = kept["phi"]["t_d"]["value"] / 1e6
    assert f"  {mean_s:.2f}s  " in table[4]
    assert f"  {kept['phi']['p_a']['value']:.5f}  " in table[7]


def test_a_violation_is_shown_with_its_causes_and_replayed(splitbrain: Splitbrain) -> None:
    done = splitbrain("run", VIOLATED)
    assert "counterexample to eventual-strong-accuracy at" in done.stdout
    assert "because #" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("replay:")]
    again = splitbrain(*shlex.split(line.removeprefix("replay:"))[1:])
    assert again.exit_code == 0
    assert "IDENTICAL" in again.stdout and "violated" in again.stdout


def test_without_a_trace_the_command_to_run_again_works_too(splitbrain: Splitbrain) -> None:
    done = splitbrain("run", VIOLATED, "--no-trace")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("replay:")]
    assert splitbrain(*shlex.split(line.removeprefix("replay:"))[1:]).exit_code == 1


def test_quiet_is_quiet(splitbrain: Splitbrain, tiny: Path) -> None:
    assert splitbrain("run", tiny, "--quiet").stderr == ""


def test_colours_are_for_terminals_that_want_them(tiny: Path) -> None:
    def shown(**env: str) -> str:
        return CliRunner().invoke(main, ["run", str(tiny)], color=True, env=env).stdout

    assert click.unstyle(shown(TERM="xterm")) != shown(TERM="xterm")
    assert click.unstyle(shown(NO_COLOR="1")) == shown(NO_COLOR="1")
    assert click.unstyle(shown(TERM="dumb")) == shown(TERM="dumb")
    piped = CliRunner().invoke(main, ["run", str(tiny)]).stdout
    assert click.unstyle(piped) == piped


# -- figures ------------------------------------------------------------------------------------


def test_a_figure_that_was_asked_for_needs_matplotlib(splitbrain: Splitbrain, tiny: Path) -> None:
    done = splitbrain("run", tiny, "--plot", "figure.svg")
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("splitbrain: ")
    assert "needs matplotlib: pip install 'splitbrain[plot]'" in line
    assert not Path("runs").exists()


def test_a_figure_that_was_not_asked_for_is_left_out_with_a_note(splitbrain: Splitbrain) -> None:
    done = splitbrain("run", VIOLATED)
    assert "no figure: it needs matplotlib: pip install 'splitbrain[plot]'" in done.stderr
    assert "splitbrain[plot]" not in splitbrain("run", VIOLATED, "--quiet").stderr


class TestWithMatplotlib:
    @pytest.fixture(autouse=True)
    def installed(self, without_matplotlib: None, monkeypatch: pytest.MonkeyPatch) -> None:
        if find_spec("matplotlib") is None:
            pytest.skip("matplotlib is not installed")
        monkeypatch.setattr("scenarios.cli.figures._installed", lambda: True)

    def test_the_folder_has_figures_of_the_detectors(self, splitbrain: Splitbrain) -> None:
        done = splitbrain("run", VIOLATED)
        (result,) = Path("runs").glob("*/result.json")
        figures = json.loads(result.read_text())["artifacts"]["figures"]
        assert [Path(path).name for path in figures] == ["suspicion.png", "suspicion.svg"]
        assert all(Path(path).stat().st_size > 1000 for path in figures)
        assert all(path in done.stdout for path in figures)

    def test_the_figure_goes_where_it_was_asked_for(
        self, splitbrain: Splitbrain, tiny: Path
    ) -> None:
        done = splitbrain("run", tiny, "--plot", "sub/figure.svg", "--json")
        assert json.loads(done.stdout)["artifacts"]["figures"] == ["sub/figure.svg"]
        assert Path("sub/figure.svg").read_text().startswith("<?xml")

    def test_a_name_that_is_no_figure_is_refused_before_the_run(
        self, splitbrain: Splitbrain, tiny: Path
    ) -> None:
        done = splitbrain("run", tiny, "--plot", "figure.txt")
        assert (done.exit_code, done.stdout) == (2, "")
        assert ".svg" in done.stderr and not Path("runs").exists()
