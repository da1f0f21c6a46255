"""Where an exception came from, for a message of one line."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

__all__ = ["place_of"]

_ROOT = Path(__file__).resolve().parents[2]
_CONTRACT = ("api", "canonical", "client", "spec", "step", "values")
_OURS = (
    _ROOT / "sim",
    _ROOT / "scenarios",
    *(_ROOT / "protocols" / f"{name}.py" for name in _CONTRACT),
    Path(sysconfig.get_path("stdlib")),
)


def place_of(error: BaseException) -> tuple[str, bool]:
    """``file:line, in function`` to look at, and whether that is in the simulator.

    The place to look at is the last one in a protocol, if there is one: it has called whatever
    complained.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return "an unknown place", True
    outside = [frame for frame in frames if not _is_ours(frame.filename)]
    frame = (outside or frames)[-1]
    return f"{frame.filename}:{frame.lineno}, in {frame.name}", not outside


def _is_ours(filename: str) -> bool:
    path = Path(filename)
    library = "site-packages" in path.parts and not path.is_relative_to(_ROOT)
    return library or filename.startswith("<") or any(map(path.is_relative_to, _OURS))
