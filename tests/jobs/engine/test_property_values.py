"""What Delta makes of property values that it can't read: the ground of the finding, of the refusals, and of what mends them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tables.deltalog.read.actions import Protocol
from tables.deltalog.rules.property_types import TYPES, ValueKind
from tables.deltalog.rules.property_values import failing_values, stopping_value, uncommitted_values, unreadable
from tests.jobs.engine.delta_configs import entries_of
from tests.jobs.engine.feature_tables import condition_of
from tests.jobs.engine.lake import commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
BAD = {
    ValueKind.BOOLEAN: ["yes"],
    ValueKind.INTEGER: ["x", "0"],
    ValueKind.INTERVAL: ["soon", "1 month", "-1 days"],
    ValueKind.CHOICE: ["odd"],
    ValueKind.VERSION: ["x"],
    ValueKind.COLUMNS: ["id,", "id p"],
    ValueKind.FORMATS: ["xyz"],
}
FIRST = "delta.deletedFileRetentionDuration"  # it stops Delta by any protocol
CASES = [(name, value) for name, known in TYPES.items() for value in BAD.get(known.kind, ())]
# Where Delta fails over what its parser has read.
SPARED = {"delta.deletedFileRetentionDuration", "delta.setTransactionRetentionDuration", "delta.checkpointInterval",
          "delta.parquet.format.version", "delta.dataSkippingStatsColumns", "delta.randomPrefixLength"}  # fmt: skip
TEXTS = ["true", "TRUE", "yes", "", " 1", "1", "0", "-9", "+5", "\u0663", "1.5", "9999999999", "1 month", "-1 days", "soon",
         "NAME", "odd", "v2", "V2", "classic", "snapshotisolation", "Serializable", "{}"]  # fmt: skip
LISTING = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": []}
DELETE, ALTER = "DELETE FROM {t} WHERE id = 3", "ALTER TABLE {t} SET TBLPROPERTIES ('team' = 'me')"


@pytest.fixture
def spark(runtime: Any) -> SparkSession:
    session: SparkSession = runtime.new_session()
    return session


@pytest.fixture(scope="module")
def made(runtime: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of one commit, made once; each test takes copies."""
    path = tmp_path_factory.mktemp("values") / "t"
    runtime.new_session().sql(f"CREATE TABLE delta.`{path}` USING delta AS SELECT id FROM range(0, 6, 1, 1)")
    return path


def copied(made: Path, target: Path, properties: dict[str, str], protocol: dict[str, Any] | None = None) -> Path:
    """A copy after another engine's commit of these properties alone."""
    shutil.copytree(made, target)
    first = [json.loads(line) for line in commits(target)[0].read_text().splitlines()]
    (metadata,) = [line["metaData"] for line in first if "metaData" in line]
    lines: list[dict[str, Any]] = [{"metaData": metadata | {"configuration": properties}}]
    lines += [{"protocol": protocol}] if protocol else []
    (target / "_delta_log" / f"{1:020d}.json").write_text("\n".join(map(json.dumps, lines)))
    return target


def test_each_value_is_read_as_delta_s_own_parser_reads_it(spark: SparkSession) -> None:
    entries = entries_of(spark)
    judged = [name for name, known in TYPES.items() if known.kind is not ValueKind.KEPT and name not in SPARED]

    def fails(name: str, text: str) -> bool:
        try:
            entries[name].fromString().apply(text)
        except (Py4JJavaError, PySparkException):
            return True
        return False

    assert len(judged) > 30
    wrong = [(n, t) for n in judged for t in TEXTS if fails(n, t) != (unreadable(n, t) is not None)]
    assert wrong == []


def test_delta_opens_no_version_with_a_value_that_stops_it(spark: SparkSession, made: Path, tmp_path: Path) -> None:
    found = {}
    for number, (name, value) in enumerate(CASES):
        listing = ((LISTING, Protocol(1, 7, None, ())),) if TYPES[name].feature or name == FIRST else ()
        for protocol, read in ((None, Protocol(1, 2, None, None)), *listing):
            path = copied(made, tmp_path / f"{number}-{protocol is None}", {name: value}, protocol)
            opens = condition_of(spark, path, "SELECT * FROM {t}") is None
            found[name, value, protocol is None] = opens == (stopping_value(read, {name: value}) is None)
    assert [case for case, is_right in found.items() if not is_right] == []


