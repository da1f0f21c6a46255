"""Finding a process class by its path ``package.module:Class``, and what its annotations say."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from os import getcwd
from typing import Any, get_type_hints

from protocols.spec import spec_of
from sim.fields import FieldError, did_you_mean

__all__ = ["Protocol", "hints_of"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """A process class by its path, such as ``protocols.detectors.heartbeat:PushHeartbeat``.

    ``summary`` and ``paper`` are one line each, for lists. ``name`` is what the scenario says.
    """

    name: str
    path: str
    summary: str = ""
    paper: str = ""

    @property
    def cls(self) -> type:
        """The class; FieldError if it cannot be imported or is no process."""
        return _import(self.path)

    @property
    def build(self) -> Callable[..., Any]:
        """Makes a process from parameters by keyword."""
        return self.cls


@cache
def _import(path: str) -> type:
    module_name, _, name = path.partition(":")
    try:
        if "" not in sys.path and getcwd() not in sys.path:
            sys.path.insert(0, getcwd())
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # a user's module may fail in any way
        told = f"{type(error).__name__}: {error}"
        allowed = "package.module:Class that can be imported from the current folder"
        raise FieldError(path, allowed, hint=told) from error
    found = getattr(module, name, None)
    if not isinstance(found, type):
        raise FieldError(path, f"a class of {module_name}", hint=_class_hint(module, name))
    try:
        spec_of(found)
    except TypeError as error:
        raise FieldError(path, "a process", hint=str(error)) from None
    return found


def _class_hint(module: object, name: str) -> str:
    classes = [key for key, value in vars(module).items() if isinstance(value, type)]
    return did_you_mean(name, classes) or f"it has: {', '.join(classes[:9]) or 'no class'}"


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """The annotations of a class and its bases; FieldError if they can't be evaluated."""
    try:
        return get_type_hints(cls)
    except Exception as error:  # annotations are code: they may name what isn't there
        told = f"{type(error).__name__}: {error}"
        allowed = "a process whose annotations can be read"
        raise FieldError(f"{cls.__module__}:{cls.__qualname__}", allowed, hint=told) from error
