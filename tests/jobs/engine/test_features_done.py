"""Delta itself does, on a table of each feature, what docs/features.md doesn't refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.domain.delta.protocols import FEATURES
from tests.jobs.engine.feature_tables import NAMED, STATEMENTS, TABLES, UNMADE, by, cells, condition_of
from tests.jobs.engine.lake import actions

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
# These take as long as the rest together: on tables of features that say something of files or of the log.
SELDOM = {
    "vacuum": {
        "changeDataFeed",
        "deletionVectors",
        "icebergCompatV2",
        "inCommitTimestamp",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    },
    "reorg": {"clustering", "columnMapping", "deletionVectors", "icebergCompatV1", "rowTracking", "typeWidening"},
}


@pytest.fixture
def spark(runtime: Any) -> SparkSession:
    session: SparkSession = runtime.new_session()
    return session


def test_a_table_is_made_of_every_feature_that_levee_does_not_refuse_whatever_is_asked() -> None:
    assert {*TABLES, *UNMADE} == set(FEATURES)


@pytest.mark.parametrize("feature", TABLES)
def test_delta_does_what_the_table_of_features_does_not_refuse(
    spark: SparkSession, tmp_path: Path, feature: str
) -> None:
    path = tmp_path / "t"
    TABLES[feature](spark, path)
    protocol = actions(path, "protocol")[-1]
    implied = protocol["minWriterVersion"] >= FEATURES[feature].writer and FEATURES[feature].legacy
    assert feature in protocol.get("writerFeatures", ()) or implied, protocol
    asked = {kind: text for kind, text in STATEMENTS.items() if feature in SELDOM.get(kind, TABLES)}
    found = {kind: condition_of(spark, path, text) for kind, text in asked.items()}
    refused = {kind: condition for kind, condition in found.items() if condition is not None}
    assert refused == ({"delete": "DELTA_CANNOT_MODIFY_APPEND_ONLY"} if feature == "appendOnly" else {})
    assert all(condition in cells(kind, feature) for kind, condition in refused.items())


def test_on_a_table_that_is_read_as_iceberg_too_each_commit_stands_and_no_metadata_of_iceberg_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    properties = {"delta.enableIcebergCompatV2": "true", "delta.universalFormat.enabledFormats": "iceberg"}
    by({NAMED: "name"} | properties)(spark, path)
    asked = ("set_properties", "alter_schema", "delete", "optimize", "restore")
    assert [condition_of(spark, path, STATEMENTS[kind]) for kind in asked] == [None] * len(asked)
    assert not (path / "metadata").exists()
