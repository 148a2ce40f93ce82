"""Restore: any newer version since the preview makes it stale, since it would undo a commit that no approver saw."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.base import REWRITTEN, Drift, DriftVerdict, Found, Handling, Measured, Prepared, stored
from jobs.commands.restore.log import files_hash, from_log, gone, with_measure
from jobs.commands.restore.rules import Restore
from jobs.domain.engine import Checked
from jobs.domain.errors import ANOTHER_TABLE, CommandRefused
from jobs.domain.measures import Restorable
from jobs.models import Job
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_rewrite
from jobs.targets.readers import CommitChange, with_readers
from jobs.targets.restored_streams import with_streams
from jobs.targets.subject import Subject
from jobs.targets.undo_window import refuse_by_catalog
from jobs.targets.writable import subject_to_redefine
from tables.deltalog.rules.schema_changes import SchemaChangeKind as SchemaChange
from tables.models import Table

# Changes of a schema that no reader's columns depend on.
_UNREAD = {SchemaChange.COMMENT.value, SchemaChange.METADATA.value, SchemaChange.ORDER.value}
NEWEST = "The table is already at this version: nothing changed."


class RestoreHandling(Handling[Restore]):
    """Always strict: it may only run at the previewed version."""

    def asked(self, command: Restore) -> Mapping[str, Any]:
        undone = {"undoes": command.undoes} if command.undoes else {}
        return {"table": command.table, "version": command.version, **undone}

    def prepare(self, actor: Actor, command: Restore, seen: Subject | None) -> Prepared:
        """Raises Http404; Problem 400 for a version that doesn't exist, 403 `forbidden`, 422."""
        table = table_to_change(actor, uuid.UUID(command.table))
        _check_version(table, command.version)
        placed = replace(command, path=table.path, accepted_commits=sorted(command.accepted_commits))
        undoes = uuid.UUID(command.undoes) if command.undoes else None
        return Prepared(placed, table.path, lambda: table, undoes=undoes)

    def preview(self, job: Job, measured: Measured) -> Found:
        version, subject = version_of(job), subject_to_redefine(job.table_id)
        log = from_log(subject, version)
        values = seen_by_streams(log, subject, version)
        if version == subject.version:
            return Found(values, subject.version, nothing_to_do=NEWEST)
        restorable = measured(subject.version)
        if not isinstance(restorable, Restorable):
            raise TypeError(f"a restore is measured by its version, not by {type(restorable).__name__}")
        refusals = (gone(version, restorable.missing_count),) if restorable.missing_count else ()
        return Found(with_measure(values, restorable), subject.version, refusals=refusals)

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        return _by_log(job, subject_to_redefine(job.table_id))

    def look(self, job: Job) -> Drift | None:
        try:
            return _by_log(job, subject_to_redefine(job.table_id))
        except CommandRefused as refused:
            return Drift(DriftVerdict.MOVED, None, str(refused))


def preview_by_log(table_id: uuid.UUID, version: int) -> dict[str, Any]:
    """What a restore of the table to the version would do, by its log as it is now. Raises CommandRefused."""
    subject = subject_to_redefine(table_id)
    return seen_by_streams(from_log(subject, version), subject, version)


def seen_by_streams(log: Mapping[str, Any], subject: Subject, version: int) -> dict[str, Any]:
    """A preview with what the restore does to the streams that read the table and write it."""
    change = _change(log)
    return with_streams(with_readers(log, subject, change), subject, version, change)


def _change(log: Mapping[str, Any]) -> CommitChange:
    """What the restore's commit does, as those who read the table meet it."""
    reshapes = any(change["kind"] not in _UNREAD for change in log["schema_changes"])
    return CommitChange(removes=log["files_gone"] > 0, adds=log["files_back"] > 0, reshapes=reshapes)


def version_of(job: Job) -> int:
    """The version that the job goes back to."""
    return stored(Restore, job).version


def _check_version(table: Table, version: int) -> None:
    try:
        subject = subject_to_redefine(table.pk)
        if not 0 <= version <= subject.version:
            text = f"The table has no version {version:,}: the latest is {subject.version:,}. No job was created."
            raise Problem(400, "invalid", text, fields={"version": text})
        if version != subject.version:
            refuse_by_catalog(subject.table, version)
    except CommandRefused as refused:
        raise problem_of_rewrite(refused) from None


def _by_log(job: Job, subject: Subject) -> Drift:
    head, preview = subject.version, job.preview or {}
    if subject.metadata.id != preview.get("table_id"):
        return Drift(DriftVerdict.MOVED, head, ANOTHER_TABLE)
    if head != job.base_version:
        text = (
            f"The table was previewed at version {job.base_version:,} and is now at version {head:,}: a restore would also undo"
            " the commits since the preview."
        )
        return Drift(DriftVerdict.MOVED, head, text)
    for version, field in ((head, "files_sha256"), (version_of(job), "target_sha256")):
        # Previews stored by an earlier Levee have no such hash.
        if field in preview and files_hash(subject, version) != preview[field]:
            return Drift(DriftVerdict.MOVED, head, REWRITTEN.format(version=version))
    return Drift(
        DriftVerdict.UNMOVED,
        head,
        f"The table is still at version {head:,}, the previewed one.",
        Checked(head, strict=True),
    )
