"""Which files storage says it doesn't hold: only "not found", beside the table's own log, is proof."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import obstore
import pytest
from obstore.exceptions import GenericError, PermissionDeniedError, UnauthenticatedError
from obstore.store import from_url

from tables.deltalog.replay import absent_files
from tables.deltalog.replay.absent_files import LookTooLong, digest_of, lacking, look
from tables.storage.hdfs.client import HdfsRefused
from tables.storage.hdfs.files import HdfsStorage
from tables.storage.local import files as storages
from tables.storage.local.files import LocalStorage
from tables.storage.objects.files import ObjectStorage
from tables.storage.store import Storage, StorageError
from tests import clock

FILES = ("a.parquet", "p=1/b.parquet", "p=1/c d.parquet", "p=2/e.parquet")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for name in (*FILES, f"_delta_log/{0:020}.json"):
        file = tmp_path / "t" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * 10)
    return tmp_path / "t"


def lacks(storage: Storage, *paths: str) -> list[bool]:
    return list(storage.lacks(paths))


# What storage says


@pytest.mark.parametrize("kind", ["local", "object store"])
def test_nothing_at_a_path_is_told_for_files_and_for_whole_folders(table: Path, kind: str) -> None:
    storage: Storage = LocalStorage(str(table)) if kind == "local" else ObjectStorage.of(from_url(table.as_uri()))
    (table / "p=1" / "b.parquet").unlink()
    asked = ("a.parquet", "p=1/b.parquet", "p=1/c d.parquet", "p=9/gone/x.parquet", "p=2/e.parquet")
    assert lacks(storage, *asked) == [False, True, False, True, False]


def test_what_is_no_regular_file_is_refused_by_name(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(table / "pipe.parquet")
    (table / "link.parquet").symlink_to(table / "a.parquet")
    (table / "dangling.parquet").symlink_to(table / "nothing")
    monkeypatch.chdir(table)  # a socket's path may only be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.parquet")
        for name in ("link.parquet", "dangling.parquet", "pipe.parquet", "socket.parquet", "p=1"):
            with pytest.raises(StorageError, match=f"{name} is there, but is no regular file"):
                lacks(LocalStorage(str(table)), name)


def test_a_folder_that_is_a_link_or_a_file_proves_nothing(table: Path) -> None:
    (table / "p=8").symlink_to(table / "nowhere")
    (table / "p=9").write_bytes(b"")
    for name in ("p=8/x.parquet", "p=9/x.parquet"):
        with pytest.raises(StorageError, match="can't be looked at"):
            lacks(LocalStorage(str(table)), name)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENAMETOOLONG])
def test_a_file_that_the_system_does_not_tell_of_proves_nothing(
    table: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def failing(*_: Any, **__: Any) -> os.stat_result:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "stat", failing)
    with pytest.raises(StorageError, match=r"a\.parquet can't be looked at"):
        lacks(LocalStorage(str(table)), "a.parquet")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE])
def test_a_folder_that_can_not_be_entered_proves_nothing(
    table: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(storages, "Held", failing)
    with pytest.raises(StorageError, match="p=1 can't be looked at"):
        lacks(LocalStorage(str(table)), "p=1/b.parquet")


def test_a_name_too_long_for_the_file_system_proves_nothing(table: Path) -> None:
    with pytest.raises(StorageError, match="can't be looked at"):
        lacks(LocalStorage(str(table)), "x" * 5_000)


class Node:
    """A name node that has one file and one directory, and refuses all else but what it doesn't have."""

    def status(self, path: str) -> Any:
        if path == "/t/refused":
            raise HdfsRefused("HDFS refuses this to the user levee", denied=True)
        if path not in ("/t/file", "/t/directory"):
            raise FileNotFoundError(path)
        return SimpleNamespace(path=path, isdir=path == "/t/directory", length=10, modification_time=0)


