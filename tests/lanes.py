"""Keeps tests that share something heavy in one process when pytest runs several.

All Spark tests use one JVM; tests that start whole processes or a browser would only slow each other down.
"""

import pytest

LANES = ("spark", "servers", "browser")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test goes to the lane of its first marker; one with a group of its own, or none of these, as it likes."""
    for item in items:
        if item.get_closest_marker("xdist_group"):
            continue
        lane = next((name for name in LANES if item.get_closest_marker(name)), None)
        if lane:
            item.add_marker(pytest.mark.xdist_group(lane))
