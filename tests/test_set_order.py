"""The set-order lint sees each way of walking a set, and lets the order-free ones pass."""

from __future__ import annotations

import ast

import pytest

from tests.set_order import ordered_uses_of_sets

WALKS = [
    "for x in {1, 2}: pass",
    "for x in set(a): pass",
    "for x in frozenset(a) | b: pass",
    "for x in set(a).union(b): pass",
    "[x for x in {y for y in a}]",
    "{x: 1 for x in set(a)}",
    "list(set(a))",
    "tuple({*a, *b})",
    "enumerate(set(a))",
    "next(iter(set(a)))",
    "', '.join(set(a))",
    "[*set(a)]",
    "dict.fromkeys(set(a))",
    "f(x for x in set(a))",
    "s = set(a)\nfor x in s: pass",
    "def f(s: frozenset[str]):\n    return [x for x in s]",
    "def f(s: 'set[str] | None'):\n    return list(s)",
    "def f():\n    s: set[int] = g()\n    return tuple(s)",
    "s = set(a)\ndef f():\n    return tuple(s)",
    "class P:\n    heard: frozenset[str]\n    def f(self):\n        for n in self.heard: pass",
    "class P:\n    def __init__(self):\n        self.s: set[int] = g()\n        list(self.s)",
    "lambda s: list(set(s))",
]

FINE = [
    "for x in sorted({1, 2}): pass",
    "for x in in_order(set(a)): pass",
    "x in {1, 2}",
    "len(set(a)) == len(a)",
    "{f(x) for x in set(a)}",
    "frozenset(f(x) for x in set(a))",
    "sorted(f(x) for x in set(a))",
    "any(f(x) for x in set(a))",
    "{*set(a), *b}",
    "for x in a: pass",
    "s = set(a)\ns = sorted(s)\nfor x in s: pass",
    "def f(s: tuple[str, ...]):\n    return list(s)",
    "s = set(a)\ndef f(s):\n    return tuple(s)",
    "class P:\n    heard: frozenset[str]\n    def f(self):\n        return sorted(self.heard)",
    "class P:\n    s: set[str]\n    def f(self):\n        s = sorted(self.s)\n        list(s)",
    "s = set(a)\ndef f():\n    for s in b:\n        list(s)",
    "a - b",
]


@pytest.mark.parametrize("program", WALKS)
def test_walking_a_set_is_found(program: str) -> None:
    assert len(ordered_uses_of_sets(ast.parse(program))) == 1


@pytest.mark.parametrize("program", FINE)
def test_order_free_uses_are_let_pass(program: str) -> None:
    assert ordered_uses_of_sets(ast.parse(program)) == []


def test_a_use_is_named_by_line_and_text() -> None:
    program = "s = {1}\n\nfor x in s | {2}: pass"
    assert ordered_uses_of_sets(ast.parse(program)) == ["line 3: s | {2}"]
