import pytest

from scenarios.reproduce.detectors import rows
from scenarios.reproduce.rows import Row, row

ALL = rows()


@pytest.mark.parametrize("line", ALL, ids=lambda line: line.name)
def test_published_number(line: Row) -> None:
    assert line.ok, f"{line.name}: {line.source} has {line.published}, we have {line.ours}"


def test_names_are_distinct_and_every_row_has_a_source() -> None:
    assert len({(line.name, line.source) for line in ALL}) == len(ALL) == 116
    assert all(line.source for line in ALL)


def test_row_is_not_ok_outside_its_tolerance_or_for_nan() -> None:
    assert row("x", 2.0, 2.1, tolerance=0.11, source="s").ok
    assert not row("x", 2.0, 2.1, tolerance=0.09, source="s").ok
    assert row("x", -200.0, -201.0, relative=0.01, source="s").ok
    assert not row("x", 2.0, float("nan"), tolerance=9.0, source="s").ok


def test_recurrence_of_mistakes_is_a_staircase() -> None:
    """Each further η of δ makes mistakes rarer by 1/loss = 100: Chen et al. 2002, §7, figure 12."""
    by_name = {line.name: line.ours for line in ALL}
    steps = [by_name[f"NFD-S delta {d:.2f}: E(T_MR)"] for d in (1.5, 2.0, 2.5)]
    assert steps[0] == pytest.approx(steps[1], rel=1e-8)
    assert steps[2] / steps[0] == pytest.approx(100, rel=1e-6)
