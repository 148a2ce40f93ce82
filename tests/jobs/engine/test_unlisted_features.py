"""What Delta makes of a protocol that doesn't list what schema and properties switch on: Levee names the same features, and the remedy."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, TableFeatures
from pyspark.sql import SparkSession

from jobs.domain.errors import EngineFailed
from jobs.engine.errors import translate
from tables.deltalog.replay.log import open_log
from tables.deltalog.replay.obstacles import obstacles
from tables.deltalog.rules.active_features import unlisted_features

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
NAMED = re.compile(r"not listed in protocol: (.+?)\.")
Field = dict[str, Any]


def field(name: str = "id", kind: Any = "long", *, nullable: bool = True, of: dict[str, Any] | None = None) -> Field:
    metadata = {f"delta.{key}": value for key, value in (of or {}).items()}
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def struct(*fields: Field) -> Field:
    return {"type": "struct", "fields": list(fields)}


def array(element: Any) -> Field:
    return {"type": "array", "elementType": element, "containsNull": True}


RULE = '{"expression": {"expression": "id > 1"}}'
IDENTITY = {"identity.start": 1, "identity.step": 1, "identity.allowExplicitInsert": False}
MAPPED = field(of={"columnMapping.id": 1, "columnMapping.physicalName": "id"})
MAX = {"columnMapping.maxColumnId": "1"}
CASES: dict[str, tuple[Field, dict[str, str]]] = {
    "nothing": (field(), {}),
    "not null": (field(nullable=False), {}),
    "not null in a struct": (field(kind=struct(field(nullable=False))), {}),
    "not null in an array": (field(kind=array(struct(field(nullable=False)))), {}),
    "an invariant": (field(of={"invariants": RULE}), {}),
    "generated": (struct(field("x"), field("g", of={"generationExpression": "x + 1"})), {}),
    "generated in a struct": (field(kind=struct(field("x"), field("g", of={"generationExpression": "1"}))), {}),
    "identity": (field(of=IDENTITY), {}),
    "a default": ({**field(), "metadata": {"CURRENT_DEFAULT": "1", "EXISTS_DEFAULT": "1"}}, {}),
    "widened": (field(of={"typeChanges": [{"fromType": "integer", "toType": "long"}]}), {}),
    "no zone": (field(kind="timestamp_ntz"), {}),
    "no zone in an array": (field(kind=array("timestamp_ntz")), {}),
    "variant": (field(kind="variant"), {}),
    "append only": (field(), {"appendOnly": "true"}),
    "append only in capitals": (field(), {"appendOnly": "TRUE"}),
    "append only in another spelling": (field(), {"appendonly": "true"}),
    "not append only": (field(), {"appendOnly": "false"}),
    "change feed": (field(), {"enableChangeDataFeed": "true"}),
    "change feed's old name": (field(), {"enableChangeDataCapture": "true"}),
    "constraint": (field(), {"constraints.small": "id < 9"}),
    "mapping": (MAPPED, {"columnMapping.mode": "name", **MAX}),
    "mapping in capitals": (MAPPED, {"columnMapping.mode": "NAME", **MAX}),
    "vectors": (field(), {"enableDeletionVectors": "true"}),
    "row tracking": (field(), {"enableRowTracking": "true"}),
    "checkpoints": (field(), {"checkpointPolicy": "v2"}),
    "widening": (field(), {"enableTypeWidening": "true"}),
    "times": (field(), {"enableInCommitTimestamps": "true"}),
    "iceberg 1": (field(), {"enableIcebergCompatV1": "true"}),
    "iceberg 2": (field(), {"enableIcebergCompatV2": "true"}),
    "iceberg 3": (field(), {"enableIcebergCompatV3": "true"}),
    "shredding": (field(), {"enableVariantShredding": "true"}),
    "partition columns": (field(), {"enableMaterializePartitionColumnsFeature": "true"}),
}  # fmt: skip
LISTS: list[dict[str, Any]] = [
    {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": []},
    {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["appendOnly", "domainMetadata"]},
]
PREVIEWS = ["variantType-preview", "typeWidening-preview", "variantShredding"]
LISTS.append(LISTS[0] | {"readerFeatures": PREVIEWS, "writerFeatures": PREVIEWS})


def written(path: Path, schema: Field, properties: dict[str, str], protocol: dict[str, Any]) -> Path:
    """A table without rows. A struct as schema is the table's own, any other field its one column."""
    root = schema if "fields" in schema else struct(schema)
    metadata = {
        "id": "0", "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(root), "partitionColumns": [],
        "configuration": {f"delta.{name}": value for name, value in properties.items()}, "createdTime": 0,
    }  # fmt: skip
    (path / "_delta_log").mkdir(parents=True)
    lines = [{"protocol": protocol}, {"metaData": metadata}]
    (path / "_delta_log" / f"{0:020d}.json").write_text("\n".join(map(json.dumps, lines)))
    return path


def by_delta(session: SparkSession, path: Path) -> set[str]:
    """The features that Delta misses as it opens the table; none where it opens it."""
    try:
        with translate():
            session.read.format("delta").load(str(path)).count()
    except EngineFailed as failed:
        failure = failed.failure
        assert (failure.condition, failure.sqlstate) == ("DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH", "KD004")
        match = NAMED.search(failure.message)
        assert match
        return set(match[1].split(", "))
    return set()


@pytest.fixture
def spark(runtime: Any) -> SparkSession:
    session: SparkSession = runtime.new_session()
    return session


def test_levee_names_the_features_that_delta_misses(spark: SparkSession, tmp_path: Path) -> None:
    for number, (name, (schema, properties)) in enumerate(CASES.items()):
        for place, protocol in enumerate(LISTS):
            path = written(tmp_path / f"{number}-{place}", schema, properties, protocol)
            snapshot = open_log(str(path)).snapshot(None, tmp_path / f"{number}-{place}.arrow")
            assert snapshot.protocol is not None
            assert snapshot.metadata is not None
            missing = set(unlisted_features(snapshot.protocol, snapshot.metadata))
            assert missing == by_delta(spark, path), (name, protocol)
            assert [found.file for found in obstacles(str(path), snapshot, None)] == ([""] if missing else [])


def test_once_another_engine_has_added_the_features_delta_opens_the_table(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path / "t", field(nullable=False), {}, LISTS[0])
    assert by_delta(spark, path) == {"invariants"}
    DeltaTable(str(path)).alter.add_feature(TableFeatures.Invariants, allow_protocol_versions_increase=True)
    assert by_delta(spark, path) == set()


def test_the_version_that_lacked_them_opens_in_no_delta_later_either(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path / "t", field(nullable=False), {}, LISTS[0])
    DeltaTable(str(path)).alter.add_feature(TableFeatures.Invariants, allow_protocol_versions_increase=True)
    source = f"delta.`{path}`"
    for statement in (
        f"SELECT * FROM {source} VERSION AS OF 0",
        f"RESTORE TABLE {source} TO VERSION AS OF 0",
        f"CREATE TABLE delta.`{tmp_path / 'copy'}` SHALLOW CLONE {source} VERSION AS OF 0",
    ):
        with pytest.raises(EngineFailed) as failed, translate():
            spark.sql(statement).collect()
        assert failed.value.failure.condition == "DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH", statement