def test_hdfs_tells_what_it_does_not_have_and_its_refusals_prove_nothing() -> None:
    storage = HdfsStorage.__new__(HdfsStorage)
    storage._node, storage._top = cast(Any, Node()), "/t"
    assert lacks(storage, "file", "gone", "p=1/gone") == [False, True, True]
    with pytest.raises(StorageError, match="directory is there, but is no regular file"):
        lacks(storage, "directory")
    with pytest.raises(StorageError, match="refused can't be asked for"):
        lacks(storage, "refused")


@pytest.mark.parametrize(
    "error", [PermissionDeniedError("403"), GenericError("status code: 503"), UnauthenticatedError("401")]
)
def test_a_store_that_refuses_proves_nothing(table: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def failing(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(obstore, "head", failing)
    with pytest.raises(StorageError, match="can't be asked for"):
        lacks(ObjectStorage.of(from_url(table.as_uri())), "a.parquet")


# The look at a table


def seen(table: Path, *files: tuple[str, str | None], seconds: float = 60) -> absent_files.Absent:
    return look(str(table), files, seconds)


def test_a_look_tells_the_missing_ones_as_the_log_names_them(table: Path) -> None:
    (table / "p=1" / "c d.parquet").unlink()
    found = seen(table, ("p=1/c%20d.parquet", None), ("a.parquet", None), ("/elsewhere/x", None), ("../y", None))
    assert (found.missing, found.asked, found.outside) == (("p=1/c%20d.parquet",), 2, 2)


def test_a_file_without_its_vector_is_told_apart_and_one_that_is_missing_itself_is_not(table: Path) -> None:
    (table / "p=2" / "e.parquet").unlink()
    found = seen(
        table, ("a.parquet", "gone.bin"), ("p=2/e.parquet", "gone.bin"), ("p=1/b.parquet", "a.parquet"),
        ("p=1/c%20d.parquet", "/elsewhere/v.bin"),
    )  # fmt: skip
    assert (found.missing, found.without_vector) == (("p=2/e.parquet",), ("a.parquet",))


def without_log(table: Path) -> None:
    (table / "_delta_log" / f"{0:020}.json").unlink()


def without_directory(table: Path) -> None:
    table.rename(table.parent / "elsewhere")


@pytest.mark.parametrize("harm", [without_log, without_directory])
def test_where_the_log_is_not_found_nothing_is_missing(table: Path, harm: Any) -> None:
    harm(table)
    with pytest.raises(StorageError, match="holds no log of a table"):
        seen(table, ("a.parquet", None), ("gone.parquet", None))
    with pytest.raises(StorageError, match="holds no log of a table"):
        lacking(str(table), ["a.parquet"], 60)


def test_a_root_that_goes_while_it_is_looked_at_makes_nothing_missing(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = LocalStorage.lacks

    def unmounted(self: LocalStorage, paths: Iterable[str]) -> Iterator[bool]:
        without_directory(table)
        return asked(self, paths)

    monkeypatch.setattr(LocalStorage, "lacks", unmounted)
    with pytest.raises(StorageError, match="nothing proves"):
        seen(table, ("a.parquet", None))


def test_a_time_that_runs_out_tells_how_far_it_came(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absent_files, "AT_ONCE", 1)
    ticks = iter([0.0, 0.0, 0.0])
    clock.replace(monkeypatch, absent_files.__name__, monotonic=lambda: next(ticks, 61.0))
    with pytest.raises(LookTooLong) as late:
        seen(table, ("a.parquet", None), ("p=1/b.parquet", None), ("p=2/e.parquet", None))
    assert (late.value.asked, late.value.of) == (2, 3)


def test_progress_is_told(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absent_files, "AT_ONCE", 2)
    told: list[tuple[int, int]] = []
    look(str(table), [(name.replace(" ", "%20"), None) for name in FILES], 60, lambda *far: told.append(far))
    assert told == [(2, 4), (4, 4)]


def test_a_digest_is_of_the_set_in_any_spelling_and_order() -> None:
    assert digest_of(["b", "a"]) == digest_of(["a", "./b", "a"])
    assert digest_of(["file:///t/a"]) == digest_of(["file:/t/a"]) == digest_of(["/t/a"])
    assert len({digest_of(names) for names in (["a", "b"], ["a"], [], ["a\nb"], ["a%41"])}) == 5
