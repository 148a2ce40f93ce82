"""Gives each test process a home of its own, before Django reads its settings.

pytest loads it by `-p` (pyproject.toml): pytest-django sets Django up before any conftest.
"""

import pytest

from tests import servers

HOME = servers.prepare_environment()


def pytest_unconfigure(config: pytest.Config) -> None:
    """The servers have stopped by now."""
    servers.remove(HOME)
