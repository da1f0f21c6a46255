"""Published figures of failure detectors, found again by running the real processes.

Quick figures here; at full size, all within 3 %, in the slow test at the end.
"""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path

import pytest
from click.testing import CliRunner

from scenarios.cli import reproduce as cli
from scenarios.reproduce import detector_runs, nfd_s_runs, targets
from scenarios.reproduce.rows import Row, row
from scenarios.reproduce.targets import TARGETS, Part

LOSS = 0.01


def by_name(rows: list[Row]) -> dict[str, Row]:
    return {line.name: line for line in rows}


def assert_all_ok(rows: list[Row]) -> None:
    assert rows
    wrong = [f"{line.name}: {line.published} but {line.ours}" for line in rows if not line.ok]
    assert not wrong


def test_well_known_settings_after_a_crash() -> None:
    rows = list(detector_runs.crash_to_suspicion())
    assert len(rows) == 5
    assert_all_ok(rows)


def test_cassandra_waits_for_18_42_intervals() -> None:
    (line,) = detector_runs.cassandra_intervals()
    assert line.published == pytest.approx(18.42, abs=0.001)
    assert_all_ok([line])


def test_cassandra_waits_for_18_42_intervals_of_another_draw() -> None:
    assert_all_ok(list(detector_runs.cassandra_intervals(seed=99)))


def test_nfd_s_in_a_plain_run_within_its_own_error() -> None:
    """100,000 beats: about 990 and 370 mistakes, so standard errors of 3.2 % and 5.2 %.

    T_MR is nearly exponential (mistakes of different beats are independent), so that the error of
    its mean is 1/√n; three of them are allowed.
    """
    found = by_name(list(nfd_s_runs.nfd_s_plain(beats=100_000)))
    for delta, mistakes in (("1.00", 990), ("1.02", 370)):
        line = found[f"NFD-S delta {delta}, plain run: E(T_MR), s"]
        assert line.ours == pytest.approx(line.published, rel=3 / sqrt(mistakes))


def test_nfd_s_given_losses_quickly() -> None:
    rows = list(nfd_s_runs.nfd_s_given_losses(nfd_s_runs.QUICK))
    assert {line.name.split(",")[0] for line in rows} == {
        f"NFD-S delta {delta}" for delta in ("1.00", "1.02", "1.25", "1.50", "2.50")
    }
    assert_all_ok(rows)


def test_forcing_one_loss_or_two_gives_the_same_quality() -> None:
    """δ = 1.25 s: of the beats that follow a lost one, 1 % are lost, and only then it errs.

    One loss forced, 5,000 trials: 50 mistakes are expected, ± 7. Three standard errors allowed.
    """
    one = nfd_s_runs.given_losses((1.25,), 1, 5_000, seed=3)
    two = nfd_s_runs.given_losses((1.25,), 2, 5_000, seed=3)
    share = len(two.lasted_us["1.25"]) / two.count * LOSS
    expected = share * one.count
    assert len(one.lasted_us["1.25"]) == pytest.approx(expected, abs=3 * sqrt(expected))


def test_a_mistake_is_counted_only_where_losses_were_forced() -> None:
    """With no loss by chance, every trial gives one mistake, over when the next beat comes."""
    found = nfd_s_runs.given_losses((1.00,), 1, 500, seed=1, loss=0.0)
    lasted = found.lasted_us["1.00"]
    assert len(lasted) == found.count == 500
    assert max(lasted) < 500_000  # exponential, mean 20 ms: beyond it once in e^25


def test_false_alarms_at_a_tenth_of_the_size() -> None:
    """20 nodes, 38,760 chances, 388 losses: standard error 5.1 %; three of them allowed."""
    rows = list(detector_runs.false_alarms(nodes=20))
    assert [line.published for line in rows] == pytest.approx([101.01, 102.03, 101.01], abs=0.01)
    for line in rows:
        assert line.ours == pytest.approx(line.published, rel=3 * 0.051)


# -- targets and the command ----------------------------------------------------------------------


def test_every_part_can_be_imported() -> None:
    from importlib import import_module

    for part in targets.parts("all"):
        assert callable(getattr(import_module(f"scenarios.reproduce.{part.module}"), part.function))
    assert targets.names() == ["detectors", "gossip", "all"]
    assert len(targets.parts("all")) == sum(map(len, TARGETS.values()))


def test_quick_detectors_from_the_command_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        cli.reproduce, ["detectors", "--quick", "--json", "--out", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["ok"] is True
    assert data["quick"] is True
    assert {"published", "ours", "tolerance", "ok", "source", "assumption", "part"} <= {
        *data["rows"][0]
    }
    assert json.loads((tmp_path / "reproduce.json").read_text()) == data
    assert "## NFD-S in closed form" in (tmp_path / "reproduce.md").read_text()
    assert "crash to suspicion in a run" in done.stderr


def parts_of(*rows: Row) -> dict[str, tuple[Part, ...]]:
    class Fixed(Part):
        def rows(self, *, quick: bool = False) -> list[Row]:
            return list(rows)

    return {"detectors": (Fixed("fixed", "none", "none", "at once"),)}


def test_one_figure_out_of_tolerance_gives_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    good = row("good", 1.0, 1.01, tolerance=0.02, source="here", assumption="assumed")
    bad = row("bad", 1.0, 1.03, tolerance=0.02, source="here")
    monkeypatch.setattr(targets, "TARGETS", parts_of(good, bad))
    done = CliRunner().invoke(cli.reproduce, ["detectors"])
    assert done.exit_code == 1
    assert "1 of 2 figures within their tolerance" in done.stdout
    assert "not reproduced: bad" in done.stderr
    for text in ("source: here", "assumption: assumed", "1.03", "0.02"):
        assert text in done.stdout


def test_all_figures_in_tolerance_give_code_0(monkeypatch: pytest.MonkeyPatch) -> None:
    good = row("good", 1.0, 1.0, source="here")
    monkeypatch.setattr(targets, "TARGETS", parts_of(good))
    done = CliRunner().invoke(cli.reproduce, ["detectors"])
    assert done.exit_code == 0
    assert "1 of 1 figures within their tolerance" in done.stdout


def test_a_not_a_number_is_not_reproduced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "TARGETS", parts_of(row("nan", 1.0, float("nan"), source="x")))
    assert CliRunner().invoke(cli.reproduce, ["detectors"]).exit_code == 1


def test_an_unknown_target_gives_code_2() -> None:
    done = CliRunner().invoke(cli.reproduce, ["detector"])
    assert done.exit_code == 2
    assert "'detectors', 'gossip', 'all'" in done.output


# -- everything -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("part", TARGETS["detectors"], ids=lambda part: part.title)
def test_everything_at_full_size(part: Part) -> None:
    assert_all_ok(part.rows())
