"""Rules on the wire: what the network does to one message, consulted in order.

Every rule is asked when a message is sent and again when it is due, so that a partition that
begins in between drops what is in flight. Answers add up: two delays are both added, and the
first rule that drops or holds the message ends the round. When a message is due, only ``Drop``
and ``Held`` count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from protocols.values import NodeId

Stage = Literal["sent", "due"]


@dataclass(frozen=True, slots=True)
class Pass:
    """Nothing to say: the next rule decides."""


@dataclass(frozen=True, slots=True)
class Deliver:
    """Deliver ``after_us`` later than otherwise, changed if ``message`` is given."""

    after_us: int
    message: object = None
    why: str = "delay"


@dataclass(frozen=True, slots=True)
class Drop:
    """The message is lost, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Deliver a second copy, ``after_us`` behind the first (which goes as ``first`` says)."""

    after_us: int
    first: Deliver | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """The rule keeps the message and delivers it itself, later."""


Verdict = Pass | Deliver | Drop | Duplicate | Held
PASS = Pass()


@dataclass(slots=True)
class Envelope:
    """A message on its way: from, to, content, and the trace event that sent it."""

    src: NodeId
    dst: NodeId
    message: object
    cause: int = -1
    index: int = 0
    shown: str | None = None  # the message as JSON text, if a recorder has made it
    number: int = 0  # order of sending
    whole: Envelope | None = None  # on one hop of a longer way: the message on that way
    then: tuple[Callable[[Any], None], Any] | None = None  # what goes on when a rule lets it go


class Rule:
    """Base of all rules. ``touched`` counts the messages that it changed: 0 means unused."""

    touched: int = 0

    def judge(self, envelope: Envelope, stage: Stage) -> Verdict:
        """What becomes of the message; called once per stage and hop."""
        return PASS


class CallableRule(Rule):
    """A rule made of a function ``(envelope, stage) -> Verdict``."""

    def __init__(self, function: Callable[[Envelope, Stage], Verdict]) -> None:
        self.function = function

    def judge(self, envelope: Envelope, stage: Stage) -> Verdict:
        verdict = self.function(envelope, stage)
        if verdict is not PASS and not isinstance(verdict, Pass):
            self.touched += 1
        return verdict