def test_delta_fails_in_changes_for_the_values_that_are_refused_and_for_no_others(
    spark: SparkSession, made: Path, tmp_path: Path
) -> None:
    found = {}
    for number, (name, value) in enumerate(CASES):
        properties = {name: value}
        if stopping_value(Protocol(1, 2, None, None), properties) is not None:
            continue
        tried = [copied(made, tmp_path / f"{number}-{text[:3]}", properties) for text in (DELETE, ALTER)]
        deletes, alters = (
            condition_of(spark, path, text) is None for path, text in zip(tried, (DELETE, ALTER), strict=True)
        )
        refused = bool(failing_values(properties))
        found[name, value] = refused != (deletes and alters)
        if uncommitted_values(properties):
            found[name, value] &= not alters
    assert len(found) > 30
    assert [case for case, is_right in found.items() if not is_right] == []


@pytest.mark.parametrize("name", ["delta.appendOnly", "delta.checkpointInterval", "delta.checkpoint.writeStatsAsJson"])
def test_unset_and_a_restore_mend_such_a_value(spark: SparkSession, made: Path, tmp_path: Path, name: str) -> None:
    path = copied(made, tmp_path / "unset", {name: "odd"})
    condition_of(spark, path, f"ALTER TABLE {{t}} UNSET TBLPROPERTIES ('{name}')")
    assert len(commits(path)) == 3
    assert condition_of(spark, path, DELETE) is None
    restored = copied(made, tmp_path / "restored", {name: "odd"})
    assert condition_of(spark, restored, "RESTORE TABLE {t} TO VERSION AS OF 0") is None
    assert condition_of(spark, restored, DELETE) is None


@pytest.mark.parametrize("number", [1, 2, 3])
def test_of_iceberg_s_rules_a_restore_mends_such_a_value_and_no_change_of_properties_does(
    spark: SparkSession, made: Path, tmp_path: Path, number: int
) -> None:
    name = f"delta.enableIcebergCompatV{number}"
    path = copied(made, tmp_path / "t", {name: "odd"})
    assert condition_of(spark, path, f"ALTER TABLE {{t}} UNSET TBLPROPERTIES ('{name}')") is not None
    assert condition_of(spark, path, f"ALTER TABLE {{t}} SET TBLPROPERTIES ('{name}' = 'false')") is not None
    assert len(commits(path)) == 2
    assert condition_of(spark, path, "RESTORE TABLE {t} TO VERSION AS OF 0") is None


@pytest.mark.parametrize("value", ["odd", "0", "1"])
def test_the_length_of_a_prefix_is_read_where_prefixes_are_random(
    spark: SparkSession, made: Path, tmp_path: Path, value: str
) -> None:
    properties = {"delta.randomizeFilePrefixes": "true", "delta.randomPrefixLength": value}
    fails = condition_of(spark, copied(made, tmp_path / "t", properties), DELETE) is not None
    assert fails == bool(failing_values(properties))


def test_what_no_commit_may_carry_is_refused_in_a_clone_and_in_a_restore_to_it(
    spark: SparkSession, made: Path, tmp_path: Path
) -> None:
    path = copied(made, tmp_path / "t", {"delta.appendOnly": "odd"})
    assert condition_of(spark, path, "CREATE TABLE delta.`{p}-clone` SHALLOW CLONE {t}") is not None
    condition_of(spark, path, "ALTER TABLE {t} UNSET TBLPROPERTIES ('delta.appendOnly')")
    assert condition_of(spark, path, "RESTORE TABLE {t} TO VERSION AS OF 1") is not None
    fine = copied(made, tmp_path / "fine", {"delta.checkpointInterval": "odd"})
    assert condition_of(spark, fine, "CREATE TABLE delta.`{p}-clone` SHALLOW CLONE {t}") is None
