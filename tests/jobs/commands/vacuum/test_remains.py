"""The files below a table that a vacuum looks at, as they are read again after its end: on a disk and in an object store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.commands.vacuum.log.remains import files_below
from tables.deltalog.read.actions import Metadata
from tables.deltalog.vacuum.keys import key
from tables.storage.objects import buckets as object_stores
from tests.jobs.engine.object_store import ObjectStore

LOOKED_AT = ("a.parquet", "_p=1/b.parquet", "deep/er/c.parquet", "_change_data/d.parquet", "empty.parquet", "ü.parquet")
PASSED_OVER = ("_delta_log/0.json", ".e.parquet", "deep/_f.parquet", "g:h.parquet", "metadata/i.json")
METADATA = Metadata(
    "id", None, None, "parquet", "{}", ("_p",), {"delta.universalFormat.enabledFormats": "hudi, iceberg"}, None
)


def content(name: str) -> bytes:
    return b"" if name.startswith("empty") else b"12345"


def sizes_of(root: str, metadata: Metadata = METADATA) -> dict[int, int]:
    found = files_below(root, metadata)
    return dict(zip(found["key"].to_pylist(), found["size"].to_pylist(), strict=True))


EXPECTED = {key(name): len(content(name)) for name in LOOKED_AT}


def test_of_a_directory(tmp_path: Path):
    for name in (*LOOKED_AT, *PASSED_OVER):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content(name))
    (tmp_path / "link.parquet").symlink_to(tmp_path / "a.parquet")
    (tmp_path / "linked").symlink_to(tmp_path / "deep")
    assert sizes_of(str(tmp_path)) == EXPECTED
    without = replace(METADATA, configuration={}, partition_columns=())
    assert set(sizes_of(str(tmp_path), without)) == {*EXPECTED, key("metadata/i.json")} - {key("_p=1/b.parquet")}


def test_of_an_object_store(monkeypatch: pytest.MonkeyPatch):
    store = ObjectStore()
    monkeypatch.setattr(object_stores, "_lookup", store.lookup)
    for name in (*LOOKED_AT, *PASSED_OVER):
        store.put(f"vacuumed/t/{name}", content(name))
    store.put("vacuumed/t2/other.parquet", b"1")
    for directory in ("_p=1/", "deep/", "deep/er/"):  # as Google's connector marks them
        store.put(f"vacuumed/t/{directory}", b"")
    assert sizes_of("s3://lake/vacuumed/t") == EXPECTED
    store.shut()


def test_of_a_directory_that_is_gone_nothing_is_told(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        files_below(str(tmp_path / "gone"), METADATA)
