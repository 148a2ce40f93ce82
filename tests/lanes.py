"""Keeps tests that share something heavy in one process when pytest runs several.

A file whose tests start a JVM, a browser or whole processes stays together, so what it shares is made once. Files that
name a lane of their own (`xdist_group`) share one process: "engine", whose tests use the JVM of the test process itself.
"""

import pytest

HEAVY = ("spark", "servers", "browser")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A heavy test goes the way of its file; one with a group of its own, or a light one, as it likes."""
    for item in items:
        if not item.get_closest_marker("xdist_group") and any(item.get_closest_marker(name) for name in HEAVY):
            item.add_marker(pytest.mark.xdist_group(item.location[0]))
