"""Operations and histories as values.

An operation is what a client asked for and what it was told: Jepsen's ``invoke`` and its ``ok``,
``fail`` or ``info`` in one value. Times are integers of any unit in which the history is
consistent: simulated µs for ours, the number of the event for files that only have an order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from sim.history.errors import HistoryError, shown

__all__ = ["KINDS", "History", "Kind", "Operation"]

Kind: TypeAlias = Literal["ok", "fail", "info"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of one client.

    ``kind``: *ok*: it took effect and ``result`` is its answer; *fail*: it surely had no effect;
    *info*: nobody knows, it may take effect at any time after ``start``, so ``end`` counts for
    nothing. ``end`` is None if it never returned, which makes it an *info*.
    ``key`` is the object it is about (None: there is but one), ``value`` its argument, both
    hashable; several arguments are a tuple. ``line``: where a file says so (0: no file).

    HistoryError if it ends before it starts, or if an *ok* has no end.
    """

    id: int
    client: str
    start: int
    end: int | None
    kind: Kind
    op: str
    key: Any = None
    value: Any = None
    result: Any = None
    line: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        """Refuse what cannot have happened."""
        if self.kind not in KINDS:
            problem = f"operation {self.id} has the kind {shown(self.kind)}"
            raise HistoryError(problem, ", ".join(KINDS), line=self.line, field="kind")
        if self.end is None:
            if self.kind != "info":
                problem = f"operation {self.id} is {self.kind!r} but has no end"
                raise HistoryError(
                    problem, "kind 'info' for one that never returned", line=self.line, field="end"
                )
        elif self.end < self.start:
            problem = f"operation {self.id} ends at {self.end}, before its start at {self.start}"
            raise HistoryError(problem, f"at least {self.start}", line=self.line, field="end")

    def __str__(self) -> str:
        """``client n1: put('x', 3) → True``."""
        given = [repr(part) for part in (self.key, self.value) if part is not None]
        answer = {"ok": repr(self.result), "fail": "failed", "info": "?"}[self.kind]
        return f"client {self.client}: {self.op}({', '.join(given)}) → {answer}"


@dataclass(frozen=True, slots=True)
class History:
    """Operations in the order in which they were invoked, and what their source says of them.

    ``unit`` is that of their times, "us" or "event". ``model`` is the data type by which to judge
    them ("" where the source does not say), ``initial`` its initial value if that isn't the
    usual one (a pair of True and the value). ``source`` is for messages.
    """

    operations: tuple[Operation, ...]
    unit: Literal["us", "event"] = "us"
    model: str = ""
    initial: tuple[bool, Any] = (False, None)
    source: str = ""

    @classmethod
    def of(cls, operations: Iterable[Operation], **more: Any) -> History:
        """A history of operations given in any order; those of equal start keep theirs."""
        return cls(tuple(sorted(operations, key=lambda o: o.start)), **more)

    def __len__(self) -> int:
        return len(self.operations)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)

    def names(self) -> tuple[str, ...]:
        """The names of its operations, each once, in order of appearance."""
        return tuple(dict.fromkeys(operation.op for operation in self.operations))
