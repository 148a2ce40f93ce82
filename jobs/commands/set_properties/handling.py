"""A change of properties: the log says at once what it does; newer data doesn't make it stale, another definition does."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.base import Drift, Found, Handling, Measured, Prepared, definition_drift, definition_look, stored
from jobs.commands.set_properties.log.preview import NOTHING, preview_of, written_for
from jobs.commands.set_properties.rules import SetProperties, faults_of, missing_commits, operations_in
from jobs.domain.errors import CommandRefused
from jobs.domain.results import Result
from jobs.models import Job
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_rewrite
from jobs.targets.subject import Subject
from jobs.targets.writable import subject_to_redefine


class SetPropertiesHandling(Handling[SetProperties]):
    """One commit for what is set, one for what is unset."""

    not_undone = (
        "Request the opposite change to take a property back. A restore would undo every later commit too, and it doesn’t lower the"
        " protocol."
    )
    several_commits = True

    def check(self, command: SetProperties) -> None:
        """Raises Problem 400 for names that are empty, too long, too many or given twice, and for values that aren't one line."""
        faults = faults_of(command)
        if faults:
            raise Problem(400, "invalid", f"{next(iter(faults.values()))} Nothing was requested.", fields=faults)

    def asked(self, command: SetProperties) -> Mapping[str, Any]:
        return {"table": command.table, "set": dict(command.set), "unset": list(command.unset)}

    def prepare(self, actor: Actor, command: SetProperties, seen: Subject | None) -> Prepared:
        """Raises Http404; Problem 403 `forbidden`, 400 (`invalid` with Delta's condition), 422."""
        table = table_to_change(actor, uuid.UUID(command.table))
        try:
            subject = seen or subject_to_redefine(table.pk)
            written = written_for(subject, command)
            preview = preview_of(subject, written)
        except CommandRefused as refused:
            raise problem_of_rewrite(refused) from None
        return Prepared(written, table.path, lambda: table, preview)

    def preview(self, job: Job, measured: Measured) -> Found:
        subject = subject_to_redefine(job.table_id)
        values = preview_of(subject, stored(SetProperties, job))
        nothing = NOTHING if values["nothing_to_do"] else None
        constraints = subject.asked_of_constraints(redefines=True)
        return Found(values, subject.version, nothing_to_do=nothing, constraints=constraints)

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        return definition_drift(job, subject_to_redefine(job.table_id))

    def look(self, job: Job) -> Drift | None:
        return definition_look(job, subject_to_redefine)

    def shortfall(self, job: Job, result: Result) -> Mapping[str, Any] | None:
        if result.no_op:
            return None
        missing = missing_commits(stored(SetProperties, job), operations_in(result.details))
        if not missing:
            return None
        failure = result.details.get("failure")
        return {
            "code": "partly_committed",
            "message": f"The run ended before {' and '.join(missing)}. {(failure or {}).get('message', '')}".strip(),
            "engine": failure,
            "table_state": f"Version {result.version:,} has a part of the change.",
            "what_to_do": "Look at the table’s properties, then request what is missing.",
        }
