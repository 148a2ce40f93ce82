"""The same walk over a disk and over keys: whatever lies there, both find the same, in one turn or in many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import obstore
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore

from tables.rules import discovery
from tables.rules.discovery import DirectoryKind, Limits, Scan
from tables.storage.local.folders import LocalFolders
from tables.storage.objects import buckets as object_stores
from tables.storage.objects import folders
from tables.storage.stores import folders_at

NAMES = st.sampled_from(
    ["a", "b", "z", "A b", "_delta_log", "day=1", "day=2", ".hidden", "_tmp", "é", ".hoodie", "metadata"]
)
FILES = st.sampled_from(
    [
        *(
            "x.parquet",
            "y.parq",
            "readme",
            "_x.parquet",
            f"{0:020d}.json",
            f"{0:020d}.crc",
            f"{10:020d}.checkpoint.parquet",
        ),
        *("000000_0", "hoodie.properties", "v1.metadata.json"),
    ]
)
TREES = st.sets(
    st.tuples(st.lists(NAMES, max_size=4), FILES).map(lambda parts: "/".join([*parts[0], parts[1]])), max_size=25
)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """A store in memory under every bucket's name, read in pages of four keys."""
    store = MemoryStore()
    monkeypatch.setattr(object_stores, "opened", lambda uri: (store, object_stores.split(uri)[1]))
    monkeypatch.setattr(folders, "PAGE", 4)
    return store


def relative(scan: Scan, start: str) -> set[tuple[str, DirectoryKind]]:
    return {(each.path.removeprefix(start), each.kind) for each in scan.found}


def in_turns(start: str, **limits: Any) -> set[tuple[str, DirectoryKind]]:
    """What all turns of one scan find, each with small bounds."""
    every: set[tuple[str, DirectoryKind]] = set()
    place = None
    for _ in range(500):
        turn = discovery.scan(start, limits=Limits(**limits), place=place)
        assert turn.unreadable == ()
        every |= relative(turn, start)
        place = turn.place
        if place is None:
            return every
    raise AssertionError("the scan doesn't end")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(tree=TREES)
def test_a_store_is_walked_like_a_disk(
    tree: set[str], keys: MemoryStore, tmp_path_factory: pytest.TempPathFactory
) -> None:
    local = tmp_path_factory.mktemp("lake")
    obstore.delete(keys, [str(meta["path"]) for page in obstore.list(keys) for meta in page])
    for path in tree:
        if not any(f"{path}/" in f"{other}/" for other in tree - {path}):
            (local / path).parent.mkdir(parents=True, exist_ok=True)
            content = b"PAR1 and more" if path.endswith("000000_0") else b"x"
            (local / path).write_bytes(content)
            obstore.put(keys, f"top/{path}", content)
            obstore.put(keys, f"topless/{path}", content)
    if not tree:
        return
    here, there = discovery.scan(str(local)), discovery.scan("s3://lake/top")
    assert relative(there, "s3://lake/top") == relative(here, str(local))
    others = [(each.path.removeprefix(str(local)), each.format) for each in here.others]
    assert [(each.path.removeprefix("s3://lake/top"), each.format) for each in there.others] == others
    assert (there.stopped, there.place, there.cut) == (None, None, None)
    assert in_turns("s3://lake/top", entries=40) == in_turns(str(local), entries=40)
    for found in there.found:
        assert discovery.kind_of(found.path) is found.kind
        assert discovery.is_delta(found.path) is (found.kind is DirectoryKind.DELTA)
    measures = [discovery.measure(str(local)), discovery.measure("s3://lake/top")]
    assert measures[0].files == measures[1].files
    assert measures[0].size_bytes == measures[1].size_bytes


def test_markers_of_directories_are_neither_files_nor_parquet(keys: MemoryStore) -> None:
    for key in (
        "top/t_$folder$",
        "top/t/p=1_$folder$",
        "top/t/p=2_$folder$",
        "top/empty_$folder$",
        "top/t/p=1/x_$folder$",
    ):
        obstore.put(keys, key, b"")
    for p in (1, 2):
        obstore.put(keys, f"top/t/p={p}/part-0.parquet", b"xyz")
    found = discovery.scan("s3://lake/top")
    assert relative(found, "s3://lake/top") == {("/t", DirectoryKind.PARQUET)}
    assert (found.unreadable, found.others) == ((), ())
    measured = discovery.measure("s3://lake/top/t")
    assert (measured.files, measured.size_bytes) == (2, 6)


def test_a_directory_costs_pages_and_not_all_that_lies_below_it(
    keys: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        obstore.put(keys, f"lake/big/{number:04d}/part.parquet", b"x")
    for number in range(10):
        obstore.put(keys, f"lake/file{number}", b"xy")
    asked: list[Any] = []
    real = obstore.list

    def counted(*arguments: Any, **options: Any) -> Any:
        for page in real(*arguments, **options):
            asked.append(page)
            yield page

    monkeypatch.setattr(obstore, "list", counted)
    entries = list(folders.StoredFolders().entries("s3://x/lake"))
    assert [entry.name for entry in entries] == ["big", *(f"file{number}" for number in range(10))]
    assert [entry.is_dir() for entry in entries][:2] == [True, False]
    assert entries[1].stat().st_size == 2
    assert len(asked) <= 5


def test_a_directory_with_too_many_names_is_left_in_part(keys: MemoryStore) -> None:
    for number in range(50):
        obstore.put(keys, f"lake/{number:03d}/x.txt", b"x")
    scan = discovery.scan("s3://b/lake", limits=Limits(directory=20))
    assert scan.crowded == ("s3://b/lake",)


def test_an_empty_mark_is_no_file(keys: MemoryStore) -> None:
    obstore.put(keys, "lake/orders.parquet", b"")
    assert discovery.kind_of("s3://b/lake") is None


def test_a_scan_ends_in_time_however_slow_the_store_is(keys: MemoryStore) -> None:
    for number in range(30):
        obstore.put(keys, f"lake/{number:03d}/x.txt", b"x")
    ticks = iter(range(1_000))
    scan = discovery.scan("s3://b/lake", limits=Limits(seconds=20), clock=lambda: float(next(ticks)))
    assert scan.stopped is not None
    assert scan.place is not None


def test_a_bucket_that_no_root_describes_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_stores, "_lookup", lambda _: None)
    scan = discovery.scan("s3://nobody-knows-it/lake")
    assert "no root says how to reach the bucket nobody-knows-it" in (scan.stopped or "")
    assert (scan.found, scan.place) == ((), None)
    with pytest.raises(discovery.Unclear):
        discovery.kind_of("s3://nobody-knows-it/lake")


def test_local_directories_are_entered_as_ever(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    walked = folders_at(str(tmp_path))
    assert isinstance(walked, LocalFolders)
    assert sorted(entry.name for entry in walked.entries(str(tmp_path)) if entry.is_dir(follow_symlinks=False)) == ["a"]
