"""A table whose properties change."""

import pytest

from tests import factories
from tests.jobs import small_delta

ROWS = [{"id": n, "p": "FR"} for n in range(3)]


@pytest.fixture
def sales(db, tmp_path):
    root = factories.RootFactory(uri=str(tmp_path))
    small_delta.create(tmp_path / "sales", ROWS, properties={"team": "finance", "sink.password": "hunter2"})
    return factories.TableFactory(root=root, path=str(tmp_path / "sales"), name="sales")
