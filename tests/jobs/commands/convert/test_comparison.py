"""A conversion beside its inspection: the files that Delta converted, and the rows of the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs.commands.convert.comparison import compare
from jobs.commands.convert.rules import Convert
from jobs.domain.engine import UNCHECKED
from jobs.domain.results import Result
from tables.deltalog.replay.log import open_log
from tests.factories.lakes import Lake

INSPECTED = {"num_files": 4, "num_records": 10}
RAN = {"files_converted": 4, "num_files_come": 0, "num_files_gone": 0, "rows_in_table": 10}


def lines(preview: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    return {line.name: line for line in compare(preview, Result(version=0, operation="CONVERT", details=details))}


@pytest.mark.parametrize(
    ("preview", "details", "verdicts"),
    [
        ({}, {}, ("same", "same")),
        ({}, {"files_converted": 3}, ("different", "same")),
        ({}, {"rows_in_table": 9}, ("same", "different")),
        ({}, {"files_converted": 5, "num_files_come": 1}, ("same", "measured")),
        ({}, {"files_converted": 4, "num_files_come": 1}, ("different", "measured")),
        ({}, {"num_files_come": None, "num_files_gone": None}, ("measured", "measured")),
        ({"num_records": None}, {}, ("same", "measured")),
        ({}, {"rows_in_table": None}, ("same", "unknown")),
    ],
)
def test_each_line_says_whether_the_inspection_held(
    preview: dict[str, Any], details: dict[str, Any], verdicts: tuple[str, str]
) -> None:
    found = lines(INSPECTED | preview, RAN | details)
    assert (found["files_converted"].verdict, found["rows_in_table"].verdict) == verdicts


def test_a_run_that_only_repaired_a_catalogs_entry_has_no_line() -> None:
    assert lines(INSPECTED, {"text": "merged"}) == {}


@pytest.mark.spark
@pytest.mark.xdist_group("engine")
@pytest.mark.parametrize("collect_stats", [True, False])
def test_delta_converts_what_was_inspected_files_without_rows_and_hidden_ones_beside(
    engine, marks, report, tmp_path: Path, collect_stats: bool
) -> None:
    lake = Lake(tmp_path / "lake")
    path = lake.write("t/p=1")
    lake.write("t/p=2", {"id": [4]})
    lake.write("t/p=2", {"id": []}, name="part-1.parquet", schema=pa.schema([("id", pa.int64())]))
    lake.write("t/p=2", {"id": [9]}, name="_part-2.parquet")
    command = Convert(path=str(path), name=None, source_format="parquet", partition_schema="p int")
    command = replace(command, collect_stats=collect_stats)
    preview = engine.preview(command, None, marks, report).as_json()
    result = engine.run(command, preview, UNCHECKED, marks, report)
    [commit] = open_log(str(path)).sync(tmp_path / "after.arrow").commits()
    rows = {"rows_in_table": commit.rows_added}
    found = {line.name: line for line in compare(preview, replace(result, details={**result.details, **rows}))}
    assert (found["files_converted"].actual, found["files_converted"].verdict) == (3, "same")
    told = (found["rows_in_table"].actual, found["rows_in_table"].verdict)
    assert told == ((4, "same") if collect_stats else (None, "unknown"))
