"""Published numbers about failure detectors beside ours: formulas, figures and closed forms.

Nothing here runs a simulation. Each function gives the rows of one source; :func:`rows` gives
them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp

from protocols.detectors.chen_qos import configure_known_law, configure_unknown_law, qos_nfd_s
from protocols.detectors.estimator import fed
from protocols.detectors.phi_accrual import (
    PhiAccrual,
    PhiOptions,
    phi_exponential,
    phi_logistic,
    phi_normal,
    phi_ratio,
)
from protocols.detectors.phi_formulas import Form, y_at
from protocols.detectors.phi_presets import akka, cassandra, greptime, pekko_remote_watch
from protocols.detectors.window import Window
from protocols.values import MS, SECOND
from scenarios.reproduce.rows import Row, row

__all__ = [
    "akka_formula",
    "approximation_error",
    "cassandra_and_chitchat",
    "chen_configuration",
    "chen_quality",
    "crash_to_suspicion",
    "histories",
    "rows",
    "thresholds",
]

_PEKKO = "Apache Pekko, AccrualFailureDetectorSpec.scala"
_CHEN = "Chen, Toueg, Aguilera, IEEE ToC 51(5), 2002"
_COMPUTED = "computed independently from the formula"


def rows() -> list[Row]:
    """Return every row, in the order of the functions of this module."""
    parts = (
        akka_formula,
        histories,
        approximation_error,
        thresholds,
        crash_to_suspicion,
        cassandra_and_chitchat,
        chen_quality,
        chen_configuration,
    )
    return [line for part in parts for line in part()]


_PEKKO_CDF = (
    (0, 0, 10, 0.5, 1e-3),
    (6, 0, 10, 0.7257, 1e-3),
    (15, 0, 10, 0.9332, 1e-3),
    (20, 0, 10, 0.97725, 1e-3),
    (25, 0, 10, 0.99379, 1e-3),
    (35, 0, 10, 0.99977, 1e-3),
    (40, 0, 10, 0.99997, 1e-4),
    (22, 20, 3, 0.7475, 1e-3),
)
_PEKKO_PHI = (
    (10, 0, 1, 38.0, 1.0),
    (-25, 0, 1, 0.0, 0.0),
    (0, 1000, 100, 0.0, 0.1),
    (500, 1000, 100, 0.1, 0.1),
    (1000, 1000, 100, 0.3, 0.1),
    (1200, 1000, 100, 1.6, 0.1),
    (1400, 1000, 100, 4.7, 0.1),
    (1600, 1000, 100, 10.8, 0.1),
    (1700, 1000, 100, 15.3, 0.1),
)


def akka_formula() -> Iterator[Row]:
    """The values that Akka's own test demands of its approximation, with its tolerances."""
    for t, mean, sd, published, tolerance in _PEKKO_CDF:
        ours = 1 - 10 ** -phi_logistic(t, mean, sd)
        name = f"cdf({t}; mean {mean}, sd {sd})"
        yield row(name, published, ours, tolerance=tolerance, source=_PEKKO)
    for t, mean, sd, published, tolerance in _PEKKO_PHI:
        ours = phi_logistic(t, mean, sd)
        name = f"phi({t}; mean {mean}, sd {sd})"
        yield row(name, published, ours, tolerance=tolerance, source=_PEKKO)


_HISTORIES = (
    (1000, (100, 200, 125, 340, 130), 179.0, 7584.0),
    (3, (100, 110, 90), 100.0, 66.6667),
    (3, (100, 110, 90, 140), 113.3333, 422.2222),
    (3, (100, 110, 90, 140, 80), 103.3333, 688.8889),
    (1000, (600,), 600.0, 0.0),
)


def histories() -> Iterator[Row]:
    """Mean and variance of sliding windows, from the same test."""
    for size, samples, mean, variance in _HISTORIES:
        window = Window(size)
        for sample in samples:
            window = window.append(sample)
        name = f"of {samples}, window {size}"
        yield row(f"mean {name}", mean, window.mean, tolerance=5e-5, source=_PEKKO)
        yield row(f"variance {name}", variance, window.variance, tolerance=5e-5, source=_PEKKO)


