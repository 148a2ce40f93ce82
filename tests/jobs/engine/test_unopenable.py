"""What Delta makes of a damaged checkpoint, checksum or pointer: the ground of the finding `stops_spark` and of its remedy."""

import json
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from jobs.engine.errors import as_failure
from tables.deltalog.replay.log import open_log
from tables.deltalog.replay.obstacles import obstacles
from tests.jobs.engine.deltas import make

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def spark(runtime):
    return runtime.new_session()


@pytest.fixture
def table(spark, tmp_path):
    """A table of twelve commits, the checkpoint of version 10 among them, that no JVM has in its cache."""
    place = Path(make(spark, tmp_path / "made"))
    for _ in range(11):
        spark.sql(f"INSERT INTO delta.`{place}` SELECT * FROM delta.`{place}` LIMIT 1")
    assert open_log(str(place)).head_version() == 11
    return place.rename(tmp_path / "moved")


def log_file(table, name):
    """A file of the log, without Hadoop's own checksum of it: with that, a changed file would be passed over as unreadable."""
    (table / "_delta_log" / f".{name}.crc").unlink(missing_ok=True)
    return table / "_delta_log" / name


def stops(table, checkpoint=10):
    log = open_log(str(table))
    return [p.file for p in obstacles(str(table), log.snapshot(None, table.parent / "f.arrow"), checkpoint)]


def rewrite(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def fails(spark, table):
    """Opens the table, deletes, and looks at it again; answers the first failure's condition."""
    try:
        spark.sql(f"DELETE FROM delta.`{table}` WHERE id < 2")
        spark.sql(f"DESCRIBE DETAIL delta.`{table}`").collect()
        spark.sql(f"OPTIMIZE delta.`{table}`").collect()
        spark.read.format("delta").load(str(table)).collect()
    except (PySparkException, Py4JError) as error:
        return as_failure(error).condition or as_failure(error).message
    return None


def other_schema(value):
    value["metadata"]["schemaString"] = value["metadata"]["schemaString"].replace('"nullable":true', '"nullable":false')


def other_protocol(value):
    value["protocol"] = value["protocol"] | {"minWriterVersion": 4}


@pytest.mark.parametrize("change", [other_schema, other_protocol])
def test_a_checksum_with_other_metadata_or_another_protocol_stops_delta_and_its_removal_mends_it(spark, table, change):
    checksum = log_file(table, f"{11:020d}.crc")
    rewrite(checksum, change)
    assert stops(table) == [checksum.name]
    assert fails(spark, table) == "DELTA_STATE_RECOVER_ERROR"
    checksum.rename(table.parent / "aside.crc")
    healed = table.rename(table.parent / "healed")
    assert stops(healed) == []
    assert fails(spark, healed) is None


def test_a_checksum_with_another_size_stops_no_command(spark, table):
    rewrite(log_file(table, f"{11:020d}.crc"), lambda value: value.update(tableSizeBytes=value["tableSizeBytes"] + 1))
    assert stops(table) == []
    assert fails(spark, table) is None


def test_a_damaged_newest_checkpoint_stops_delta_and_its_removal_mends_it(spark, table):
    checkpoint = log_file(table, f"{10:020d}.checkpoint.parquet")
    checkpoint.write_bytes(b"x" * 100)
    assert stops(table) == [checkpoint.name]
    assert fails(spark, table) is not None
    checkpoint.unlink()
    healed = table.rename(table.parent / "healed")
    assert stops(healed) == []
    assert fails(spark, healed) is None


def gone(path):
    path.unlink()


def cut(path):
    path.write_bytes(path.read_bytes()[:100])


def overwritten(path):
    path.write_bytes(b"x" * 100)


@pytest.fixture(params=["json", "parquet"])
def in_parts(request, spark, tmp_path):
    """A table with a V2 checkpoint of one sidecar, of either kind of top file."""
    name = "spark.databricks.delta.checkpointV2.topLevelFileFormat"
    spark.conf.set(name, request.param)
    place = Path(make(spark, tmp_path / "made", {"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "2"}))
    for number in range(3):
        spark.sql(f"INSERT INTO delta.`{place}` VALUES ({number}, 'x', 0)")
    spark.conf.unset(name)
    return place.rename(tmp_path / "moved")


def top_file(table):
    (found,) = (table / "_delta_log").glob(f"{2:020d}.checkpoint.*-*")
    return log_file(table, found.name)


@pytest.mark.parametrize("harm", [gone, cut, overwritten])
def test_a_sidecar_that_is_gone_or_damaged_stops_delta(spark, in_parts, harm):
    top = top_file(in_parts)
    assert stops(in_parts, 2) == []
    (sidecar,) = (in_parts / "_delta_log" / "_sidecars").glob("*.parquet")
    (sidecar.parent / f".{sidecar.name}.crc").unlink(missing_ok=True)
    harm(sidecar)
    assert stops(in_parts, 2) == [top.name]
    assert fails(spark, in_parts) is not None
    top.unlink()
    healed = in_parts.rename(in_parts.parent / "healed")
    assert stops(healed, None) == []
    assert fails(spark, healed) is None


@pytest.mark.parametrize("harm", [cut, overwritten])
def test_a_damaged_top_file_stops_delta(spark, in_parts, harm):
    top = top_file(in_parts)
    harm(top)
    assert stops(in_parts, 2) == [top.name]
    assert fails(spark, in_parts) is not None


@pytest.mark.parametrize("content", ["rubbish", '{"version": 77, "size": 3}'])
def test_a_bad_pointer_stops_no_command_before_or_after_a_commit(spark, table, content):
    log_file(table, "_last_checkpoint").write_text(content)
    assert stops(table) == []
    assert fails(spark, table) is None


@pytest.mark.parametrize("lie", [True, False], ids=["one that leaves an add out", "one that is no JSON"])
def test_a_compaction_takes_no_commit_s_place(spark, tmp_path, lie):
    """By Delta's default it would: one row of four would be missing, or the table couldn't be opened."""
    place = tmp_path / "t"
    for number in range(4):
        spark.range(number, number + 1).coalesce(1).write.format("delta").mode("append").save(str(place))
    add = next(line for line in log_file(place, f"{1:020d}.json").read_text().splitlines() if '"add"' in line)
    (place / "_delta_log" / f"{1:020d}.{2:020d}.compacted.json").write_text(add if lie else '{"add": ')
    moved = place.rename(tmp_path / "moved")
    assert sorted(row.id for row in spark.read.format("delta").load(str(moved)).collect()) == [0, 1, 2, 3]
    snapshot = open_log(str(moved)).snapshot(None, tmp_path / "files.arrow")
    assert (snapshot.num_records, stops(moved)) == (4, [])
    spark.conf.set("spark.databricks.delta.deltaLog.minorCompaction.useForReads", "true")
    again = moved.rename(tmp_path / "again")
    assert count_of(spark, again) == (3 if lie else None)


def count_of(spark, place):
    """How many rows the table has to Spark; None where it can't be opened."""
    try:
        return spark.read.format("delta").load(str(place)).count()
    except (PySparkException, Py4JError):
        return None
