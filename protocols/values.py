"""Immutable values that process fields and messages may hold.

Time is integer microseconds everywhere. :class:`Log` and :class:`Map` are persistent: a change
gives a new value that shares almost everything with the old one, so that a snapshot of a node
is a tuple of references, at any size.

``Map`` iterates in sorted key order, whatever PYTHONHASHSEED is: a hash-ordered iteration in a
protocol would make a run depend on the interpreter's mood.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast, overload

import immutables

NodeId = str

US = 1
MS = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

_CHUNK = 32
_MUTABLE: frozenset[type] = frozenset({list, dict, set, bytearray})


def _refuse(value: object) -> None:
    raise TypeError(
        f"a Log or Map holds immutable values, not the {type(value).__name__} {value!r}"
    )


class Log(Generic[T]):
    """A persistent sequence, numbered from ``first`` (1 by default, as in the Raft paper).

    ``append`` and ``log[i]`` cost the same at 10 and at 100,000 entries; ``truncate`` and
    ``discard`` cost one step per 32 entries removed. Entries should be immutable and hashable.

    >>> log = Log("abc")
    >>> log[1], log.last_index, log.append("d")[4]
    ('a', 3, 'd')
    """

    __slots__ = ("_chunks", "_hash", "_tail", "first", "last_index")

    first: int
    last_index: int

    def __init__(self, entries: Iterable[T] = (), *, first: int = 1) -> None:
        self._chunks: immutables.Map[int, tuple[T, ...]] = immutables.Map()
        self._tail: tuple[T, ...] = ()
        self._hash: int | None = None
        self.first = first
        self.last_index = first - 1
        items = tuple(entries)
        if items:
            grown = self.extend(items)
            self._chunks, self._tail = grown._chunks, grown._tail
            self.last_index = grown.last_index

    @classmethod
    def _make(
        cls, chunks: immutables.Map[int, tuple[T, ...]], tail: tuple[T, ...], first: int, last: int
    ) -> Log[T]:
        self = cls.__new__(cls)
        self._chunks, self._tail, self._hash = chunks, tail, None
        self.first, self.last_index = first, last
        return self

    # Chunk c holds positions 32c .. 32c+31, counted from index 0; ``_tail`` is the last,
    # unfinished chunk. A discarded prefix leaves its chunk in place, masked by ``first``.

    def append(self, entry: T) -> Log[T]:
        """Return the log with ``entry`` after its last one."""
        if type(entry) in _MUTABLE:
            _refuse(entry)
        last = self.last_index + 1
        tail = (*self._tail, entry) if self._tail else self._first_of_chunk(last, entry)
        if (last + 1) % _CHUNK:
            return self._make(self._chunks, tail, self.first, last)
        return self._make(self._chunks.set(last // _CHUNK, tail), (), self.first, last)

    @staticmethod
    def _first_of_chunk(index: int, entry: T) -> tuple[T, ...]:
        # A log need not begin at a chunk border: pad, so that position in chunk = index % 32.
        return (*cast("tuple[T, ...]", (None,) * (index % _CHUNK)), entry)

    def extend(self, entries: Iterable[T]) -> Log[T]:
        """Return the log with ``entries`` after its last one."""
        log = self
        for entry in entries:
            log = log.append(entry)
        return log

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        """Entry ``index``, or the entries ``[start:stop]`` as a tuple; both by log index."""
        if isinstance(index, slice):
            start = self.first if index.start is None else max(index.start, self.first)
            stop = self.last_index + 1 if index.stop is None else index.stop
            return self._range(start, min(stop, self.last_index + 1))
        if not self.first <= index <= self.last_index:
            held = f"{self.first}..{self.last_index}" if len(self) else "nothing"
            raise IndexError(f"log index {index}: the log holds {held}")
        return self._chunk(index // _CHUNK)[index % _CHUNK]

    def _chunk(self, number: int) -> tuple[T, ...]:
        chunk = self._chunks.get(number)
        return self._tail if chunk is None else chunk

    def _range(self, start: int, stop: int) -> tuple[T, ...]:
        parts: list[T] = []
        while start < stop:
            number, offset = divmod(start, _CHUNK)
            part = self._chunk(number)[offset : offset + stop - start]
            parts.extend(part)
            start += len(part)
        return tuple(parts)

    def truncate(self, index: int) -> Log[T]:
        """Return the log without entry ``index`` and all that follow it."""
        if index > self.last_index:
            return self
        index = max(index, self.first)
        number, offset = divmod(index, _CHUNK)
        tail = self._chunk(number)[:offset]
        chunks = self._chunks
        for later in range(number, self.last_index // _CHUNK + 1):
            if later in chunks:
                chunks = chunks.delete(later)
        return self._make(chunks, tail, self.first, index - 1)

    def discard(self, index: int) -> Log[T]:
        """Return the log without entry ``index`` and all before it (log compaction)."""
        if index < self.first:
            return self
        if index > self.last_index:
            raise IndexError(f"cannot discard up to {index}: the last index is {self.last_index}")
        chunks = self._chunks
        for number in range(self.first // _CHUNK, (index + 1) // _CHUNK):
            chunks = chunks.delete(number)
        return self._make(chunks, self._tail, index + 1, self.last_index)

    def shared_prefix(self, other: Log[T]) -> int:
        """Last index up to which this log surely holds what ``other`` holds (first - 1 if none).

        Cheap after appends and truncations: equal chunks are found by identity, from the end.
        """
        last = min(self.last_index, other.last_index)
        first = max(self.first, other.first)
        number = last // _CHUNK
        while number >= first // _CHUNK and self._chunk(number) is not other._chunk(number):
            number -= 1
        for index in range(max(first, (number + 1) * _CHUNK), last + 1):
            if self[index] != other[index]:
                return index - 1
        return max(last, self.first - 1)

    def __len__(self) -> int:
        return self.last_index - self.first + 1

    def __iter__(self) -> Iterator[T]:
        return iter(self._range(self.first, self.last_index + 1))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Log):
            return NotImplemented
        same_span = self.first == other.first and self.last_index == other.last_index
        return same_span and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.first, tuple(self)))
        return self._hash

    def __repr__(self) -> str:
        head = ", ".join(
            map(repr, self._range(self.first, min(self.first + 8, self.last_index + 1)))
        )
        more = f", … {len(self) - 8} more" if len(self) > 8 else ""
        numbered = f", first={self.first}" if self.first != 1 else ""
        return f"Log([{head}{more}]{numbered})"


class Map(Mapping[K, V], Generic[K, V]):
    """A persistent mapping that iterates in sorted key order.

    ``set`` and ``delete`` give a new map in about half a microsecond at any size; iteration
    sorts the keys, so they must be comparable with each other.

    >>> m = Map({"b": 2}).set("a", 1)
    >>> list(m.items()), m.delete("b")
    ([('a', 1), ('b', 2)], Map({'a': 1}))
    """

    __slots__ = ("_map",)

    def __init__(self, items: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        given = dict(items)
        for value in given.values():
            if type(value) in _MUTABLE:
                _refuse(value)
        self._map: immutables.Map[K, V] = immutables.Map(given)

    def set(self, key: K, value: V) -> Map[K, V]:
        """Return the map with ``key`` set to ``value``; TypeError if the value is mutable."""
        if type(value) in _MUTABLE:
            _refuse(value)
        new: Map[K, V] = _new_map(Map)
        new._map = self._map.set(key, value)
        return new

    def delete(self, key: K) -> Map[K, V]:
        """Return the map without ``key``; KeyError if it isn't there."""
        new: Map[K, V] = _new_map(Map)
        new._map = self._map.delete(key)
        return new

    def update(self, items: Mapping[K, V] | Iterable[tuple[K, V]]) -> Map[K, V]:
        """Return the map with all ``items`` set."""
        changed: Map[K, V] = Map(items)
        changed._map = self._map.update(changed._map)
        return changed

    def __getitem__(self, key: K) -> V:
        return self._map[key]

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, /, default: V | T) -> V | T: ...
    def get(self, key: K, /, default: Any = None) -> Any:
        """Value of ``key``, or ``default``."""
        return self._map.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._map

    def __len__(self) -> int:
        return len(self._map)

    def raw_items(self) -> Iterable[tuple[K, V]]:
        """Keys and values in arbitrary order: only where the order cannot matter."""
        return self._map.items()

    def __iter__(self) -> Iterator[K]:
        return iter(sorted(self._map))  # type: ignore[type-var]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self._map == other._map if isinstance(other, Map) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._map)

    def __repr__(self) -> str:
        return f"Map({dict(self.items())!r})"


_new_map = Map.__new__


def in_order(items: Iterable[T]) -> tuple[T, ...]:
    """The items sorted: how a protocol walks over a frozenset (whose own order is arbitrary)."""
    return tuple(sorted(items))  # type: ignore[type-var]
