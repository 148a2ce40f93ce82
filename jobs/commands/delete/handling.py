"""Delete: the log shows at once what may match, Spark counts it, and the drift check compares both with the table before the run."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from console.audit.actor import Actor
from console.base.text.counted import counted
from jobs.commands.base import (
    REWRITTEN,
    Drift,
    DriftVerdict,
    Edited,
    Found,
    Further,
    Handling,
    Measured,
    Prepared,
    stored,
)
from jobs.commands.delete.log import (
    LogPreview,
    files_copied,
    from_log,
    further_question,
    uncounted,
    with_count,
    with_passed_over,
)
from jobs.commands.delete.rules import PASSED_OVER, ROWS_LEFT, Delete
from jobs.domain.engine import Checked
from jobs.domain.errors import ANOTHER_TABLE, CommandRefused
from jobs.domain.fences import Fence
from jobs.domain.measures import Matched
from jobs.domain.policy import TableClass
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.stored import from_json, to_json
from jobs.domain.predicates.tree import Node
from jobs.models import Job
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_refused
from jobs.targets.readers import CommitChange, with_readers
from jobs.targets.stored_files import FilesRead
from jobs.targets.subject import Subject, reread
from jobs.targets.writable import subject_to_change
from tables.models import Table

NOTHING = "No row matches: Levee deleted nothing and committed nothing."
AGAIN = "The files that may match are the same as in the preview."
OTHER_FILES = "Other files may match by now: Spark counts and compares the matching rows before the run."


class DeleteHandling(Handling[Delete]):
    """Rule 4 of approvals: what runs is what people approved, with no drift in between."""

    editable = True
    fence = Fence.TRANSACTION

    def asked(self, command: Delete) -> Mapping[str, Any]:
        return {"table": command.table, "predicate": command.predicate}

    def prepare(self, actor: Actor, command: Delete, seen: Subject | None) -> Prepared:
        """Returns with the log's preview; Spark's count follows.

        Raises Http404; Problem 403 `forbidden`, 400 `predicate_refused`, 422 (`not_delta`, `append_only`, `unreadable`).
        """
        table = table_to_change(actor, uuid.UUID(command.table))
        written, preview = _written(table, command.predicate, seen)
        return Prepared(written, table.path, lambda: table, preview)

    def preview(self, job: Job, measured: Measured) -> Found:
        subject = subject_to_change(job.table_id)
        log = from_log(subject, reread(subject, tree_of(job)))
        if log.values["branch"] == "nothing":
            exact = log.values | {"rows_matched": 0, "rows_matched_exact": True}
            return Found(exact, subject.version, nothing_to_do=NOTHING)
        matched = _matched(measured, subject.version)
        values = _with_readers(with_count(log, subject, matched), subject)
        copied = partial(files_copied, log, subject, matched)
        constraints = subject.asked_of_constraints(copied, kept_by=stored(Delete, job).tree)
        found = replace(_found(values, subject.version), constraints=constraints)
        question = further_question(log, subject, stored(Delete, job).tree)
        if question is None:
            return found
        files = log.passed_over.num_rows

        def told(answer: Mapping[str, Any]) -> Found:
            return replace(_found(with_passed_over(values, answer, files), subject.version), constraints=constraints)

        return replace(found, further=Further(PASSED_OVER, question, told))

    def unmeasured(self, job: Job, seconds: float) -> Found | None:
        """Rule 5 of approvals: a delete whose rows Spark can't count belongs to the whole-table class, whatever its predicate."""
        subject = subject_to_change(job.table_id)
        return Found(uncounted(_from_log(subject, reread(subject, tree_of(job))), seconds), subject.version)

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        subject = subject_to_change(job.table_id)
        drift = _by_log(job, subject)
        return drift if drift is not None else _by_rows(job, subject.version, measured)

    def look(self, job: Job) -> Drift | None:
        try:
            subject = subject_to_change(job.table_id)
            drift = _by_log(job, subject)
        except CommandRefused as refused:
            return Drift(DriftVerdict.MOVED, None, str(refused))
        return drift or Drift(DriftVerdict.MOVED, subject.version, OTHER_FILES, spark_decides=True)

    def files_read(self, job: Job) -> FilesRead | None:
        """Those that may hold matching rows; none where Delta removes whole files by the log alone."""
        subject = subject_to_change(job.table_id)
        log = from_log(subject, reread(subject, tree_of(job)))
        return None if log.values["branch"] == "metadata_only" else FilesRead(subject.table.path, log.files)

    def sample(self, job: Job) -> Mapping[str, Any] | None:
        """Its predicate, at the previewed version."""
        version = (job.preview or {}).get("measured_at_version")
        asked = {"predicate": job.parameters.get("predicate"), "version": version}
        return {name: value for name, value in asked.items() if value is not None}

    def edited(self, job: Job, change: Mapping[str, Any]) -> Edited:
        """With another `predicate` (None: every row). Raises Problem as `prepare` does."""
        command, preview = _written(job.table, change["predicate"], None)
        before, after = {"predicate": job.parameters.get("predicate")}, {"predicate": command.predicate}
        return Edited(command, preview, before, after)


