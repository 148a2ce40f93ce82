"""A table to clone, and a directory in its root for the clone."""

import pytest

from tests import factories
from tests.jobs import small_delta

ROWS = [{"id": n, "p": "FR" if n % 2 else "DE"} for n in range(10)]


@pytest.fixture
def sales(db, tmp_path):
    """Two files at version 0, three at version 1."""
    root = factories.RootFactory(uri=str(tmp_path))
    small_delta.create(tmp_path / "sales", ROWS)
    small_delta.append(tmp_path / "sales", [{"id": 20, "p": "FR"}])
    return factories.TableFactory(root=root, path=str(tmp_path / "sales"), name="sales")
