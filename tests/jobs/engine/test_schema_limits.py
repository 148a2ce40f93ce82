"""What Levee says that Spark and Delta can't do with the columns of a table is what fails there, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from jobs.commands.optimize.rules import Optimize
from jobs.domain.engine import UNCHECKED
from jobs.domain.errors import EngineFailed
from jobs.engine.errors import as_failure
from tables.deltalog.rules.schema import parse_schema
from tables.deltalog.rules.schema_limits import Use, first_limit
from tests.jobs.engine.deltas import restoration

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

LONG = "long"
FEATURES: tuple[str, ...] = ()  # of a protocol that lists none


def field(name: str, kind: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def mapped(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


TWICE = struct(field("x", LONG), field("X", LONG))
KINDS: dict[str, list[dict[str, Any]]] = {
    "two names that differ by case": [field("a", LONG), field("A", LONG)],
    "one name twice": [field("a", LONG), field("a", LONG)],
    "a name of the table's own column": [field("ID", LONG)],
    "twice in a struct": [field("s", TWICE)],
    "twice in an array": [field("s", array(TWICE))],
    "twice in a map": [field("s", mapped(LONG, TWICE))],
    "a name of another struct": [field("s", struct(field("id", LONG))), field("x", LONG)],
    "a time": [field("t", "time(6)")],
    "an array of times": [field("t", array("time(0)"))],
    "an interval of days": [field("t", "interval day to second")],
    "a map of intervals": [field("t", mapped("string", "interval day"))],
    "a calendar interval": [field("t", "interval")],
    "a collation": [field("t", "string collate UTF8_LCASE")],
    "a collation in the metadata": [field("t", "string", __COLLATIONS={"t": "spark.UTF8_LCASE"})],
    "the usual collation": [field("t", "string collate UTF8_BINARY")],
    "a geography": [field("t", "geography(OGC:CRS84, SPHERICAL)")],
    "a geometry": [field("t", "geometry(OGC:CRS84)")],
    "a void": [field("t", "void")],
    "an array of voids": [field("t", array("void"))],
    "a map of void keys": [field("t", mapped("void", LONG))],
    "a struct of voids": [field("t", struct(field("v", "void")))],
    "a struct of a void and more": [field("t", struct(field("v", "void"), field("w", LONG)))],
    "an array of voids, deeper": [field("t", struct(field("u", array(struct(field("v", array("void")))))))],
    "a struct without fields": [field("t", struct())],
    "a timestamp without a zone, not listed": [field("t", "timestamp_ntz")],
    "one in an array": [field("t", array("timestamp_ntz"))],
    "a variant": [field("t", "variant")],
    "a char": [field("t", "string", __CHAR_VARCHAR_TYPE_STRING="char(5)")],
}


def written(place: Path, fields: list[dict[str, Any]]) -> Path:
    """Four rows in two files; version 1 adds the fields to the schema, as another engine would."""
    (place / "_delta_log").mkdir(parents=True)
    own = [field("id", LONG)]
    adds = []
    for number in range(2):
        name, ids = f"f{number}.parquet", [2 * number, 2 * number + 1]
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), place / name)
        size = (place / name).stat().st_size
        adds.append(
            {"add": {"path": name, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}}
        )
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    for version, actions in enumerate([[protocol, metadata(own), *adds], [metadata(own + fields)]]):
        lines = [json.dumps(action) for action in ({"commitInfo": {"timestamp": version, "operation": "X"}}, *actions)]
        (place / "_delta_log" / f"{version:020d}.json").write_text("\n".join(lines))
    return place


def metadata(fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "metaData": {
            "id": "limits", "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(struct(*fields)),
            "partitionColumns": [], "configuration": {}, "createdTime": 0,
        }
    }  # fmt: skip


def condition_of(attempt: Callable[[], Any]) -> str | None:
    """The condition with which it fails, or its words; None if it succeeds."""
    try:
        attempt()
    except (PySparkException, Py4JError) as error:
        failure = as_failure(error)
        return failure.condition or failure.message
    except EngineFailed as failed:
        return failed.failure.condition or failed.failure.message
    return None


@pytest.mark.parametrize("kind", KINDS)
def test_what_fails_is_what_is_said(runtime, engine, marks, report, tmp_path, kind: str) -> None:
    fields = KINDS[kind]
    spark = runtime.new_session()
    counter = iter(range(100))

    def fresh() -> str:
        return str(written(tmp_path / str(next(counter)), fields))

    def read() -> None:
        spark.read.format("delta").load(fresh()).write.format("noop").mode("overwrite").save()

    def append() -> None:
        spark.createDataFrame([(9,)], "id long").write.format("delta").mode("append").save(fresh())

    def optimize() -> None:
        engine.run(Optimize("t", path=fresh()), {}, UNCHECKED, marks, report)

    def change() -> None:
        spark.sql(f"ALTER TABLE delta.`{fresh()}` SET TBLPROPERTIES ('team' = 'me')")

    found = {
        Use.READ: condition_of(read),
        Use.APPEND: condition_of(append),
        Use.REWRITE: condition_of(optimize),
        Use.METADATA: condition_of(change),
    }
    told = {
        use: first_limit(parse_schema(json.dumps(struct(field("id", LONG), *fields))), use, FEATURES) for use in Use
    }
    assert {use: limit is not None for use, limit in told.items()} == {use: bool(why) for use, why in found.items()}, (
        found
    )
    for use in (Use.APPEND, Use.REWRITE, Use.METADATA):
        limit = told[use]
        assert limit is None or limit.conditions[use][0] == found[use]


@pytest.mark.parametrize("kind", ["two names that differ by case", "twice in an array", "a time", "a geography"])
def test_a_restore_leads_out_of_a_schema_that_spark_can_not_read(engine, marks, report, tmp_path, kind: str) -> None:
    place = written(tmp_path / "t", KINDS[kind])
    command = restoration(place, 0)
    seen = engine.preview(command, None, marks, report)
    assert (seen.rows, seen.rows_back, seen.rows_gone) == (4, None, None)
    preview = {"rows_to": seen.rows, "rows_hash_to": seen.rows_hash}
    result = engine.run(command, preview, UNCHECKED, marks, report)
    assert (result.version, result.details["proven"], result.details["rows"]) == (2, True, 4)


def test_the_feature_for_timestamps_without_a_zone_is_the_way_out_of_its_limit(runtime, tmp_path) -> None:
    spark = runtime.new_session()
    place = written(tmp_path / "t", KINDS["a timestamp without a zone, not listed"])
    spark.sql(f"ALTER TABLE delta.`{place}` SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')")
    assert condition_of(lambda: spark.sql(f"ALTER TABLE delta.`{place}` ALTER COLUMN id COMMENT 'c'")) is None
