"""The sample lake's tables with a past, as the catalog's reader and `deltalake` read them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable, QueryBuilder

from tables.deltalog.replay.log import open_log
from tables.deltalog.state.snapshot import Snapshot
from tables.rules import sample_lake

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_lake.write_lake(tmp_path_factory.mktemp("home"), NOW)


def read(table: Path, tmp_path: Path) -> Snapshot:
    return open_log(str(table)).snapshot(target=tmp_path / "files.arrow")


@pytest.mark.parametrize("name", sample_lake.DELTA_TABLES)
def test_both_readers_see_the_same(lake: Path, tmp_path: Path, name: str) -> None:
    snapshot, other = read(lake / name, tmp_path), DeltaTable(str(lake / name))
    counted = QueryBuilder().register("t", other).execute("select count(*) as n from t").read_all()["n"][0].as_py()
    assert (snapshot.version, snapshot.num_records) == (other.version(), counted)
    assert snapshot.complete
    assert max(row["timestamp"] for row in other.history()) <= NOW.timestamp() * 1000


def test_sales_have_400_commits_over_60_days(lake: Path) -> None:
    history = DeltaTable(str(lake / "sales")).history()
    assert len(history) == 400
    days = (history[0]["timestamp"] - history[-1]["timestamp"]) / 86_400_000
    assert 59 < days < 61
    assert 0 < NOW.timestamp() - history[0]["timestamp"] / 1000 <= 15 * 60
    assert {row["operation"] for row in history} == {
        "CREATE TABLE", "WRITE", "UPDATE", "DELETE", "OPTIMIZE", "ADD COLUMNS", "RESTORE", "VACUUM START", "VACUUM END",
    }  # fmt: skip
    assert [row["timestamp"] for row in history] == sorted((row["timestamp"] for row in history), reverse=True)


def test_a_restore_brings_back_what_the_delete_before_it_took(lake: Path) -> None:
    table = DeltaTable(str(lake / "sales"))
    history = {row["version"]: row for row in table.history()}
    restored = next(version for version, row in history.items() if row["operation"] == "RESTORE")
    assert history[restored - 1]["operation"] == "DELETE"
    rows = {}
    for version in (restored - 2, restored - 1, restored):
        table.load_as_version(version)
        rows[version] = table.to_pyarrow_table().num_rows
    assert rows[restored] == rows[restored - 2] > rows[restored - 1]
    lines = (lake / "sales" / "_delta_log" / f"{restored:020}.json").read_text().splitlines()
    added = [action["add"] for line in lines if "add" in (action := json.loads(line))]
    assert added
    assert all(add["dataChange"] for add in added)


def test_versions_before_a_vacuum_are_partly_gone(lake: Path) -> None:
    table = DeltaTable(str(lake / "sales"))
    vacuum = max(row["version"] for row in table.history() if row["operation"] == "VACUUM END")
    table.load_as_version(20)
    with pytest.raises(Exception, match=r"(?i)not found|no such file"):
        table.to_pyarrow_table()
    table.load_as_version(vacuum)
    assert table.to_pyarrow_table().num_rows > 0


def test_each_table_has_what_it_is_there_for(lake: Path, tmp_path: Path) -> None:
    snapshot = read(lake / "subscriptions", tmp_path)
    assert (snapshot.num_files, snapshot.num_records) == (4, 2_000 - 90 - 180 - 270)
    assert len(list((lake / "invoices" / "_change_data").iterdir())) == 6
    assert DeltaTable(str(lake / "contacts")).to_pyarrow_table().column_names == ["id", "email", "city"]
    assert read(lake / "sensor_readings", tmp_path).num_files == 150
    assert not (lake / "logins" / "_delta_log" / f"{29:020}.json").exists()
    assert open_log(str(lake / "logins")).head_version() == 40


def test_one_partition_of_deliveries_has_most_of_the_rows(lake: Path, tmp_path: Path) -> None:
    metadata = read(lake / "deliveries", tmp_path).metadata
    assert metadata is not None
    assert list(metadata.partition_columns) == ["depot"]
    depots = DeltaTable(str(lake / "deliveries")).to_pyarrow_table().column("depot").value_counts().to_pylist()
    rows = {each["values"]: each["counts"] for each in depots}
    assert rows == {f"depot-{number}": 24_000 if number == 3 else 320 for number in range(8)}


def test_the_log_of_stock_levels_is_broken_without_harm(lake: Path) -> None:
    log = lake / "stock_levels" / "_delta_log"
    with pytest.raises(json.JSONDecodeError):
        json.loads((log / "_last_checkpoint").read_text())
    newest = DeltaTable(str(lake / "stock_levels")).version()
    assert open_log(str(lake / "stock_levels")).head_version() == newest
    (unfinished,) = log.glob("*.tmp")
    assert unfinished.name.startswith(f".{newest + 1:020}.json.")
    assert not (log / f"{newest + 1:020}.json").exists()


def test_what_a_newcomer_deletes_can_be_undone(lake: Path, tmp_path: Path) -> None:
    """But for `sales` and `logins`, where retention is what they show."""
    for name in set(sample_lake.DELTA_TABLES) - {"sales", "logins"}:
        metadata = read(lake / name, tmp_path).metadata
        assert metadata is not None
        assert metadata.configuration["delta.deletedFileRetentionDuration"] == "interval 365 days", name


@pytest.mark.dear
def test_a_second_instance_writes_the_same_rows(lake: Path, tmp_path: Path) -> None:
    again = sample_lake.write_lake(tmp_path, NOW)
    for name in ("sales", "invoices"):
        tables = [DeltaTable(str(place / name)).to_pyarrow_table() for place in (lake, again)]
        assert tables[0].sort_by(tables[0].column_names[0]).equals(tables[1].sort_by(tables[1].column_names[0]))
