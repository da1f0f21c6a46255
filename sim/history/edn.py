"""A reader of EDN, the notation of Clojure data in which Jepsen writes its histories.

https://github.com/edn-format/edn. Values become immutable Python values: nil None, numbers int or
float, strings and characters str, keywords and symbols str (a keyword keeps its colon), lists and
vectors tuples, maps :class:`~protocols.values.Map`, sets frozensets, tagged values their value.
Whatever the text is, the answer is values or a :class:`HistoryError` with the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from protocols.values import Map
from sim.history.errors import HistoryError, shown

__all__ = ["MAX_DEPTH", "Form", "read_forms", "read_value"]

MAX_DEPTH = 60
"""Collections may be nested so deep."""
_MAX_DIGITS = 1000

_TOKEN = re.compile(
    r"""[\s,]+ | ;[^\n]*
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<open>\#\{|[(\[{]) | (?P<close>[)\]}])
    | (?P<discard>\#_) | (?P<tag>\#[A-Za-z][\w.*+!?$%&=<>/-]*)
    | (?P<char>\\(?:[A-Za-z0-9]+|\S))
    | (?P<atom>[^\s,;"()\[\]{}\\]+)""",
    re.VERBOSE | re.DOTALL,
)
_INT = re.compile(r"[+-]?\d+N?", re.ASCII)
_FLOAT = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?M?", re.ASCII)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "b": "\b", "f": "\f", "\\": "\\", '"': '"'}
_WORDS = {"nil": None, "true": True, "false": False}
_NAMED = {"newline": "\n", "return": "\r", "space": " ", "tab": "\t"}
_ENDS = {"(": ")", "[": "]", "{": "}", "#{": "}"}


class Form(NamedTuple):
    """A value at the top of a text, and the line on which it begins."""

    value: Any
    line: int


class _Level:
    """A collection that is being read: what opened it, where, and what is in it so far."""

    __slots__ = ("discard", "items", "line", "lines", "opener", "tagged")

    def __init__(self, opener: str, line: int) -> None:
        self.opener, self.line = opener, line
        self.items: list[Any] = []
        self.lines: list[int] = []
        self.discard, self.tagged = 0, False

    def add(self, value: Any, line: int) -> None:
        """One more value, unless it was to be discarded."""
        self.tagged = False
        if self.discard:
            self.discard -= 1
            return
        self.items.append(value)
        self.lines.append(line)

    def close(self) -> Any:
        """The collection as a value; HistoryError for a map or a set that isn't one."""
        if self.discard or self.tagged:
            raise HistoryError("a '#' at the end of a collection has nothing to act on")
        if self.opener in "([":
            return tuple(self.items)
        try:
            return self._map() if self.opener == "{" else frozenset(self.items)
        except TypeError:
            raise HistoryError("a key or a member is not hashable") from None

    def _map(self) -> Any:
        if len(self.items) % 2:
            raise HistoryError("a map needs a value for every key", line=self.line)
        return Map(zip(self.items[::2], self.items[1::2], strict=True))


def read_forms(text: str) -> list[Form]:
    """All values of a text; one list or vector alone around all of them is opened.

    So a file of one map per line and a file that is one vector of maps read alike.
    """
    top, last = _read(text)
    if len(top.items) == 1 and last is not None and last.opener in "([":
        top = last
    return [Form(value, line) for value, line in zip(top.items, top.lines, strict=True)]


def read_value(text: str) -> Any:
    """The first value of a text; HistoryError if there is none."""
    top, _ = _read(text)
    if not top.items:
        raise HistoryError("a value is missing")
    return top.items[0]


def _read(text: str) -> tuple[_Level, _Level | None]:
    """The top, and the collection that was closed last right under it."""
    levels, last = [_Level("", 0)], None
    for kind, token, line in _tokens(text):
        level = levels[-1]
        try:
            if kind == "open":
                _open(levels, token, line)
            elif kind == "close":
                last = _close(levels, token)
                levels[-1].add(last.close(), last.line)
            elif kind == "discard":
                level.discard += 1
            elif kind == "tag":
                level.tagged = True
            else:
                level.add(_SCALARS[kind](token), line)
        except HistoryError as error:
            raise error.at(line) from None
    if len(levels) > 1:
        problem = f"{shown(levels[-1].opener)} is never closed"
        raise HistoryError(problem, shown(_ENDS[levels[-1].opener]), line=levels[-1].line)
    return levels[0], last


def _open(levels: list[_Level], opener: str, line: int) -> None:
    if len(levels) > MAX_DEPTH:
        raise HistoryError("collections are nested too deep", f"{MAX_DEPTH} levels")
    levels.append(_Level(opener, line))


def _close(levels: list[_Level], token: str) -> _Level:
    if len(levels) == 1:
        raise HistoryError(f"{shown(token)} closes nothing")
    if _ENDS[levels[-1].opener] != token:
        right = shown(_ENDS[levels[-1].opener])
        problem = f"{shown(token)} closes the {shown(levels[-1].opener)} of line {levels[-1].line}"
        raise HistoryError(problem, right)
    return levels.pop()


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    at, line = 0, 1
    match = _TOKEN.match
    while at < len(text):
        found = match(text, at)
        if found is None:
            what = "a string that is never closed" if text[at] == '"' else shown(text[at])
            raise HistoryError(f"cannot read {what}", line=line)
        token = found.group()
        if found.lastgroup is not None:
            yield found.lastgroup, token, line
        line += token.count("\n")
        at = found.end()


def _string(token: str) -> str:
    inside = token[1:-1]
    return _ESCAPE.sub(_unescaped, inside) if "\\" in inside else inside


def _unescaped(found: re.Match[str]) -> str:
    code = found.group(1)
    if len(code) == 5:
        return chr(int(code[1:], 16))
    if code not in _ESCAPES:
        known = " ".join(f"\\{c}" for c in _ESCAPES)
        raise HistoryError(f"unknown escape {shown(found.group())}", f"{known} \\uXXXX")
    return _ESCAPES[code]


def _char(token: str) -> str:
    name = token[1:]
    if re.fullmatch("u[0-9a-fA-F]{4}", name):
        return chr(int(name[1:], 16))
    if len(name) > 1 and name not in _NAMED:
        raise HistoryError(f"unknown character {shown(token)}", "\\c, \\newline, \\space, \\uXXXX")
    return _NAMED.get(name, name)


def _atom(token: str) -> Any:
    if token in _WORDS:
        return _WORDS[token]
    if _INT.fullmatch(token):
        return int(_digits(token).rstrip("N"))
    if _FLOAT.fullmatch(token):
        return float(_digits(token).rstrip("M"))
    if token[0].isdigit():
        raise HistoryError(f"{shown(token)} is neither a number nor a name")
    return token


def _digits(token: str) -> str:
    if len(token) > _MAX_DIGITS:
        raise HistoryError(f"a number of {len(token)} digits", f"{_MAX_DIGITS} digits")
    return token


_SCALARS: dict[str, Callable[[str], Any]] = {"string": _string, "char": _char, "atom": _atom}
