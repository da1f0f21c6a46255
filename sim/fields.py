"""Mistakes in human input, and reading a mapping without stopping at the first of them.

Scenario files are read at the edge of the simulator. Whoever reads a value there raises a
`FieldError` that knows the path to the value, what was given, what is allowed and what to try;
the scenario loader adds the file and the line. `Fields` reads one mapping key by key and gathers
every mistake, so that a file with three of them is corrected in one go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

__all__ = [
    "FieldError",
    "FieldErrors",
    "Fields",
    "check_probability",
    "did_you_mean",
    "parse_whole",
    "unknown_name",
]

Path = tuple[str | int, ...]
T = TypeVar("T")
E = TypeVar("E", bound="FieldError")


class FieldError(ValueError):
    """One value that cannot be used: `path` to it, what was `given`, what is `allowed`, a `hint`.

    `path` is relative to the value that was parsed: ("normal", "mean") or ("edges", 3, 0).
    """

    def __init__(self, given: object, allowed: str, *, path: Path = (), hint: str = "") -> None:
        self.given, self.allowed, self.path, self.hint = given, allowed, path, hint
        super().__init__(self._message())

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """The single mistakes: this one alone, or all that a `FieldErrors` holds."""
        return (self,)

    def under(self: E, *prefix: str | int) -> E:
        """The same mistake seen from further out: `prefix` is put before its path."""
        return type(self)(self.given, self.allowed, path=(*prefix, *self.path), hint=self.hint)

    def _message(self) -> str:
        where = f"{_dotted(self.path)}: " if self.path else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{where}given {_shown(self.given)}, allowed: {self.allowed}{hint}"

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.given, self.allowed, self.path, self.hint)


class FieldErrors(FieldError):
    """Several mistakes at once, in the order of reading; path, given, allowed are the first's."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self._errors = tuple(single for error in errors for single in error.errors)
        first = self._errors[0]
        super().__init__(first.given, first.allowed, path=first.path, hint=first.hint)

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """The single mistakes, in the order of reading."""
        return self._errors

    def under(self, *prefix: str | int) -> FieldErrors:
        """The same mistakes, `prefix` put before the path of each."""
        return FieldErrors([error.under(*prefix) for error in self._errors])

    def _message(self) -> str:
        return "\n".join(map(str, self._errors))

    def __reduce__(self) -> tuple[object, ...]:
        return FieldErrors, (self._errors,)


def _again(kind: type[FieldError], given: object, allowed: str, path: Path, hint: str) -> object:
    return kind(given, allowed, path=path, hint=hint)


def _dotted(path: Path) -> str:
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return steps.removeprefix(".")


def _shown(given: object) -> str:
    text = "nothing" if given is None else repr(given)
    return text if len(text) <= 80 else f"{text[:77]}..."


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """A hint naming the closest of the `known` names, or "" when none is close.

    Looks at the first 2,000 names only: a mistake must not cost seconds among 100,000 nodes.
    """
    import difflib
    from itertools import islice

    lowered = {one.lower(): one for one in islice(known, 2_000)}
    close = difflib.get_close_matches(str(name).lower(), list(lowered), n=1)
    return f"did you mean {lowered[close[0]]!r}?" if close else ""


def unknown_name(name: object, known: Iterable[str], what: str, path: Path = ()) -> FieldError:
    """The error for a `name` that is none of the `known` ones; `what` says what they are."""
    names = tuple(known)
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return FieldError(
        name, f"{what}: {listed or 'none'}", path=path, hint=did_you_mean(name, names)
    )


def parse_whole(value: object, *, least: int = 0, most: int | None = None) -> int:
    """A whole number between `least` and `most` (both included); FieldError otherwise."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and cast(int, value) >= least and (most is None or cast(int, value) <= most):
        return cast(int, value)
    upper = "" if most is None else f" and at most {most}"
    raise FieldError(value, f"a whole number, at least {least}{upper}")


def check_probability(name: str, value: object) -> None:
    """FieldError at `name` unless `value` is a number from 0 to 1."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= cast(float, value) <= 1:
        raise FieldError(value, "a probability from 0 to 1", path=(name,))


class Fields:
    """One mapping of a scenario file, read key by key; mistakes are gathered, not thrown.

    Read every key with `read` or `need`, then call `done` (or `build`), which raises all that was
    found wrong as `FieldErrors`. Before that a value that was wrong is only a placeholder.
    """

    def __init__(self, value: object, known: Iterable[str], what: str) -> None:
        names = tuple(known)
        if not isinstance(value, Mapping):
            raise FieldErrors([FieldError(value, f"a mapping with the keys {', '.join(names)}")])
        self.value: Mapping[object, object] = value
        self.errors: list[FieldError] = [
            unknown_name(key, names, f"the keys of {what}", (_step(key),))
            for key in value
            if key not in names
        ]

    def read(self, key: str, parse: Callable[[object], T], default: T) -> T:
        """The parsed value of `key`, or `default` where the mapping does not have the key."""
        return self.attempt(key, parse) if key in self.value else default

    def need(self, key: str, parse: Callable[[object], T], allowed: str) -> T:
        """The parsed value of `key`, which must be there; `allowed` says what it could be."""
        if key not in self.value:
            self.errors.append(FieldError(None, allowed, path=(key,), hint="add this key"))
            return cast(T, None)
        return self.attempt(key, parse)

    def attempt(self, key: str, parse: Callable[[object], T]) -> T:
        """Parse the value of `key`, noting what is wrong with it."""
        try:
            return parse(self.value[key])
        except FieldError as error:
            self.errors.append(error.under(key))
            return cast(T, None)

    def attempt_done(self, key: str, parse: Callable[[object], T]) -> T:
        """Parse the value of the last key to be read, then raise all that was found wrong."""
        parsed = self.attempt(key, parse)
        self.done()
        return parsed

    def done(self) -> None:
        """Raise everything that was found wrong, if anything was."""
        if self.errors:
            raise FieldErrors(self.errors)

    def build(self, make: Callable[[], T]) -> T:
        """`make()` once everything read was right; its own FieldError joins the others."""
        self.done()
        try:
            return make()
        except FieldError as error:
            raise FieldErrors([error]) from None


def _step(key: object) -> str | int:
    return key if isinstance(key, (str, int)) else str(key)
