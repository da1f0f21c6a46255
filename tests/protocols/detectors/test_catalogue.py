import pytest

from protocols.detectors.bertier import Bertier
from protocols.detectors.catalogue import KINDS, detectors, estimator
from protocols.detectors.chen import NfdE, NfdS
from protocols.detectors.phi_accrual import PhiAccrual, PhiOptions
from protocols.detectors.phi_presets import akka
from protocols.detectors.timeouts import FixedTimeout
from protocols.detectors.window import Window
from protocols.values import SECOND

NEEDED = {
    "fixed": {"timeout_us": 5},
    "nfd-s": {"eta_us": 5, "delta_us": 0},
    "nfd-e": {"eta_us": 5, "alpha_us": 0},
    "bertier": {"eta_us": 5},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_made_and_used(kind: str) -> None:
    fresh = estimator(kind, **NEEDED.get(kind, {}))
    assert fresh.last_us is None
    assert fresh.heartbeat(1, 7).last_us == 7


def test_parameters_arrive() -> None:
    assert estimator("fixed", timeout_us=5) == FixedTimeout(5)
    assert estimator("phi", threshold=3, form="exponential") == PhiAccrual(
        PhiOptions(threshold=3, form="exponential")
    )
    assert estimator("akka", window=9) == akka(window=9)
    assert estimator("nfd-s", eta_us=5, delta_us=6) == NfdS(5, 6)
    assert estimator("nfd-e", eta_us=5, alpha_us=6, window=7) == NfdE(5, 6, Window(7))
    assert estimator("nfd-e", eta_us=5, alpha_us=6) == NfdE(5, 6)
    assert estimator("bertier", eta_us=5, window=9, gamma=0.2) == Bertier(
        5, gamma=0.2, window=Window(9)
    )
    assert estimator("akka", first_heartbeat_estimate_us=None) == akka(
        first_heartbeat_estimate_us=None
    )


def test_an_unknown_kind_gets_a_hint() -> None:
    with pytest.raises(ValueError, match="no detector is called 'bertie'; did you mean 'bertier'"):
        estimator("bertie")
    with pytest.raises(ValueError, match="choose one of fixed, deadline, phi"):
        estimator("xxxxx")


def test_an_unknown_parameter_lists_the_allowed_ones() -> None:
    hint = r"no parameter 'timeout'; did you mean 'timeout_us'\?; it takes: timeout_us$"
    with pytest.raises(TypeError, match=hint):
        estimator("fixed", timeout=5)


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(TypeError, match="'nfd-s' needs eta_us, delta_us"):
        estimator("nfd-s")


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("fixed", {"timeout_us": "2s"}, "timeout_us = '2s': give whole microseconds"),
        ("fixed", {"timeout_us": 2.5}, "whole microseconds"),
        ("fixed", {"timeout_us": True}, "whole microseconds"),
        ("fixed", {"timeout_us": None}, "whole microseconds"),
        ("phi", {"window": 2.0}, "a whole number"),
        ("phi", {"threshold": "high"}, "give a number"),
        ("phi", {"form": 3}, "give a word"),
    ],
)
def test_a_value_of_the_wrong_kind(kind: str, params: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        estimator(kind, **params)


def test_several_detectors_by_name() -> None:
    assert detectors(
        {"heartbeat": {"kind": "fixed", "timeout_us": 3 * SECOND}, "akka": {"window": 5}}
    ) == (("heartbeat", FixedTimeout(3 * SECOND)), ("akka", akka(window=5)))
