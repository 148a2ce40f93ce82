"""A dropped feature: the log says at once how Delta goes about it; newer data doesn't make it stale, another definition does."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.base import Drift, Found, Handling, Measured, Prepared, definition_drift, definition_look, stored
from jobs.commands.drop_feature.log import files_rewritten, preview_of, written_for
from jobs.commands.drop_feature.rules import REWRITING, DropFeature, is_done, operations_in
from jobs.domain.errors import CommandRefused
from jobs.domain.results import Result
from jobs.models import Job
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_rewrite
from jobs.targets.stored_files import FilesRead
from jobs.targets.subject import Subject
from jobs.targets.writable import subject_to_change


class DropFeatureHandling(Handling[DropFeature]):
    """Delta takes several commits, and with a cut history two requests."""

    not_undone = "A restore doesn’t bring a feature back: set its property again."
    several_commits = True

    def check(self, command: DropFeature) -> None:
        """Raises Problem 400 for an empty name."""
        if not command.feature.strip():
            fault = "Name the feature to drop."
            raise Problem(400, "invalid", f"{fault} Nothing was requested.", fields={"feature": fault})

    def asked(self, command: DropFeature) -> Mapping[str, Any]:
        return {"table": command.table, "feature": command.feature, "truncate_history": command.truncate_history}

    def prepare(self, actor: Actor, command: DropFeature, seen: Subject | None) -> Prepared:
        """Raises Http404; Problem 403 `forbidden`, 400 (`invalid` with Delta's condition), 422."""
        table = table_to_change(actor, uuid.UUID(command.table))
        try:
            subject = seen or subject_to_change(table.pk)
            written = written_for(subject, command)
            preview = preview_of(subject, written)
        except CommandRefused as refused:
            raise problem_of_rewrite(refused) from None
        return Prepared(written, table.path, lambda: table, preview)

    def preview(self, job: Job, measured: Measured) -> Found:
        subject, command = subject_to_change(job.table_id), stored(DropFeature, job)
        constraints = subject.asked_of_constraints(partial(files_rewritten, subject, command), redefines=True)
        return Found(preview_of(subject, command), subject.version, constraints=constraints)

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        return definition_drift(job, subject_to_change(job.table_id))

    def look(self, job: Job) -> Drift | None:
        return definition_look(job)

    def files_read(self, job: Job) -> FilesRead | None:
        """All, where Delta writes files again before it can do without the feature."""
        if stored(DropFeature, job).feature not in REWRITING:
            return None
        subject = subject_to_change(job.table_id)
        return FilesRead(subject.table.path, subject.snapshot.files())

    def shortfall(self, job: Job, result: Result) -> Mapping[str, Any] | None:
        if result.no_op or result.details.get("ask_again_after") or is_done(operations_in(result.details)):
            return None
        failure = result.details.get("failure")
        text = f"The run ended before Delta took the feature out of the protocol. {(failure or {}).get('message', '')}"
        return {
            "code": "partly_committed",
            "message": text.strip(),
            "engine": failure,
            "table_state": f"Version {result.version:,} still has the feature in its protocol; it may already be out of use.",
            "what_to_do": "Request it again: Delta goes on from there.",
        }
