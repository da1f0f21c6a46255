"""Finds code whose result depends on the order of a set, which differs from run to run.

A set may be asked, counted, compared, sorted and joined with another; it may not be walked.
Known as sets: displays, comprehensions, ``set()`` and ``frozenset()`` calls, set operators and
methods on these, and names, parameters and fields annotated (or assigned) as sets. What a call
returns is not known, so this finds the usual mistakes and not every one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.DictComp | ast.GeneratorExp | ast.SetComp

SET_TYPES = {"set", "frozenset", "Set", "AbstractSet", "MutableSet", "FrozenSet"}
SET_METHODS = {"union", "intersection", "difference", "symmetric_difference"}
SET_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
ORDER_FREE = {"sorted", "in_order", "set", "frozenset", "len", "any", "all", "sum", "min", "max"}
ORDERED = {"list", "tuple", "enumerate", "iter", "zip", "map", "filter", "reversed", "dict"}
ORDERED_METHODS = {"join", "extend", "fromkeys"}


def ordered_uses_of_sets(tree: ast.Module) -> list[str]:
    """One line per place that walks a set: ``line 12: for n in self.peers``."""
    fields = {name for node in ast.walk(tree) for name in _set_fields(node)}
    found = set(_uses(tree, _sets_assigned(tree), fields))
    return [f"line {line}: {what}" for line, what in sorted(found)]


def _uses(scope: ast.AST, names: set[str], fields: set[str]) -> Iterator[tuple[int, str]]:
    """Uses within ``scope``; each inner function knows the names of those around it and its own."""
    free = _order_free_arguments(scope)
    for node in _own(scope):
        for walked in _walked(node, free):
            if _is_set(walked, names, fields):
                yield walked.lineno, ast.unparse(walked)
        if isinstance(node, Function):
            yield from _uses(node, _names_in(node, names), fields)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of ``scope`` without the bodies of its inner functions."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function):
            waiting.extend(ast.iter_child_nodes(node))


def _walked(node: ast.AST, free: set[int]) -> Iterator[ast.expr]:
    """What ``node`` walks in order, if its result shows that order."""
    if isinstance(node, ast.For | ast.AsyncFor):
        yield node.iter
    elif isinstance(node, Comprehension):
        if not isinstance(node, ast.SetComp) and id(node) not in free:
            yield from (part.iter for part in node.generators)
    elif isinstance(node, ast.Starred) and id(node) not in free:
        yield node.value
    elif isinstance(node, ast.Call) and id(node) not in free and _keeps_order(node.func):
        yield from node.args


def _keeps_order(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in ORDERED
    return isinstance(function, ast.Attribute) and function.attr in ORDERED_METHODS


def _order_free_arguments(scope: ast.AST) -> set[int]:
    """Expressions handed to something that forgets their order: ``sorted(f(x) for x in s)``."""
    free: set[int] = set()
    for node in _own(scope):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ORDER_FREE:
                free.update(id(argument) for argument in node.args)
        elif isinstance(node, ast.Set):
            free.update(id(element) for element in node.elts)
    return free


def _is_set(node: ast.expr, names: set[str], fields: set[str]) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Name(id=name):
            return name in names
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name in fields
        case ast.Call(func=ast.Name(id=name)):
            return name in ("set", "frozenset")
        case ast.Call(func=ast.Attribute(value=owner, attr=name)):
            return name in SET_METHODS and _is_set(owner, names, fields)
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, SET_OPERATORS):
            return _is_set(left, names, fields) or _is_set(right, names, fields)
        case ast.IfExp(body=left, orelse=right) | ast.NamedExpr(target=left, value=right):
            return _is_set(left, names, fields) or _is_set(right, names, fields)
    return False


def _names_in(function: Function, outer: set[str]) -> set[str]:
    """The names that hold sets inside ``function``: those around it, not hidden, and its own."""
    parameters = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    own = {p.arg for p in parameters if p.annotation and _names_a_set(p.annotation)}
    hidden = {p.arg for p in parameters} | _stored(function)
    return (outer - hidden) | (own - _stored(function)) | _sets_assigned(function)


def _stored(scope: ast.AST) -> set[str]:
    names = (node for node in _own(scope) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _sets_assigned(scope: ast.AST) -> set[str]:
    """Names only ever assigned sets, or annotated as sets, in ``scope`` itself."""
    sets: set[str] = set()
    others: set[str] = set()
    for node in _own(scope):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            (sets if _names_a_set(node.annotation) else others).add(node.target.id)
        elif isinstance(node, ast.Assign):
            kind = sets if _is_set(node.value, sets, set()) else others
            kind.update(t.id for t in node.targets if isinstance(t, ast.Name))
    return sets - others


def _set_fields(node: ast.AST) -> Iterator[str]:
    """Fields of a class, or assigned to self, that are annotated as sets."""
    for part in node.body if isinstance(node, ast.ClassDef) else ():
        match part:
            case ast.AnnAssign(target=ast.Name(id=name)) if _names_a_set(part.annotation):
                yield name
    match node:
        case ast.AnnAssign(target=ast.Attribute(attr=name)) if _names_a_set(node.annotation):
            yield name


def _names_a_set(annotation: ast.expr) -> bool:
    match annotation:
        case ast.Constant(value=str(text)):
            return _names_a_set(ast.parse(text, mode="eval").body)
        case ast.Subscript(value=inner):
            return _names_a_set(inner)
        case ast.BinOp(left=left, right=right):
            return _names_a_set(left) or _names_a_set(right)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in SET_TYPES
    return False
