"""Reads rows of a table at any version, and its change feed, from the files and never from statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.predicates.stored import from_json
from jobs.domain.storable import storable_text
from jobs.engine import cells
from jobs.engine.directory import Directory, kept
from jobs.engine.inside import refuse_outside, refuse_outside_commits
from jobs.engine.predicates import column_of
from jobs.engine.quoting import quoted
from jobs.engine.table_v2 import loaded_table, refuse_unknown

MOST_ROWS = 1000
ROWS_QUESTION = frozenset(["path", "name", "version", "timestamp", "columns", "predicate", "limit"])
CHANGES_QUESTION = frozenset(["path", "name", "from_version", "to_version", "limit"])
COMMIT_VERSION = "_commit_version"


def read_rows(session: SparkSession, question: Mapping[str, Any]) -> dict[str, Any]:
    """Answers a `rows` read: `{columns: [{name, type}], rows: [[value]], version, truncated, cut_cells: [[row, column]]}`.

    `question`: `path` and perhaps `name`; `version` or `timestamp` (ISO 8601; the newest version without either); `columns`, names
    of top-level columns in the wanted order (default: all); `predicate`, a stored tree; `limit`, 1 to 1000. Spark chooses which
    rows to return: a table has no order. Raises CommandRefused (`not_delta`, `no_such_column`, `unreadable_type`,
    `outside_roots`); Delta's refusals pass through.
    """
    refuse_unknown(question, ROWS_QUESTION)
    with kept(str(question["path"])) as directory:
        return _rows(session, question, directory)


def _rows(session: SparkSession, question: Mapping[str, Any], directory: Directory) -> dict[str, Any]:
    # The object keeps the snapshot that it read first, so version, check and rows come from the same one.
    table = loaded_table(session, _place(question, "version", "timestamp"))
    version = table.initialSnapshot().version()
    refuse_outside(session, table, directory.path)
    directory.check()
    rows = DataFrame(table.toDf(session._jsparkSession), session)
    if question.get("predicate") is not None:
        rows = rows.filter(column_of(from_json(question["predicate"]), session))
    selected = _selected(rows, question.get("columns"))
    return answer_of(selected, _limit(question)) | {"version": version}


def read_changes(session: SparkSession, question: Mapping[str, Any]) -> dict[str, Any]:
    """Answers a `changes` read: as `read_rows` without `version`, with `from_version` and `to_version`; oldest commits first.

    `question`: `path`, perhaps `name`; `from_version`; `to_version` (None: the newest); `limit`, 1 to 1000. The columns end with
    `_change_type`, `_commit_version`, `_commit_timestamp`. Raises as `read_rows` does.
    """
    refuse_unknown(question, CHANGES_QUESTION)
    with kept(str(question["path"])) as directory:
        return _changes(session, question, directory)


def _changes(session: SparkSession, question: Mapping[str, Any], directory: Directory) -> dict[str, Any]:
    first = int(question["from_version"])
    head = loaded_table(session, _place(question))
    newest = head.initialSnapshot().version()
    asked = question.get("to_version")
    last = newest if asked is None else int(asked)
    feed = {"read_change_feed": True, "starting_version": first, "ending_version": last}
    table = loaded_table(session, _place(question) | feed)
    refuse_outside(session, head, directory.path)
    refuse_outside_commits(session, head, directory.path, first, min(last, newest))
    directory.check()
    changes = DataFrame(table.toDf(session._jsparkSession), session).orderBy(F.col(COMMIT_VERSION))
    return answer_of(changes, _limit(question)) | {"from_version": first, "to_version": min(last, newest)}


def _place(question: Mapping[str, Any], *more: str) -> dict[str, Any]:
    return {name: question[name] for name in ("path", "name", *more) if question.get(name) is not None}


def _limit(question: Mapping[str, Any]) -> int:
    limit = int(question["limit"])
    if not 1 <= limit <= MOST_ROWS:
        raise CommandRefused(Refusal("bad_request", f"limit must be 1 to {MOST_ROWS}, not {limit}"))
    return limit


def _selected(rows: DataFrame, names: Sequence[str] | None) -> DataFrame:
    if names is None:
        return rows
    return rows.select(*[F.col(quoted(field.name)) for field in columns_named(rows.schema.fields, names)])


def columns_named(fields: Sequence[StructField], names: Sequence[str]) -> list[StructField]:
    """The columns by their exact names, in this order. Raises CommandRefused `no_such_column`."""
    known = {field.name: field for field in fields}
    for name in names:
        if name not in known:
            text = f"The table has no column {name} at this version."
            raise CommandRefused(Refusal("no_such_column", text, place=name))
    return [known[name] for name in names]


def answer_of(frame: DataFrame, limit: int) -> dict[str, Any]:
    """The first rows of a frame as every read of rows answers them: `{columns, rows, truncated, cut_cells}`.

    Raises CommandRefused `unreadable_type`.
    """
    fields = frame.schema.fields
    refuse_unreadable(fields, "choose other columns")
    characters = cells.cell_characters(len(fields), limit + 1)
    texts = [cells.as_text(F.col(quoted(field.name)), field.dataType, characters) for field in fields]
    named = [text.alias(f"c{place}") for place, text in enumerate(texts)]
    # One row beyond the limit shows whether there are more. With the limit on top, Spark reads only the files it needs.
    taken = frame.select(*named).limit(limit + 1).collect()
    rows, cut = bounded([tuple(row) for row in taken[:limit]], fields, characters)
    return {
        "columns": [described(field) for field in fields],
        "rows": rows,
        "truncated": len(taken) > limit or len(rows) < len(taken[:limit]),
        "cut_cells": cut,
    }


def refuse_unreadable(fields: Sequence[StructField], remedy: str) -> None:
    """Raises CommandRefused `unreadable_type` for the first field whose values have no form in an answer."""
    for field in fields:
        if not cells.is_readable(field.dataType):
            text = f"{field.name} is {field.dataType.simpleString()}, which Levee can't show; {remedy}."
            raise CommandRefused(Refusal("unreadable_type", text, place=field.name))


def described(field: StructField) -> dict[str, str]:
    """A column of an answer."""
    return {"name": storable_text(field.name), "type": storable_text(field.dataType.simpleString())}


def bounded(
    taken: Sequence[tuple[str | None, ...]], fields: Sequence[StructField], characters: int
) -> tuple[list[list[Any]], list[list[int]]]:
    """The rows that fit in an answer, and the positions of the cells that were cut."""
    rows: list[list[Any]] = []
    cut: list[list[int]] = []
    size = 0
    for texts in taken:
        values = [cells.parsed(text, f.dataType, characters) for text, f in zip(texts, fields, strict=True)]
        row = [value for value, _ in values]
        size += cells.size_of(row)
        if size > cells.ANSWER_CHARACTERS:
            break
        cut += [[len(rows), place] for place, (_, was_cut) in enumerate(values) if was_cut]
        rows.append(row)
    return rows, cut
