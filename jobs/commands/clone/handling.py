"""Clone: the source's log says at once what the new table holds; the job belongs to the new table, whose tree it takes."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.errors import Problem
from console.base.logs import log
from console.base.text.counted import counted
from jobs.commands.base import REWRITTEN, Drift, DriftVerdict, Found, Handling, Measured, Prepared, stored
from jobs.commands.clone import cleanup
from jobs.commands.clone.log import REMEDY, files_hash, from_log, kept_until
from jobs.commands.clone.rules import DEPTHS, Clone, is_at_or_below
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.measures import Restorable
from jobs.domain.states import State
from jobs.lifecycle.cancelling import require_person
from jobs.models import Job
from jobs.targets.access import table_to_change
from jobs.targets.new_places import new_entry, new_place
from jobs.targets.places import Place, check_claimed
from jobs.targets.problems import problem_of_refused
from jobs.targets.subject import Subject
from jobs.targets.version_readers import running_vacuum
from jobs.targets.writable import subject_to_read
from tables.models import Root, Table
from tables.rules.locations import LocationError, resolve
from tables.storage.store import StorageError
from tables.storage.stores import kind_of

PAST = 5  # deep clones by whose pace the next one's time is told
NOT_COPIED = (
    "Levee copies files on disks and in object stores, not {where}. Clone the table shallow, or copy it with distcp."
)
VACUUMS = (
    "The vacuum of {source} that {who} requested is running now. Version {version:,} isn’t the newest one, so the vacuum may delete"
    " files that the clone needs: clone it once the vacuum has ended."
)


class CloneHandling(Handling[Clone]):
    """The clone is of one version of the source, whatever is committed there afterwards."""

    not_undone = "A clone is a table’s first version: there is no earlier one to restore. Its source is as it was."

    def check(self, command: Clone) -> None:
        """Raises Problem 400 for a kind that there isn't, an empty target, a version below 0."""
        if command.depth not in DEPTHS:
            raise _invalid("kind", "A clone is shallow or deep.")
        if not command.target.strip():
            raise _invalid("target", "Enter the directory of the clone.")
        if command.version is not None and command.version < 0:
            raise _invalid("version", "A version is a number from 0.")

    def asked(self, command: Clone) -> Mapping[str, Any]:
        return {
            "table": command.table,
            "version": command.version,
            "target": command.target,
            "depth": command.depth,
        }

    def prepare(self, actor: Actor, command: Clone, seen: Subject | None) -> Prepared:
        """Raises Http404; Problem 400 `invalid`, 403 `forbidden`, `outside_roots`, 404 `not_found`, 409, 422."""
        table = source_for(actor, uuid.UUID(command.table))
        try:
            subject = seen or subject_to_read(table.pk)
            written = written_for(subject, command)
            place = target_for(actor, written)
            placed = replace(written, path=place.path)
            preview = predicted(subject, placed)
        except CommandRefused as refused:
            raise problem_of(refused) from None
        return Prepared(placed, place.path, lambda: new_entry(actor, place), preview)

    def preview(self, job: Job, measured: Measured) -> Found:
        """By the log; Spark also looks whether an older version's files are still there."""
        command = stored(Clone, job)
        subject = subject_to_read(uuid.UUID(command.table))
        check_claimed(command.source)
        values = predicted(subject, command)
        refusals: tuple[Refusal, ...] = ()
        if command.version != subject.version:
            found = measured(None)
            if not isinstance(found, Restorable):
                raise TypeError(f"a clone is measured by its version, not by {type(found).__name__}")
            refusals = _gone(found)
        constraints = subject.asked_of_constraints(redefines=True) if command.version == subject.version else None
        return Found(values, None, refusals=refusals, constraints=constraints)

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        return _by_log(job)

    def look(self, job: Job) -> Drift | None:
        try:
            return _by_log(job)
        except CommandRefused as refused:
            return Drift(DriftVerdict.MOVED, None, str(refused))

    def clean_up(self, job: Job) -> None:
        """Removes the files that carry the job's id and the token of a lost claim, and a log without a commit; nothing once another
        dispatcher has decided: another attempt may write there by now."""
        now = time.time()  # before the look at the token: a newer attempt writes later than this
        if not Job.objects.filter(pk=job.pk, token=job.token).exists():
            return
        try:
            resolve(job.location, Root.objects.all())
        except LocationError:
            return
        try:
            cleanup.remove(job.location, cleanup.CloneClaim(str(job.pk), job.token or 0), now)
        except (OSError, StorageError) as error:  # its next attempt, or the next clone there, says what it meets
            log.warning("copies_left", job=str(job.pk), error=str(error))


