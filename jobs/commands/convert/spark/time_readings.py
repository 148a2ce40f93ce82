"""What a reader will see of dates and times that Spark may take for others: the oldest and the largest value, in the file and by Spark.

Footers tell the values of dates and timestamps, and Spark's own RebaseDateTime what it makes of them; of INT96 Spark reads a small file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.commands.convert.spark.old_calendar import DATES, INT96_TIMES
from jobs.domain.footers.times import (
    DATE,
    INT96,
    MOST_MICROS,
    NANOS,
    NANOS_OF_DAY,
    NEW,
    OLD,
    SETTING,
    SURE_SINCE,
    TIMESTAMP,
    Calendar,
    OldTimes,
    value_text,
)
from jobs.domain.results import TimeReading, TimeSample
from jobs.engine.named_files import parquet_file
from jobs.engine.walk import WalkFindings

NTZ, AS_NUMBERS = "spark.sql.parquet.inferTimestampNTZ.enabled", "spark.sql.legacy.parquet.nanosAsLong"
CORRECTED, LEGACY, EXCEPTION = "CORRECTED", "LEGACY", "EXCEPTION"
SAMPLED_FILES = 5
SAMPLED_BYTES = 64 << 20
NAMED = 50
FAILURES = (PySparkException, Py4JError)
BY_FOOTER = {OLD: "the footer names the old calendar", NEW: "the footer names today’s calendar"}
AS_IS = "timestamps without a zone are taken as they are"

Bounds = tuple[int, int]


def time_readings(session: SparkSession, root: str, findings: WalkFindings) -> tuple[TimeReading, ...]:
    """One for each column and calendar, the first ones; a sample that can't be had is None."""
    rules = _Rules.of(session)
    columns = sorted(findings.times.items())[:NAMED]
    sampled = _int96_bounds(session, root, columns)
    return tuple(_reading(rules, calendar, times, sampled.get(calendar)) for calendar, times in columns)


