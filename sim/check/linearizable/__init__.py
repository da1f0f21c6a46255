"""Linearizability: did a history of operations look as if each took effect in one instant?

    from sim.check.linearizable import check
    result = check(read_history("history.jsonl"), "kv")

The definition is that of Herlihy and Wing ("Linearizability: a correctness condition for
concurrent objects", ACM TOPLAS 12(3), 1990). See ``docs/linearizability.md``.
"""

from __future__ import annotations

from sim.check.linearizable.explain import Failure
from sim.check.linearizable.judge import Analysis, Budget, Part, analyse, check, model_for
from sim.check.linearizable.model import PENDING, Call, Model, ModelError, unpartitioned
from sim.check.linearizable.models import MODELS, guess_model, model_named

__all__ = [
    "MODELS",
    "PENDING",
    "Analysis",
    "Budget",
    "Call",
    "Failure",
    "Model",
    "ModelError",
    "Part",
    "analyse",
    "check",
    "guess_model",
    "model_for",
    "model_named",
    "unpartitioned",
]
