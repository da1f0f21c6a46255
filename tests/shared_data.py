"""Third-party data that lies beside the repository, or nowhere: tests over it skip without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def data_folder() -> Path:
    """``SPLITBRAIN_SHARED_DATA``, or ``shared/data`` beside the repository."""
    root = Path(__file__).resolve().parents[1]
    return Path(os.environ.get("SPLITBRAIN_SHARED_DATA", root.parent / "shared" / "data"))


def shared_data(*parts: str) -> Path:
    """A file or folder of the shared data; skips the test, saying why, if it isn't there."""
    path = data_folder().joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no third-party data at {path}; set SPLITBRAIN_SHARED_DATA to its folder")
    return path
