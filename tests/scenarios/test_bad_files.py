"""Each file in bad/ is wrong in ways that its first line lists: places, values, hints."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.loader import ScenarioError, from_bytes, load
from scenarios.problems import Problem, shown

BAD = Path(__file__).parent / "bad"
FILES = sorted(BAD.glob("*.yaml"))


def brief(problem: Problem) -> str:
    """``line:column field: given what; hint``: all but the (long) list of what is allowed."""
    field = f"{problem.field}: " if problem.field else ""
    hint = f"; {problem.hint}" if problem.hint else ""
    return f"{problem.line}:{problem.column} {field}given {shown(problem.given)}{hint}"


def problems_of(path: Path) -> list[Problem]:
    with pytest.raises(ScenarioError) as caught:
        load(path)
    return caught.value.problems


def test_the_corpus_is_large() -> None:
    assert len(FILES) >= 45


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_every_mistake_is_told_where_it_is(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert [brief(problem) for problem in problems_of(path)] == first[2:].split(" || ")


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_every_mistake_says_what_is_allowed(path: Path) -> None:
    for problem in problems_of(path):
        assert problem.allowed
        assert problem.file == str(path)
        line = str(problem)
        assert "\n" not in line
        assert line.startswith(f"{path}:{problem.line}:{problem.column}: {problem.field}")
        assert f"allowed: {problem.allowed}" in line


@pytest.mark.parametrize(
    ("data", "place", "given"),
    [
        (b"name: a\ntitle: \xff\n", (2, 8), "the byte 0xff"),
        (b"name: a\x00b\n", (1, 8), "\x00"),
        (b'name: "\\UFFFFFFFF"\n', (1, 1), None),
        ("name: 1".encode("utf-16"), (1, 1), "the byte 0xff"),
        (b"x" * (1 << 20) + b"y", (1, 1), "1048577 bytes"),
        pytest.param(
            b"\n".join(b"k%d: 1" % at for at in range(50_001)),
            (50_000, 9),
            "more values",
            marks=pytest.mark.slow,
        ),
        (b"[" * 500_000, (1, 41), "41 levels"),
        (b"{" * 10_000, (1, 2), "a collection as a key"),
        (b"{a: " * 10_000, (1, 161), "41 levels"),
        (b"? " * 100 + b"a\n", (1, 3), "a collection as a key"),
        (b"- " * 100 + b"a\n", (1, 81), "41 levels"),
    ],
)
def test_bytes_that_cannot_be_read(data: bytes, place: tuple[int, int], given: str | None) -> None:
    with pytest.raises(ScenarioError) as caught:
        from_bytes(data)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == place
    assert given is None or problem.given == given


def test_the_number_of_values_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios.yaml_read.MAX_VALUES", 5)
    with pytest.raises(ScenarioError, match="3:1: given 'more values', allowed: at most 5 keys"):
        from_bytes(b"a: 1\nb: 2\nc: 3\n")  # the mapping itself, two keys, two values, a third key
