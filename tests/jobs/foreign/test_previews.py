"""What the log's preview says of tables by other engines, beside the rows that Spark finds: every column, by values of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.tree import Node
from jobs.engine.predicates import column_of
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from jobs.pruning.matching import match
from jobs.pruning.prediction import files_of, see
from tables.deltalog.read.paths import decoded
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import Struct, parse_schema, type_text, walk
from tables.deltalog.state.snapshot import Snapshot
from tests.jobs.engine.test_preview_soundness import false_sums, faults
from tests.jobs.foreign.conftest import Written
from tests.jobs.foreign.test_state import NO_PROTOCOL, UNREADABLE, below
from tests.jobs.foreign.writers import CASES

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

SCALARS = (
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "date",
    "timestamp",
    "timestamp_ntz",
    "boolean",
)
MOST_VALUES = 2


@pytest.mark.parametrize(
    ("writer", "table"), [case for case in CASES if tuple(case.values) not in UNREADABLE | NO_PROTOCOL]
)
def test_nothing_wrong_is_said_of_any_column(
    runtime: Any, written: Written, tmp_path: Path, writer: str, table: str
) -> None:
    path = written(writer, table)
    snapshot = open_log(str(path)).snapshot(None, tmp_path / "files.arrow")
    assert false_of(runtime.new_session(), path, snapshot) == []


def false_of(session: SparkSession, path: Path, snapshot: Snapshot) -> list[tuple[Any, ...]]:
    """What the preview says wrongly of conditions on each column: the condition, the file or the words, and Spark's counts."""
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    schema = schema_of(struct)
    trees = [parse(text, schema) for text in conditions(session, path, struct)]
    assert trees
    truth = truth_of(session, path, trees)
    files = files_of(snapshot, struct, schema)
    names = [decoded(name) for name in files.table.column("path").to_pylist()]
    assert set(truth) <= set(names)
    wrong: list[tuple[Any, ...]] = []
    for at, tree in enumerate(trees):
        counts = {name: truth[name][at] if name in truth else (0, 0) for name in names}
        wrong += [(to_text(tree), *fault) for fault in faults(match(tree, files), names, counts)]
        if not is_append_only(snapshot):
            wrong += [(to_text(tree), fault) for fault in false_sums(see(snapshot, struct, schema, tree)[0], counts)]
    return wrong


def truth_of(session: SparkSession, path: Path, trees: list[Node]) -> dict[str, list[tuple[int, int]]]:
    """Matching rows and all rows, per file below the table and condition."""
    frame = session.read.format("delta").load(str(path))
    counts = [F.count_if(column_of(tree, session)).alias(f"c{at}") for at, tree in enumerate(trees)]
    found = frame.groupBy(F.input_file_name().alias("file")).agg(F.count(F.lit(1)).alias("rows"), *counts).collect()
    return {
        below(unquote(row["file"]), path): [(row[f"c{at}"], row["rows"]) for at in range(len(trees))] for row in found
    }


def is_append_only(snapshot: Snapshot) -> bool:
    """A delete of such a table has no preview."""
    return snapshot.metadata is not None and snapshot.metadata.configuration.get("delta.appendOnly") == "true"


def conditions(session: SparkSession, path: Path, struct: Struct) -> Iterator[str]:
    """Comparisons of each column with some of its own values, and with what lies beside them."""
    frame = session.read.format("delta").load(str(path))
    for where, column in walk(struct):
        kind = type_text(column.type)
        if (
            "element" in where
            or "key" in where
            or "value" in where
            or not (kind in SCALARS or kind.startswith("decimal"))
        ):
            continue
        name = ".".join(f"`{part}`" for part in where)
        if column.nullable or len(where) > 1:  # of what can’t be NULL such a question is refused
            yield from (f"{name} IS NULL", f"{name} IS NOT NULL")
        found = [
            row[0] for row in frame.select(F.col(name)).distinct().sort(F.col(name).cast("string")).limit(40).collect()
        ]
        for literal in filter(None, (written_as(value, kind) for value in found[:: max(1, len(found) // MOST_VALUES)])):
            yield from (f"{name} {sign} {literal}" for sign in ("=", "<>", "<", ">="))


def written_as(value: Any, kind: str) -> str | None:
    """A value as a literal of its type; None for what no literal says."""
    match value:
        case bool():
            return str(value).upper()
        case str():
            plain = value.replace("\\", "\\\\").replace("'", "\\'")
            return "'" + "".join(each if each.isprintable() else f"\\u{ord(each):04X}" for each in plain) + "'"
        case float():
            return (
                f"{value!r}D" if math.isfinite(value) and kind == "double" else "9" if math.isfinite(value) else "1e30"
            )
        case datetime():
            return f"{'TIMESTAMP_NTZ' if kind == 'timestamp_ntz' else 'TIMESTAMP'} '{value.replace(tzinfo=None).isoformat(' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case int() | Decimal():
            return str(value)
    return None
