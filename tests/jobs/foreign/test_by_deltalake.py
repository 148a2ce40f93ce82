"""Every table that the installed deltalake writes, beside its own reading of it: no Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from jobs.pruning.prediction import see
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tests.jobs.foreign.conftest import Written
from tests.jobs.foreign.writers import WRITERS
from tests.tables.deltalog.state.test_witness import compare, compare_history

# `-7.-5` is no decimal to it.
UNREAD = {"by_negative_decimals"}
# Its reader passes over a log whose first commits are gone; it reads no table with deletion vectors through Arrow.
WITHOUT_HISTORY, WITHOUT_ROWS = {"cleaned"}, {"vectors_added"}
# It tells partition values by their types, and an empty text as NULL, where the log has texts, and Spark reads the empty one.
TYPED = {"by_kinds", "by_numbers", "by_texts", "by_times"}
CONDITIONS = (
    "id = 3",
    "id >= 20",
    "id <> 5",
    "amount IS NULL",
    "amount > 4.5",
    "name = 'name 3'",
    "name IS NOT NULL",
    "id IN (1, 25, 999)",
)
TABLES = [name for name in WRITERS["deltalake"].tables if name not in UNREAD]


@pytest.mark.parametrize("table", TABLES)
def test_the_log_is_read_as_by_its_writer(written: Written, tmp_path: Path, table: str) -> None:
    path = written("deltalake", table)
    snapshot = open_log(str(path)).sync(tmp_path / "files.arrow").snapshot()
    if table in TYPED | WITHOUT_ROWS:
        counts = pa.table(DeltaTable(path).get_add_actions()).column("num_records").to_pylist()
        assert (snapshot.complete, snapshot.problems) == (True, ())
        assert (snapshot.num_records, snapshot.num_files) == (sum(counts), len(counts))
    else:
        compare(snapshot, DeltaTable(path))
    if table not in WITHOUT_HISTORY:
        compare_history(str(path), tmp_path / "history.arrow")


@pytest.mark.parametrize("table", sorted({*TABLES} - {"append_only"}))
def test_a_preview_agrees_with_the_rows_that_its_writer_finds(written: Written, tmp_path: Path, table: str) -> None:
    path = written("deltalake", table)
    snapshot = open_log(str(path)).snapshot(None, tmp_path / "files.arrow")
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    schema = schema_of(struct)
    names = {column.name for column in struct.columns}
    asked = [text for text in CONDITIONS if text.split()[0] in names]
    assert asked or table == "replaced"
    builder = QueryBuilder().register("t", DeltaTable(path))
    for text in asked:
        [found] = builder.execute(f"SELECT count(*) AS n FROM t WHERE {text}").read_all().column("n").to_pylist()
        said, _, _ = see(snapshot, struct, schema, parse(text, schema))
        least, most = said.rows_least or 0, said.rows_matched
        assert least <= found, text
        assert most is None or found <= most, text
        assert not said.rows_matched_exact or found == most, text
