from __future__ import annotations

from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tables.rules import sample_lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_lake.write_lake(tmp_path_factory.mktemp("home"))


def test_orders_wait_partitioned_by_day_and_country(lake: Path) -> None:
    files = list((lake / "orders").rglob("*.parquet"))
    assert len(files) == 30 * len(sample_lake.COUNTRIES)
    assert {f.parent.parent.name.partition("=")[0] for f in files} == {"day"}
    assert ds.dataset([str(f) for f in files]).count_rows() > 10_000
    assert not (lake / "orders" / "_delta_log").exists()


def test_what_the_first_start_converts_is_there_and_reads_as_one_table(lake: Path) -> None:
    for conversion in sample_lake.CONVERSIONS:
        files = list((lake / conversion.directory).rglob("*.parquet"))
        schemas = {str(pq.read_schema(f)) for f in files}
        assert len(schemas) == 1
        assert all(f.parent == lake / conversion.directory for f in files) == (conversion.partition_schema is None)


def test_returns_holds_a_stray_file_and_two_types_of_one_column(lake: Path) -> None:
    types = {str(pq.read_schema(f).field("amount_cents").type) for f in (lake / "returns").rglob("*.parquet")}
    assert types == {"int32", "int64"}
    assert (lake / "returns" / "readme.txt").is_file()


def test_timestamps_in_directory_names_are_escaped(lake: Path) -> None:
    assert (lake / "page_views" / "hour=2026-10-01 13%3A00%3A00").is_dir()


def test_it_is_written_once(lake: Path) -> None:
    (lake / "mark").touch()
    assert sample_lake.write_lake(lake.parent) == lake
    assert (lake / "mark").exists()
    (lake / "mark").unlink()


@pytest.mark.dear
def test_a_half_written_lake_is_begun_again(tmp_path: Path) -> None:
    left = tmp_path / ".lake.partial" / "orders" / "left.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"cut")
    lake = sample_lake.write_lake(tmp_path)
    assert not (lake / "orders" / "left.parquet").exists()
    assert not left.exists()


@pytest.mark.dear
def test_the_same_rows_are_written_everywhere(lake: Path, tmp_path: Path) -> None:
    again = sample_lake.write_lake(tmp_path)
    directories = [
        file
        for file in sorted(lake.rglob("*.parquet"))
        if file.relative_to(lake).parts[0] not in sample_lake.DELTA_TABLES
    ]
    for file in directories[::10]:
        assert pq.read_table(file).equals(pq.read_table(again / file.relative_to(lake)))