_AKKA_AND_EXACT = (
    (900, 0.075033, 0.075026),
    (1000, 0.301030, 0.301030),
    (1100, 0.799508, 0.799546),
    (1200, 1.642828, 1.643016),
    (1300, 2.909475, 2.869699),
    (1400, 4.736695, 4.499335),
    (1500, 7.299947, 6.542646),
    (1600, 10.782601, 9.005864),
    (1700, 15.368526, 11.892854),
    (2000, 37.584713, 23.118053),
)
_SIX_DIGITS = 5.01e-7


def approximation_error() -> Iterator[Row]:
    """Akka's approximation and the exact normal law at mean 1000, sd 100: they part at y = 3."""
    for t, approximate, exact in _AKKA_AND_EXACT:
        for law, published, formula in (
            ("logistic", approximate, phi_logistic),
            ("normal", exact, phi_normal),
        ):
            ours = formula(t, 1000, 100)
            name = f"{law} phi({t}; mean 1000, sd 100)"
            yield row(name, published, ours, tolerance=_SIX_DIGITS, source=_COMPUTED)


_THRESHOLDS = (
    (1.0, 1.2822, 1.2816, 2.3026),
    (3.0, 3.0589, 3.0902, 6.9078),
    (5.0, 4.1192, 4.2649, 11.5129),
    (8.0, 5.2260, 5.6120, 18.4207),
    (10.0, 5.7990, 6.3613, 23.0259),
    (12.0, 6.2921, 7.0345, 27.6310),
)
_FORMS: tuple[Form, ...] = ("logistic", "normal", "exponential")


def thresholds() -> Iterator[Row]:
    """The standardised silence at which each law reaches a threshold."""
    for threshold, *published in _THRESHOLDS:
        for form, y in zip(_FORMS, published, strict=True):
            name = f"{form} y at phi {threshold:g}"
            yield row(name, y, y_at(form, threshold), tolerance=5.01e-5, source=_COMPUTED)


def silence_ms(detector: PhiAccrual, beats: int) -> float:
    """Milliseconds from the last of ``beats`` beats, one a second, to suspicion."""
    last_us = (beats - 1) * SECOND
    deadline = fed(detector, range(0, beats * SECOND, SECOND)).deadline_us()
    assert deadline is not None
    return (deadline - last_us) / 1000


def crash_to_suspicion() -> Iterator[Row]:
    """How long after a peer's last heartbeat well-known settings suspect it."""
    regular = "heartbeats exactly 1 s apart, window full"
    for name, published, detector, beats, assumption in (
        ("Pekko cluster", 4522.6, akka(), 1100, regular),
        ("Pekko cluster, one beat ever", 5306.5, akka(), 1, "guessed statistics 1 s ± 250 ms"),
        ("Pekko remote watch", 11579.9, pekko_remote_watch(), 1100, regular),
        ("GreptimeDB", 11522.6, greptime(), 1100, regular),
        ("Cassandra", 18420.7, cassandra(), 1100, regular),
    ):
        ours = silence_ms(detector, beats)
        label = f"{name}: last beat to suspicion, ms"
        yield row(label, published, ours, tolerance=0.06, source=_COMPUTED, assumption=assumption)


