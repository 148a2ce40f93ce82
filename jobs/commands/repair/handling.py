"""Repair: a worker asks storage what is missing; newer commits don't make it stale, another set of missing files does."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from console.audit.actor import Actor
from jobs.commands.base import Drift, DriftVerdict, Found, Handling, Measured, Prepared
from jobs.commands.repair.log import (
    NOTHING,
    asked,
    back_in_storage,
    from_log,
    no_longer_live,
    taken_out,
    with_look,
)
from jobs.commands.repair.rules import AGAIN, Repair, back_again, details_of
from jobs.domain.engine import Checked
from jobs.domain.errors import ANOTHER_TABLE, CommandRefused
from jobs.domain.fences import Fence
from jobs.domain.results import Result
from jobs.models import Job
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_rewrite
from jobs.targets.subject import Subject, subject_of
from jobs.targets.writable import subject_to_change


class RepairHandling(Handling[Repair]):
    """It takes out exactly the files that people approved, on whatever version the table has by then."""

    not_undone = (
        "A restore can’t undo a repair: storage lacks the files. Put them back, then restore the version before it."
    )
    fence = Fence.FILES

    def asked(self, command: Repair) -> Mapping[str, Any]:
        return {"table": command.table}

    def prepare(self, actor: Actor, command: Repair, seen: Subject | None) -> Prepared:
        """Storage isn't asked here. Raises Http404; Problem 403 `forbidden`, 422 (`append_only` with Delta's condition, `not_delta`, …)."""
        table = table_to_change(actor, uuid.UUID(command.table))
        try:
            subject = seen or subject_to_change(table.pk)
            preview = from_log(subject)
        except CommandRefused as refused:
            raise problem_of_rewrite(refused) from None
        return Prepared(replace(command, path=table.path), table.path, lambda: table, preview)

    def preview(self, job: Job, measured: Measured) -> Found:
        """By storage, without Spark."""
        subject = subject_to_change(job.table_id)
        found = asked(subject)
        return Found(with_look(subject, found), subject.version, nothing_to_do=None if found.missing else NOTHING)

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        """The files that the preview names are asked for again; the run compares all of them with what was approved."""
        subject = subject_to_change(job.table_id)
        drift = _by_log(job, subject)
        back = [] if drift.moved else back_in_storage(subject, _named(job))
        return Drift(DriftVerdict.MOVED, subject.version, f"{back_again(back)} {AGAIN}") if back else drift

    def look(self, job: Job) -> Drift | None:
        try:
            return _by_log(job, subject_to_change(job.table_id))
        except CommandRefused as refused:
            return Drift(DriftVerdict.MOVED, None, str(refused))

    def reread(self, job: Job, result: Result) -> Result:
        """A run that didn't live to read its commit hasn't said what that took out."""
        if result.version is None or result.no_op or "files" in result.details:
            return result
        removed = taken_out(subject_of(job.table_id), result.version)
        if removed is None:
            return result
        details = {**result.details, **details_of(removed.paths, removed.bytes, removed.rows)}
        return replace(result, details=details, num_affected_rows=removed.rows)


def _named(job: Job) -> list[str]:
    return list((job.preview or {}).get("sample", ()))


def _by_log(job: Job, subject: Subject) -> Drift:
    preview, head = job.preview or {}, subject.version
    if subject.metadata.id != preview.get("table_id"):
        return Drift(DriftVerdict.MOVED, head, ANOTHER_TABLE)
    if gone := no_longer_live(subject, _named(job)):
        more = "" if len(gone) == 1 else f" and {len(gone) - 1:,} more of the missing files"
        return Drift(DriftVerdict.MOVED, head, f"The table no longer has {gone[0]}{more}. {AGAIN}")
    if head == job.base_version:
        return Drift(
            DriftVerdict.UNMOVED, head, f"The table is still at version {head:,}, the previewed one.", Checked(head)
        )
    text = (
        f"The table has moved to version {head:,} and still has the missing files. The run takes out those that were approved, and"
        " nothing if others are missing by then."
    )
    return Drift(DriftVerdict.SAME_FILES, head, text, Checked(head))
