"""Delete: the log says at once what may match, Spark counts it, and before the run both are held against the table of then."""

from __future__ import annotations

from jobs.domain.commands import Delete, command_from_json
from jobs.domain.engine import Checked
from jobs.domain.errors import CommandRefused
from jobs.domain.measures import Matched
from jobs.domain.policy import TableClass
from jobs.domain.predicates import Node
from jobs.domain.predicates.stored import from_json
from jobs.handling.base import Drift, Found, Measured, Verdict
from jobs.models import Job
from jobs.preview.delete import LogPreview, from_log, uncounted, with_count
from jobs.preview.subject import Subject, reread, subject_of

NOTHING = "No row matches, so nothing was deleted and nothing committed."
AGAIN = "The same files may match as when it was previewed."
OTHER_FILES = "Other files may match by now: Spark counts and compares the matching rows before it runs."


class DeleteHandling:
    """Rule 4 of approvals: no drift between what was approved and what runs."""

    def preview(self, job: Job, measured: Measured) -> Found:
        subject = subject_of(job.table_id)
        log = from_log(subject, reread(subject, tree_of(job)))
        if log.values["branch"] == "nothing":
            exact = log.values | {"rows_matched": 0, "rows_matched_exact": True}
            return Found(exact, subject.version, nothing_to_do=NOTHING)
        found = _matched(measured, subject.version)
        return Found(with_count(log, subject, found), subject.version, nothing_to_do=None if found.rows else NOTHING)

    def unmeasured(self, job: Job, seconds: float) -> Found | None:
        """Rule 5 of approvals: a delete whose rows can't be counted is of the whole table, whatever it looks like."""
        subject = subject_of(job.table_id)
        return Found(uncounted(from_log(subject, reread(subject, tree_of(job))), seconds), subject.version)

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        subject = subject_of(job.table_id)
        found = _by_log(job, subject)
        return found if found is not None else _by_rows(job, subject.version, measured)

    def look(self, job: Job) -> Drift | None:
        try:
            subject = subject_of(job.table_id)
            found = _by_log(job, subject)
        except CommandRefused as refused:
            return Drift(Verdict.MOVED, None, str(refused))
        return found or Drift(Verdict.MOVED, subject.version, OTHER_FILES)


def tree_of(job: Job) -> Node | None:
    """The job's predicate; None for the whole table."""
    command = command_from_json(job.command, job.schema_version, job.parameters)
    if not isinstance(command, Delete):
        raise TypeError(f"job {job.pk} is no delete")
    return None if command.tree is None else from_json(command.tree)


def is_strict(job: Job) -> bool:
    """Whether any movement of the table is too much: the whole of it was approved as it was."""
    return (job.preview or {}).get("class") == TableClass.WHOLE_TABLE


def _by_log(job: Job, subject: Subject) -> Drift | None:
    """What the log alone decides; None where other files may match, so that rows must be compared."""
    preview, head = job.preview or {}, subject.version
    if subject.metadata.id != preview.get("table_id"):
        return Drift(Verdict.MOVED, head, "Another table lies at this path now than the one that was previewed.")
    if subject.shape_sha256 != preview.get("shape_sha256"):
        return Drift(Verdict.MOVED, head, "The table’s schema or partitioning has changed since the preview.")
    if head == job.base_version:
        text = f"The table is still at version {head:,}, which was previewed."
        return Drift(Verdict.UNMOVED, head, text, Checked(head, is_strict(job)))
    if is_strict(job):
        text = f"The whole table was previewed at version {job.base_version:,}; it is at version {head:,} now."
        return Drift(Verdict.MOVED, head, text)
    if _files_now(job, subject).values["files_sha256"] == preview.get("files_sha256"):
        return Drift(Verdict.SAME_FILES, head, f"The table has moved to version {head:,}. {AGAIN}", Checked(head))
    return None


def _files_now(job: Job, subject: Subject) -> LogPreview:
    return from_log(subject, reread(subject, tree_of(job)))


def _by_rows(job: Job, head: int, measured: Measured) -> Drift:
    """Other files: the same rows, counted and hashed, or it is stale."""
    preview = job.preview or {}
    if preview.get("rows_hash") is None:
        text = f"Other files may match at version {head:,}, and the preview has no hash of its rows to compare with."
        return Drift(Verdict.MOVED, head, text)
    found = _matched(measured, head)
    if (found.rows, found.rows_hash) == (preview.get("rows_matched"), preview["rows_hash"]):
        text = f"The table has moved to version {head:,}; the same {found.rows:,} rows match, in other files."
        return Drift(Verdict.SAME_ROWS, head, text, Checked(head))
    text = (
        f"Other rows match at version {head:,} ({found.rows:,}) than at version {job.base_version:,}, which was previewed"
        f" ({preview.get('rows_matched'):,})."
    )
    return Drift(Verdict.MOVED, head, text)


def _matched(measured: Measured, version: int) -> Matched:
    found = measured(version)
    if not isinstance(found, Matched):
        raise TypeError(f"a delete is measured by its rows, not by {type(found).__name__}")
    return found