def _found(values: Mapping[str, Any], version: int) -> Found:
    if values["rows_matched"] or values["files_matched"]:
        return Found(values, version)
    left = [found["text"] for found in values["consequences"] if found["code"] == ROWS_LEFT]
    return Found(values, version, nothing_to_do=" ".join((NOTHING, *values["notes"], *left)))


def _written(table: Table, predicate: str | None, seen: Subject | None) -> tuple[Delete, dict[str, Any]]:
    """The command and its preview from the log."""
    try:
        subject = seen or subject_to_change(table.pk)
        node = None if predicate is None else subject.read(predicate)
        preview = _from_log(subject, node).values
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None
    text, tree = (None, None) if node is None else (to_text(node), to_json(node))
    return Delete(table=str(table.pk), predicate=text, path=table.path, tree=tree), preview


def _from_log(subject: Subject, node: Node | None) -> LogPreview:
    """The log's preview, with the streams that the delete would make fail."""
    log = from_log(subject, node)
    if log.values["branch"] == "nothing":
        return log
    return replace(log, values=_with_readers(log.values, subject))


def _with_readers(values: Mapping[str, Any], subject: Subject) -> dict[str, Any]:
    """The preview with what follows for streams. A rewrite adds files if rows remain, of which only Spark’s count can be sure."""
    copies = values["branch"] == "rewrite" and values["rows_matched_exact"] and (values["rows_copied"] or 0) > 0
    adds = False if values["branch"] == "metadata_only" else True if copies else None
    return with_readers(values, subject, CommitChange(removes=True, adds=adds))


def tree_of(job: Job) -> Node | None:
    """The job's predicate; None for the whole table."""
    command = stored(Delete, job)
    return None if command.tree is None else from_json(command.tree)


def is_strict(job: Job) -> bool:
    """Whether any newer version makes the job stale: people approved the whole table as it was."""
    return (job.preview or {}).get("class") == TableClass.WHOLE_TABLE


def _by_log(job: Job, subject: Subject) -> Drift | None:
    """The drift as far as the log alone decides; None where other files may match, so that Spark must compare rows."""
    preview, head = job.preview or {}, subject.version
    if subject.metadata.id != preview.get("table_id"):
        return Drift(DriftVerdict.MOVED, head, ANOTHER_TABLE)
    if subject.shape_sha256 != preview.get("shape_sha256"):
        return Drift(DriftVerdict.MOVED, head, "The table’s schema or partitioning has changed since the preview.")
    same_files = _files_now(job, subject).values["files_sha256"] == preview.get("files_sha256")
    if head == job.base_version and not same_files:
        return Drift(DriftVerdict.MOVED, head, REWRITTEN.format(version=head))
    if head == job.base_version:
        text = f"The table is still at version {head:,}, the previewed one."
        return Drift(DriftVerdict.UNMOVED, head, text, Checked(head, is_strict(job)))
    if is_strict(job):
        text = f"The whole table was previewed at version {job.base_version:,}; it is now at version {head:,}."
        return Drift(DriftVerdict.MOVED, head, text)
    if same_files:
        return Drift(DriftVerdict.SAME_FILES, head, f"The table has moved to version {head:,}. {AGAIN}", Checked(head))
    return None


def _files_now(job: Job, subject: Subject) -> LogPreview:
    return from_log(subject, reread(subject, tree_of(job)))


def _by_rows(job: Job, head: int, measured: Measured) -> Drift:
    """The drift where other files may match: Spark counts and hashes the rows again, and any difference makes the job stale."""
    preview = job.preview or {}
    if preview.get("rows_hash") is None:
        text = f"Other files may match at version {head:,}, and the preview has no hash of its rows for a comparison."
        return Drift(DriftVerdict.MOVED, head, text)
    matched = _matched(measured, head)
    if (matched.rows, matched.rows_hash) == (preview.get("rows_matched"), preview["rows_hash"]):
        same = counted(matched.rows, "same row matches", "same rows match")
        text = f"The table has moved to version {head:,}; the {same}, in other files."
        return Drift(DriftVerdict.SAME_ROWS, head, text, Checked(head))
    text = (
        f"The matching rows differ: {matched.rows:,} at version {head:,}, {preview.get('rows_matched'):,} at version"
        f" {job.base_version:,}, the previewed one."
    )
    return Drift(DriftVerdict.MOVED, head, text)


def _matched(measured: Measured, version: int) -> Matched:
    matched = measured(version)
    if not isinstance(matched, Matched):
        raise TypeError(f"a delete is measured by its rows, not by {type(matched).__name__}")
    return matched
