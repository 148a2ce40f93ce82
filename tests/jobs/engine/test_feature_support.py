"""Delta itself does, on a table of each feature, what docs/features.md says, and refuses with the condition that stands there."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable, IdentityGenerator
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.commands.registry import ROWS
from jobs.domain.feature_support import refusals_of
from jobs.domain.protocols import FEATURES
from jobs.engine.errors import as_failure
from tests.jobs.engine.lake import actions, commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

Maker = Callable[[SparkSession, Path], None]
COLUMNS, ROWS_OF = "id INT, v STRING, n INT", "CAST(id AS INT) id, CAST(id AS STRING) v, CAST(id AS INT) n"


def by(
    properties: dict[str, str] | None = None, *, columns: str = COLUMNS, more: str = "", rows: str = ROWS_OF
) -> Maker:
    def make(session: SparkSession, path: Path) -> None:
        given = ", ".join(
            f"'{name}' = '{value}'"
            for name, value in {"delta.logRetentionDuration": "30 days", **(properties or {})}.items()
        )
        session.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta {more} TBLPROPERTIES ({given})")
        for start in (0, 3):
            session.sql(f"INSERT INTO delta.`{path}` SELECT {rows} FROM range({start}, {start + 3}, 1, 1)")

    return make


def supported(name: str, **more: Any) -> Maker:
    return by({f"delta.feature.{name}": "supported"}, **more)


def then(make: Maker, *statements: str) -> Maker:
    def both(session: SparkSession, path: Path) -> None:
        make(session, path)
        for statement in statements:
            session.sql(statement.format(t=f"delta.`{path}`"))

    return both


def computed(session: SparkSession, path: Path) -> None:
    table = (
        DeltaTable.create(session)
        .location(str(path))
        .addColumn("id", "INT")
        .addColumn("v", "STRING")
        .addColumn("n", "INT")
    )
    table.addColumn("g", "INT", generatedAlwaysAs="n + 1").execute()
    for start in (0, 3):
        session.sql(f"INSERT INTO delta.`{path}` (id, v, n) SELECT {ROWS_OF} FROM range({start}, {start + 3}, 1, 1)")


def identity(session: SparkSession, path: Path) -> None:
    table = (
        DeltaTable.create(session)
        .location(str(path))
        .addColumn("id", "INT")
        .addColumn("v", "STRING")
        .addColumn("n", "INT")
    )
    table.addColumn("i", "BIGINT", generatedAlwaysAs=IdentityGenerator()).execute()
    for start in (0, 3):
        session.sql(f"INSERT INTO delta.`{path}` (id, v, n) SELECT {ROWS_OF} FROM range({start}, {start + 3}, 1, 1)")


def of_protocol(*names: str) -> Maker:
    """A protocol that no statement of this Spark gives a table."""

    def make(session: SparkSession, path: Path) -> None:
        by()(session, path)
        version = len(commits(path))
        readers = [name for name in names if FEATURES[name].for_readers]
        protocol = {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": readers,
            "writerFeatures": list(names),
        }
        now = int(time.time() * 1000)
        info = {"timestamp": now, "inCommitTimestamp": now, "operation": "UPGRADE PROTOCOL", "operationParameters": {}}
        lines = [{"commitInfo": info}, {"protocol": protocol}]
        (path / "_delta_log" / f"{version:020d}.json").write_text("\n".join(map(json.dumps, lines)))

    return make


NAMED, VECTORS, TRACKING = "delta.columnMapping.mode", "delta.enableDeletionVectors", "delta.enableRowTracking"
VARIANT: dict[str, Any] = {"columns": f"{COLUMNS}, x VARIANT", "rows": f"{ROWS_OF}, parse_json('1') x"}
NTZ: dict[str, Any] = {"columns": f"{COLUMNS}, t TIMESTAMP_NTZ", "rows": f"{ROWS_OF}, TIMESTAMP_NTZ '2020-01-01' t"}
WIDENING = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
WIDENED = "ALTER TABLE {t} ALTER COLUMN n TYPE BIGINT"
TABLES: dict[str, Maker] = {
    "appendOnly": by({"delta.appendOnly": "true"}),
    "invariants": by(columns="id INT NOT NULL, v STRING, n INT"),
    "checkConstraints": then(by(), "ALTER TABLE {t} ADD CONSTRAINT c CHECK (n < 100)"),
    "changeDataFeed": by({"delta.enableChangeDataFeed": "true"}),
    "generatedColumns": computed,
    "columnMapping": by({NAMED: "name"}),
    "identityColumns": identity,
    "allowColumnDefaults": supported("allowColumnDefaults", columns="id INT, v STRING, n INT DEFAULT 5"),
    "checkpointProtection": then(by({VECTORS: "true"}), "ALTER TABLE {t} DROP FEATURE deletionVectors"),
    "clustering": by(more="CLUSTER BY (id)"),
    "domainMetadata": supported("domainMetadata"),
    "icebergCompatV1": by({NAMED: "name", "delta.enableIcebergCompatV1": "true"}),
    "icebergCompatV2": by({NAMED: "name", "delta.enableIcebergCompatV2": "true"}),
    "icebergCompatV3": by({NAMED: "name", "delta.enableIcebergCompatV3": "true"}),
    "inCommitTimestamp": by({"delta.enableInCommitTimestamps": "true"}),
    "materializePartitionColumns": supported("materializePartitionColumns", more="PARTITIONED BY (v)"),
    "rowTracking": by({TRACKING: "true"}),
    "deletionVectors": then(by({VECTORS: "true"}), "DELETE FROM {t} WHERE id = 2"),
    "geospatial": supported("geospatial"),
    "geospatial-dev": supported("geospatial-dev"),
    "timestampNtz": by(**NTZ),
    "typeWidening": then(by({"delta.enableTypeWidening": "true"}), WIDENED),
    "typeWidening-preview": then(supported("typeWidening-preview"), WIDENING, WIDENED),
    "v2Checkpoint": by({"delta.checkpointPolicy": "v2"}),
    "vacuumProtocolCheck": supported("vacuumProtocolCheck"),
    "variantShredding": supported("variantShredding", **VARIANT),
    "variantShredding-preview": supported("variantShredding-preview", **VARIANT),
    "variantType": by(**VARIANT),
    "variantType-preview": supported("variantType-preview", **VARIANT),
}  # fmt: skip
UNMADE = {"catalogManaged", "coordinatedCommits-preview", "adaptiveMetadata-preview"}  # Levee refuses them all
# In this order on one table, so that each leaves the next something to do.
STATEMENTS = {
    "set_properties": "ALTER TABLE {t} SET TBLPROPERTIES ('team' = 'me')",
    "alter_schema": "ALTER TABLE {t} ALTER COLUMN v COMMENT 'x'",
    "delete": "DELETE FROM {t} WHERE n = 1",
    "optimize": "OPTIMIZE {t}",
    "reorg": "REORG TABLE {t} APPLY (PURGE)",
    "clone": "CREATE TABLE delta.`{p}-clone` SHALLOW CLONE {t}",
    "restore": "RESTORE {t} TO VERSION AS OF 1",
    "vacuum": "VACUUM {t}",
}


@pytest.fixture
def spark(runtime: Any) -> SparkSession:
    session: SparkSession = runtime.new_session()
    return session


def condition_of(spark: SparkSession, path: Path, statement: str) -> str | None:
    """Delta's refusal of a statement; None if it is done."""
    try:
        spark.sql(statement.format(t=f"delta.`{path}`", p=path)).collect()
    except (PySparkException, Py4JError) as error:
        return as_failure(error).condition or "no condition"
    return None


