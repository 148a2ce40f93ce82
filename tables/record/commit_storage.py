"""Writes rows of commits: new ones in one statement, and anew those that are known already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from tables.deltalog.read.commits import LogCommit as LogCommit
from tables.deltalog.read.file_sums import FileSums
from tables.models import Commit, Explanation, Table
from tables.record import commit_rows, daily_totals, log_rewrites
from tables.record.inserts import insert_new
from tables.rules.destruction import DESTRUCTIVE

BATCH = 1_000
_KEY = ["table", "incarnation", "version"]


@dataclass(slots=True)
class StoredCommits:
    """What rows that were known already have turned out to be: `gone` are those that were other commits, as they were; `mended`
    are versions that can be read by now, or are destructive by what is read of them now and weren't, or the other way round, those
    older than the table's entry aside.
    `again` are all that were written anew, those older than the entry aside. `first` is the first version that was written, `schemas`
    are the keys of those that have a row now, and `retimed` says that some that were known have other times."""

    gone: list[Commit] = field(default_factory=list)
    mended: list[int] = field(default_factory=list)
    again: list[int] = field(default_factory=list)
    first: int | None = None
    schemas: set[str] = field(default_factory=set)
    retimed: bool = False


def store(
    table: Table, commits: Iterable[LogCommit], completed: Callable[[], Mapping[int, FileSums]] = dict
) -> StoredCommits:
    """Writes commits as rows, in batches, with their schemas and the days on which they were made.

    `completed` answers, after the last commit, sums that are known by then (`Sync.completed`).
    """
    rows, stored = commit_rows.rows(table, commits), StoredCommits()
    while batch := list(islice(rows, BATCH)):
        schemas = {
            row.schema.sha256: row.schema for row in batch if row.schema and row.schema.sha256 not in stored.schemas
        }
        commit_rows.ensure_schemas(schemas.values())
        stored.schemas |= schemas.keys()
        _write(table, [row.commit for row in batch], stored)
        stored.first = batch[0].commit.version if stored.first is None else stored.first
    _complete(table, completed())
    stored.mended += _judged_otherwise(table, stored.again)  # by what is known of them only now
    if stored.retimed:  # the days on which they stood have fewer commits now, or none
        daily_totals.count_anew(table)
    elif stored.first is not None:
        daily_totals.recount(table, stored.first)
    return stored


def _write(table: Table, commits: list[Commit], stored: StoredCommits) -> None:
    """Writes the rows anew that are known already. One that had a problem was mended: it is no other commit."""
    new = insert_new(commits, "version")
    again = [row for row in commits if row.version not in new]
    if not again:
        return
    here = Commit.objects.filter(table=table, incarnation=table.incarnation)
    known = {row.version: row for row in here.filter(version__in=[row.version for row in again])}
    fields = [each.name for each in Commit._meta.concrete_fields if each.name not in _KEY]
    Commit.objects.bulk_create(again, update_conflicts=True, unique_fields=_KEY, update_fields=fields)
    before = [(row, known[row.version]) for row in again]
    stored.retimed |= any(row.committed_at != old.committed_at for row, old in before)
    stored.gone += [old for row, old in before if not old.problems and log_rewrites.are_different(row, old)]
    ours = [(row, old) for row, old in before if _is_ours(table, old)]
    stored.mended += [old.version for row, old in ours if old.problems and not row.problems]
    stored.again += [old.version for _, old in ours]


def _judged_otherwise(table: Table, versions: Iterable[int]) -> list[int]:
    """Those of the versions whose attribution is lacking, or there without need, by what they did: the rules may have changed since."""
    here = {"table": table, "incarnation": table.incarnation}
    found, waiting = list[int](), iter(versions)
    while batch := list(islice(waiting, BATCH)):
        destructive = Commit.objects.filter(DESTRUCTIVE, **here, version__in=batch).values_list("version", flat=True)
        # Those that were asked about for their job alone hold whatever is destructive.
        asked = Explanation.objects.filter(**here, version__in=batch).exclude(effects=[])
        found += set(destructive).symmetric_difference(asked.values_list("version", flat=True))
    return found


def _complete(table: Table, completed: Mapping[int, FileSums]) -> None:
    """Writes what is known by now of rows that were removed. A commit with a problem stays as it was read."""
    here = Commit.objects.filter(table=table, incarnation=table.incarnation, problems=[])
    versions = iter(sorted(completed))
    while batch := list(islice(versions, BATCH)):
        rows = list(here.filter(version__in=batch))
        for row in rows:
            sums = completed[row.version]
            row.rows_removed = commit_rows.bounded(sums.rows_removed)
            row.rows_changed = commit_rows.bounded(commit_rows.rows_changed(row, sums.removed, sums.added))
            row.removal = sums.removal.value
        Commit.objects.bulk_update(rows, ["rows_removed", "rows_changed", "removal"])


def _is_ours(table: Table, commit: Commit) -> bool:
    """Whether a commit, as it was first read, is younger than the table's entry. Mending a file gives it a time of its own."""
    if commit.committed_at is None:
        return bool(commit.problems)
    return commit.committed_at >= table.added_at
