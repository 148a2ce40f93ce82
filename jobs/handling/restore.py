"""Restore: any movement of the table since the preview is too much, for it would be undone unseen."""

from __future__ import annotations

from jobs.domain.commands import Restore, command_from_json
from jobs.domain.engine import Checked
from jobs.domain.errors import CommandRefused
from jobs.domain.measures import Restorable
from jobs.handling.base import Drift, Found, Measured, Verdict
from jobs.models import Job
from jobs.preview.restore import from_log, gone, with_measure
from jobs.preview.subject import Subject, subject_of

NEWEST = "The table is at this version already, so nothing was restored."


class RestoreHandling:
    """Strict by its nature."""

    def preview(self, job: Job, measured: Measured) -> Found:
        version, subject = version_of(job), subject_of(job.table_id)
        values = from_log(subject, version)
        if version == subject.version:
            return Found(values, subject.version, nothing_to_do=NEWEST)
        found = measured(subject.version)
        if not isinstance(found, Restorable):
            raise TypeError(f"a restore is measured by its version, not by {type(found).__name__}")
        refusals = (gone(version, found.missing_count),) if found.missing_count else ()
        return Found(with_measure(values, found), subject.version, refusals=refusals)

    def unmeasured(self, job: Job, seconds: float) -> Found | None:
        return None

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        return _by_log(job, subject_of(job.table_id))

    def look(self, job: Job) -> Drift | None:
        try:
            return _by_log(job, subject_of(job.table_id))
        except CommandRefused as refused:
            return Drift(Verdict.MOVED, None, str(refused))


def version_of(job: Job) -> int:
    """The version that the job goes back to."""
    command = command_from_json(job.command, job.schema_version, job.parameters)
    if not isinstance(command, Restore):
        raise TypeError(f"job {job.pk} is no restore")
    return command.version


def _by_log(job: Job, subject: Subject) -> Drift:
    head = subject.version
    if subject.metadata.id != (job.preview or {}).get("table_id"):
        return Drift(Verdict.MOVED, head, "Another table lies at this path now than the one that was previewed.")
    if head != job.base_version:
        text = (
            f"The table was previewed at version {job.base_version:,} and is at version {head:,} now: a restore would undo"
            " what came since."
        )
        return Drift(Verdict.MOVED, head, text)
    return Drift(
        Verdict.UNMOVED,
        head,
        f"The table is still at version {head:,}, which was previewed.",
        Checked(head, strict=True),
    )
