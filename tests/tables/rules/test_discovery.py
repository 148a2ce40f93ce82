from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.catalog.roots import scans
from tables.models import Root
from tables.rules import sample_lake
from tables.rules.discovery import DirectoryKind, Limits, Scan, Unclear, is_delta, kind_of, scan

COMMIT = f"_delta_log/{0:020}.json"


def lay(base: Path, *names: str) -> Path:
    for name in names:
        target = base / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    return base


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Has the operating system refuse to list a directory, also for who runs tests as root."""
    refused: set[str] = set()
    scandir = os.scandir

    def watched(descriptor: int) -> Any:
        if (path := str(Path(f"/proc/self/fd/{descriptor}").readlink())) in refused:
            raise PermissionError(13, "Permission denied", path)
        return scandir(descriptor)

    monkeypatch.setattr(os, "scandir", watched)
    return lambda path: refused.add(str(path))


def found(base: Path, **limits: int) -> dict[str, str]:
    result = scan(str(base), limits=Limits(**limits))
    return {item.path.removeprefix(f"{base}/"): item.kind for item in result.found}


def test_it_tells_delta_tables_from_parquet_directories(tmp_path: Path) -> None:
    lay(tmp_path, f"a/orders/{COMMIT}", "a/orders/part-0.parquet", "b/part-0.snappy.parquet", "c/readme.txt")
    assert found(tmp_path) == {"a/orders": DirectoryKind.DELTA, "b": DirectoryKind.PARQUET}


@pytest.mark.parametrize(
    "name",
    [
        f"{7:020}.json",
        f"{7:020}.checkpoint.parquet",
        f"{7:020}.checkpoint.0000000001.0000000002.parquet",
        f"{7:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
    ],
)
def test_a_log_holds_a_commit_or_a_checkpoint(tmp_path: Path, name: str) -> None:
    assert found(lay(tmp_path, f"t/_delta_log/{name}")) == {"t": DirectoryKind.DELTA}


@pytest.mark.parametrize("name", ["_last_checkpoint", "7.json", f"{7:020}.json.tmp", f".{7:020}.json.crc"])
def test_an_empty_log_makes_no_table(tmp_path: Path, name: str) -> None:
    assert found(lay(tmp_path, f"t/_delta_log/{name}", "t/x.parquet")) == {"t": DirectoryKind.PARQUET}


def test_partition_directories_are_part_of_their_table(tmp_path: Path) -> None:
    lay(
        tmp_path,
        "orders/day=2026-01-01/country=DE/x.parquet",
        "orders/day=2026-01-02/country=DE/x.parquet",
        "orders/_SUCCESS",
    )
    assert found(tmp_path) == {"orders": DirectoryKind.PARQUET}


def test_partition_directories_without_parquet_are_no_table(tmp_path: Path) -> None:
    assert found(lay(tmp_path, "logs/day=2026-01-01/x.json", "logs/day=2026-01-02/x.json")) == {}


def test_delta_tables_below_partition_like_directories_are_found(tmp_path: Path) -> None:
    lay(
        tmp_path,
        f"env=prod/orders/{COMMIT}",
        "env=prod/orders/x.parquet",
        f"env=test/{COMMIT}",
        "env=test/x.parquet",
        f"env=dev/team=a/deep/er/{COMMIT}",
        "env=dev/raw/x.parquet",
    )
    assert found(tmp_path) == {
        "env=prod/orders": DirectoryKind.DELTA,
        "env=test": DirectoryKind.DELTA,
        "env=dev/team=a/deep/er": DirectoryKind.DELTA,
        "env=dev/raw": DirectoryKind.PARQUET,
    }
    assert kind_of(str(tmp_path)) is None


def test_partitions_are_looked_through_once_however_deep_they_lie(tmp_path: Path) -> None:
    names = "/".join(f"level{n}=x" for n in range(20))
    lay(tmp_path, f"logs/{names}/x.json")
    assert scan(str(tmp_path), limits=Limits(entries=45)).stopped is None


def test_a_path_that_no_index_can_hold_is_named_and_the_others_found(tmp_path: Path) -> None:
    long = "/".join(["x" * 200] * 11)
    lay(tmp_path, f"orders/{COMMIT}", f"{long}/{COMMIT}")
    result = scan(str(tmp_path))
    assert [item.path for item in result.found] == [f"{tmp_path}/orders"]
    assert result.unreadable == (f"{tmp_path}/{long}",)


@pytest.mark.django_db
def test_the_longest_path_is_kept(admin: Actor, root: Root, lake: Path) -> None:
    path = str(lake)
    while len(path) < 1_999:
        path += "/" + os.urandom(100).hex()[: min(200, 2_000 - len(path) - 1)]
    lay(Path(path), "part-0.parquet")
    assert additions.add_table(admin, path).table.path == path


def test_hidden_directories_are_left_out(tmp_path: Path) -> None:
    assert found(lay(tmp_path, "_tmp/x.parquet", ".cache/x.parquet", "t/.x.parquet", "t/_x.parquet")) == {}


def test_nothing_is_looked_for_inside_a_delta_table(tmp_path: Path) -> None:
    assert found(lay(tmp_path, f"t/{COMMIT}", f"t/nested/{COMMIT}")) == {"t": DirectoryKind.DELTA}


def test_tables_inside_a_parquet_directory_are_found_too(tmp_path: Path) -> None:
    assert found(lay(tmp_path, "t/x.parquet", f"t/nested/{COMMIT}")) == {
        "t": DirectoryKind.PARQUET,
        "t/nested": DirectoryKind.DELTA,
    }


def test_links_are_not_followed(tmp_path: Path) -> None:
    lay(tmp_path, "outside/t/x.parquet", "lake/real/x.parquet", f"outside/log/{0:020}.json", "lake/linked/x.txt")
    (tmp_path / "lake" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "lake" / "up").symlink_to(tmp_path)
    (tmp_path / "lake" / "linked" / "_delta_log").symlink_to(tmp_path / "outside" / "log")
    (tmp_path / "lake" / "linked" / "y.parquet").symlink_to(tmp_path / "lake" / "real" / "x.parquet")
    assert found(tmp_path / "lake") == {"real": DirectoryKind.PARQUET}


def test_the_start_itself_may_be_a_table(tmp_path: Path) -> None:
    lay(tmp_path, "x.parquet")
    assert [item.path for item in scan(str(tmp_path)).found] == [str(tmp_path)]


def test_other_roots_are_skipped(tmp_path: Path) -> None:
    lay(tmp_path, "a/x.parquet", "hr/b/x.parquet")
    result = scan(str(tmp_path), skip=[f"{tmp_path}/hr"])
    assert [item.path for item in result.found] == [f"{tmp_path}/a"]


def test_it_ends_at_its_bounds_and_says_so(tmp_path: Path) -> None:
    lay(tmp_path, *(f"t{i:03}/x.parquet" for i in range(100)))
    assert scan(str(tmp_path), limits=Limits(entries=150)).stopped == "more than 150 files and directories"
    assert len(scan(str(tmp_path), limits=Limits(entries=150)).found) == 50
    ticks = iter(range(10_000))
    lay(tmp_path, *(f"many/{i}.txt" for i in range(2_000)))
    assert (
        scan(str(tmp_path), limits=Limits(seconds=0.5), clock=lambda: float(next(ticks))).stopped
        == "more than 0.5 seconds"
    )


def test_depth_is_bounded(tmp_path: Path) -> None:
    lay(tmp_path, "a/b/c/x.parquet", "a/x.parquet")
    result = scan(str(tmp_path), limits=Limits(depth=1))
    assert [item.path for item in result.found] == [f"{tmp_path}/a"]
    assert result.stopped == "directories more than 1 levels deep were left out"


def test_a_missing_start_is_named_unreadable(tmp_path: Path) -> None:
    result = scan(f"{tmp_path}/none")
    assert result.found == ()
    assert result.unreadable == (f"{tmp_path}/none",)


def test_one_directory_can_be_asked_for(tmp_path: Path) -> None:
    lay(tmp_path, f"t/{COMMIT}", "p/day=1/x.parquet", "e/readme.txt")
    assert [kind_of(f"{tmp_path}/{name}") for name in ("t", "p", "e", "missing")] == [
        DirectoryKind.DELTA,
        DirectoryKind.PARQUET,
        None,
        None,
    ]


def test_a_delta_table_is_known_by_its_log_however_much_lies_beside_it(tmp_path: Path) -> None:
    lay(tmp_path, f"big/{COMMIT}", *(f"big/part-{i}.parquet" for i in range(300)), f"next/{COMMIT}")
    result = scan(str(tmp_path), limits=Limits(entries=50))
    assert [item.path for item in result.found] == [f"{tmp_path}/big", f"{tmp_path}/next"]
    assert (result.stopped, result.crowded) == (None, ())
    assert kind_of(f"{tmp_path}/big", Limits(entries=50)) is DirectoryKind.DELTA


def test_one_crowded_directory_does_not_end_the_walk(tmp_path: Path) -> None:
    lay(tmp_path, *(f"dump/{i}.parquet" for i in range(300)), f"zone/t/{COMMIT}")
    result = scan(str(tmp_path), limits=Limits(directory=100))
    assert [item.path for item in result.found] == [f"{tmp_path}/dump", f"{tmp_path}/zone/t"]
    assert (result.stopped, result.crowded) == (None, (f"{tmp_path}/dump",))


def test_reaching_a_limit_is_not_told_as_finding_nothing(tmp_path: Path) -> None:
    lay(tmp_path, *(f"dump/{i}.txt" for i in range(300)))
    with pytest.raises(Unclear, match="more than 100 files and directories"):
        kind_of(f"{tmp_path}/dump", Limits(entries=100))
    assert kind_of(f"{tmp_path}/dump") is None


def test_a_parquet_directory_is_known_by_its_first_file(tmp_path: Path) -> None:
    lay(tmp_path, *(f"dump/day={i}/x.parquet" for i in range(300)))
    assert kind_of(f"{tmp_path}/dump", Limits(entries=310)) is DirectoryKind.PARQUET


def test_a_log_that_can_not_be_listed_is_taken_for_a_table(tmp_path: Path, refuse: Callable[[Path], None]) -> None:
    lay(tmp_path, f"t/{COMMIT}", "t/x.parquet", f"next/{COMMIT}")
    refuse(tmp_path / "t" / "_delta_log")
    result = scan(str(tmp_path))
    assert [(item.path, item.kind) for item in result.found] == [
        (f"{tmp_path}/next", DirectoryKind.DELTA),
        (f"{tmp_path}/t", DirectoryKind.DELTA),
    ]
    assert result.unreadable == (f"{tmp_path}/t/_delta_log",)
    assert is_delta(f"{tmp_path}/t")


def test_a_directory_that_can_not_be_listed_is_not_told_as_empty(
    tmp_path: Path, refuse: Callable[[Path], None]
) -> None:
    lay(tmp_path, "t/x.parquet")
    refuse(tmp_path / "t")
    with pytest.raises(Unclear, match="refuses to list it"):
        kind_of(f"{tmp_path}/t")


@pytest.mark.django_db(transaction=True)
def test_a_scan_keeps_no_row_locked_and_is_done_once(
    root: Root, admin: Actor, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    scans.ask_scan(admin, root)
    inside: list[bool] = []

    def watched(*args: Any, **options: Any) -> Scan:
        inside.extend([connection.in_atomic_block, scans.scan_next_asked()])
        return scan(*args, **options)

    monkeypatch.setattr("tables.rules.discovery.scan", watched)
    assert scans.scan_next_asked() is True
    assert inside == [False, False]
    assert scans.scan_next_asked() is False
    assert root.findings.count() == 1


def test_a_scan_that_died_is_done_again_and_one_asked_for_meanwhile_too(
    root: Root, admin: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans.ask_scan(admin, root)
    Root.objects.update(scan_claimed_at=timezone.now() - scans.SCAN_CLAIM)

    def asked_again(*args: Any, **options: Any) -> Scan:
        scans.ask_scan(admin, root)
        return scan(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr("tables.rules.discovery.scan", asked_again)
        assert scans.scan_next_asked() is True
    assert scans.scan_next_asked() is True
    assert scans.scan_next_asked() is False


def test_the_sample_lake_is_found(tmp_path: Path) -> None:
    lake = sample_lake.write_lake(tmp_path)
    directories = {"orders", "customers", "shipments", "page_views", "products", "returns"}
    assert set(found(lake)) == {*directories, *sample_lake.DELTA_TABLES}
