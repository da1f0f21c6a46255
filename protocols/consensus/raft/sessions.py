"""Client sessions: a command takes effect exactly once, however often its request arrives.

Source: the dissertation, §6.3: a client numbers its commands, and the state machine remembers what
it answered to each number. Sessions are part of the replicated state: they change only when an
entry is applied, and expire by the time that entries carry, so that all servers agree on them.

Differences. A client numbers its own sessions (1, 2, …) and has one at a time, so a session needs
no RegisterClient entry: it opens with the first request that carries a number not seen before.
Of an expired session its number stays (an int per client), so that a late request is still
recognised as one of an expired session and does not open it again.
"""

from __future__ import annotations

from typing import Any

from protocols.api import Map, NodeId, message
from protocols.clients.messages import Request

__all__ = ["EXPIRED", "FRESH", "STALE", "Session", "Verdict", "expire", "judge", "remember"]


@message
class Session:
    """What is remembered of a client: its latest session's ``number``, and the answers in it.

    ``answers``: by sequence number, of those above ``acked``. ``active_us``: log time of its last
    command. ``closed``: it has expired.
    """

    number: int
    answers: Map[int, Any] = Map()
    acked: int = 0
    active_us: int = 0
    closed: bool = False


Sessions = Map[NodeId, Session]


@message
class Verdict:
    """What to do with a request: its ``kind``, and the ``answer`` that was given before."""

    kind: str
    answer: Any = None


FRESH = Verdict("fresh")  # not seen: apply it
STALE = Verdict("stale")  # its client has the answer already: nobody waits for one
EXPIRED = Verdict("expired")  # of a session that is no more


def judge(sessions: Sessions, request: Request, now_us: int, lifetime_us: int) -> Verdict:
    """Whether ``request`` is new, known (kind "known", with its answer), stale or expired.

    ``now_us``: log time. ``lifetime_us``: a session expires after so long without a command; 0:
    never.
    """
    session = sessions.get(request.client)
    if session is None or request.session > session.number:
        return FRESH
    if request.session < session.number or session.closed:
        return EXPIRED
    if lifetime_us and now_us - session.active_us > lifetime_us:
        return EXPIRED
    if request.sequence <= session.acked:
        return STALE
    answer = session.answers.get(request.sequence, FRESH)
    return FRESH if answer is FRESH else Verdict("known", answer)


def remember(sessions: Sessions, request: Request, answer: Any, now_us: int) -> Sessions:
    """The sessions after ``request`` was applied with this ``answer`` at log time ``now_us``."""
    session = sessions.get(request.client)
    if session is None or session.number < request.session:
        session = Session(request.session)
    answers = session.answers.set(request.sequence, answer)
    acked = max(session.acked, request.acked)
    if acked > session.acked:
        for sequence in answers:
            if sequence > acked:
                break
            answers = answers.delete(sequence)
    renewed = Session(session.number, answers, acked, now_us)
    return sessions.set(request.client, renewed)


def expire(sessions: Sessions, now_us: int, lifetime_us: int) -> Sessions:
    """The sessions without the answers of those that have expired by log time ``now_us``.

    It changes no verdict, only memory; servers call it at the same entries, so that they agree.
    """
    for client, session in sessions.items():
        if not session.closed and now_us - session.active_us > lifetime_us:
            closed = Session(session.number, active_us=session.active_us, closed=True)
            sessions = sessions.set(client, closed)
    return sessions
