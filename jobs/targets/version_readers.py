"""The open jobs that read a table at one of its versions: restores, clones into another place, and rehearsals while they run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from jobs.domain.states import CLAIMED, OPEN, State
from jobs.models import Attempt, Job
from tables.models import Table

MOST = 100


@dataclass(frozen=True, slots=True)
class VersionReader:
    """A job that reads the version; `running`: it does so now, so files that go now are missing from what it makes.

    `name` is what people call it: the clone into copy that olga requested.
    """

    job: Job
    version: int
    running: bool
    name: str


def version_readers(table: Table) -> list[VersionReader]:
    """Those that read now first, then those that wait: of these MOST at most, the oldest request first.

    Three queries.
    """
    now = reading_now(table)
    return [*now, *_asked(table, OPEN - CLAIMED, MOST)]


def reading_now(table: Table) -> list[VersionReader]:
    """Those that read now, all of them: no more jobs than workers run. Two queries."""
    return [*_asked(table, CLAIMED), *_rehearsals(table)]


def requested_since(table: Table, at: datetime) -> list[VersionReader]:
    """Those that were requested since then and wait, MOST at most: an undo among them. One query."""
    about = Q(table_id=table.pk) | Q(parameters__table=str(table.pk))
    asked = Job.objects.filter(about, state__in=OPEN - CLAIMED, parameters__has_key="version", requested_at__gte=at)
    return list(_readers(table, asked, MOST))


def shallow_clones_since(table: Table, at: datetime) -> list[VersionReader]:
    """The clones that name the table's own files and succeeded since then, unless their directory is gone by now. One query."""
    done = Job.objects.filter(state=State.SUCCEEDED, finished_at__gte=at, folded=False, table__missing_since=None)
    made = done.filter(command="clone", parameters__table=str(table.pk), parameters__depth="shallow")
    return list(_readers(table, made))


def running_vacuum(table: Table) -> Job | None:
    """The vacuum of the table that a worker has claimed; it keeps the table to itself, so there is one at most."""
    claimed = Job.objects.filter(table_id=table.pk, command="vacuum", state__in=CLAIMED)
    return claimed.select_related("requested_by").first()


def _asked(table: Table, states: frozenset[State], most: int | None = None) -> Iterator[VersionReader]:
    about = Q(table_id=table.pk) | Q(parameters__table=str(table.pk))
    return _readers(table, Job.objects.filter(about, state__in=states, parameters__has_key="version"), most)


def _readers(table: Table, asked: QuerySet[Job], most: int | None = None) -> Iterator[VersionReader]:
    for job in asked.select_related("table", "requested_by").order_by("requested_at")[:most]:
        version = job.parameters["version"]
        if isinstance(version, int):
            yield VersionReader(job, version, job.state in CLAIMED, _name(job, table))


def _name(job: Job, table: Table) -> str:
    into = f" into {job.table.name}" if job.table_id != table.pk else ""
    return f"the {job.command}{into} that {job.requested_by.name} requested"


def _rehearsals(table: Table) -> Iterator[VersionReader]:
    """Their private clones are of the version that the worker notes before it reads a file, a restore's also of the one to go back to."""
    claims = Attempt.objects.filter(
        kind=Attempt.Kind.PREVIEW, ended_at=None, job=OuterRef("pk"), token=OuterRef("token")
    )
    rows = Job.objects.filter(Exists(claims), table=table, rehearse=True, state=State.PREVIEWING)
    for job in rows.select_related("requested_by").order_by("requested_at"):
        name = f"the rehearsal of the {job.command} that {job.requested_by.name} requested"
        for version in (job.base_version, job.parameters.get("version")):
            if isinstance(version, int):
                yield VersionReader(job, version, True, name)
