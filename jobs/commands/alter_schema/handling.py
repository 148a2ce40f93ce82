"""Change a schema: the log says what comes of it, Spark counts what a new constraint refuses, and each change is one commit."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.alter_schema.log.preview import fingerprint, from_log, violations, with_counts
from jobs.commands.alter_schema.rules import AlterSchema, fault_of, opened
from jobs.commands.alter_schema.wording import table_state
from jobs.commands.base import Drift, DriftVerdict, Found, Handling, Measured, Prepared, stored
from jobs.domain.consequences import Consequence
from jobs.domain.engine import Checked
from jobs.domain.errors import ANOTHER_TABLE, CommandRefused, EngineFailure
from jobs.domain.measures import Violating
from jobs.domain.results import Result
from jobs.models import Job, Stream
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_refused
from jobs.targets.readers import CommitChange, named, with_readers
from jobs.targets.stored_files import FilesRead
from jobs.targets.subject import Subject
from jobs.targets.writable import subject_to_change

MOVED = "The table’s schema, properties or protocol have changed since the preview."
REMEDY = "Look at the table’s schema as it is now, and request the changes that are left."
RESHAPING = frozenset({"add", "rename", "drop", "widen", "nullable"})
BREAKING = frozenset({"rename", "drop", "widen", "add_constraint"})
CHECKING = frozenset({"add_constraint"})
FIT = "rows must fit the new schema and constraints, or the next round fails."


class AlterSchemaHandling(Handling[AlterSchema]):
    """The changes fit one schema only: any other change of the table's metadata makes the job stale, and new rows don't."""

    not_undone = (
        "A restore brings back the rows of the earlier version too: ask for the opposite change where there is one, or restore the table to"
        " the version before it from its history."
    )
    several_commits = True

    def check(self, command: AlterSchema) -> None:
        """Raises Problem 400 for changes that no table allows."""
        fault = fault_of(command.changes)
        if fault:
            raise Problem(400, "invalid", f"{fault} Nothing was requested.", fields={"changes": fault})

    def asked(self, command: AlterSchema) -> Mapping[str, Any]:
        return {"table": command.table, "changes": [dict(change) for change in command.changes]}

    def prepare(self, actor: Actor, command: AlterSchema, seen: Subject | None) -> Prepared:
        """Raises Http404; Problem 403 `forbidden`, 400 (`predicate_refused`, `invalid` with Delta's condition), 422."""
        table = table_to_change(actor, uuid.UUID(command.table))
        try:
            subject = seen or subject_to_change(table.pk)
            written, preview = previewed(subject, command)
        except CommandRefused as refused:
            raise problem_of(refused) from None
        return Prepared(written, table.path, lambda: table, preview)

    def preview(self, job: Job, measured: Measured) -> Found:
        command, subject = stored(AlterSchema, job), subject_to_change(job.table_id)
        _, values = previewed(subject, command)
        if values["constraints"]:
            values = with_counts(values, _violating(measured, subject.version).rows)
        # A change that drops a column or a constraint may mend the very one that Delta refuses.
        redefines = not {"drop", "drop_constraint"} & {opened(change)[0] for change in command.changes}
        constraints = subject.asked_of_constraints(redefines=redefines)
        refusals = violations(values, subject.table.path)
        return Found(values, subject.version, refusals=refusals, constraints=constraints)

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        return _by_log(job, subject_to_change(job.table_id))

    def look(self, job: Job) -> Drift | None:
        try:
            return _by_log(job, subject_to_change(job.table_id))
        except CommandRefused as refused:
            return Drift(DriftVerdict.MOVED, None, str(refused))

    def files_read(self, job: Job) -> FilesRead | None:
        """All, where Delta reads the rows to see that none violates what the changes ask for."""
        kinds = {opened(change)[0] for change in stored(AlterSchema, job).changes}
        if not CHECKING & kinds:
            return None
        subject = subject_to_change(job.table_id)
        return FilesRead(subject.table.path, subject.snapshot.files())

    def sample(self, job: Job) -> Mapping[str, Any] | None:
        """Rows that violate the first new constraint that any violates, at the previewed version."""
        preview = job.preview or {}
        texts = (each["predicate"] for each in preview.get("constraints", ()) if each["rows"] and each["predicate"])
        text = next(texts, None)
        return None if text is None else {"predicate": text, "version": preview["measured_at_version"]}

    def shortfall(self, job: Job, result: Result) -> Mapping[str, Any] | None:
        """The error of a run that failed, or died, between two of its changes."""
        versions = [commit["version"] for commit in result.details.get("commits") or ()]
        if len(versions) >= len(job.parameters["changes"]):
            return None
        return _partly(job, versions, result.details.get("failure"))


def previewed(subject: Subject, command: AlterSchema) -> tuple[AlterSchema, dict[str, Any]]:
    """The command as it is stored, and its preview with what follows for Levee's streams. Raises CommandRefused."""
    written, values = from_log(subject, command)
    kinds = {opened(change)[0] for change in command.changes}
    shaped = bool(RESHAPING & kinds)
    values["consequences"] += _writing_streams(subject, kinds)
    return written, with_readers(values, subject, CommitChange(removes=False, adds=False, reshapes=shaped))


def _writing_streams(subject: Subject, kinds: set[str]) -> list[Consequence]:
    """Levee's streams into the table, whose rows may no longer fit it."""
    if not BREAKING & kinds:
        return []
    streams = Stream.objects.filter(table=subject.table, removed_at=None).order_by("name")
    return named(
        "stream_must_fit",
        streams.values_list("name", flat=True),
        lambda name: f"The stream {name} writes to this table: {FIT}",
        lambda more: f"{more:,} more {'stream writes' if more == 1 else 'streams write'} to this table: {FIT}",
    )


def problem_of(refused: CommandRefused) -> Problem:
    """What the request itself got wrong is 400; what the table doesn't allow is 422."""
    problem = problem_of_refused(refused)
    if refused.refusals[0].code == "invalid":
        return Problem(400, "invalid", problem.detail, engine=problem.engine)
    return problem


def _violating(measured: Measured, version: int) -> Violating:
    found = measured(version)
    if not isinstance(found, Violating):
        raise TypeError(f"a change of a schema is measured by its constraints, not by {type(found).__name__}")
    return found


def _by_log(job: Job, subject: Subject) -> Drift:
    preview, head = job.preview or {}, subject.version
    if subject.metadata.id != preview.get("table_id"):
        return Drift(DriftVerdict.MOVED, head, ANOTHER_TABLE)
    if fingerprint(subject) != preview.get("metadata_sha256"):
        return Drift(DriftVerdict.MOVED, head, MOVED)
    if head == job.base_version:
        text = f"The table is still at version {head:,}, the previewed one."
        return Drift(DriftVerdict.UNMOVED, head, text, Checked(head))
    text = f"The table has moved to version {head:,}, with the same schema and properties."
    return Drift(DriftVerdict.SAME_ROWS, head, text, Checked(head))


def _partly(job: Job, versions: list[int], failure: Mapping[str, Any] | None) -> dict[str, Any]:
    engine = EngineFailure.from_json(failure) if failure else None
    why = (
        engine.message.splitlines()[0][:1000]
        if engine and engine.message
        else "The run was stopped between two of its changes."
    )
    return {
        "code": "partly_committed",
        "message": f"Change {len(versions) + 1} failed: {why}" if engine else why,
        "engine": engine.as_json() if engine else None,
        "table_state": table_state(len(versions), job.parameters, versions),
        "what_to_do": REMEDY,
    }
