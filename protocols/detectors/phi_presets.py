"""The φ detector as well-known systems configure it: each function names where that stands."""

from __future__ import annotations

from dataclasses import replace

from protocols.detectors.phi_accrual import PhiAccrual, PhiOptions
from protocols.values import MS, SECOND

__all__ = ["akka", "cassandra", "chitchat", "greptime", "hazelcast", "pekko_remote_watch"]

_AKKA = PhiOptions(
    form="logistic",
    threshold=8.0,
    window=1000,
    min_std_us=100 * MS,
    acceptable_pause_us=3 * SECOND,
    first_heartbeat_estimate_us=SECOND,
)


def akka(**changed: object) -> PhiAccrual:
    """Akka and Pekko cluster (cluster/reference.conf, PhiAccrualFailureDetector.scala)."""
    return _preset(_AKKA, changed)


def pekko_remote_watch(**changed: object) -> PhiAccrual:
    """Pekko remote death watch (remote/reference.conf): window 200, pause 10 s, threshold 10."""
    base = replace(_AKKA, window=200, acceptable_pause_us=10 * SECOND, threshold=10.0)
    return _preset(base, changed)


def hazelcast(**changed: object) -> PhiAccrual:
    """Hazelcast (PhiAccrualFailureDetector.java): Akka's formula, window 200, threshold 10.

    The pause is inferred from its documentation (max-no-heartbeat-seconds, 60 s). Its port
    records every pause by mistake; this preset doesn't.
    """
    base = replace(_AKKA, window=200, acceptable_pause_us=60 * SECOND, threshold=10.0)
    return _preset(base, changed)


def greptime(**changed: object) -> PhiAccrual:
    """GreptimeDB (meta-srv/src/failure_detector.rs): Akka's formula with a pause of 10 s."""
    return _preset(replace(_AKKA, acceptable_pause_us=10 * SECOND), changed)


def cassandra(**changed: object) -> PhiAccrual:
    """Cassandra (gms/FailureDetector.java): exponential, first sample and cap 2 s.

    The cap is what was meant (2 × gossip interval); CASSANDRA-21025 made it 23 days.
    """
    base = PhiOptions(
        form="exponential",
        threshold=8.0,
        first_heartbeat_estimate_us=2 * SECOND,
        first_heartbeat_deviation_us=0,
        max_interval_us=2 * SECOND,
        suspected_gap="record",
    )
    return _preset(base, changed)


def chitchat(**changed: object) -> PhiAccrual:
    """Chitchat (failure_detector.rs): silence over a smoothed mean, dead until two beats.

    Chitchat clears the window when it declares a node dead; here the next beat does.
    """
    base = PhiOptions(
        form="ratio",
        threshold=8.0,
        first_heartbeat_estimate_us=None,
        max_interval_us=10 * SECOND,
        suspected_gap="forget",
        undefined="dead",
        prior_us=5 * SECOND,
        prior_weight=5,
    )
    return _preset(base, changed)


def _preset(base: PhiOptions, changed: dict[str, object]) -> PhiAccrual:
    return PhiAccrual(replace(base, **changed))  # type: ignore[arg-type]
