"""Which values of which kinds Spark's reader of commits takes: the witness for what the log reader says of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from tests.jobs.engine.feature_tables import condition_of
from tests.tables.deltalog.odd_kinds import STOPPING, TAKEN, actions

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

OPENED = "DESCRIBE DETAIL {t}"


def made(path: Path, odd: tuple[str, str], value: Any) -> Path:
    """A table whose second commit has the value."""
    write_deltalake(path, pa.table({"id": pa.array([1, 2], pa.int64())}))
    lines = actions(odd, value)
    (path / "_delta_log" / f"{1:020d}.json").write_text("\n".join(map(json.dumps, lines)))
    return path


def conditions(spark: SparkSession, tmp_path: Path, table: dict[tuple[str, str], list[Any]]) -> dict[str, str | None]:
    cases = [(odd, value) for odd, values in table.items() for value in values]
    return {
        f"{'.'.join(odd)}={value}": condition_of(spark, made(tmp_path / f"t{at}", odd, value), OPENED)
        for at, (odd, value) in enumerate(cases)
    }


def test_spark_opens_no_table_of_these(runtime: Any, tmp_path: Path) -> None:
    found = conditions(runtime.new_session(), tmp_path, STOPPING)
    assert [case for case, condition in found.items() if condition is None] == []
    assert found["commitInfo.job=job-7"] == "CANNOT_PARSE_JSON_FIELD"


def test_spark_opens_each_table_of_these(runtime: Any, tmp_path: Path) -> None:
    found = conditions(runtime.new_session(), tmp_path, TAKEN)
    assert {case: condition for case, condition in found.items() if condition is not None} == {}


def test_a_checkpoint_by_the_engine_that_wrote_the_commit_mends_it(runtime: Any, tmp_path: Path) -> None:
    spark, path = runtime.new_session(), made(tmp_path / "t", ("commitInfo", "job"), "job-7")
    assert condition_of(spark, path, OPENED) == "CANNOT_PARSE_JSON_FIELD"
    DeltaTable(path).create_checkpoint()
    healed = path.rename(tmp_path / "healed")
    assert condition_of(spark, healed, OPENED) is None
    assert condition_of(spark, healed, "ALTER TABLE {t} SET TBLPROPERTIES ('team' = 'me')") is None