def source_for(actor: Actor, table_id: uuid.UUID) -> Table:
    """The table to clone, for a person who may request jobs on it and read its rows. Raises Http404; Problem 403 `forbidden`."""
    table = table_to_change(actor, table_id)
    if not require_person(actor).scopes(Permission.TABLE_ROWS).covers_table(table.root_id, table.pk):
        text = "You may see this table, but cloning it takes a role that reads its rows."
        refuse(actor, Action.JOB_REQUEST, ObjectKind.TABLE, table.pk, table.name, Problem(403, "forbidden", text))
    return table


def written_for(subject: Subject, command: Clone) -> Clone:
    """The command with its version and source filled in. Raises Problem 400 for a version that the table doesn't have."""
    version = subject.version if command.version is None else command.version
    if version > subject.version:
        text = f"The table has no version {version:,}: the latest is {subject.version:,}. No job was created."
        raise _invalid("version", text)
    name = subject.table.catalog_name or subject.table.name
    return replace(command, version=version, source=subject.table.path, source_name=name)


def target_for(actor: Actor, command: Clone) -> Place:
    """The directory of the clone, apart from its source. Raises Problem as `new_place` does, and 400 `invalid`."""
    place = new_place(actor, command.target)
    if is_at_or_below(place.path, command.source) or is_at_or_below(command.source, place.path):
        raise _invalid("target", "The clone and its source can’t lie inside each other.")
    if command.depth == "deep":
        _require_copied(place.path, command.source)
    return place


def _require_copied(*paths: str) -> None:
    for kind in map(kind_of, paths):
        if not kind.copies:
            raise _invalid("kind", NOT_COPIED.format(where=kind.where))


def predicted(subject: Subject, command: Clone) -> dict[str, Any]:
    """The log's preview with the time that copying takes at the pace of earlier deep clones. Raises CommandRefused."""
    values = from_log(subject, command, kept_until(subject, command.version))
    return values | {"seconds": _seconds(values["bytes_to_copy"])}


def problem_of(refused: CommandRefused) -> Problem:
    """What Delta refuses of the request is 400; what the table doesn't allow is 422."""
    problem = problem_of_refused(refused)
    if refused.refusals[0].code == "invalid":
        return Problem(400, "invalid", problem.detail, engine=problem.engine)
    return problem


def _seconds(size: int) -> float | None:
    """How long copying takes, by the last deep clones; None where nothing is copied or none has run."""
    done = Job.objects.filter(command=Clone.kind, state=State.SUCCEEDED, parameters__depth="deep")
    details = [
        (result or {}).get("details", {})
        for result in done.order_by("-finished_at").values_list("result", flat=True)[:PAST]
    ]
    copied, seconds = (sum(each.get(name) or 0 for each in details) for name in ("bytes_copied", "copy_seconds"))
    return round(size * seconds / copied, 1) if size and copied and seconds else None


def _gone(found: Restorable) -> tuple[Refusal, ...]:
    if not found.missing_count:
        return ()
    count = counted(found.missing_count, "file")
    text = f"Storage no longer holds {count} of version {found.version:,}, such as {found.missing_files[0]}."
    return (Refusal("version_gone", text, place=found.missing_files[0], remedy=REMEDY),)


def _by_log(job: Job) -> Drift:
    command, preview = stored(Clone, job), job.preview or {}
    check_claimed(command.source)  # the worker has checked the job's own place, the target
    subject, version = subject_to_read(uuid.UUID(command.table)), command.version or 0
    if subject.metadata.id != preview.get("table_id"):
        return Drift(
            DriftVerdict.MOVED, subject.version, "The table at the source’s path isn’t the one that was previewed."
        )
    if version > subject.version or files_hash(subject, version) != preview.get("files_sha256"):
        return Drift(DriftVerdict.MOVED, subject.version, REWRITTEN.format(version=version))
    if version == subject.version:
        return Drift(DriftVerdict.UNMOVED, version, f"The source is still at version {version:,}, the previewed one.")
    # The vacuum looks for clones once, before it deletes. Both claims are committed before either looks: one sees the other.
    if vacuum := running_vacuum(subject.table):
        text = VACUUMS.format(who=vacuum.requested_by.name, source=command.source_name, version=version)
        return Drift(DriftVerdict.MOVED, subject.version, text)
    text = (
        f"The source has moved to version {subject.version:,}. The clone is of version {version:,}, which is unchanged."
    )
    return Drift(DriftVerdict.SAME_ROWS, subject.version, text)


def _invalid(field: str, text: str) -> Problem:
    return Problem(400, "invalid", text, fields={field: text})
