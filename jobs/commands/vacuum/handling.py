"""Vacuum: the worker lists the directory; newer commits don't make it stale, since it deletes nothing that became old since."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.base import Drift, DriftVerdict, Found, Handling, Measured, Prepared, stored
from jobs.commands.vacuum.log.preview import NOTHING, from_log, own_retention, with_measure
from jobs.commands.vacuum.log.readers import reads_meanwhile
from jobs.commands.vacuum.log.remains import remains_of
from jobs.commands.vacuum.log.removals import MILLISECOND
from jobs.commands.vacuum.log.streams import streams_meanwhile
from jobs.commands.vacuum.rules import MOST_HOURS, NEGATIVE, Vacuum, class_of, parameters_of, spans_in_words
from jobs.domain.engine import Checked
from jobs.domain.errors import ANOTHER_TABLE, CommandRefused, EngineFailure, Refusal
from jobs.domain.measures import Deletable
from jobs.domain.results import Result
from jobs.models import Job
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_rewrite
from jobs.targets.subject import Subject
from jobs.targets.writable import subject_to_change
from tables.deltalog.vacuum import operations
from tables.models import Table

NESTED = "Move it out of this directory, or vacuum by the log alone (lite)."
BEGAN = "The vacuum began and didn’t end: "
IN_USE = (
    "Something needs files that this vacuum deletes or may delete, and nobody reads the preview of a scheduled run."
)
MOST_SAID = 3  # of those that need files, in one refusal
NEWEST = "The newest version is whole."


class VacuumHandling(Handling[Vacuum]):
    """It changes no row. Its plan is made anew before the run, with the same cut, and never holds more than was approved."""

    not_undone = "A vacuum deletes files from storage: nothing can bring them back."
    several_commits = True  # VACUUM START and VACUUM END

    def check(self, command: Vacuum) -> None:
        """Raises Problem 400 for a retention that is none."""
        hours = command.retention_hours
        if hours is not None and hours < 0:
            raise _invalid(NEGATIVE.message, NEGATIVE)
        if hours is not None and hours > MOST_HOURS:
            raise _invalid(f"At most {MOST_HOURS:,} hours can be given.", None)

    def check_for_many(self, command: Vacuum) -> None:
        """Raises Problem 400 for less than 7 days."""
        hours = command.retention_hours
        if hours is not None and class_of(timedelta(hours=hours)) == "short_retention":
            raise _invalid("A vacuum that keeps less than 7 days is reviewed table by table.", None)

    def asked(self, command: Vacuum) -> Mapping[str, Any]:
        return parameters_of(command)

    def prepare(self, actor: Actor, command: Vacuum, seen: Subject | None) -> Prepared:
        """Raises Http404; Problem 403 `forbidden`, 400 `invalid` with Delta's condition, 422."""
        table = table_to_change(actor, uuid.UUID(command.table))
        try:
            refuse_parquet(table)
            subject = seen or subject_to_change(table.pk)
            preview = from_log(subject, command)
        except CommandRefused as refused:
            raise problem_of_rewrite(refused) from None
        return Prepared(replace(command, path=table.path), table.path, lambda: table, preview)

    def preview(self, job: Job, measured: Measured) -> Found:
        command, subject = stored(Vacuum, job), subject_to_change(job.table_id)
        from_log(subject, command)  # refuses what Delta refuses by now
        measure = measured(subject.version)
        if not isinstance(measure, Deletable):
            raise TypeError(f"a vacuum is measured by its files, not by {type(measure).__name__}")
        nothing = NOTHING if not measure.files and not measure.directories else None
        refusals = (_nested(measure),) if measure.nested_count else ()
        return Found(with_measure(subject, command, measure), subject.version, nothing, refusals)

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        return _by_log(job, subject_to_change(job.table_id))

    def look(self, job: Job) -> Drift | None:
        try:
            return _by_log(job, subject_to_change(job.table_id))
        except CommandRefused as refused:
            return Drift(DriftVerdict.MOVED, None, str(refused))

    def unattended(self, preview: Mapping[str, Any]) -> str:
        """Streams, requests and shallow clones that need what would go: a person weighs them, and they may be newer than a schedule.

        The preview of an earlier release has the undos among them, and asks a person for those as well.
        """
        in_use = preview.get("in_use", preview.get("needed_by")) or ()
        return " ".join([IN_USE, *in_use[:MOST_SAID]]) if in_use and preview["files"] else ""

    def shortfall(self, job: Job, result: Result) -> Mapping[str, Any] | None:
        """A run without the commit of its end, or whose end says that it failed, has deleted only a part."""
        if result.version is None or result.no_op:
            return None
        is_whole = result.operation == operations.END and result.operation_parameters.get("status") == "COMPLETED"
        return None if is_whole else _half(result.details)

    def reread(self, job: Job, result: Result) -> Result:
        """A run that didn't live to list its directory again has neither said what is gone, nor what is left."""
        if result.version is None or result.no_op or "remaining" in result.details:
            return result
        remains = remains_of(job)
        return result if remains is None else replace(result, details={**result.details, **remains.as_details()})