@dataclass(frozen=True)
class _Rules:
    """The session's settings, and Spark's own arithmetic of calendars."""

    dates: str
    int96: str
    is_ntz: bool
    are_numbers: bool
    zone: str
    rebase: Any

    @classmethod
    def of(cls, session: SparkSession) -> _Rules:
        conf, jvm = session.conf, cast(Any, session._jvm)
        return cls(
            str(conf.get(DATES)).upper(),
            str(conf.get(INT96_TIMES)).upper(),
            str(conf.get(NTZ)).lower() == "true",
            str(conf.get(AS_NUMBERS)).lower() == "true",
            str(jvm.java.util.TimeZone.getDefault().getID()),
            getattr(jvm, "org.apache.spark.sql.catalyst.util.RebaseDateTime$").__getattr__("MODULE$"),
        )

    def is_plain(self, calendar: Calendar) -> bool:
        """Whether Spark reads a time without a zone, which it never rebases."""
        return calendar.kind == TIMESTAMP and not calendar.is_utc and self.is_ntz

    def mode(self, calendar: Calendar) -> str:
        if calendar.by == SETTING and not self.is_plain(calendar):
            return self.int96 if calendar.kind == INT96 else self.dates
        return LEGACY if calendar.by == OLD and not self.is_plain(calendar) else CORRECTED

    def decided_by(self, calendar: Calendar) -> str:
        if calendar.kind == NANOS:
            return f"{AS_NUMBERS}={str(self.are_numbers).lower()}"
        if self.is_plain(calendar):
            return AS_IS
        if calendar.by != SETTING:
            return BY_FOOTER[calendar.by]
        return f"{INT96_TIMES if calendar.kind == INT96 else DATES}={self.mode(calendar)}"

    def reads_as(self, calendar: Calendar) -> str | None:
        if calendar.kind == NANOS:
            return "bigint" if self.are_numbers else None
        if calendar.kind == DATE:
            return "date"
        return "timestamp_ntz" if self.is_plain(calendar) else "timestamp"

    def read(self, calendar: Calendar, value: int) -> str | None:
        """What a reader sees of a value; None where Spark refuses or fails to read it."""
        if calendar.kind == NANOS:
            return str(value) if self.are_numbers else None
        mode, days = self.mode(calendar), value if calendar.kind == DATE else value // NANOS_OF_DAY
        if days >= SURE_SINCE[DATE if calendar.kind == DATE else TIMESTAMP] or mode == CORRECTED:
            return _text(calendar, value) if abs(value) // 1000 <= MOST_MICROS else None
        try:
            return None if mode == EXCEPTION else _text(calendar, self.rebased(calendar, value))
        except Py4JError:  # a zone that Java doesn't know, or a value beyond its range
            return None

    def rebased(self, calendar: Calendar, value: int) -> int:
        if calendar.kind == DATE:
            return int(self.rebase.rebaseJulianToGregorianDays(value))
        return int(self.rebase.rebaseJulianToGregorianMicros(calendar.zone or self.zone, value // 1000)) * 1000

    def stored(self, calendar: Calendar, value: int) -> int:
        """The file's own value of INT96, by what Spark read."""
        if self.mode(calendar) != LEGACY or value // NANOS_OF_DAY >= SURE_SINCE[TIMESTAMP]:
            return value
        return int(self.rebase.rebaseGregorianToJulianMicros(calendar.zone or self.zone, value // 1000)) * 1000


def _reading(rules: _Rules, calendar: Calendar, times: OldTimes, int96: Bounds | None) -> TimeReading:
    if calendar.kind == INT96:
        oldest, largest = [_of_int96(rules, calendar, value) for value in int96 or (None, None)]
    else:
        oldest, largest = [_of_footer(rules, calendar, value) for value in (times.least, times.greatest)]
    return TimeReading(
        calendar.column,
        calendar.kind,
        rules.reads_as(calendar),
        rules.decided_by(calendar),
        times.files,
        times.example,
        oldest,
        largest,
    )


def _of_footer(rules: _Rules, calendar: Calendar, value: int | None) -> TimeSample | None:
    return None if value is None else TimeSample(_text(calendar, value), rules.read(calendar, value))


def _of_int96(rules: _Rules, calendar: Calendar, micros: int | None) -> TimeSample | None:
    if micros is None:
        return None
    try:
        stored = rules.stored(calendar, micros * 1000)
    except Py4JError:
        return None
    return TimeSample(_text(calendar, stored), _text(calendar, micros * 1000))


def _text(calendar: Calendar, value: int) -> str:
    return value_text(calendar.kind, value) + (" UTC" if calendar.is_utc or calendar.kind == INT96 else "")


def _int96_bounds(
    session: SparkSession, root: str, columns: Iterable[tuple[Calendar, OldTimes]]
) -> dict[Calendar, Bounds]:
    """The least and the greatest value (microseconds) of INT96 columns in their smallest files, as Spark reads them."""
    by_file: dict[str, list[Calendar]] = {}
    for calendar, times in columns:
        size, file = times.sample
        if calendar.kind == INT96 and size <= SAMPLED_BYTES:
            by_file.setdefault(file, []).append(calendar)
    found: dict[Calendar, Bounds] = {}
    for file, calendars in list(by_file.items())[:SAMPLED_FILES]:
        found.update(_bounds(session, f"{root}/{file}", calendars))
    return found


def _bounds(session: SparkSession, file: str, calendars: list[Calendar]) -> Iterator[tuple[Calendar, Bounds]]:
    try:
        frame = parquet_file(session, file)
        known = [(calendar, column) for calendar in calendars if (column := _column(frame, calendar)) is not None]
        asked = [each(F.unix_micros(column)) for _, column in known for each in (F.min, F.max)]
        values = tuple(frame.agg(*asked).first() or ()) if asked else ()
    except FAILURES:
        return
    for at, (calendar, _) in enumerate(known):
        least, greatest = values[2 * at : 2 * at + 2]
        if least is not None:
            yield calendar, (least, greatest)


def _column(frame: DataFrame, calendar: Calendar) -> Any:
    """A column at the top or in structs; None of lists and maps."""
    parts = [calendar.column] if calendar.column in frame.columns else calendar.column.split(".")
    column = F.col(".".join(f"`{part.replace('`', '``')}`" for part in parts))
    try:
        return column if dict(frame.select(column).dtypes).popitem()[1] == "timestamp" else None
    except FAILURES:
        return None
