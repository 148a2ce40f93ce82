"""What storage has of a table's data files, beside what its log says of them."""

import os
import socket
from pathlib import Path

import pytest
from obstore.store import from_url

from tables.deltalog.read.data_files import Unlike, below, unlike
from tables.storage.local.files import LocalStorage
from tables.storage.objects.files import ObjectStorage
from tables.storage.store import Storage, StorageError


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for name in ("a.parquet", "p=1/b.parquet", "p=1/c d.parquet", "p=2/e.parquet"):
        file = tmp_path / "t" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * 10)
    return tmp_path / "t"


@pytest.fixture(params=["local", "object store"])
def storage(request: pytest.FixtureRequest, table: Path) -> Storage:
    return LocalStorage(str(table)) if request.param == "local" else ObjectStorage.of(from_url(table.as_uri()))


def found(storage: Storage, table: Path, *files: tuple[str, int | None]) -> list[Unlike]:
    return list(unlike(storage, str(table), files))


def test_files_as_the_log_says_are_passed_over(storage: Storage, table: Path) -> None:
    same = [("p=2/e.parquet", 10), ("a.parquet", 10), ("p=1/b.parquet", 10), ("p=1/c%20d.parquet", 10)]
    assert found(storage, table, *same) == []
    assert found(storage, table, (f"{table}/a.parquet", 10), (f"file://{table}/p=1/c%20d.parquet", 10)) == []
    assert found(storage, table, ("a.parquet", None)) == []


def test_another_size_is_told_with_both(storage: Storage, table: Path) -> None:
    odd = [("p=1/c%20d.parquet", 5), ("a.parquet", 11), (f"file:{table}/p=1/b.parquet", 0), ("p=2/e.parquet", 10)]
    assert found(storage, table, *odd) == [
        Unlike("a.parquet", 11, 10),
        Unlike("p=1/b.parquet", 0, 10),
        Unlike("p=1/c d.parquet", 5, 10),
    ]


def test_what_is_not_there_is_told_even_without_a_size(storage: Storage, table: Path) -> None:
    gone = [("p=3/f.parquet", 10), ("g.parquet", None), ("p=1", 10)]
    assert [(each.path, each.stored) for each in found(storage, table, *gone)] == [
        ("g.parquet", None),
        ("p=1", None),
        ("p=3/f.parquet", None),
    ]


def test_what_is_no_regular_file_counts_as_not_there_and_nothing_waits_for_it(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(table / "pipe.parquet")
    (table / "link.parquet").symlink_to(table / "a.parquet")
    monkeypatch.chdir(table)  # a socket's path may only be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.parquet")
        names = ("link.parquet", "pipe.parquet", "socket.parquet", "p=1")
        odd = found(LocalStorage(str(table)), table, *((name, 10) for name in names))
    assert sorted(each.path for each in odd) == sorted(names)
    assert {each.stored for each in odd} == {None}


def test_a_directory_that_is_a_link_is_not_entered(table: Path) -> None:
    (table / "p=9").symlink_to(table / "p=1")
    with pytest.raises(StorageError, match="is a link"):
        found(LocalStorage(str(table)), table, ("p=9/b.parquet", 10))


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../a", "%2e%2e/a", "s3://b/a", "file:/etc/passwd", "a%00b", "/lake/tt/a", "/lake/t/../u"]
)
def test_what_lies_elsewhere_is_never_touched(path: str) -> None:
    assert below("/lake/t", path) is None


@pytest.mark.parametrize(
    ("location", "path", "inner"),
    [
        ("/lake/t", "a%20b", "a b"),
        ("/lake/t", "/lake/t/a%20b", "a b"),
        ("/lake/t/", "file:///lake/t/x/a", "x/a"),
        ("/lake/t 1", "file:/lake/t%201/a", "a"),
        ("s3://b/t", "s3://b/t/a", "a"),
        ("s3://b/t", "s3a://b/t/a%25", "a%"),
        ("hdfs://n/t", "hdfs://n/t/a", "a"),
    ],
)
def test_a_path_is_told_relative_to_the_table(location: str, path: str, inner: str) -> None:
    assert below(location, path) == inner