def _half(details: Mapping[str, Any]) -> dict[str, Any]:
    """The job's error after a vacuum without its end, with what reading the table again has shown, if it could be read."""
    text, state, remedy = _uncounted() if "remaining" not in details else _counted(details)
    return {"code": "incomplete", "message": BEGAN + text, "engine": None, "table_state": state, "what_to_do": remedy}


def _uncounted() -> tuple[str, str, str]:
    return (
        "some of the files that it was to delete are gone, others are still there.",
        f"{NEWEST} Of the older versions that the preview names, some may have lost files.",
        "Request it again: its preview counts what is left, and its run deletes it.",
    )


def _counted(details: Mapping[str, Any]) -> tuple[str, str, str]:
    files, remaining, lost = details["files"], details["remaining"], details["versions_lost"]
    left = f"{remaining:,} {_are(remaining)} still there."
    if files is None:  # the log alone names the files of a lite one
        text = f"of the files that the log names as removed, {left}"
    else:
        noun = "file" if files + remaining == 1 else "files"
        text = f"of the {files + remaining:,} {noun} that it was to delete, {files:,} {_are(files)} gone and {left}"
    state = "No older one that could be read has lost a file."
    if lost:
        state = f"You can no longer read {spans_in_words(lost)}."
    remedy = "Request it again: a vacuum deletes what is left." if remaining else "Nothing is left to delete."
    return text, f"{NEWEST} {state}", remedy


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def refuse_parquet(table: Table) -> None:
    """Raises CommandRefused with Delta's condition for a directory that is no Delta table."""
    if not table.is_delta:
        text = f"`{table.path}` is not a Delta table."
        failure = EngineFailure("DELTA_MISSING_DELTA_TABLE", "42P01", text)
        raise CommandRefused(Refusal("invalid", text, place=table.path, engine=failure))


def _invalid(text: str, failure: EngineFailure | None) -> Problem:
    engine = failure.as_json() if failure else None
    return Problem(400, "invalid", f"{text} Nothing was requested.", fields={"retention_hours": text}, engine=engine)


def _nested(measure: Deletable) -> Refusal:
    more = f" and {measure.nested_count - 1:,} more" if measure.nested_count > 1 else ""
    text = f"The directory holds another Delta table, {measure.nested[0]}{more}: the vacuum would delete its files."
    return Refusal("nested_table", text, place=measure.nested[0], remedy=NESTED)


def _by_log(job: Job, subject: Subject) -> Drift:
    preview, head = job.preview or {}, subject.version
    if subject.metadata.id != preview.get("table_id"):
        return Drift(DriftVerdict.MOVED, head, ANOTHER_TABLE)
    if own_retention(subject) // MILLISECOND != preview.get("own_retention_ms"):
        return Drift(
            DriftVerdict.MOVED, head, "The table’s delta.deletedFileRetentionDuration has changed since the preview."
        )
    if why := reads_meanwhile(subject, job) or streams_meanwhile(subject, job, stored(Vacuum, job)):
        return Drift(DriftVerdict.MOVED, head, why)
    if head == job.base_version:
        text = f"The table is still at version {head:,}, the previewed one."
        return Drift(DriftVerdict.UNMOVED, head, text, Checked(head))
    text = f"The table has moved to version {head:,}. The run deletes only files that the preview found, and none that this version needs."
    return Drift(DriftVerdict.SAME_ROWS, head, text, Checked(head))
