"""A convert of a table in another format, of a directory in one, and of one that holds some: by the listing alone, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.commands.convert.spark.inspect import directory_refusals, table_refusals
from jobs.engine.walk import WalkOrder, WorkShare, scan
from tables.storage.local.tree import LocalReach
from tests.tables.rules.test_discovery import lay
from tests.tables.rules.test_other_formats import ACID, DUCKLAKE, HUDI, ICEBERG, PAIMON, PARTITIONED_ACID


def codes(path: Path) -> list[str]:
    return [refusal.code for refusal in table_refusals(str(path))]


def nested(path: Path) -> list[tuple[str, str | None]]:
    findings = scan([WorkShare(tree="")], WalkOrder(str(path), False, (), LocalReach()))
    return [(refusal.code, refusal.place) for refusal in directory_refusals(str(path), findings)]


@pytest.mark.parametrize(
    ("names", "place", "code"),
    [
        (HUDI, "t", "hudi_table"),
        (HUDI, "t/p=1", "hudi_table"),
        (("t/.hoodie/20260101000000000.commit", "t/a.parquet"), "t", "hudi_table"),
        (ICEBERG, "t", "iceberg_table"),
        (ICEBERG, "t/data", "iceberg_table"),
        (PAIMON, "t", "paimon_table"),
        (PAIMON, "t/p=1/bucket-0", "paimon_table"),
        (ACID, "t/base_0000005", "hive_acid_table"),
        (PARTITIONED_ACID, "t/p=1/base_0000005", "hive_acid_table"),
    ],
)
def test_it_is_refused_by_name_with_the_way_out(tmp_path: Path, names: tuple[str, ...], place: str, code: str) -> None:
    lay(tmp_path, *names)
    (refusal,) = table_refusals(str(tmp_path / place))
    assert (refusal.code, refusal.place) == (code, str(tmp_path / "t"))
    assert "write its rows to a new Delta table" in str(refusal.remedy)


def test_parquet_files_in_a_directory_called_metadata_are_converted(tmp_path: Path) -> None:
    lay(tmp_path, "t/metadata/a.parquet", "t/.hoodie/.temp/x")
    assert codes(tmp_path / "t") == codes(tmp_path / "t" / "metadata") == []
    assert nested(tmp_path / "t" / "metadata") == []


def test_a_delta_table_above_is_named_before_its_iceberg_metadata(tmp_path: Path) -> None:
    lay(tmp_path, *ICEBERG, f"t/_delta_log/{0:020}.json")
    assert codes(tmp_path / "t" / "data") == ["inside_table"]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (HUDI, [("hudi_table", "t")]),
        (("t/p=1/.hoodie_partition_metadata", "t/p=1/a.parquet"), [("hudi_table", "t/p=1")]),
        (ICEBERG, [("iceberg_table", "t")]),
        (PAIMON, [("paimon_table", "t")]),
        (ACID, [("hive_acid_table", "t")]),
        ([name.removeprefix("t/") for name in ACID], [("hive_acid_table", ".")]),
        (PARTITIONED_ACID, [("hive_acid_table", "t")]),
        ([name.removeprefix("t/") for name in PARTITIONED_ACID], [("hive_acid_table", ".")]),
        (DUCKLAKE, [("ducklake_table", "t")]),
        ([name.removeprefix("t/") for name in DUCKLAKE], [("ducklake_table", ".")]),
        ([name.replace("t/", "env=prod/t/") for name in DUCKLAKE], [("ducklake_table", "env=prod/t")]),
    ],
)
def test_one_below_the_directory_is_refused_too(
    tmp_path: Path, names: tuple[str, ...], found: list[tuple[str, str | None]]
) -> None:
    assert nested(lay(tmp_path, *names, "x.parquet")) == found


def test_a_hudi_partition_is_told_without_its_table(tmp_path: Path) -> None:
    lay(tmp_path, ".hoodie_partition_metadata", "a.parquet")
    assert nested(tmp_path) == [("hudi_table", ".")]