def cells(kind: str, feature: str) -> list[str | None]:
    return [cell.condition for cell in refusals_of(ROWS[kind].refuses or {})[feature]]


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
    found = {kind: condition_of(spark, path, statement) for kind, statement in STATEMENTS.items()}
    refused = {kind: condition for kind, condition in found.items() if condition is not None}
    assert refused == ({"delete": "DELTA_CANNOT_MODIFY_APPEND_ONLY"} if feature == "appendOnly" else {})
    assert all(condition in cells(kind, feature) for kind, condition in refused.items())


@pytest.mark.parametrize(
    "feature", [name for name, feature in FEATURES.items() if not feature.removable and name in TABLES]
)
def test_delta_drops_no_feature_of_which_the_table_says_so(spark: SparkSession, tmp_path: Path, feature: str) -> None:
    path = tmp_path / "t"
    by(
        {f"delta.feature.{feature}": "supported"} if feature != "clustering" else None,
        more="CLUSTER BY (id)" if feature == "clustering" else "",
    )(spark, path)
    assert condition_of(spark, path, f"ALTER TABLE {{t}} DROP FEATURE `{feature}`") == cells("drop_feature", feature)[0]


MAPPED = {NAMED: "name"}
COMPAT = "delta.enableIcebergCompatV{}"


def setting(name: str, value: str) -> str:
    return f"ALTER TABLE {{t}} SET TBLPROPERTIES ('{name}' = '{value}')"


def mapped(make: Maker) -> Maker:
    return then(make, setting(NAMED, "name"))


