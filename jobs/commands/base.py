"""What each command defines around its Spark part: request, preview, drift check, edit and undo."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.domain.commands import Command
from jobs.domain.engine import UNCHECKED, Checked
from jobs.domain.errors import ANOTHER_TABLE, CommandRefused, Refusal
from jobs.domain.fences import Fence
from jobs.domain.measures import Measure
from jobs.domain.results import Result
from jobs.models import Job
from jobs.targets.definition import definition_sha256
from jobs.targets.stored_files import FilesRead
from jobs.targets.subject import Subject
from jobs.targets.writable import subject_to_change
from tables.models import Table

C = TypeVar("C", bound=Command)
# Spark's measure of the job's command at a version of its table.
Measured = Callable[[int | None], Measure]
REWRITTEN = (
    "Version {version:,} of the table was rewritten in its place: it no longer names the files that the preview saw."
)


def with_article(kind: str) -> str:
    """A command as it stands in a sentence: `an optimize`, `a drop feature`."""
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind.replace('_', ' ')}"


class DriftVerdict(StrEnum):
    """How far a table has moved since the version that a preview measured."""

    UNMOVED = "unmoved"
    SAME_FILES = "same_files"  # newer commits, but the files that may match are the same
    SAME_ROWS = "same_rows"  # other files, but Spark counted and hashed the matching rows again and they are the same
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Drift:
    """The drift check's answer. `why` is a sentence for people; `checked` is what the run may rely on.

    `spark_decides`: the log alone can't tell; Spark may still find that the job may run.
    """

    verdict: DriftVerdict
    head_version: int | None
    why: str
    checked: Checked = UNCHECKED
    spark_decides: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"head_version": self.head_version, "verdict": self.verdict.value, "why": self.why}

    @property
    def moved(self) -> bool:
        return self.verdict is DriftVerdict.MOVED


@dataclass(frozen=True, slots=True)
class Found:
    """A finished preview: the values to store, the version they hold for, a sentence if there is nothing to do, and the
    refusals if the command must not run. `constraints` is what Spark is asked of the table's, as a subject asks it."""

    preview: Mapping[str, Any]
    base_version: int | None
    nothing_to_do: str | None = None
    refusals: tuple[Refusal, ...] = ()
    further: Further | None = None
    constraints: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Further:
    """A read by the engine that goes further than the preview's measure: its kind, its question, and what is found with its answer."""

    kind: str
    question: Mapping[str, Any]
    found: Callable[[Mapping[str, Any]], Found]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that this person may make: the command filled in from Levee's catalog, its location, and the log's preview.

    `table` returns the catalog's entry. Call it in the request's transaction, since it may create the entry.
    """

    command: Command
    location: str
    table: Callable[[], Table]
    preview: dict[str, Any] | None = None
    undoes: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Edited:
    """An edited request. `before` and `after` hold what changed, by the names of the API's fields."""

    command: Command
    preview: dict[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]


