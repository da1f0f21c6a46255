"""What every test may count on: Hypothesis profiles, time limits, and each supported Python."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.interpreters import (
    VERSIONS,
    EnvironmentUnavailable,
    environment_for,
    find_interpreter,
)

SLOW_SECONDS = 600

# "ci" repeats the same examples on every run; "fresh" is for jobs that look for new ones.
BUSY_MACHINE = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("ci", BUSY_MACHINE, derandomize=True, database=None)
settings.register_profile("dev", BUSY_MACHINE, derandomize=False)
settings.register_profile("fresh", BUSY_MACHINE, derandomize=False, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow tests, and those that may have to make an environment, their own limit."""
    for item in items:
        patient = item.get_closest_marker("slow") or "every_interpreter" in _fixtures(item)
        if patient and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


@pytest.fixture(scope="session", params=VERSIONS)
def every_interpreter(request: pytest.FixtureRequest) -> Path:
    """The Python of a core-only environment, once per supported version."""
    interpreter = find_interpreter(request.param)
    if interpreter is None:
        pytest.skip(f"Python {request.param} is not on this machine")
    try:
        return environment_for(interpreter)
    except EnvironmentUnavailable as why:
        pytest.skip(f"no environment for Python {request.param}: {why}")
