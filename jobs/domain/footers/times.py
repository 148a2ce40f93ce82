"""Dates and times in footers that Spark reads as other values than the file holds, or refuses to read.

Spark before 3 and Hive before 3.1 wrote days before 1582-10-15 by the old calendar. Spark rebases what a file of its own marks as such; of
files without `org.apache.spark.version` a setting decides (DataSourceUtils.datetimeRebaseSpec and int96RebaseSpec, RebaseDateTime of
Spark 4.2: dates before 1582-10-15 and timestamps before 1900 may differ). Nanoseconds are refused, or read as numbers; milliseconds that
microseconds can't hold fail. Runs in Spark's Python workers: standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from jobs.domain.footers.chunks import DECIMAL, RANGE, FooterFault, Struct, columns_of, metadata_of, number

SPARK_VERSION = b"org.apache.spark.version"
LEGACY_DATES, LEGACY_INT96, ZONE = (
    b"org.apache.spark.legacyDateTime",
    b"org.apache.spark.legacyINT96",
    b"org.apache.spark.timeZone",
)
INT96, DATE, TIMESTAMP, NANOS = "INT96", "DATE", "TIMESTAMP", "TIMESTAMP(NANOS)"
# Who decides on the calendar: a setting of the reader, or the footer, which names the old one or today's.
SETTING, OLD, NEW = "setting", "old", "new"
EPOCH = date(1970, 1, 1).toordinal()
NANOS_OF_DAY = 86_400_000_000_000
SURE_SINCE = {DATE: date(1582, 10, 15).toordinal() - EPOCH, TIMESTAMP: date(1900, 1, 1).toordinal() - EPOCH}
NANOS_OF = {"milliseconds": 1_000_000, "microseconds": 1_000, "nanoseconds": 1}
MOST_MICROS = (1 << 63) - 1
SMALL_DECIMAL = 18  # digits that Spark keeps in a number of 64 bits
_OLD_WRITER = "parquet-mr"  # of Hive and Spark, and of many others
_BYTES = {"INT32": 4, "INT64": 8}


class TimeColumn(NamedTuple):
    """A leaf column of dates or times: its number, path, kind, how many nanoseconds its unit has (a date's unit is a day), and its zone.

    `is_utc` is what the file says of its times: moments, or times of no zone.
    """

    number: int
    path: str
    kind: str
    unit: int = NANOS_OF_DAY
    is_utc: bool = False


class Calendar(NamedTuple):
    """How one column's values are read: by whose word (SETTING, OLD, NEW), and the writer's time zone where its footer names one."""

    column: str
    kind: str
    by: str = SETTING
    zone: str = ""
    is_utc: bool = False


class OldTimes(NamedTuple):
    """One column over files: its least and greatest value that footers tell (days since 1970 of dates, else nanoseconds), None where none
    tells. `sample` is its smallest file, with the size."""

    files: int
    least: int | None
    greatest: int | None
    example: str
    sample: tuple[int, str] = (0, "")

    def merged(self, other: OldTimes) -> OldTimes:
        least = [each for each in (self.least, other.least) if each is not None]
        greatest = [each for each in (self.greatest, other.greatest) if each is not None]
        return OldTimes(
            self.files + other.files,
            min(least, default=None),
            max(greatest, default=None),
            min(self.example, other.example),
            min(self.sample, other.sample),
        )


class Watched(NamedTuple):
    """The columns of a schema that are looked at in each file: their physical types, dates and times, and small decimals that are stored
    as bytes."""

    types: tuple[str, ...]
    times: tuple[TimeColumn, ...]
    decimals: tuple[str, ...]


def watched_columns(schema: Any) -> Watched:
    """Those of a schema (pyarrow's ParquetSchema). Raises UnicodeDecodeError for a name that is no UTF-8."""
    times: list[TimeColumn] = []
    decimals: list[str] = []
    columns = [schema.column(index) for index in range(len(schema))]
    for index, column in enumerate(columns):
        if (found := _time_column(index, column)) is not None:
            times.append(found)
        elif column.physical_type == "BYTE_ARRAY" and _is_small_decimal(column.logical_type):
            decimals.append(column.path)
    return Watched(tuple(column.physical_type for column in columns), tuple(times), tuple(decimals))


def schema_faults(watched: Watched) -> dict[FooterFault, str]:
    """ParquetVectorUpdaterFactory of Spark 4.2 has no reader for a decimal of up to 18 digits that lies in bytes of any length."""
    return {FooterFault(DECIMAL, ""): watched.decimals[0]} if watched.decimals else {}


def old_times(
    groups: Collection[Struct], watched: Watched, words: Mapping[bytes, bytes], created_by: str
) -> Iterator[tuple[Calendar, int | None, int | None]]:
    """The columns whose values Spark may read as others, with the least and the greatest value that the statistics tell."""
    groups = [group for group in groups if number(group, 3)]
    for column in watched.times if groups else ():
        calendar = _calendar(column, words)
        if column.kind == INT96:
            yield calendar, None, None
            continue
        least, greatest, told = _bounds(groups, column)
        if column.kind == NANOS or (calendar.by != NEW and _is_old(column, calendar, least, told, created_by)):
            yield calendar, least, greatest


def time_faults(groups: Collection[Struct], watched: Watched) -> dict[FooterFault, str]:
    """Columns of milliseconds beyond what Spark's microseconds hold, by their statistics."""
    found: dict[FooterFault, str] = {}
    for column in watched.times:
        if column.unit == NANOS_OF["milliseconds"]:
            least, greatest, _ = _bounds(groups, column)
            if any(value is not None and abs(value) // 1000 > MOST_MICROS for value in (least, greatest)):
                found.setdefault(FooterFault(RANGE, ""), column.path)
    return found


def day_text(days: int) -> str:
    """A day since 1970 as a date."""
    try:
        return date.fromordinal(days + EPOCH).isoformat()
    except (ValueError, OverflowError):
        return f"day {days:,} since 1970-01-01"


def value_text(kind: str, value: int) -> str:
    """A value of a column, as OldTimes has it: a date, or a time without a zone."""
    if kind == DATE:
        return day_text(value)
    days, nanos = divmod(value, NANOS_OF_DAY)
    clock = datetime(1970, 1, 1) + timedelta(microseconds=nanos // 1000)
    text = clock.strftime("%H:%M:%S") + (f".{nanos % 1_000_000_000:09}".rstrip("0") if nanos % 1_000_000_000 else "")
    return f"{day_text(days)} {text}"


def _is_small_decimal(kind: Any) -> bool:
    return bool(kind.type == "DECIMAL" and json.loads(kind.to_json()).get("precision", 0) <= SMALL_DECIMAL)


def _time_column(index: int, column: Any) -> TimeColumn | None:
    if column.physical_type == INT96:
        return TimeColumn(index, column.path, INT96)
    kind = column.logical_type.type
    if kind == DATE:
        return TimeColumn(index, column.path, DATE)
    if kind != TIMESTAMP or column.physical_type != "INT64":
        return None
    told = json.loads(column.logical_type.to_json())
    unit = NANOS_OF.get(told.get("timeUnit", ""))
    if unit is None:
        return None
    is_utc = bool(told.get("isAdjustedToUTC"))
    return TimeColumn(index, column.path, NANOS if unit == 1 else TIMESTAMP, unit, is_utc)


def _calendar(column: TimeColumn, words: Mapping[bytes, bytes]) -> Calendar:
    """DataSourceUtils of Spark 4.2: its versions before 3 (of INT96: before 3.1) used the old calendar, later ones where they say so."""
    version = words.get(SPARK_VERSION)
    if version is None:
        return Calendar(column.path, column.kind, SETTING, "", column.is_utc)
    since, flag = (b"3.1.0", LEGACY_INT96) if column.kind == INT96 else (b"3.0.0", LEGACY_DATES)
    by = OLD if version < since or flag in words else NEW
    zone = words.get(ZONE, b"").decode("utf-8", "replace")[:60] if by == OLD else ""
    return Calendar(column.path, column.kind, by, zone, column.is_utc)


def _is_old(column: TimeColumn, calendar: Calendar, least: int | None, told: bool, created_by: str) -> bool:
    """Whether a value is, or may be, of the time when calendars differ: where none is told, that is expected of the writers that used the
    old one alone."""
    days = None if least is None else least if column.kind == DATE else least // NANOS_OF_DAY
    is_expected = not told and calendar.by == SETTING and created_by.startswith(_OLD_WRITER)
    return is_expected or (days is not None and days < SURE_SINCE[column.kind])


def _bounds(groups: Collection[Struct], column: TimeColumn) -> tuple[int | None, int | None, bool]:
    """(least, greatest) by the statistics of all row groups, and whether all of them tell them."""
    values: list[int] = []
    told = True
    scale = 1 if column.kind == DATE else column.unit
    for group in groups:
        columns = columns_of(group)
        metadata = metadata_of(columns[column.number]) if column.number < len(columns) else {}
        statistics = metadata.get(12)
        known = _known(statistics) if isinstance(statistics, dict) else None
        if known is not None:
            values += [value * scale for value in known]
        elif not isinstance(statistics, dict) or 3 not in statistics or number(statistics, 3) < number(metadata, 5):
            told = False
    return min(values, default=None), max(values, default=None), told


def _known(statistics: Struct) -> list[int] | None:
    """[min, max]: those of the later fields (6, 5), else those that are deprecated (2, 1); for whole numbers both are ordered alike."""
    pair = [statistics.get(6, statistics.get(2)), statistics.get(5, statistics.get(1))]
    if not all(isinstance(value, bytes) and len(value) in (4, 8) for value in pair):
        return None
    return [int.from_bytes(value, "little", signed=True) for value in pair if value is not None]