class Handling(ABC, Generic[C]):
    """How Levee handles one command. Any method may also raise CommandRefused; those given `measured`, the engine's errors too."""

    editable: bool = False
    not_undone: str = ""  # why a restore can't undo its commit; empty if it can
    fence: Fence = (
        Fence.NONE
    )  # what lets only one attempt commit; only with one is a job tried again whose worker may be alive elsewhere
    several_commits: bool = False  # whether one run makes commits one after the other, all with the job's mark

    def check(self, command: C) -> None:
        """Refuses what the command's text alone rules out. Raises Problem 400."""

    def check_for_many(self, command: C) -> None:
        """Refuses for many tables at once what affects more of a table than an ordinary run. Raises Problem 400."""

    @abstractmethod
    def asked(self, command: C) -> Mapping[str, Any]:
        """The values that the requester gave: two requests with equal ones are the same request."""

    @abstractmethod
    def prepare(self, actor: Actor, command: C, seen: Subject | None) -> Prepared:
        """Checks and fills in the person's request; audits a refusal. Raises Http404, Problem.

        `seen` is the table as the requesting page showed it. Given, the table isn't read again, so that page and job are about
        one version.
        """

    @abstractmethod
    def preview(self, job: Job, measured: Measured) -> Found:
        """What the command would do: Levee stores this preview, and people approve it."""

    def unmeasured(self, job: Job, seconds: float) -> Found | None:
        """The preview if Spark's measure took longer than `seconds`; None for a command that has none without it."""
        return None

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        """How far the table has moved since the preview; None for a command whose run checks this itself."""
        return None

    def look(self, job: Job) -> Drift | None:
        """The same from the log alone, for pages: MOVED where only Spark could tell."""
        return None

    def unattended(self, preview: Mapping[str, Any]) -> str:
        """Why this preview needs a person to read it, so that no schedule runs by it; empty for one that doesn't."""
        return ""

    def files_read(self, job: Job) -> FilesRead | None:
        """The files that Spark reads or writes again for it, by the log as it is now; None for a command that reads none.

        They are looked at before its preview and before its run.
        """
        return None

    def sample(self, job: Job) -> Mapping[str, Any] | None:
        """The read that returns some of the rows it affects; None for a command that isn't about single rows."""
        return None

    def shortfall(self, job: Job, result: Result) -> Mapping[str, Any] | None:
        """The job's error if its commits, whose last is `result`, are a part of what it should do; None if they are all of it.

        For a command with several commits: a run may fail, or die, between two of them. The job then ends as failed with its version.
        """
        return None

    def reread(self, job: Job, result: Result) -> Result:
        """The result with what only another look at the table tells, if the run hasn't told it: it may have died after a commit."""
        return result

    def completed(self, job: Job, result: Result) -> Result:
        """The result with what the catalog tells of its commits, once it has read them: a run that was lost couldn't tell. One query."""
        return result

    def edited(self, job: Job, change: Mapping[str, Any]) -> Edited:
        """The request with its requester's change. Raises Problem; 409 `wrong_state` for a command that can't be edited."""
        raise Problem(
            409, "wrong_state", f"You can’t edit {with_article(job.command)}: withdraw it and request it again."
        )

    def fence_of(self, job: Job) -> Fence:
        """What keeps an attempt of this job that nobody could end from committing beside a later one, whenever it goes on."""
        return self.fence

    def clean_up(self, job: Job) -> None:
        """Removes what a run left behind when it died without a commit. Its JVM is dead; the caller still holds the lease."""


def stored(value: type[C], job: Job) -> C:
    """The command stored in a job. Raises TypeError for another command's job, ValueError for another schema version."""
    if job.command != value.kind:
        raise TypeError(f"job {job.pk} isn't a {value.kind}")
    if job.schema_version != value.schema_version:
        text = f"{value.kind}: schema version {job.schema_version}, this build knows {value.schema_version}"
        raise ValueError(text)
    return value(**job.parameters)


MOVED_SHAPE = "The table’s schema or partitioning has changed since the preview."


def rewrite_drift(job: Job, subject: Subject) -> Drift:
    """The drift of a command that writes files again and changes no row: newer commits don't make it stale, another table or shape does."""
    preview, head = job.preview or {}, subject.version
    if subject.metadata.id != preview.get("table_id"):
        return Drift(DriftVerdict.MOVED, head, ANOTHER_TABLE)
    if subject.shape_sha256 != preview.get("shape_sha256"):
        return Drift(DriftVerdict.MOVED, head, MOVED_SHAPE)
    if head == job.base_version:
        return Drift(
            DriftVerdict.UNMOVED, head, f"The table is still at version {head:,}, the previewed one.", Checked(head)
        )
    text = f"The table has moved to version {head:,}. {job.command.capitalize()} changes no row, so it runs on that version."
    return Drift(DriftVerdict.SAME_ROWS, head, text, Checked(head))


def rewrite_look(job: Job) -> Drift:
    """The same for pages: MOVED where the table can't be read."""
    try:
        return rewrite_drift(job, subject_to_change(job.table_id))
    except CommandRefused as refused:
        return Drift(DriftVerdict.MOVED, None, str(refused))


def definition_drift(job: Job, subject: Subject) -> Drift:
    """The drift of a command that changes a table's definition: new data doesn't make it stale, another definition does."""
    preview, head = job.preview or {}, subject.version
    if subject.metadata.id != preview.get("table_id"):
        return Drift(DriftVerdict.MOVED, head, ANOTHER_TABLE)
    if definition_sha256(subject) != preview.get("definition_sha256"):
        return Drift(
            DriftVerdict.MOVED, head, "The table’s properties, schema or protocol have changed since the preview."
        )
    if head == job.base_version:
        return Drift(
            DriftVerdict.UNMOVED, head, f"The table is still at version {head:,}, the previewed one.", Checked(head)
        )
    text = f"The table has moved to version {head:,}, with the same properties, schema and protocol."
    return Drift(DriftVerdict.SAME_ROWS, head, text, Checked(head))


def definition_look(job: Job, subject: Callable[[uuid.UUID], Subject] = subject_to_change) -> Drift:
    """The same for pages: MOVED where the table can't be read. `subject` is the table as the command needs it."""
    try:
        return definition_drift(job, subject(job.table_id))
    except CommandRefused as refused:
        return Drift(DriftVerdict.MOVED, None, str(refused))
