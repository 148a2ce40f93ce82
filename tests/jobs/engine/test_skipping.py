"""What Delta's own data skipping misses: the log's preview says so of every file whose rows a count by Spark doesn't find."""

import json
import math
import shutil
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.domain.engine import UNCHECKED
from jobs.domain.predicates.stored import to_json
from jobs.engine.predicates import column_of
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from jobs.pruning.prediction import see
from jobs.pruning.skipping import Missed, sampled
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tests.jobs.engine.deltas import NAMES, VECTORS, deletion, make
from tests.jobs.engine.lake import actions

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

OFFSETS = "1850-01-01T01:01:01.000+00:53"  # what Delta 3.3 wrote in Stockholm, whose offset was +00:53:28
STOCKHOLM = pa.table({"v": pa.array([datetime(1850, 1, 1, 0, 7, 33, tzinfo=UTC)], pa.timestamp("us", "UTC"))})
LONG = Decimal("12345678901234567.89")


def rewritten(path: Path, low, high, nulls=0) -> None:
    """The one file's statistics as another writer left them."""
    log = path / "_delta_log" / f"{0:020d}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    told = {"numRecords": 1, "minValues": {"v": low}, "maxValues": {"v": high}, "nullCount": {"v": nulls}}
    for line in lines:
        if "add" in line:
            line["add"]["stats"] = json.dumps(told)
    log.write_text("\n".join(map(json.dumps, lines)))


def judged(session, path: Path, text: str) -> tuple[int, int, Missed]:
    """Matching rows as Spark finds them, as they are, and the files that the preview says are missed."""
    snapshot = open_log(str(path)).snapshot(None, path.parent / "files.arrow")
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    schema = schema_of(struct)
    tree = parse(text, schema)
    found, _, _ = see(snapshot, struct, schema, tree)

    def count() -> int:
        # cached plans and listings keep what an earlier setting chose
        return len(session.read.format("delta").load(str(path)).filter(column_of(tree, session)).collect())

    skipped = count()
    session.conf.set("spark.databricks.delta.stats.skipping", "false")
    session.conf.set("spark.sql.parquet.filterPushdown", "false")
    return skipped, count(), found.skipping


@pytest.mark.parametrize(
    ("low", "high", "text", "missed"),
    [
        (OFFSETS, OFFSETS, "v = TIMESTAMP '1850-01-01 00:07:33Z'", True),
        (OFFSETS, OFFSETS, "v < TIMESTAMP '1850-01-01 00:08:00Z'", True),
        (OFFSETS, OFFSETS, "v < TIMESTAMP '1850-01-01 00:09:00Z'", False),
        (OFFSETS + ":28", OFFSETS + ":28", "v = TIMESTAMP '1850-01-01 00:07:33Z'", False),
        ("1850-01-01T00:07:33.000Z", "1850-01-01T00:07:33.000Z", "v = TIMESTAMP '1850-01-01 00:07:33Z'", False),
        ("1851-01-01T00:00:00.000Z", "1849-01-01T00:00:00.000Z", "v = TIMESTAMP '1850-01-01 00:07:33Z'", True),
    ],
)
def test_times(runtime, tmp_path, low, high, text, missed):
    write_deltalake(tmp_path / "t", STOCKHOLM)
    rewritten(tmp_path / "t", low, high)
    assert judged(runtime.new_session(), tmp_path / "t", text) == (int(not missed), 1, Missed(bounds=int(missed)))


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=["double", "float"])
@pytest.mark.parametrize(("text", "missed"), [("v > 9", True), ("v > 0.5", False)])
def test_nan_that_deltalake_leaves_out(runtime, tmp_path, kind, text, missed):
    write_deltalake(tmp_path / "t", pa.table({"v": pa.array([1.0, math.nan], kind)}))
    skipped, rows, said = judged(runtime.new_session(), tmp_path / "t", text)
    assert (rows - skipped, said) == ((1, Missed(nan=1)) if missed else (0, Missed()))