# Of each refusal that depends on the request: the command, the feature, the table and the statement.
REFUSALS: list[tuple[str, str, Maker, str]] = [
    ("optimize", "clustering", TABLES["clustering"], "OPTIMIZE {t} ZORDER BY (id)"),
    ("optimize", "clustering", TABLES["clustering"], "OPTIMIZE {t} WHERE id = 1"),
    ("reorg", "clustering", TABLES["clustering"], "REORG TABLE {t} WHERE id = 1 APPLY (PURGE)"),
    ("set_properties", "columnMapping", TABLES["columnMapping"], setting(NAMED, "id")),
    ("set_properties", "icebergCompatV1", TABLES["icebergCompatV1"], setting(VECTORS, "true")),
    ("set_properties", "icebergCompatV1", TABLES["icebergCompatV1"], setting(COMPAT.format(2), "true")),
    ("set_properties", "icebergCompatV2", TABLES["icebergCompatV2"], setting(VECTORS, "true")),
    ("set_properties", "icebergCompatV2", TABLES["icebergCompatV2"], setting(COMPAT.format(1), "true")),
    ("set_properties", "icebergCompatV3", TABLES["icebergCompatV3"], setting(COMPAT.format(2), "true")),
    ("set_properties", "deletionVectors", by({NAMED: "name", VECTORS: "true"}), setting(COMPAT.format(1), "true")),
    ("set_properties", "rowTracking", TABLES["rowTracking"], setting("delta.rowTrackingSuspended", "true")),
    ("set_properties", "variantType", by({NAMED: "name"}, **VARIANT), setting(COMPAT.format(2), "true")),
    ("alter_schema", "icebergCompatV1", TABLES["icebergCompatV1"], "ALTER TABLE {t} ADD COLUMNS (z ARRAY<INT>)"),
    ("alter_schema", "icebergCompatV1", TABLES["icebergCompatV1"], "ALTER TABLE {t} ADD COLUMNS (z VOID)"),
    ("alter_schema", "icebergCompatV2", TABLES["icebergCompatV2"], "ALTER TABLE {t} ADD COLUMNS (z STRUCT<a: VARIANT>)"),
    ("alter_schema", "icebergCompatV2", TABLES["icebergCompatV2"], "ALTER TABLE {t} ADD COLUMNS (z VOID)"),
    ("alter_schema", "icebergCompatV3", TABLES["icebergCompatV3"], "ALTER TABLE {t} ADD COLUMNS (z VOID)"),
    ("alter_schema", "checkConstraints", mapped(TABLES["checkConstraints"]), "ALTER TABLE {t} DROP COLUMN n"),
    ("alter_schema", "generatedColumns", mapped(TABLES["generatedColumns"]), "ALTER TABLE {t} RENAME COLUMN n TO m"),
    (
        "alter_schema", "generatedColumns", then(computed, setting("delta.enableTypeWidening", "true")),
        "ALTER TABLE {t} ALTER COLUMN g TYPE BIGINT",
    ),
    ("alter_schema", "identityColumns", TABLES["identityColumns"], "ALTER TABLE {t} ALTER COLUMN i DROP NOT NULL"),
    ("alter_schema", "clustering", mapped(TABLES["clustering"]), "ALTER TABLE {t} DROP COLUMN id"),
    ("alter_schema", "variantType", TABLES["variantType"], "ALTER TABLE {t} CLUSTER BY (x)"),
    ("drop_feature", "checkConstraints", TABLES["checkConstraints"], "ALTER TABLE {t} DROP FEATURE checkConstraints"),
    ("drop_feature", "domainMetadata", TABLES["clustering"], "ALTER TABLE {t} DROP FEATURE domainMetadata"),
    ("drop_feature", "columnMapping", TABLES["icebergCompatV1"], "ALTER TABLE {t} DROP FEATURE columnMapping"),
    ("drop_feature", "rowTracking", TABLES["icebergCompatV3"], "ALTER TABLE {t} DROP FEATURE rowTracking"),
    ("drop_feature", "domainMetadata", TABLES["domainMetadata"], "ALTER TABLE {t} DROP FEATURE domainMetadata TRUNCATE HISTORY"),
    ("drop_feature", "checkpointProtection", TABLES["checkpointProtection"], "ALTER TABLE {t} DROP FEATURE checkpointProtection"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "feature", "make", "statement"), REFUSALS, ids=[f"{each[0]}-{each[1]}-{each[3]}" for each in REFUSALS]
)
def test_delta_refuses_what_the_table_of_features_refuses(
    spark: SparkSession, tmp_path: Path, kind: str, feature: str, make: Maker, statement: str
) -> None:
    path = tmp_path / "t"
    make(spark, path)
    before = len(commits(path))
    assert condition_of(spark, path, statement) in cells(kind, feature)
    assert len(commits(path)) == before


def test_delta_refuses_a_table_of_a_catalog_by_its_path(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    of_protocol("catalogManaged", "inCommitTimestamp", "vacuumProtocolCheck")(spark, path)
    assert [condition_of(spark, path, STATEMENTS["delete"])] == cells("delete", "catalogManaged")


# --- names that Delta takes with column mapping alone ------------------------------------------------------------------


@pytest.fixture(scope="module")
def odd(runtime: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions by another engine."""
    import pyarrow as pa
    from deltalake import write_deltalake

    path = tmp_path_factory.mktemp("odd") / "t"
    for start in (0, 3):
        ids = pa.array(range(start, start + 3), pa.int32())
        write_deltalake(str(path), pa.table({"id": ids, "my col": ids, "v": pa.array(["x"] * 3)}), mode="append")
    return path


@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_commit_of_metadata_is_refused_for_such_a_name_and_one_of_files_is_not(
    spark: SparkSession, tmp_path: Path, odd: Path, kind: str
) -> None:
    path = Path(shutil.copytree(odd, tmp_path / "t"))
    statement = STATEMENTS[kind].replace("WHERE n = 1", "WHERE `my col` = 1").replace("AS OF 1", "AS OF 0")
    expected = (
        "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"
        if kind in ("set_properties", "alter_schema", "clone", "restore")
        else None
    )
    assert condition_of(spark, path, statement) == expected
