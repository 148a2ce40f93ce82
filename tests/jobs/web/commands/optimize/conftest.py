"""A table that an optimize has something to do on."""

import pytest

from tests import factories
from tests.jobs import small_delta

ROWS = [{"id": n, "p": "FR" if n % 2 else "DE"} for n in range(10)]


@pytest.fixture
def sales(db, tmp_path):
    """Three files in p=FR, one in p=DE."""
    root = factories.RootFactory(uri=str(tmp_path))
    small_delta.create(tmp_path / "sales", ROWS)
    for id_ in (20, 21):
        small_delta.append(tmp_path / "sales", [{"id": id_, "p": "FR"}])
    return factories.TableFactory(root=root, path=str(tmp_path / "sales"), name="sales")
