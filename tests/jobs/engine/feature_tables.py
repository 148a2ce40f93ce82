"""Small tables of each feature of Delta, made by Spark, and what Delta says of a statement on them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable, IdentityGenerator
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.commands.registry import ROWS
from jobs.domain.delta.feature_support import refusals_of
from jobs.domain.delta.protocols import FEATURES
from jobs.engine.errors import as_failure
from tests.jobs.engine.lake import commits

Maker = Callable[[SparkSession, Path], None]
COLUMNS, ROWS_OF = "id INT, v STRING, n INT", "CAST(id AS INT) id, CAST(id AS STRING) v, CAST(id AS INT) n"


TWO_FILES = "range(0, 6, 1, 2)"


def by(
    properties: dict[str, str] | None = None, *, columns: str = COLUMNS, more: str = "", rows: str = ROWS_OF
) -> Maker:
    def make(session: SparkSession, path: Path) -> None:
        given = ", ".join(
            f"'{name}' = '{value}'"
            for name, value in {"delta.logRetentionDuration": "30 days", **(properties or {})}.items()
        )
        session.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta {more} TBLPROPERTIES ({given})")
        session.sql(f"INSERT INTO delta.`{path}` SELECT {rows} FROM {TWO_FILES}")

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
    session.sql(f"INSERT INTO delta.`{path}` (id, v, n) SELECT {ROWS_OF} FROM {TWO_FILES}")


def identity(session: SparkSession, path: Path) -> None:
    table = (
        DeltaTable.create(session)
        .location(str(path))
        .addColumn("id", "INT")
        .addColumn("v", "STRING")
        .addColumn("n", "INT")
    )
    table.addColumn("i", "BIGINT", generatedAlwaysAs=IdentityGenerator()).execute()
    session.sql(f"INSERT INTO delta.`{path}` (id, v, n) SELECT {ROWS_OF} FROM {TWO_FILES}")


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


def condition_of(spark: SparkSession, path: Path, statement: str) -> str | None:
    """Delta's refusal of a statement; None if it is done."""
    try:
        spark.sql(statement.format(t=f"delta.`{path}`", p=path)).collect()
    except (PySparkException, Py4JError) as error:
        return as_failure(error).condition or "no condition"
    return None


def cells(kind: str, feature: str) -> list[str | None]:
    return [cell.condition for cell in refusals_of(ROWS[kind].refuses or {})[feature]]