def cassandra_and_chitchat() -> Iterator[Row]:
    """The vectors of Cassandra's ArrivalWindowTest and of Chitchat's test_sampling_window."""
    source, beats = "Apache Cassandra, ArrivalWindowTest", (111, 222, 333, 444, 555)
    window = fed(cassandra(window=4), (b * MS for b in beats)).window
    mean = window.mean / MS
    for t, old, new in ((666, 0.4342, 1.0), (3000, 9.566, 22.03)):
        ours = phi_exponential(t - 555, mean)
        yield row(f"phi({t}), times log10 e", old, ours, tolerance=0.01, source=source)
        yield row(f"phi({t})", new, phi_ratio(t - 555, mean), tolerance=0.01, source=source)
    source = "Chitchat, failure_detector.rs, test_sampling_window"
    options = PhiOptions(
        form="ratio",
        window=10,
        first_heartbeat_estimate_us=None,
        max_interval_us=5 * SECOND,
        undefined="dead",
        prior_us=2 * SECOND,
        prior_weight=5,
    )
    two = fed(PhiAccrual(options), (0, 3 * SECOND))
    three = two.heartbeat(3, 9 * SECOND)
    apart = fed(PhiAccrual(options), (0, 2 * SECOND))
    for name, published, ours in (
        ("phi right after the second beat", 0.0, two.phi(3 * SECOND)),
        ("phi 1 s later", 6 / 13, two.phi(4 * SECOND)),
        ("phi 2 s after a beat that ended a gap of 6 s", 2 / (13 / 6), three.phi(11 * SECOND)),
        ("phi 4 s after beats 2 s apart", 2.0, apart.phi(6 * SECOND)),
    ):
        yield row(name, published, ours, tolerance=1e-12, source=source)


_LOSS, _DELAY = 0.01, 0.02
_QUALITY = (  # δ, E(T_MR), E(T_M), P_A and half a unit of its last digit
    (1.00, 101.01, 0.030101, 0.9997020, 5.01e-8),
    (1.02, 269.936, 0.046459, 0.9998279, 5.01e-8),
    (1.05, 1106.79, 0.125200, 0.99988688, 5.01e-9),
    (1.10, 6059.19, 0.565933, 0.99990660, 5.01e-9),
    (1.25, 10097.3, 0.779821, 0.99992277, 5.01e-9),
    (1.50, 10101.0, 0.530101, 0.99994752, 5.01e-9),
    (2.00, 10101.0, 0.030101, 0.99999702, 5.01e-9),
    (2.50, 1.0101e6, 0.530101, 0.9999994752, 5.01e-11),
)


def exponential_delay(x: float) -> float:
    """P(D ≤ x) for exponential delays with a mean of 0.02, as in the paper's simulations."""
    return 1 - exp(-x / _DELAY) if x > 0 else 0.0


def chen_quality() -> Iterator[Row]:
    """NFD-S with η = 1, 1 % loss, exponential delays of 0.02: a staircase, ×100 per η of δ."""
    source = f"{_CHEN}, theorem 5 at the parameters of §7"
    for delta, recurrence, duration, accuracy, digits in _QUALITY:
        q = qos_nfd_s(1.0, delta, _LOSS, exponential_delay)
        name = f"NFD-S delta {delta:.2f}"
        yield row(f"{name}: T_D bound", 1 + delta, q.detection_max, relative=1e-12, source=source)
        yield row(f"{name}: E(T_MR)", recurrence, q.recurrence, relative=1e-3, source=source)
        yield row(f"{name}: E(T_M)", duration, q.duration, relative=1e-3, source=source)
        yield row(f"{name}: P_A", accuracy, q.accuracy, tolerance=digits, source=source)


def chen_configuration() -> Iterator[Row]:
    """The paper's worked examples: T_D ≤ 30 s, a mistake a month, at most a minute long."""
    month, known = 30 * 86400.0, "law known: exponential, mean 0.02 s"
    choice = configure_known_law(30, month, 60, _LOSS, exponential_delay)
    assert choice is not None
    rounded = "the paper rounds down"
    for name, published, ours in (("eta", 9.97, choice.eta), ("delta", 20.03, choice.delta)):
        yield row(
            f"{name}, {known}", published, ours, tolerance=0.01, source=_CHEN, assumption=rounded
        )
    for name, published, ours in (("eta", 9.976, choice.eta), ("delta", 20.024, choice.delta)):
        yield row(f"{name}, {known}", published, ours, tolerance=5.01e-4, source=_COMPUTED)
    choice = configure_unknown_law(30, month, 60, _LOSS, _DELAY, _DELAY)
    assert choice is not None
    unknown = "law unknown: mean 0.02 s, variance 0.02 s²"
    for name, published, ours in (("eta", 9.71, choice.eta), ("delta", 20.29, choice.delta)):
        yield row(f"{name}, {unknown}", published, ours, tolerance=5.01e-3, source=_CHEN)
