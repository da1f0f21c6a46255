"""Reading a scenario file: YAML 1.2 into plain data, with the place of every value.

Nothing is constructed but dict, list, str, int, float, bool and None. The file is read event by
event, so that neither its nesting nor its size can hurt: tags, aliases and duplicate keys are
mistakes, depth, size and number of values have limits. JSON is YAML and is read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.reader import ReaderError

from sim.fields import FieldError

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_VALUES", "Document", "Positions", "read_yaml"]

MAX_BYTES = 1 << 20
MAX_DEPTH = 40
MAX_VALUES = 100_000

Path = tuple[str | int, ...]
Place = tuple[int, int]
"""Line and column, from 1."""


@dataclass(slots=True)
class Positions:
    """Where each value and each key of a document stands."""

    values: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)

    def of(self, path: Path, *, key: bool = False) -> Place:
        """The place of the value at ``path`` (or its key), or of the nearest one around it."""
        if key and path in self.keys:
            return self.keys[path]
        for length in range(len(path), -1, -1):
            if path[:length] in self.values:
                return self.values[path[:length]]
        return 1, 1


@dataclass(frozen=True, slots=True)
class Flaw:
    """A mistake that reading could go on after, and where it is."""

    error: FieldError
    place: Place


@dataclass(slots=True)
class Document:
    """A file's content, the places in it, and the mistakes that reading found on the way."""

    value: Any
    positions: Positions
    flaws: list[Flaw] = field(default_factory=list)


class UnreadableError(Exception):
    """Reading had to stop: the mistake and where it is."""

    def __init__(self, error: FieldError, place: Place) -> None:
        super().__init__(str(error))
        self.error, self.place = error, place


def read_yaml(data: bytes) -> Document:
    """The one document in ``data``; UnreadableError where nothing can be made of it."""
    if len(data) > MAX_BYTES:
        raise _unreadable(f"{len(data)} bytes", "at most 1 MiB", (1, 1))
    builder = _Builder()
    for event in _events(_text(data)):
        builder.take(event)
    return Document(builder.root, builder.positions, builder.flaws)


def _unreadable(given: object, allowed: str, place: Place, hint: str = "") -> UnreadableError:
    return UnreadableError(FieldError(given, allowed, hint=hint), place)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = (before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1)
        given = f"the byte 0x{data[error.start]:02x}"
        raise _unreadable(given, "text in UTF-8", place) from None


