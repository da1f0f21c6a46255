"""Progress on stderr: quarters where there is no terminal, a bar where there is one."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from scenarios.cli import progress

END = 60_000_000


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def report_all(report: Callable[[int, int], None] | None) -> None:
    assert report is not None
    for part in range(1, 201):
        report(END * part // 200, END)


def test_each_quarter_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter(range(1000))
    report_all(progress._lines("x seed 1", lambda: float(next(times))))
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "x seed 1: 25% (15s of 1m simulated)",
        "x seed 1: 50% (30s of 1m simulated)",
        "x seed 1: 75% (45s of 1m simulated)",
        "x seed 1: 100% (1m of 1m simulated)",
    ]


def test_a_run_shorter_than_a_second_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    report_all(progress._lines("x", lambda: 0.0))
    assert capsys.readouterr().err == ""


def test_quiet_asks_for_no_progress() -> None:
    with progress.progress("x", quiet=True) as report:
        assert report is None


@pytest.mark.parametrize(
    ("variable", "value", "bar"),
    [("NO_COLOR", "", True), ("NO_COLOR", "1", False), ("TERM", "dumb", False)],
)
def test_a_bar_is_for_terminals(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, bar: bool
) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert not progress._bar_possible()
    monkeypatch.setattr("sys.stderr", Terminal())
    assert progress._bar_possible() == bar
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    assert not progress._bar_possible()


def test_a_bar_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.progress("x seed 1", quiet=False) as report:
        report_all(report)
    assert "x seed 1" in terminal.getvalue() and "100%" in terminal.getvalue()
