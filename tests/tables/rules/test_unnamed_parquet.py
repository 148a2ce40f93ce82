"""Parquet files without an extension, as Hive, Impala and Trino write them: known by their first bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore

from tables.rules.discovery import DirectoryKind, Unclear, kind_of, measure, scan
from tables.rules.parquet_names import MAGIC, has_no_extension
from tables.storage.local.folders import LocalFolders
from tables.storage.objects import buckets as object_stores

PARQUET = MAGIC + b"\0" * 8 + MAGIC


def write(base: Path, **files: bytes) -> Path:
    for name, content in files.items():
        file = base / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return base


def found(base: Path) -> dict[str, DirectoryKind]:
    return {item.path.removeprefix(f"{base}/"): item.kind for item in scan(str(base)).found}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that a walk opens."""
    names: list[str] = []
    head = LocalFolders.head

    def watched(self: LocalFolders, path: str, length: int) -> bytes:
        names.append(path.rpartition("/")[2])
        return head(self, path, length)

    monkeypatch.setattr(LocalFolders, "head", watched)
    return names


@pytest.mark.parametrize(
    "name", ["000000_0", "000000_0_copy_1", "20260101_000000_00001_abcde_1f", "4a-1_17_data.0", "p=1/000000_0"]
)
def test_a_directory_of_them_is_found_measured_and_known(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(PARQUET)
    assert found(tmp_path) == {"t": DirectoryKind.PARQUET}
    assert kind_of(str(tmp_path / "t")) is DirectoryKind.PARQUET
    measured = measure(str(tmp_path / "t"))
    assert (measured.files, measured.size_bytes, measured.stopped) == (1, len(PARQUET), None)
    assert measured.modified_at is not None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("000000_0", b"ORC and more"),
        ("000000_0", b""),
        ("000000_0", b"PAR"),
        ("000000_0.gz", PARQUET),
        ("x.json", PARQUET),
        ("_SUCCESS", PARQUET),
        (".000000_0", PARQUET),
    ],
)
def test_other_files_make_no_table(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / name).write_bytes(content)
    assert found(tmp_path) == {}
    assert kind_of(str(tmp_path)) is None
    assert measure(str(tmp_path / "t")).files == 0


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    write(tmp_path, elsewhere__x=PARQUET, t__keep=b"x")
    os.mkfifo(tmp_path / "t" / "000000_0")
    (tmp_path / "t" / "000001_0").symlink_to(tmp_path / "elsewhere" / "x")
    assert found(tmp_path) == {"elsewhere": DirectoryKind.PARQUET}


def test_at_most_three_files_of_a_directory_are_opened(tmp_path: Path, opened: list[str]) -> None:
    write(tmp_path, **{f"t__file{n}": b"x" for n in range(9)}, t__file9=PARQUET)
    assert found(tmp_path) == {}
    assert opened == ["file0", "file1", "file2"]


def test_none_is_opened_beside_a_named_parquet_file(tmp_path: Path, opened: list[str]) -> None:
    write(tmp_path, **{"t__000000_0": PARQUET, "t__x.parquet": PARQUET, "t__p=1__y.parquet": b"", "t__p=1__z": PARQUET})
    assert found(tmp_path) == {"t": DirectoryKind.PARQUET}
    assert measure(str(tmp_path / "t")).files == 2
    assert opened == []


def test_a_directory_of_parquet_and_other_files_has_no_known_size(tmp_path: Path) -> None:
    write(tmp_path, **{"t__000000_0": PARQUET, "t__notes": b"x"})
    assert found(tmp_path) == {"t": DirectoryKind.PARQUET}
    assert "some of them parquet" in str(measure(str(tmp_path / "t")).stopped)


def test_what_can_not_be_opened_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any, path: str, length: int) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    write(tmp_path, **{"t__000000_0": PARQUET, "u__x.parquet": PARQUET, "LOCK": b"x"})
    monkeypatch.setattr(LocalFolders, "head", refuse)
    result = scan(str(tmp_path))
    assert [item.path for item in result.found] == [f"{tmp_path}/u"]
    assert (result.unreadable, result.stopped) == ((f"{tmp_path}/t",), None)
    with pytest.raises(Unclear, match="can’t be opened"):
        kind_of(str(tmp_path / "t"))


def test_they_are_found_in_an_object_store_by_a_ranged_get(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    monkeypatch.setattr(object_stores, "opened", lambda uri: (store, object_stores.split(uri)[1]))
    for key, content in {"lake/t/p=1/000000_0": PARQUET, "lake/u/000000_0": b"ORC", "lake/u/tiny": b"P"}.items():
        obstore.put(store, key, content)
    result = scan("s3://bucket/lake")
    assert [(item.path, item.kind) for item in result.found] == [("s3://bucket/lake/t", DirectoryKind.PARQUET)]
    assert measure("s3://bucket/lake/t").size_bytes == len(PARQUET)


@pytest.mark.parametrize(
    ("name", "says_nothing"), [("a", True), ("a.1", True), ("a.parquet", False), ("a.c000", False)]
)
def test_a_number_is_no_extension(name: str, says_nothing: bool) -> None:
    assert has_no_extension(name) is says_nothing
