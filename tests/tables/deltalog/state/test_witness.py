"""The reader beside `deltalake`, an implementation of its own, on tables that neither of us chose: random writes from a seed.

Two differences are explained: deltalake's times are those its writer noted, ours are the files' (as Delta itself); and it reports the
features of a legacy protocol not at all, so protocols are compared by their versions and listed features.
"""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from tables.deltalog.read.fields import as_text
from tables.deltalog.read.paths import decoded
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema, type_text
from tables.deltalog.state.snapshot import Snapshot, load

COLUMNS = {"id": pa.int64(), "day": pa.string(), "v": pa.float64()}
DAYS = ["2024-01-01", "a b", "50%", "x/y", "ü", "a:b", None]


class Table:
    """A table that is changed at random, and how to change it."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = str(path)
        self.random = random.Random(seed)
        self.columns = dict(COLUMNS)
        self.partitioned = self.random.random() < 0.6
        self.next_id = 0
        self.append()

    @property
    def handle(self) -> DeltaTable:
        return DeltaTable(self.path)

    def rows(self) -> pa.Table:
        count = self.random.randint(1, 20)
        self.next_id += count
        values: dict[str, list[Any]] = {
            "id": list(range(self.next_id - count, self.next_id)),
            "day": [self.random.choice(DAYS) for _ in range(count)],
            "v": [self.random.choice([None, self.random.random()]) for _ in range(count)],
        }
        for name in self.columns:
            values.setdefault(name, [self.random.choice([None, name]) for _ in range(count)])
        return pa.table(values, schema=pa.schema(self.columns))

    def write(self, mode: str, **options: Any) -> None:
        write_deltalake(
            self.path,
            self.rows(),
            mode=mode,
            partition_by=["day"] if self.partitioned else None,
            commit_properties=CommitProperties(custom_metadata={"note": str(self.next_id)}),
            **options,
        )

    def append(self) -> None:
        self.write("append")

    def overwrite(self) -> None:
        self.write("overwrite")

    def add_column(self) -> None:
        self.columns[f"c{len(self.columns)}"] = pa.string()
        self.write("append", schema_mode="merge")

    def delete(self) -> None:
        self.handle.delete(f"id % {self.random.randint(2, 5)} = 0")

    def delete_day(self) -> None:
        self.handle.delete(f"day = '{self.random.choice(['a b', '2024-01-01'])}'")

    def update(self) -> None:
        self.handle.update(updates={"v": "0.5"}, predicate=f"id % {self.random.randint(2, 5)} = 1")

    def optimize(self) -> None:
        self.handle.optimize.compact()

    def checkpoint(self) -> None:
        self.handle.create_checkpoint()

    def set_property(self) -> None:
        self.handle.alter.set_table_properties(
            {"delta.logRetentionDuration": f"interval {self.random.randint(8, 60)} days"}
        )

    def set_name(self) -> None:
        self.handle.alter.set_table_description(f"as of {self.next_id}")

    def constraint(self) -> None:
        try:
            self.handle.alter.add_constraint({f"c{self.next_id}": "id >= 0"})
        except DeltaError:
            self.append()  # it exists already

    def change(self) -> None:
        steps = [self.append] * 4 + [
            self.overwrite,
            self.add_column,
            self.delete,
            self.delete_day,
            self.update,
            self.optimize,
        ]
        steps += [self.checkpoint] * 2 + [self.set_property, self.set_name, self.constraint]
        self.random.choice(steps)()


def compare(ours: Snapshot, witness: DeltaTable) -> None:
    assert ours.version == witness.version()
    assert ours.complete
    assert ours.problems == ()
    _compare_metadata(ours, witness)
    _compare_files(ours, witness)
    assert ours.num_records == witness.to_pyarrow_table().num_rows


def _compare_metadata(ours: Snapshot, witness: DeltaTable) -> None:
    assert ours.metadata is not None
    assert ours.protocol is not None
    theirs, protocol = witness.metadata(), witness.protocol()
    assert ours.metadata.id == str(theirs.id)
    assert ours.metadata.name == theirs.name
    assert ours.metadata.description == theirs.description
    assert list(ours.metadata.partition_columns) == theirs.partition_columns
    assert ours.metadata.configuration == theirs.configuration
    assert ours.metadata.created_at is not None
    assert int(ours.metadata.created_at.timestamp() * 1000) == theirs.created_time
    assert json.loads(ours.metadata.schema_json)["fields"] == json.loads(witness.schema().to_json())["fields"]
    assert ours.protocol.min_reader_version == protocol.min_reader_version
    assert ours.protocol.min_writer_version == protocol.min_writer_version
    assert sorted(ours.protocol.writer_features or ()) == sorted(protocol.writer_features or ())


def _compare_files(ours: Snapshot, witness: DeltaTable) -> None:
    theirs = pa.table(witness.get_add_actions(flatten=False)).to_pylist()
    mine = ours.files().to_pylist()
    assert sorted(decoded(row["path"]) for row in mine) == sorted(decoded(row["path"]) for row in theirs)
    by_path = {decoded(row["path"]): row for row in theirs}
    for row in mine:
        their = by_path[decoded(row["path"])]
        assert row["size"] == their["size_bytes"]
        assert row["num_records"] == their["num_records"]
        for name, value in (their.get("partition") or {}).items():
            assert row[f"partition.{name}"] == value
    assert ours.num_files == len(theirs)
    assert ours.size_bytes == sum(row["size_bytes"] for row in theirs)


def compare_history(path: str, target: Path) -> None:
    theirs = {row["version"]: row for row in DeltaTable(path).history()}
    commits = list(open_log(path).sync(target).commits())
    assert [commit.version for commit in commits] == sorted(theirs)
    for commit in commits:
        their = theirs[commit.version]
        assert commit.operation == their["operation"]
        assert commit.engine_info == their.get("engineInfo")
        assert commit.operation_parameters == {
            name: as_text(value) for name, value in their["operationParameters"].items()
        }
        assert commit.operation_metrics == {
            name: as_text(value) for name, value in their.get("operationMetrics", {}).items()
        }
        assert commit.problems == ()


@pytest.mark.parametrize("seed", range(12))
def test_random_tables_are_read_alike(tmp_path, seed):
    table = Table(tmp_path / "table", seed)
    log, target = open_log(table.path), tmp_path / "step.arrow"
    base: Snapshot | None = None
    for step in range(14):
        table.change()
        if step % 3 == 0:
            base = log.sync(target, base).snapshot()
            compare(base, table.handle)
    compare(log.sync(target, base).snapshot(), table.handle)
    compare(log.sync(tmp_path / "whole.arrow").snapshot(), table.handle)
    compare_history(table.path, tmp_path / "history.arrow")


@pytest.mark.parametrize("seed", range(100, 104))
def test_every_version_of_a_random_table_is_rebuilt_alike(tmp_path, seed):
    table = Table(tmp_path / "table", seed)
    for _ in range(10):
        table.change()
    for version in range(table.handle.version() + 1):
        compare(open_log(table.path).snapshot(version, tmp_path / "at.arrow"), DeltaTable(table.path, version=version))


@pytest.mark.parametrize("seed", range(200, 203))
def test_a_cleaned_log_is_read_alike(tmp_path, seed):
    table = Table(tmp_path / "table", seed)
    for _ in range(6):
        table.change()
    table.checkpoint()
    base = open_log(table.path).sync(tmp_path / "files.arrow").snapshot()
    kept = table.handle.version()
    for version in range(kept):
        (Path(table.path) / "_delta_log" / f"{version:020d}.json").unlink()
    table.append()
    table.delete()
    compare(open_log(table.path).sync(tmp_path / "fresh.arrow").snapshot(), table.handle)
    run = open_log(table.path).sync(tmp_path / "files.arrow", load(base.files_path) if base.files_path else None)
    assert [commit.version for commit in run.commits()] == list(range(kept + 1, table.handle.version() + 1))
    compare(run.snapshot(), table.handle)


def test_a_log_cleaned_by_its_owner_is_read_alike(tmp_path):
    table = Table(tmp_path / "table", 7)
    table.handle.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 days"})
    for _ in range(5):
        table.append()
    table.checkpoint()
    table.append()
    table.handle.cleanup_metadata()
    log = open_log(table.path)
    listing = log.listing()
    assert listing.rebuildable[-1].stop == table.handle.version() + 1
    compare(log.snapshot(target=tmp_path / "x.arrow"), table.handle)


def test_types_read_as_the_witness_reads_them(tmp_path):
    kinds = {
        "b": pa.bool_(), "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(), "f": pa.float32(), "d": pa.float64(),
        "dec": pa.decimal128(10, 2), "day": pa.date32(), "at": pa.timestamp("us", "UTC"), "bin": pa.binary(),
        "l": pa.list_(pa.struct([("x", pa.int32())])), "m": pa.map_(pa.string(), pa.int64()),
    }  # fmt: skip
    path = str(tmp_path / "t")
    DeltaTable.create(path, schema=pa.schema(kinds), configuration={"delta.appendOnly": "true"})
    metadata = open_log(path).snapshot().metadata
    assert metadata is not None
    found = {column.name: type_text(column.type) for column in parse_schema(metadata.schema_json).columns}
    assert found == {
        "b": "boolean", "i8": "tinyint", "i16": "smallint", "i32": "int", "i64": "bigint", "f": "float", "d": "double",
        "dec": "decimal(10,2)", "day": "date", "at": "timestamp", "bin": "binary",
        "l": "array<struct<x:int>>", "m": "map<string,bigint>",
    }  # fmt: skip
    assert metadata.configuration == {"delta.appendOnly": "true"}
