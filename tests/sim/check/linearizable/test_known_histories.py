"""Histories recorded elsewhere, whose verdicts are known: etcd, key-value stores, registers.

They are other people's data and not part of this repository (:mod:`tests.shared_data`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.check.linearizable import analyse, model_for, unpartitioned
from sim.history import read_history
from tests.shared_data import shared_data


def known(kind: str) -> list[tuple[Path, str]]:
    """The histories of that kind and their verdicts; skips if they are not here."""
    folder = shared_data("linearizability")
    lines = (folder / "verdicts.tsv").read_text(encoding="utf-8").splitlines()[1:]
    pairs = [line.split("\t") for line in lines if line]
    verdicts = {"true": "ok", "false": "violated"}
    return [(folder / name, verdicts[told]) for name, told in pairs if name.startswith(kind)]


def test_the_etcd_logs_get_their_verdicts() -> None:
    files = known("etcd")
    assert files
    wrong = {}
    for path, verdict in files:
        found = analyse(read_history(path))
        assert found.model == "cas-register"
        assert found.steps < 100_000
        if found.result.verdict != verdict:
            wrong[path.name] = found.result
    assert wrong == {}


def test_the_key_value_histories_get_their_verdicts() -> None:
    files = known("kv")
    assert files
    for path, verdict in files:
        history = read_history(path)
        assert (history.model, history.initial) == ("kv", (True, ""))
        assert analyse(history).result.verdict == verdict, path.name


@pytest.mark.parametrize("size", ["c01", pytest.param("c10", marks=pytest.mark.slow)])
def test_the_key_value_histories_judged_as_one_object(size: str) -> None:
    for path, verdict in known(f"kv/{size}"):
        history = read_history(path)
        assert analyse(history, unpartitioned(model_for(history))).result.verdict == verdict


def test_the_registers_get_their_verdicts() -> None:
    files = sorted(shared_data("linearizability", "cas_register").glob("*.edn"))
    assert files
    for path in files:
        verdict = "ok" if path.name.startswith("good") else "violated"
        assert analyse(read_history(path)).result.verdict == verdict, path.name
