"""Tables in other formats: their directories hold parquet files, and are no parquet tables."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.audit.actor import Actor
from console.base.errors import Problem
from tables.catalog.adding import additions
from tables.catalog.roots import scans
from tables.models import Finding, Root
from tables.rules.directory_walk import WHOLE, DirectoryWalk, ResumePoint
from tables.rules.discovery import DirectoryKind, OtherFormat, kind_of, measure, scan
from tables.rules.table_formats import TableFormat, marked_format
from tests.clients import Caller, browser
from tests.tables.rules.test_discovery import COMMIT, lay

UUID = "1b2c3d4e-0000-4000-8000-000000000000"
HUDI = ("t/.hoodie/hoodie.properties", "t/p=1/a.parquet", "t/p=1/b.parquet")
ICEBERG = ("t/metadata/v1.metadata.json", "t/data/a.parquet")
PAIMON = ("t/snapshot/snapshot-1", "t/schema/schema-0", "t/manifest/manifest-x", "t/p=1/bucket-0/data-x-0.parquet")
ACID = ("t/base_0000005/000000_0", "t/delta_0000006_0000006_0000/000000_0")
PARTITIONED_ACID = ("t/p=1/base_0000005/000000_0", "t/p=2/delta_0000006_0000006_0000/000000_0")
DUCKLAKE = (f"t/p=1/ducklake-{UUID}.parquet", f"t/p=1/ducklake-{UUID}-delete.parquet", f"t/p=2/ducklake-{UUID}.parquet")


def seen(base: Path) -> tuple[dict[str, str], dict[str, str]]:
    """What a scan takes for tables, and what for tables in other formats."""
    result = scan(str(base))
    return (
        {item.path.removeprefix(f"{base}/"): item.kind for item in result.found},
        {item.path.removeprefix(f"{base}/"): item.format for item in result.others},
    )


@pytest.mark.parametrize(
    ("names", "format_"),
    [
        (HUDI, TableFormat.HUDI),
        (("t/.hoodie/20260101000000000.commit", "t/a.parquet"), TableFormat.HUDI),
        (("t/.hoodie/20260101000000.deltacommit.inflight", "t/p=1/a.parquet"), TableFormat.HUDI),
        (("t/.hoodie/timeline/history/x", "t/a.parquet"), TableFormat.HUDI),
        (ICEBERG, TableFormat.ICEBERG),
        (PAIMON, TableFormat.PAIMON),
        (ACID, TableFormat.HIVE_ACID),
        (("t/delete_delta_0000007_0000007_0001/bucket_00000", "t/x.parquet"), TableFormat.HIVE_ACID),
        (("t/snapshot/LATEST", "t/snapshot/snapshot-12", "t/bucket-0/a.parquet"), TableFormat.PAIMON),
        ((f"t/metadata/00003-{UUID}.metadata.json", "t/p=1/a.parquet"), TableFormat.ICEBERG),
        ((f"t/metadata/00003-{UUID}.gz.metadata.json", "t/data/p=1/a.parquet"), TableFormat.ICEBERG),
    ],
)
def test_a_scan_names_a_table_in_another_format_and_looks_for_nothing_in_it(
    tmp_path: Path, names: tuple[str, ...], format_: TableFormat
) -> None:
    lay(tmp_path, *names, f"t/data/inner/{COMMIT}", "other/x.parquet")
    assert seen(tmp_path) == ({"other": DirectoryKind.PARQUET}, {"t": format_})


@pytest.mark.parametrize(
    ("names", "format_"),
    [
        (DUCKLAKE, TableFormat.DUCKLAKE),
        ((f"t/ducklake-{UUID}.parquet", "t/a.parquet"), TableFormat.DUCKLAKE),
        (PARTITIONED_ACID, TableFormat.HIVE_ACID),
        (("t/p=1/q=2/base_0000005/000000_0", "t/p=1/q=3/base_0000005/000000_0"), TableFormat.HIVE_ACID),
    ],
)
def test_one_that_is_told_by_what_lies_below_hides_no_table(
    tmp_path: Path, names: tuple[str, ...], format_: TableFormat
) -> None:
    lay(tmp_path, *names, f"t/data/inner/{COMMIT}", f"t/zone=a/{COMMIT}", "other/x.parquet")
    tables = {"other": DirectoryKind.PARQUET, "t/data/inner": DirectoryKind.DELTA, "t/zone=a": DirectoryKind.DELTA}
    assert seen(tmp_path) == (tables, {"t": format_})


def test_loose_files_of_one_at_the_top_of_a_lake_hide_none_of_its_tables(tmp_path: Path) -> None:
    lay(tmp_path, f"ducklake-{UUID}.parquet", f"main/t/ducklake-{UUID}.parquet", f"orders/{COMMIT}")
    result = scan(str(tmp_path))
    assert [item.path for item in result.found] == [f"{tmp_path}/orders"]
    assert [item.path for item in result.others] == [str(tmp_path), f"{tmp_path}/main/t"]


@pytest.mark.parametrize(
    "names",
    [
        ("t/metadata/a.parquet", "t/metadata/b.parquet"),
        ("t/metadata/orders.metadata.json", "t/metadata/a.parquet"),
        ("t/metadata/v1.json", "t/metadata/a.parquet"),
        ("t/metadata/ducklake-export.parquet",),
    ],
)
def test_a_directory_that_is_only_called_metadata_is_one_like_others(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert seen(lay(tmp_path, *names, "t/.hoodie/.temp")) == ({"t/metadata": DirectoryKind.PARQUET}, {})


def test_a_delta_table_that_other_engines_read_too_is_a_delta_table(tmp_path: Path) -> None:
    lay(tmp_path, *HUDI, *ICEBERG, f"t/{COMMIT}")
    assert seen(tmp_path) == ({"t": DirectoryKind.DELTA}, {})
    assert kind_of(str(tmp_path / "t")) is DirectoryKind.DELTA


def test_one_in_a_directory_named_like_a_partition_is_named_too(tmp_path: Path) -> None:
    lay(tmp_path, *(f"env=prod/{name.removeprefix('t/')}" for name in HUDI), "env=dev/x.txt")
    assert seen(tmp_path) == ({}, {"env=prod": TableFormat.HUDI})


def test_a_directory_of_hive_named_like_a_partition_is_one_of_the_table_above(tmp_path: Path) -> None:
    """Nothing tells `lake/env=prod` with a table of its own from a partition of `lake`."""
    lay(tmp_path, *(name.replace("t/", "lake/env=prod/") for name in ACID))
    assert seen(tmp_path) == ({}, {"lake": TableFormat.HIVE_ACID})
    alone = scan(str(tmp_path / "lake/env=prod"))
    assert [(item.path, item.format) for item in alone.others] == [(f"{tmp_path}/lake/env=prod", TableFormat.HIVE_ACID)]


def test_a_scan_that_goes_on_inside_of_one_does_not_name_its_other_partitions(tmp_path: Path) -> None:
    lay(tmp_path, *(f"t/p={n}/base_0000005/000000_0" for n in range(4)))
    walk = DirectoryWalk(str(tmp_path), WHOLE, time.monotonic)
    assert list(walk.tables(str(tmp_path), frozenset())) == []
    assert [other.path for other in walk.others] == [f"{tmp_path}/t"]
    later = DirectoryWalk(str(tmp_path), WHOLE, time.monotonic)
    place = ResumePoint(f"{tmp_path}/t/p=2", False, (False, False), walk.where().told)
    assert (list(later.tables(str(tmp_path), frozenset(), place)), later.others) == ([], [])


def test_one_beside_partitions_lends_them_no_files(tmp_path: Path) -> None:
    lay(tmp_path, "t/p=1/.hoodie/hoodie.properties", "t/p=1/a.parquet", "t/p=2/x.txt")
    assert seen(tmp_path) == ({}, {"t/p=1": TableFormat.HUDI})


@pytest.mark.parametrize(
    ("directory", "name", "format_"),
    [
        (".hoodie", "hoodie.properties.backup", TableFormat.HUDI),
        (".hoodie", "001.commit", TableFormat.HUDI),
        (".hoodie", ".temp", None),
        ("metadata", "hoodie.properties", None),
        (".hoodie", "v1.metadata.json", None),
        ("metadata", "v12.metadata.json.gz", TableFormat.ICEBERG),
        ("metadata", "snap-1.avro", None),
        ("snapshot", "snapshot-7", TableFormat.PAIMON),
        ("snapshot", "snapshot-7.parquet", None),
        ("snapshot", "LATEST", None),
        ("base_0000005_v0000012", "000001_0_copy_2", TableFormat.HIVE_ACID),
        ("delta_20260101_20260131", "part-00000.snappy.parquet", None),
        ("delta_1_2", "000000_0", None),
    ],
)
def test_a_format_is_told_by_directory_and_name(directory: str, name: str, format_: TableFormat | None) -> None:
    assert marked_format(directory, name) is format_


@pytest.mark.parametrize(
    ("names", "what"),
    [(HUDI, "Hudi"), (ICEBERG, "Iceberg"), (PAIMON, "Paimon"), (DUCKLAKE, "DuckLake"), (PARTITIONED_ACID, "Hive ACID")],
)
def test_its_files_are_neither_counted_nor_taken_for_a_table(tmp_path: Path, names: tuple[str, ...], what: str) -> None:
    path = str(lay(tmp_path, *names) / "t")
    assert what in str(measure(path).stopped)
    with pytest.raises(OtherFormat, match=what):
        kind_of(path)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("names", "place", "code"),
    [
        (HUDI, "t", "hudi_table"),
        (HUDI, "t/p=1", "hudi_table"),
        (ICEBERG, "t", "iceberg_table"),
        (ICEBERG, "t/data", "iceberg_table"),
        (PAIMON, "t", "paimon_table"),
        (PAIMON, "t/p=1/bucket-0", "paimon_table"),
        (ACID, "t", "hive_acid_table"),
        (ACID, "t/base_0000005", "hive_acid_table"),
        (PARTITIONED_ACID, "t", "hive_acid_table"),
        (PARTITIONED_ACID, "t/p=1", "hive_acid_table"),
        (PARTITIONED_ACID, "t/p=1/base_0000005", "hive_acid_table"),
        (DUCKLAKE, "t", "ducklake_table"),
    ],
)
def test_it_is_not_added_by_its_path_or_a_path_in_it(
    admin: Actor, root: Root, lake: Path, names: tuple[str, ...], place: str, code: str
) -> None:
    lay(lake, *names)
    with pytest.raises(Problem) as caught:
        additions.add_table(admin, str(lake / place))
    assert (caught.value.status, caught.value.code) == (422, code)
    assert caught.value.extra["table_path"] == f"{lake}/t"
    assert "write the rows to a Delta table" in caught.value.detail


@pytest.mark.django_db
def test_root_and_scan_say_which_they_are_and_earlier_finds_in_them_are_gone(
    admin: Actor, root: Root, lake: Path
) -> None:
    lay(lake, *HUDI, *(name.replace("t/", "i/", 1) for name in ICEBERG))
    Finding.objects.create(root=root, path=f"{lake}/i/data", kind="parquet", seen_at=datetime(2026, 1, 1, tzinfo=UTC))
    named = [{"path": f"{lake}/i", "format": "iceberg"}, {"path": f"{lake}/t", "format": "hudi"}]
    assert scans.scan_root(root.pk)["other_formats"] == named
    assert not Finding.objects.filter(gone_at=None).exists()
    assert admin.person is not None
    assert Caller(admin.person).get(f"/roots/{root.pk}").json()["other_formats"] == {"total": 2, "named": named}
    page = browser(admin.person).get(f"/roots/{root.pk}/").content.decode()
    assert "2 tables in other formats" in page
    assert f"{lake}/i" in page
