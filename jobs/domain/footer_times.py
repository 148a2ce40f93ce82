"""Dates and times in footers whose calendar Spark has to guess: INT96, and days of long ago in files that name no version of Spark.

Spark before 3 and Hive before 3.1 wrote days before 1582-10-15 by the old calendar. Spark rebases what a file of its own marks as such; of
files without `org.apache.spark.version` a setting decides (DataSourceUtils.datetimeRebaseSpec and int96RebaseSpec, RebaseDateTime of
Spark 4.2: dates before 1582-10-15 and timestamps before 1900 may differ). Runs in Spark's Python workers: standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

SPARK_VERSION = b"org.apache.spark.version"
INT96, DATE, TIMESTAMP = "INT96", "DATE", "TIMESTAMP"
EPOCH = date(1970, 1, 1).toordinal()
SURE_SINCE = {DATE: date(1582, 10, 15).toordinal() - EPOCH, TIMESTAMP: date(1900, 1, 1).toordinal() - EPOCH}
PER_DAY = {"milliseconds": 86_400_000, "microseconds": 86_400_000_000, "nanoseconds": 86_400_000_000_000}
_OLD_WRITER = "parquet-mr"  # of Hive and Spark, and of many others


class TimeColumn(NamedTuple):
    """A leaf column of dates or times: its number, path, kind, and how many of its units make a day."""

    number: int
    path: str
    kind: str
    per_day: int = 1


class OldTimes(NamedTuple):
    """One column over files: `oldest` of the values that footers tell, in days since 1970; None where none tells."""

    files: int
    oldest: int | None
    example: str

    def merged(self, other: OldTimes) -> OldTimes:
        known = [each for each in (self.oldest, other.oldest) if each is not None]
        return OldTimes(self.files + other.files, min(known, default=None), min(self.example, other.example))


def time_columns(metadata: Any) -> tuple[TimeColumn, ...]:
    """The columns of a footer (pyarrow's FileMetaData) that `old_times` looks at."""
    schema = metadata.schema
    return tuple(column for index in range(len(schema)) if (column := _column(index, schema.column(index))) is not None)


def old_times(metadata: Any, columns: tuple[TimeColumn, ...], example: str) -> Iterator[tuple[TimeColumn, OldTimes]]:
    """The columns whose days Spark may take for others: by their oldest value, or because no footer tells one."""
    names_spark = SPARK_VERSION in (metadata.metadata or {})
    is_mr = str(metadata.created_by or "").startswith(_OLD_WRITER)
    for column in columns if metadata.num_rows else ():
        if column.kind == INT96:
            yield column, OldTimes(1, None, example)
        elif (
            not names_spark
        ):  # where an old value isn't told, it is expected of the writers that used the old calendar alone
            days, told = _oldest(metadata, column)
            if (days is not None and days < SURE_SINCE[column.kind]) or (not told and is_mr):
                yield column, OldTimes(1, days, example)


def day_text(days: int) -> str:
    """A day since 1970 as a date."""
    try:
        return date.fromordinal(days + EPOCH).isoformat()
    except (ValueError, OverflowError):
        return f"day {days:,} since 1970-01-01"


def _column(index: int, column: Any) -> TimeColumn | None:
    if column.physical_type == INT96:
        return TimeColumn(index, column.path, INT96)
    kind = column.logical_type.type
    if kind == DATE:
        return TimeColumn(index, column.path, DATE)
    if kind == TIMESTAMP and column.physical_type == "INT64":
        unit = json.loads(column.logical_type.to_json()).get("timeUnit")
        return TimeColumn(index, column.path, TIMESTAMP, PER_DAY[unit]) if unit in PER_DAY else None
    return None


def _oldest(metadata: Any, column: TimeColumn) -> tuple[int | None, bool]:
    """The oldest day by the statistics of all row groups, and whether all of them tell one."""
    days: list[int] = []
    told = True
    for group_number in range(metadata.num_row_groups):
        group = metadata.row_group(group_number)
        chunk = group.column(column.number)
        statistics = chunk.statistics
        if statistics is not None and statistics.has_min_max:
            days.append(statistics.min_raw // column.per_day)
        elif statistics is None or not statistics.has_null_count or statistics.null_count < chunk.num_values:
            told = False
    return min(days, default=None), told