def _events(text: str) -> Iterator[Any]:
    """What the parser says; whatever goes wrong inside it comes out as UnreadableError."""
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        raise _syntax(error, text) from None
    except ReaderError as error:
        before = text[: error.position]
        place = (before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
        raise _unreadable(chr(error.character), "printable characters", place) from None
    except UnreadableError:
        raise
    except Exception as error:  # the parser's own slips, such as an escape beyond Unicode
        given = f"{type(error).__name__}: {error}"
        raise _unreadable(given, "YAML 1.2", (1, 1)) from None


def _syntax(error: MarkedYAMLError, text: str) -> UnreadableError:
    """What the parser stumbled over: the rest of that line, and what it says about it."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    lines = [*text.splitlines(), ""]
    given = lines[line][column:].strip()[:40] if line < len(lines) else ""
    told = " ".join(str(error.problem or error.context).split())
    hint = "; ".join(filter(None, (told, _advice(told))))
    return _unreadable(given or "the end", "YAML 1.2", (line + 1, column + 1), hint)


def _advice(problem: str) -> str:
    if "\\t" in problem:
        return "indent with spaces, not with tabs"
    if "mapping values are not allowed" in problem:
        return "put a text with a colon in quotes, and check the indentation"
    if "cannot start any token" in problem:
        return "put the text in quotes"
    return ""


# -- from events to values ------------------------------------------------------------------------


@dataclass(slots=True)
class _Open:
    """A collection that is being read. ``key`` is the one whose value comes next."""

    path: Path
    values: dict[str, Any] | list[Any]
    key: str | None = None
    duplicate: bool = False


class _Builder:
    """Puts values together as their events come."""

    def __init__(self) -> None:
        self.root: Any = None
        self.positions = Positions()
        self.flaws: list[Flaw] = []
        self.open: list[_Open] = []
        self.count = 0
        self.documents = 0

    def take(self, event: Any) -> None:
        """Take the next event of the file."""
        name = type(event).__name__
        place = (event.start_mark.line + 1, event.start_mark.column + 1)
        if name == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                raise _unreadable("a second document", "one document in a file", place)
        elif name == "ScalarEvent":
            self.scalar(event, place)
        elif name == "AliasEvent":
            self.alias(place)
        elif name in ("MappingStartEvent", "SequenceStartEvent"):
            self.begin({} if name == "MappingStartEvent" else [], event, place)
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            self.open.pop()

    def scalar(self, event: Any, place: Place) -> None:
        inside = self.open[-1] if self.open else None
        if inside is not None and isinstance(inside.values, dict) and inside.key is None:
            self.key(inside, event.value, place)
            return
        path = self.put(None, place)
        try:
            value = _scalar(event)
        except FieldError as error:
            self.flaws.append(Flaw(error.under(*path), place))
            return
        self.put_at(path, value)

    def key(self, inside: _Open, key: str, place: Place) -> None:
        """The key of a mapping: always its text, so that ``1:`` and ``"1":`` are one key."""
        path = (*inside.path, key)
        self.count_one(place)
        if not _is_unicode(key):
            raise _unreadable(key, "characters of Unicode", place)
        inside.key, inside.duplicate = key, key in inside.values
        if inside.duplicate:
            first = self.positions.keys[path][0]
            hint = f"it stands in line {first} already"
            self.flaws.append(Flaw(FieldError(key, "each key once", path=path, hint=hint), place))
        self.positions.keys.setdefault(path, place)

    def begin(self, values: dict[str, Any] | list[Any], event: Any, place: Place) -> None:
        """A collection begins."""
        if self.open and isinstance(self.open[-1].values, dict) and self.open[-1].key is None:
            raise _unreadable("a collection as a key", "a text as a key", place)
        if len(self.open) >= MAX_DEPTH:
            raise _unreadable(f"{len(self.open) + 1} levels", f"at most {MAX_DEPTH} levels", place)
        path = self.put(values, place)
        self.open.append(_Open(path, values))
        if event.tag is not None:
            self.flaws.append(Flaw(_tagged(event.tag).under(*path), place))

    def alias(self, place: Place) -> None:
        """An alias is never followed: a few of them can stand for billions of values."""
        if self.open and isinstance(self.open[-1].values, dict) and self.open[-1].key is None:
            raise _unreadable("an alias as a key", "a text as a key", place)
        path = self.put(None, place)
        error = FieldError("an alias (*)", "values without anchors and aliases", path=path)
        self.flaws.append(Flaw(error, place))

    def put(self, value: Any, place: Place) -> Path:
        """Put a value where the next one belongs; its path."""
        self.count_one(place)
        if not self.open:
            self.root, path = value, Path()
        else:
            inside = self.open[-1]
            path = (*inside.path, self.step(inside, value))
        self.positions.values.setdefault(path, place)
        return path

    def step(self, inside: _Open, value: Any) -> str | int:
        if isinstance(inside.values, list):
            inside.values.append(value)
            return len(inside.values) - 1
        key, inside.key = inside.key, None
        assert key is not None
        if not inside.duplicate:
            inside.values[key] = value
        return key

    def put_at(self, path: Path, value: Any) -> None:
        """Fill in the scalar that was just placed."""
        if not self.open:
            self.root = value
            return
        inside = self.open[-1]
        if not inside.duplicate:
            inside.values[path[-1]] = value  # type: ignore[index]

    def count_one(self, place: Place) -> None:
        self.count += 1
        if self.count > MAX_VALUES:
            raise _unreadable("more values", f"at most {MAX_VALUES} keys and values", place)


# -- scalars: the core schema of YAML 1.2, §10.3 --------------------------------------------------

_NULLS = ("", "~", "null", "Null", "NULL")
_BOOL_WORDS = ("true", "True", "TRUE", "false", "False", "FALSE")
_BOOLS = {word: word.lower() == "true" for word in _BOOL_WORDS}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_DIGITS = 18


def _scalar(event: Any) -> object:
    """The value of a plain scalar by the core schema; a quoted one is text."""
    text: str = event.value
    if event.tag is not None:
        raise _tagged(event.tag)
    if not _is_unicode(text):
        raise FieldError(text, "characters of Unicode")
    if event.style is not None:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        return _whole(text)
    if _FLOAT.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        return _float(text)
    return text


def _whole(text: str) -> int:
    if len(text) > _DIGITS:
        raise FieldError(text, f"a number of at most {_DIGITS} digits")
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    return int(text.removeprefix("0o").removeprefix("0x"), base)


def _float(text: str) -> float:
    value = float(text) if _FLOAT.fullmatch(text) else float("inf")
    if abs(value) == float("inf"):
        raise FieldError(text, "a finite number")
    return value


def _tagged(tag: str) -> FieldError:
    return FieldError(tag, "a value without a tag", hint="scenario files hold plain data only")


def _is_unicode(text: str) -> bool:
    """Whether the text can be written again: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
