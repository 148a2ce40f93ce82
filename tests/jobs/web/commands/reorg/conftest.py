"""A table that a reorg has something to do on."""

import json

import pytest

from tests import factories
from tests.jobs import small_delta

ROWS = [{"id": n, "p": "FR" if n % 2 else "DE"} for n in range(10)]
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 1,
    "sizeInBytes": 36,
    "cardinality": 2,
}
PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors"],
}


@pytest.fixture
def sales(db, tmp_path):
    """A file in p=DE, and one in p=FR of which a deletion vector hides two rows."""
    path = tmp_path / "sales"
    root = factories.RootFactory(uri=str(tmp_path))
    small_delta.create(path, ROWS)
    first = (path / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    [worn] = [a["add"] for a in map(json.loads, first) if a.get("add", {}).get("partitionValues") == {"p": "FR"}]
    remove = {"path": worn["path"], "deletionTimestamp": 0, "dataChange": True}
    marked = {"add": worn | {"deletionVector": VECTOR}}
    small_delta.commit(path, "DELETE", [{"protocol": PROTOCOL}, {"remove": remove}, marked])
    return factories.TableFactory(root=root, path=str(path), name="sales")
