"""A lock, with or without fencing tokens.

``acquire`` answers True or a token (a whole number) if the lock was taken, False or None if
it is held; ``release`` whether the lock was held by whoever released it; ``holder``
``(owner, token)``, or None while it is free. The owner is the value of the call, or the first part
of it if that is a tuple, ``(owner, token)`` for a release; without a value it is the client.
With tokens the holder itself may acquire again and is told the same one; without it gets False.

A lock that is taken by a call that never returned has a token that nobody has been told; it is
learnt from the first answer that names it. Tokens of one lock increase. Leases are not modelled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.check.linearizable.model import PENDING, Call, Model

__all__ = ["LOCK", "LockState"]


class LockState(NamedTuple):
    """Who holds the lock (None: nobody), its token (None: unknown, or none), the last token."""

    owner: Any = None
    token: int | None = None
    last: int = 0


def _is_token(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _owner(call: Call) -> Any:
    if isinstance(call.value, tuple):
        return call.value[0]
    return call.client if call.value is None else call.value


def _step(state: LockState, call: Call, result: Any) -> tuple[bool, Any]:
    if call.op == "acquire":
        return _acquire(state, _owner(call), result)
    if call.op == "release":
        return _release(state, call, result)
    if result is PENDING:
        return True, state
    if result is None or state.owner is None:
        return result is None and state.owner is None, state
    owner, token = result
    return _told(state, owner, token)


def _acquire(state: LockState, owner: Any, result: Any) -> tuple[bool, Any]:
    if result is PENDING:
        return True, state if state.owner is not None else LockState(owner, None, state.last)
    if result is None or result is False:
        held = state.owner is not None and (state.owner != owner or state.token is None)
        return held, state
    if state.owner is None:
        if not _is_token(result):
            return True, LockState(owner, None, state.last)
        return result > state.last, LockState(owner, result, result)
    return _told(state, owner, result) if _is_token(result) else (False, state)


def _told(state: LockState, owner: Any, token: Any) -> tuple[bool, Any]:
    """Somebody was told that ``owner`` holds the lock, with that token."""
    if owner != state.owner:
        return False, state
    if state.token is not None or token is None:
        return token is None or token == state.token, state
    return token > state.last, LockState(owner, token, token)


def _release(state: LockState, call: Call, result: Any) -> tuple[bool, Any]:
    token = call.value[1] if isinstance(call.value, tuple) and len(call.value) > 1 else None
    holds = state.owner is not None and state.owner == _owner(call)
    if token is None or state.token is not None:
        right, unsure, last = holds and token in (None, state.token), False, state.last
    else:  # its token isn't known: it may be this one if it is larger than all before
        right = unsure = holds and token > state.last
        last = token
    if result is False:
        return unsure or not right, state
    after = LockState(None, None, last) if right else state
    return result is PENDING or right, after


def _answer(state: LockState, call: Call) -> Any:
    if call.op == "acquire":
        if state.owner is None:
            return True
        return state.token if state.owner == _owner(call) and state.token is not None else False
    if call.op == "release":
        return _release(state, call, True)[0]
    return None if state.owner is None else (state.owner, state.token)


def _check(call: Call, result: Any) -> None:
    value = call.value
    if call.op == "acquire" and isinstance(value, tuple) and any(value[1:]):
        raise ValueError(f"its value is {value!r}; locks with leases are not modelled")
    if isinstance(value, tuple) and not value:
        raise ValueError("its value is empty; give (owner, token), the owner, or nothing")
    if call.op == "release" and isinstance(value, tuple) and len(value) > 1:
        _check_token(value[1], "its value is")
    if call.op == "holder" and result is not PENDING and result is not None:
        if not (isinstance(result, tuple) and len(result) == 2):
            raise ValueError(f"it answered {result!r}; a holder is (owner, token) or None")
        _check_token(result[1], "it answered")


def _check_token(token: Any, what: str) -> None:
    if token is not None and not _is_token(token):
        raise ValueError(f"{what} the token {token!r}; a token is a whole number")


def _key(call: Call) -> Any:
    return call.key


LOCK = Model(
    "lock",
    LockState(),
    _step,
    _answer,
    ops=("acquire", "release", "holder"),
    partition=_key,
    by_client=True,
    check=_check,
    about="a lock: acquire, release, holder; with or without fencing tokens",
)
