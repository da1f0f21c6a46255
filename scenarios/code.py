"""The identity of the code that decides a run, for trace headers."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


@cache
def code_digest(protocol: str) -> str:
    """Digest of the simulator, the bundled protocols, and the module of a foreign protocol."""
    hasher = hashlib.blake2b(digest_size=8)
    for package in ("protocols", "sim"):
        for name, data in sorted(_sources(files(package), package)):
            hasher.update(name.encode() + b"\0" + data)
    module, colon, _ = protocol.partition(":")
    if colon and not module.startswith("protocols."):
        source = getattr(import_module(module), "__file__", None)
        if source is not None:
            hasher.update(Path(source).read_bytes())
    return hasher.hexdigest()


def _sources(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        name = f"{prefix}/{entry.name}"
        if entry.is_dir():
            found += _sources(entry, name)
        elif entry.name.endswith(".py"):
            found.append((name, entry.read_bytes()))
    return found
