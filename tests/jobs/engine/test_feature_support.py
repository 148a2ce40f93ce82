"""Delta itself refuses what docs/features.md says, with the condition that stands there, and commits nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.domain.delta.protocols import FEATURES
from tests.jobs.engine.feature_tables import (
    NAMED,
    ROWS_OF,
    STATEMENTS,
    TABLES,
    VARIANT,
    VECTORS,
    Maker,
    by,
    cells,
    computed,
    condition_of,
    of_protocol,
    then,
)
from tests.jobs.engine.lake import commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def spark(runtime: Any) -> SparkSession:
    session: SparkSession = runtime.new_session()
    return session


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


COMPAT = "delta.enableIcebergCompatV{}"


def setting(name: str, value: str) -> str:
    return f"ALTER TABLE {{t}} SET TBLPROPERTIES ('{name}' = '{value}')"


def mapped(make: Maker) -> Maker:
    return then(make, setting(NAMED, "name"))


DOUBLED = "ALTER TABLE {t} ALTER COLUMN n TYPE DOUBLE"


def widening(number: int) -> Maker:
    """A table that keeps Iceberg's rules and has columns to widen."""
    widens = {"delta.enableTypeWidening": "true", "delta.feature.timestampNtz": "supported"}
    columns = "id INT, v STRING, n INT, f FLOAT, c DECIMAL(8,2), d DATE"
    rows = f"{ROWS_OF}, CAST(1 AS FLOAT) f, CAST(1 AS DECIMAL(8,2)) c, DATE '2020-01-01' d"
    return by({NAMED: "name", COMPAT.format(number): "true"} | widens, columns=columns, rows=rows)


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
    *(
        ("alter_schema", f"icebergCompatV{number}", widening(number), f"ALTER TABLE {{t}} ALTER COLUMN {column} TYPE {kind}")
        for number, column, kind in ((1, "n", "DOUBLE"), (2, "n", "DECIMAL(20,0)"), (2, "c", "DECIMAL(9,3)"), (3, "d", "TIMESTAMP_NTZ"))
    ),
    (
        "set_properties", "typeWidening", then(by({NAMED: "name", "delta.enableTypeWidening": "true"}), DOUBLED),
        setting(COMPAT.format(2), "true"),
    ),
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


@pytest.mark.parametrize(("column", "kind"), [("n", "BIGINT"), ("f", "DOUBLE"), ("c", "DECIMAL(12,2)")])
def test_delta_widens_what_iceberg_widens_too(spark: SparkSession, tmp_path: Path, column: str, kind: str) -> None:
    path = tmp_path / "t"
    widening(2)(spark, path)
    assert condition_of(spark, path, f"ALTER TABLE {{t}} ALTER COLUMN {column} TYPE {kind}") is None
