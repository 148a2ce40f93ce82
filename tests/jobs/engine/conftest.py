"""The lake of tests that need no catalog."""

import pytest

from tests.factories.lakes import Lake


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake(tmp_path / "lake")
