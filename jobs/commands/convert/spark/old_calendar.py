"""What an inspection says of dates and times whose calendar Spark has to guess, by the settings that decide."""

from __future__ import annotations

from pyspark.sql import SparkSession

from console.base.text.counted import counted
from jobs.domain.consequences import listed
from jobs.domain.errors import Refusal
from jobs.domain.footers.times import DATE, INT96, NANOS_OF_DAY, SETTING, SURE_SINCE, TIMESTAMP, OldTimes, day_text
from jobs.domain.results import Note
from jobs.engine.walk import WalkFindings

DATES, INT96_TIMES = "spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.int96RebaseModeInRead"
NAMED = 10
# What Spark does with such a value, by the setting (LegacyBehaviorPolicy of Spark 4.2).
READS = {
    "CORRECTED": "takes them as they are, which is some days off if the writer used the old calendar (Spark before 3, Hive before 3.1)",
    "LEGACY": "takes them for days of the old calendar, which is some days off if the writer used today’s",
    "EXCEPTION": "refuses to read them",
}


def old_times(session: SparkSession, findings: WalkFindings) -> tuple[list[Note], list[Refusal]]:
    """Notes, and a refusal where Spark wouldn't read the values: each column with its kind and its oldest value."""
    dates, int96 = str(session.conf.get(DATES)).upper(), str(session.conf.get(INT96_TIMES)).upper()
    return notes_of(findings, dates, int96), refusals_of(findings, dates)


def notes_of(findings: WalkFindings, dates: str, int96: str) -> list[Note]:
    """By the two settings' values."""
    times = _columns(findings, is_int96=True)
    notes = []
    if times:
        text = f"{_listed(times)}: Spark reads INT96 as timestamps. The footers don’t say how old they are; of values before 1900 in files"
        notes.append(
            Note("int96", f"{text} that name no Spark version, Spark {_reads(int96)} ({INT96_TIMES}={int96}).")
        )
    old = [each for each in _columns(findings, is_int96=False) if dates != "EXCEPTION" or not _is_old(each)]
    if old:
        text = f"{_listed(old)}, in files that name no Spark version: of dates before 1582-10-15 and timestamps before 1900, Spark"
        notes.append(Note("old_calendar", f"{text} {_reads(dates)} ({DATES}={dates})."))
    return notes


def refusals_of(findings: WalkFindings, dates: str) -> list[Refusal]:
    """A refusal of values that are too old for Spark's setting; what no footer tells stops nothing."""
    old = [each for each in _columns(findings, is_int96=False) if _is_old(each)]
    if dates != "EXCEPTION" or not old:
        return []
    return [
        Refusal(
            "old_calendar",
            f"Spark refuses to read dates before 1582-10-15 and timestamps before 1900 of files that name no Spark version: {_listed(old)}",
            place=old[0][2].example,
            remedy=f"Set {DATES} to CORRECTED or LEGACY in LEVEE_SPARK_CONF, by the calendar of the files' writer.",
        )
    ]


Column = tuple[str, str, OldTimes]


def _columns(findings: WalkFindings, *, is_int96: bool) -> list[Column]:
    """INT96, or the dates and timestamps of which a setting decides; a column of several calendars once."""
    found: dict[tuple[str, str], OldTimes] = {}
    for calendar, times in findings.times.items():
        kinds = (INT96,) if is_int96 else (DATE, TIMESTAMP)
        if calendar.kind in kinds and (is_int96 or calendar.by == SETTING):
            place = (calendar.column, calendar.kind)
            found[place] = found[place].merged(times) if place in found else times
    return sorted((path, kind, times) for (path, kind), times in found.items())


def _oldest(kind: str, times: OldTimes) -> int | None:
    """In days since 1970."""
    return times.least if times.least is None or kind == DATE else times.least // NANOS_OF_DAY


def _is_old(column: Column) -> bool:
    _, kind, times = column
    days = _oldest(kind, times)
    return days is not None and days < SURE_SINCE[kind]


def _listed(columns: list[Column]) -> str:
    return listed([f"{path} ({kind}{_age(kind, times)}, {_files(times)})" for path, kind, times in columns], NAMED)


def _age(kind: str, times: OldTimes) -> str:
    if kind == INT96:
        return ""
    days = _oldest(kind, times)
    return ", oldest value unknown" if days is None else f", oldest known value {day_text(days)}"


def _files(times: OldTimes) -> str:
    return f"{counted(times.files, 'file')}, for example {times.example}"


def _reads(setting: str) -> str:
    return READS.get(setting, "does what its setting says")