@pytest.mark.parametrize(
    ("value", "kind", "text", "missed"),
    [
        (LONG, pa.decimal128(38, 2), f"v = {LONG}", True),
        (LONG, pa.decimal128(38, 2), "v > 5", False),
        (Decimal("12345678901234567"), pa.decimal128(20, 0), "v = 12345678901234567", True),
        (Decimal("1.10"), pa.decimal128(10, 2), "v = 1.10", False),
    ],
)
def test_decimals_that_deltalake_rounds(runtime, tmp_path, value, kind, text, missed):
    write_deltalake(tmp_path / "t", pa.table({"v": pa.array([value], kind)}))
    assert judged(runtime.new_session(), tmp_path / "t", text) == (int(not missed), 1, Missed(bounds=int(missed)))


def skipped(engine, marks, report, path: Path, text: str, version: int) -> dict:
    """What Spark finds in a sample of the files that are missed, as a delete's preview asks for it."""
    snapshot = open_log(str(path)).snapshot(None, path.parent / "sampled.arrow")
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    schema = schema_of(struct)
    tree = parse(text, schema)
    names = sampled(see(snapshot, struct, schema, tree)[2])
    return asked(engine, marks, report, path, to_json(tree), version, names)


def asked(engine, marks, report, path, tree, version, names, kind="passed_over") -> dict:
    question = {"path": str(path), "version": version, "tree": tree, "passed_over": names}
    answer: dict = engine.read(kind, question, marks, report)
    return answer


def test_rows_of_skipped_files_are_found_past_the_statistics(engine, marks, report, tmp_path):
    path = tmp_path / "t"
    for p, number in ((1, 1.0), (2, 2.0)):
        rows = pa.table({"p": [p, p], "v": [number, math.nan]})
        write_deltalake(path, rows, partition_by=["p"], mode="append")
    write_deltalake(path, pa.table({"p": [3], "v": [10.0]}), partition_by=["p"], mode="append")
    assert skipped(engine, marks, report, path, "v > 9", 2) == {"files": 2, "rows": 2}
    assert skipped(engine, marks, report, path, "v > 9 AND p = 2", 2) == {"files": 1, "rows": 1}


def test_deleted_rows_are_none_and_files_of_other_versions_are_left_out(runtime, engine, marks, report, tmp_path):
    path = make(runtime.new_session(), tmp_path / "t", VECTORS | NAMES)
    engine.run(deletion(path, "id = 3"), {}, UNCHECKED, marks, report)
    tree = deletion(path, "id IN (3, 5)").tree
    with_five = actions(path, "add")[-1]["path"]
    names = [with_five, "p=1/gone.parquet"]
    assert asked(engine, marks, report, path, tree, 0, names) == {"files": 1, "rows": 2}
    assert asked(engine, marks, report, path, tree, 1, names) == {"files": 1, "rows": 1}


def test_a_count_answers_of_skipped_files_too(engine, marks, report, tmp_path):
    path = tmp_path / "t"
    write_deltalake(path, pa.table({"v": [1.0, math.nan]}))
    name = next(path.glob("*.parquet")).name
    answer = asked(engine, marks, report, path, deletion(path, "v > 9").tree, 0, [name], "matched")
    assert (answer["rows"], answer["passed_over"]) == (0, {"files": 1, "rows": 1})


def test_a_count_finds_the_rows_that_a_delete_deletes_whatever_a_generated_partition_column_holds(runtime, tmp_path):
    """Delta's reads would go by what the column should hold, and pass over a file of another value; its deletes read that file."""
    session, path = runtime.new_session(), tmp_path / "t"
    columns = "id long, at timestamp, day date GENERATED ALWAYS AS (CAST(at AS DATE))"
    session.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta PARTITIONED BY (day)")
    session.sql(f"INSERT INTO delta.`{path}` (id, at) VALUES (1, TIMESTAMP '2024-01-02 23:30:00Z')")
    copied = shutil.copytree(path, tmp_path / "copied", ignore=shutil.ignore_patterns("*.crc"))
    commit = copied / "_delta_log" / f"{1:020d}.json"
    commit.write_text(
        commit.read_text().replace('"day":"2024-01-02"', '"day":"2024-01-03"')
    )  # a writer east of Greenwich
    where = "at = TIMESTAMP '2024-01-02 23:30:00Z'"
    rows = session.read.format("delta").load(str(copied))
    assert [row.day.isoformat() for row in rows.collect()] == ["2024-01-03"]
    assert rows.where(where).count() == 1
    [deleted] = session.sql(f"DELETE FROM delta.`{copied}` WHERE {where}").collect()
    assert deleted.num_affected_rows == 1
