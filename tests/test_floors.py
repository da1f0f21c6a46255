"""What the import contracts of pyproject.toml cannot say: determinism and hygiene, by the AST."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.set_order import ordered_uses_of_sets

ROOT = Path(__file__).resolve().parent.parent

IMPURE = {
    *("asyncio", "concurrent", "datetime", "logging", "multiprocessing", "os", "random"),
    *("secrets", "select", "selectors", "signal", "socket", "subprocess", "sys", "threading"),
    *("time", "uuid"),
}
CONTRACT = {
    *("protocols.api", "protocols.step", "protocols.values", "protocols.client"),
    *("protocols.spec", "protocols.canonical"),
}
SLOW_TO_IMPORT = {"networkx", "matplotlib", "numpy", "rich", "distributed", "dask", "grpc"}
STABLE_DRAWS = {  # the same stream on every supported Python
    *("Random", "random", "randrange", "choice", "shuffle", "sample", "expovariate", "gauss"),
    *("lognormvariate", "getrandbits", "getstate", "setstate"),
}


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def each_file_of(*folders: str) -> pytest.MarkDecorator:
    paths = sources(*folders)
    return pytest.mark.parametrize("path", paths, ids=names(paths))


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(tree: ast.AST) -> Iterator[str]:
    """Each module named by an import, at any depth; ``from a import b`` may name ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are written in full"
            base = node.module or ""
            package = ROOT.joinpath(*base.split(".")).is_dir()
            yield from (f"{base}.{alias.name}" if package else base for alias in node.names)


def imported_when_loaded(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield from imported(statement)


def floor(name: str) -> str:
    return name.split(".")[0]


@each_file_of("protocols")
def test_a_protocol_imports_pure_standard_library_and_immutables(path: Path) -> None:
    allowed = (sys.stdlib_module_names - IMPURE) | {"protocols", "immutables"}
    assert [name for name in imported(parse(path)) if floor(name) not in allowed] == []


@each_file_of("sim")
def test_the_simulator_imports_the_contract_and_no_concrete_protocol(path: Path) -> None:
    below = [name for name in imported(parse(path)) if floor(name) == "protocols"]
    assert [name for name in below if ".".join(name.split(".")[:2]) not in CONTRACT] == []


@each_file_of("sim", "scenarios", "protocols")
def test_what_is_slow_to_import_is_imported_where_it_is_used(path: Path) -> None:
    loaded = imported_when_loaded(parse(path))
    assert [name for name in loaded if floor(name) in SLOW_TO_IMPORT] == []


@each_file_of("sim", "protocols")
def test_nothing_depends_on_the_order_of_a_set(path: Path) -> None:
    assert ordered_uses_of_sets(parse(path)) == []


@each_file_of("sim", "protocols", "scenarios")
def test_nothing_is_ordered_by_hash_or_identity(path: Path) -> None:
    assert [f"line {node.lineno}" for node in orderings_by_hash(parse(path))] == []


def orderings_by_hash(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "key" and mentions_hash(node.value):
            yield node.value
        if isinstance(node, ast.Compare) and not_equality(node) and mentions_hash(node):
            yield node


def not_equality(node: ast.Compare) -> bool:
    return any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops)


def mentions_hash(tree: ast.expr) -> bool:
    return any(isinstance(n, ast.Name) and n.id in ("hash", "id") for n in ast.walk(tree))


@each_file_of("sim", "scenarios")
def test_the_shared_random_generator_is_never_used(path: Path) -> None:
    tree = parse(path)
    drawn = [
        f"line {node.lineno}: random.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "random"
        and node.attr != "Random"
    ]
    taken = [
        f"line {node.lineno}: from random import {alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "random"
        for alias in node.names
        if alias.name != "Random"
    ]
    assert drawn + taken == []


@each_file_of("sim", "scenarios")
def test_only_draws_that_are_stable_between_pythons_are_made(path: Path) -> None:
    import random

    others = {name for name in dir(random.Random) if not name.startswith("_")} - STABLE_DRAWS
    others -= {"seed", "choices"}  # names too common to mean a draw wherever they stand
    calls = (node for node in ast.walk(parse(path)) if isinstance(node, ast.Call))
    used = [call.func.attr for call in calls if isinstance(call.func, ast.Attribute)]
    assert [name for name in used if name in others] == []


@pytest.mark.parametrize(
    ("program", "orderings"),
    [
        ("sorted(x, key=hash)", 1),
        ("sorted(x, key=lambda n: id(n))", 1),
        ("hash(a) < hash(b)", 1),
        ("hash(a) == hash(b)", 0),
        ("sorted(x, key=len)", 0),
    ],
)
def test_orderings_by_hash_are_seen(program: str, orderings: int) -> None:
    assert len(list(orderings_by_hash(ast.parse(program)))) == orderings


# --- hygiene of the repository ---------------------------------------------------------------

MACHINE_PATH = re.compile(r"(?<![\w.~)}\-])/(?:work|root|tmp)(?=/|\b(?![\w-]))")
PACKAGE_SOURCE = re.compile(
    r"(?:index-url|find-links|trusted-host)[ =]|https?://\S+/simple\b|//registry\.|file://" + "/"
)


def repository_files() -> list[Path]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return []
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True)
    paths = (ROOT / name.decode() for name in done.stdout.split(b"\0") if name)
    return [path for path in paths if path.is_file()]


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in repository_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    return found


@pytest.mark.parametrize("pattern", [MACHINE_PATH, PACKAGE_SOURCE], ids=["paths", "sources"])
def test_no_file_names_a_path_or_package_source_of_one_machine(pattern: re.Pattern[str]) -> None:
    if not repository_files():
        pytest.skip("not a git checkout, or no git on this machine")
    assert lines_with(pattern) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("cd {}work/main", True),
        ("see {}tmp/x.txt", True),
        ("'{}root'", True),
        ("leaf{}root", False),
        ("the {}roots of trees", False),
        ("https://example.org{}work/", False),
    ],
)
def test_machine_paths_are_recognised(line: str, found: bool) -> None:
    assert bool(MACHINE_PATH.search(line.format("/"))) == found
