"""Which commits a table's rows come of: a restore leaves out those since the version that it goes back to."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.models import Job
from tables.models import Commit, Table

RESTORES = 200  # the newest ones that are looked at

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Undoing:
    """The restore that took a commit out of the table's state: its version, and its job where it was Levee's."""

    version: int
    job: uuid.UUID | None

    @property
    def words(self) -> str:
        """By whom and where, as a sentence without its subject's link."""
        by = f"job {str(self.job)[:8]}" if self.job else "a restore outside Levee"
        return f"Undone by {by} as version {self.version:,}."


def restores_of(table: Table) -> list[Span] | None:
    """The restores, newest first: their versions, and those that they went back to; None if one doesn't tell."""
    commits = Commit.objects.filter(table=table, incarnation=table.incarnation, operation="RESTORE").order_by(
        "-version"
    )
    pairs = [
        (version, str(told.get("version") or ""))
        for version, told in commits.values_list("version", "operation_parameters")[:RESTORES]
    ]
    if not all(to.isascii() and to.isdigit() and len(to) < 19 for _, to in pairs):
        return None
    return [(version, int(to)) for version, to in pairs]


def lineage(version: int, restores: Iterable[Span]) -> list[Span]:
    """The commits, as ranges from first to last, of which a version's rows came: a restore leaves out those since what it goes back to."""
    spans: list[Span] = []
    for restore, to in restores:
        if restore <= version:
            spans.append((restore, version))
            version = to
    return [*spans, (0, version)]


def undoing(job: Job) -> Undoing | None:
    """The restore that undid the job's commit; None while the table has it, or where the catalog doesn't tell."""
    table, version = job.table, job.version
    if version is None or table.version is None:
        return None
    commits = Commit.objects.filter(table=table, incarnation=table.incarnation)
    if not commits.filter(version=version, job=job.pk).exists():  # of an earlier table in the same place
        return None
    restore = _leaving_out(version, table.version, restores_of(table) or [])
    if restore is None:
        return None
    return Undoing(restore, commits.values_list("job", flat=True).get(version=restore))


def _leaving_out(version: int, head: int, restores: Iterable[Span]) -> int | None:
    """The restore by which a version is no part of the newest version's lineage."""
    for restore, to in restores:
        if version < restore <= head:
            if to < version:
                return restore
            head = to
    return None
