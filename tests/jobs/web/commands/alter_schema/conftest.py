"""A table whose schema can be changed: columns mapped by name, types may widen."""

import pytest

from tests import factories
from tests.jobs import small_delta

ROWS = [{"id": n, "p": "FR" if n % 2 else "DE"} for n in range(4)]
MAPPED = {
    "delta.columnMapping.mode": "name",
    "delta.columnMapping.maxColumnId": "2",
    "delta.enableTypeWidening": "true",
}


@pytest.fixture
def sales(db, tmp_path):
    """Plain: no column mapping, partitioned by p."""
    root = factories.RootFactory(uri=str(tmp_path))
    small_delta.create(tmp_path / "sales", ROWS)
    return factories.TableFactory(root=root, path=str(tmp_path / "sales"), name="sales")


@pytest.fixture
def mapped(db, tmp_path):
    """The same with column mapping and type widening in its properties."""
    root = factories.RootFactory(uri=str(tmp_path))
    small_delta.create(tmp_path / "mapped", ROWS, MAPPED)
    return factories.TableFactory(root=root, path=str(tmp_path / "mapped"), name="mapped")
