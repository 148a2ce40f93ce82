"""Which rows differ between two versions of a table: from its change feed, else from the files that only one of them has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField

from jobs.domain.errors import CommandRefused, Refusal
from jobs.engine import cells
from jobs.engine.directory import Directory, kept
from jobs.engine.errors import as_failure
from jobs.engine.row_diff import by_feed, by_files, multisets
from jobs.engine.row_diff.columns import Pairing, Reading, paired
from jobs.engine.rows import MOST_ROWS, bounded, described, refuse_unreadable
from jobs.engine.table_v2 import refuse_unknown
from jobs.engine.versions import table_at, version_of

QUESTION = frozenset(["path", "from_version", "to_version", "limit"])
OWN_FIELDS = (StructField("_change_type", StringType()), StructField("_count", LongType()))
FILE_GONE = "FAILED_READ_FILE.FILE_NOT_EXIST"
FEED, FILES = "change_feed", "files"
REFUSED = "Delta refuses to read it ({condition})"


@dataclass(frozen=True, slots=True)
class _AskedVersions:
    """The two versions as Delta's table objects, in their directory."""

    directory: Directory
    before: Any
    after: Any
    limit: int

    @property
    def commits(self) -> tuple[int, int]:
        """The first and the last commit between the two."""
        return version_of(self.before) + 1, version_of(self.after)


def read_row_diff(session: SparkSession, question: Mapping[str, Any]) -> dict[str, Any]:
    """Answers a `row_diff` read: which rows version `to_version` has and `from_version` lacks, and the other way round.

    `question`: `path`; `from_version`, older than `to_version`; `limit`, 1 to 1000 lines. The answer has `columns`, `rows`, `truncated`
    and `cut_cells` as a `rows` read, each row after its `_change_type` and `_count`, in the order of the values; `read_from`
    (`change_feed`, `files`) with `no_feed`, why it wasn't the feed; `totals`, rows by change (None: not told apart) and `lines`; `read`,
    the `files`, `bytes` and `rows` that Spark read; and what of the columns was compared (`columns.Pairing`).

    Rows of all types are compared whatever their order, each as often as it is there. Raises CommandRefused (`not_delta`, `outside_roots`,
    `too_much_to_read` before any row is read, `no_common_columns`, `schema_conflict`, `unreadable_type`); Delta's refusals pass through.
    """
    refuse_unknown(question, QUESTION)
    first, last, limit = (int(question[name]) for name in ("from_version", "to_version", "limit"))
    if not 0 <= first < last or not 1 <= limit <= MOST_ROWS:
        text = f"from_version must be below to_version, and limit 1 to {MOST_ROWS}"
        raise CommandRefused(Refusal("bad_request", text))
    with kept(str(question["path"])) as directory:
        asked = _AskedVersions(
            directory, table_at(session, directory, first), table_at(session, directory, last), limit
        )
        found = _from_feed(session, asked)
        if isinstance(found, str):
            found = _from_files(session, asked) | {"no_feed": found}
        return found | {"from_version": first, "to_version": last}


def _from_feed(session: SparkSession, asked: _AskedVersions) -> dict[str, Any] | str:
    """The answer by the change feed; else, in words, why there is none."""
    first, last = asked.commits
    feed = by_feed.feed_between(session, asked.before, asked.directory.path, first, last)
    if isinstance(feed, str):
        return feed
    columns = paired(by_files.versions_of(asked.before), by_files.versions_of(asked.after))
    try:
        changes = by_feed.rows_changed(session, asked.directory, first, last, columns, asked.after)
        if isinstance(changes, str):
            return changes
        fields = changes.schema.fields[:-1]
        _refuse(fields)
        rows = multisets.changes_of(changes, fields, F.col(by_feed.CHANGE_TYPE))
        found = _answer(rows, fields, asked.limit)
    except (PySparkException, Py4JJavaError) as error:
        condition = as_failure(error).condition or ""
        if not condition.startswith("DELTA_") and condition != FILE_GONE:
            raise
        return REFUSED.format(condition=condition)
    found["read"] |= {"files": feed.files, "bytes": feed.bytes}
    return found | _told(columns, FEED) | {"no_feed": None}


def _from_files(session: SparkSession, asked: _AskedVersions) -> dict[str, Any]:
    apart = by_files.files_apart(session, asked.before, asked.after)
    columns = by_files.pairing(asked.before, asked.after, apart[0])
    asked.directory.check()
    gone, came = by_files.rows_apart(session, asked.before, asked.after, apart, columns)
    fields = came.schema.fields
    _refuse(fields)
    found = _answer(_unified(gone, came, fields), fields, asked.limit)
    for change in multisets.UPDATES:
        found["totals"][change] = None
    found["read"] |= {"files": sum(len(each.paths) for each in apart), "bytes": sum(each.bytes for each in apart)}
    return found | _told(columns, FILES)


def _unified(gone: DataFrame, came: DataFrame, fields: Sequence[StructField]) -> DataFrame:
    never = F.lit(False)
    signed = [multisets.signed(rows, fields, F.lit(sign), never) for rows, sign in ((gone, -1), (came, 1))]
    return signed[0].unionAll(signed[1])


def _refuse(fields: Sequence[StructField]) -> None:
    refuse_unreadable(fields, "rows with such a column can't be compared")


def _told(columns: Pairing, source: str) -> dict[str, Any]:
    return {
        "read_from": source,
        "columns_added": list(columns.added),
        "columns_removed": list(columns.removed),
        "columns_changed": list(columns.changed),
        "added_as_null": columns.reading is Reading.NEWER,
    }


def _answer(rows: DataFrame, fields: Sequence[StructField], limit: int) -> dict[str, Any]:
    shown = [*OWN_FIELDS, *fields]
    characters = cells.cell_characters(len(shown), limit)
    totals, lines = multisets.lines_of(multisets.counted(rows), fields, limit, characters)
    texts = [tuple(None if value is None else str(value) for value in line) for line in lines]
    bound, cut = bounded(texts, shown, characters)
    read = totals.pop("times")
    return {
        "columns": [described(field) for field in shown],
        "rows": bound,
        "truncated": totals["lines"] > len(bound),
        "cut_cells": cut,
        "totals": totals,
        "read": {"rows": read},
    }
