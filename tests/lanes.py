"""Which tests run, and which share a process when pytest runs several.

A file whose tests start a JVM, a browser or whole processes stays together, so what it shares is made once. Files that
name a lane of their own (`xdist_group`) share one process: "engine", whose tests use the JVM of the test process itself.
A `long` test proves at length what one beside it shows every day, or a case that is rarer than its cost: it runs at full size only
(`make soak`). What the gate runs of all this, and how, is said in tests/gate.
"""

import os

import pytest
import pytest_timeout

from tests.patience import stretch

HEAVY = ("spark", "servers", "browser")
IS_HEAVY = " or ".join(HEAVY)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A heavy test goes the way of its file; one with a group of its own, or a light one, as it likes."""
    if os.environ.get("LEVEE_SOAK_SIZE") != "full":
        left_out = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
    for item in items:
        if any(item.get_closest_marker(name) for name in HEAVY) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.location[0]))


def lane_of(item: pytest.Item) -> str:
    """The name that a heavy test's file shares with others, or its file."""
    marker = item.get_closest_marker("xdist_group")
    return str(marker.args[0]) if marker else item.location[0]


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: pytest_timeout.Settings) -> object:
    """A test may take as much longer as its waits may."""
    return pytest_timeout.pytest_timeout_set_timer(item, settings._replace(timeout=settings.timeout * stretch()))
