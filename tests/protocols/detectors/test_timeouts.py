import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.detectors.bertier import Bertier
from protocols.detectors.chen import NfdE, NfdS
from protocols.detectors.estimator import Estimator, fed
from protocols.detectors.phi_presets import akka, cassandra, chitchat
from protocols.detectors.timeouts import Deadline, FixedTimeout
from protocols.values import MS, SECOND


def test_fixed_timeout_is_alive_while_last_plus_timeout_lies_ahead() -> None:
    fd = FixedTimeout(3 * SECOND).heartbeat(1, 10)
    assert fd.deadline_us() == 10 + 3 * SECOND
    assert not fd.suspects(3 * SECOND + 9) and fd.suspects(3 * SECOND + 10)


def test_deadline_allows_one_interval_more_than_the_pause() -> None:
    """Akka #17567: last + pause alone is one heartbeat interval too short."""
    fd = Deadline(interval_us=SECOND, acceptable_pause_us=4 * SECOND).heartbeat(1, 0)
    assert not fd.suspects(5 * SECOND - 1) and fd.suspects(5 * SECOND)


def test_deadline_defaults_are_pekkos_between_datacenters() -> None:
    assert Deadline().heartbeat(1, 0).deadline_us() == 13 * SECOND


def test_no_beat_no_suspicion() -> None:
    for fd in (FixedTimeout(1), Deadline()):
        assert fd.deadline_us() is None and fd.level(5) is None and not fd.suspects(10**15)


def test_level_is_the_share_of_the_timeout() -> None:
    fd = FixedTimeout(2 * SECOND).heartbeat(1, SECOND)
    assert [fd.level(t * SECOND) for t in (1, 2, 3, 5)] == [0.0, 0.5, 1.0, 2.0]


def test_a_timeout_must_be_positive() -> None:
    with pytest.raises(ValueError, match="timeout_us = 0"):
        FixedTimeout(0)
    with pytest.raises(ValueError, match="acceptable_pause_us = -1"):
        Deadline(acceptable_pause_us=-1)


ALL: tuple[Estimator, ...] = (
    FixedTimeout(3 * SECOND),
    Deadline(),
    akka(),
    cassandra(),
    chitchat(),
    NfdS(eta_us=SECOND, delta_us=SECOND),
    NfdE(eta_us=SECOND, alpha_us=200 * MS),
    Bertier(eta_us=SECOND),
)


@pytest.mark.parametrize("fresh", ALL, ids=lambda e: type(e).__name__)
@given(
    arrivals=st.lists(
        st.tuples(st.integers(1, 60), st.integers(-(10**12), 10**12)), min_size=1, max_size=30
    ),
    probes=st.lists(st.integers(-(10**13), 10**13), min_size=2, max_size=5),
)
def test_every_estimator(
    fresh: Estimator, arrivals: list[tuple[int, int]], probes: list[int]
) -> None:
    """Never raises, is pure, agrees with its own deadline, and its level never falls."""
    fd = fresh
    for sequence, now in arrivals:
        before, digest = fd, repr(fd)
        fd = fd.heartbeat(sequence, now)
        assert repr(before) == digest
    deadline = fd.deadline_us()
    levels = [fd.level(now) for now in sorted(probes)]
    if all(level is not None for level in levels):
        assert levels == sorted(levels)  # type: ignore[type-var]
    if deadline is not None:
        assert fd.suspects(deadline) and fd.suspects(deadline + 10**12)


@pytest.mark.parametrize("fresh", ALL, ids=lambda e: type(e).__name__)
def test_a_peer_that_goes_silent_is_suspected_in_the_end(fresh: Estimator) -> None:
    fd = fed(fresh, range(SECOND, 100 * SECOND, SECOND))
    assert not fd.suspects(99 * SECOND)
    assert fd.suspects(99 * SECOND + 20 * SECOND)
