"""The destructive effects of a commit: on rows, old versions, columns, time travel. Levee attributes each such commit to a job."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from django.db.models import Q

from tables.deltalog.read.file_sums import Removal
from tables.deltalog.rules.retention import deleted_file_retention, log_retention
from tables.deltalog.rules.schema import SchemaError, parse_schema, walk
from tables.history.queries import state_at
from tables.models import Baseline, Commit, Explanation, Schema, Table
from tables.rules.destruction import DESTRUCTIVE, OPERATIONS, REPLACE, is_destructive, overwrites

DROPPED_COLUMNS = "dropped_columns"
SHORTENED_RETENTION = "shortened_retention"
OVERWRITE = "overwrite"
REPAIR = "repair"
REMOVED_ROWS = "removed_rows"
REPLACED_ROWS = "replaced_rows"
TEXTS = {
    "delete": "deletes rows",
    "truncate": "deletes every row",
    "update": "changes rows",
    "merge": "merges rows",
    "restore": "restores an earlier version",
    "vacuum": "removes old files",
    REPLACE: "replaces the table",
    OVERWRITE: "overwrites rows",
    REPAIR: "drops missing files and their rows",
    REMOVED_ROWS: "removes rows",
    REPLACED_ROWS: "replaces rows",
    DROPPED_COLUMNS: "drops columns",
    SHORTENED_RETENTION: "shortens how long old versions are kept",
}
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Known:
    """What the catalog knew of a table's history before a sync; `version` is None for one without a history."""

    is_new: bool
    incarnation: int
    version: int | None


def known_now(table: Table) -> Known:
    """What is known before a sync reads on."""
    return Known(table.synced_at is None, table.incarnation, table.version)


def open_attributions(table: Table, known: Known, mended: Collection[int] = ()) -> None:
    """An explanation to be found for each commit since `known` that takes something away or names a job, and for those of the
    versions in `mended`, of which the catalog knew less or otherwise before. One that was found for something else than such a commit
    does is to be found anew; one that a person has acknowledged stays if it was found for more.

    A table's first sync asks nothing: what happened before Levee knew the table isn't Levee's to explain.
    """
    if known.is_new or table.version is None:
        return
    rows: list[Explanation] = []
    for commit, effects in chain(_new(table, known), _mended(table, known, mended)):
        rows.append(
            Explanation(
                table=table, incarnation=commit.incarnation, version=commit.version, effects=effects, job=commit.job
            )
        )
        if len(rows) == _BATCH:
            Explanation.objects.bulk_create(rows, ignore_conflicts=True)
            rows = []
    Explanation.objects.bulk_create(rows, ignore_conflicts=True)


def _new(table: Table, known: Known) -> Iterator[tuple[Commit, list[str]]]:
    if table.version is None:
        return
    commits = Commit.objects.filter(table=table, incarnation=table.incarnation)
    start = known.version + 1 if known.incarnation == table.incarnation and known.version is not None else 0
    if start > table.version:
        return
    before: Described | None = state_at(table, start - 1) if 0 < start <= table.version + 1 else None
    begun = Baseline.objects.filter(table=table, incarnation=table.incarnation, unknown_from=start)
    gap = begun.select_related("schema").first()
    before = None if gap else before  # what was known before a gap says nothing of what comes after it
    new = commits.filter(_candidates(), version__gte=start).select_related("schema").order_by("version")
    for commit in new.iterator(_BATCH):
        if gap is not None and commit.version > gap.version:
            before, gap = gap, None
        effects = effects_of(commit, before)
        before = commit if commit.properties is not None else before
        if effects or commit.job is not None:
            yield commit, effects


def _mended(table: Table, known: Known, versions: Collection[int]) -> Iterator[tuple[Commit, list[str]]]:
    if not versions or known.incarnation != table.incarnation:
        return
    here = {"table": table, "incarnation": table.incarnation}
    asked = {each.version: each for each in Explanation.objects.filter(**here, version__in=versions)}
    commits = Commit.objects.filter(**here, version__in=versions)
    for commit in commits.select_related("schema").order_by("version"):
        is_described = commit.properties is not None and commit.version > 0
        effects = effects_of(commit, state_at(table, commit.version - 1) if is_described else None)
        before = asked.get(commit.version)
        if before is not None and not _still_holds(before, effects, commit):
            before.delete()
        if effects or commit.job is not None:
            yield commit, effects


def _still_holds(explanation: Explanation, effects: list[str], commit: Commit) -> bool:
    if explanation.job != commit.job:
        return False
    seen = explanation.acknowledged_at is not None and set(effects) <= set(explanation.effects)
    return seen or explanation.effects == effects


def _candidates() -> Q:
    return DESTRUCTIVE | Q(version=0) | Q(properties__isnull=False) | Q(job__isnull=False)


class Described(Protocol):
    """What a table was: a commit that says it, or what is known of a version otherwise."""

    @property
    def schema(self) -> Schema | None: ...
    @property
    def properties(self) -> dict[str, str | None] | None: ...


def effects_of(commit: Commit, before: Described | None) -> list[str]:
    """The commit's destructive effects, given the table before it; None: unknown."""
    effects = list(_on_rows(commit))
    if before is not None and commit.properties is not None:
        effects += _described(commit, before)
    return effects


def _on_rows(commit: Commit) -> Iterator[str]:
    """What it does to rows and old versions, in the word of its operation where Levee knows that one."""
    if commit.version and not is_destructive(
        commit.operation, commit.operation_parameters, commit.version, commit.removal
    ):
        return
    if commit.operation in OPERATIONS:
        yield OPERATIONS[commit.operation]
    elif overwrites(commit.operation_parameters):
        yield OVERWRITE
    elif commit.version:
        yield REPAIR if commit.operation == "FSCK" else _unnamed(commit)


def _unnamed(commit: Commit) -> str:
    return REPLACED_ROWS if commit.removal in (Removal.REPLACED, Removal.UNSAID) else REMOVED_ROWS


def _described(commit: Commit, before: Described) -> Iterator[str]:
    if commit.schema and before.schema and _drops(before.schema, commit.schema):
        yield DROPPED_COLUMNS
    if before.properties is None:
        return
    old, new = _texts(before), _texts(commit)
    if deleted_file_retention(new) < deleted_file_retention(old) or log_retention(new) < log_retention(old):
        yield SHORTENED_RETENTION


def _drops(before: Schema, after: Schema) -> bool:
    """Whether a column of the earlier schema isn't in the later one: by the numbers where both are mapped, else by the names."""
    numbers = _numbers(before)
    if numbers and (later := _numbers(after)):
        return bool(numbers - later)
    return bool(set(before.columns) - set(after.columns))


def _numbers(schema: Schema) -> set[int]:
    """The numbers that column mapping gave the columns, nested ones too; none for a schema without mapping."""
    try:
        return {
            column.mapping_id
            for _, column in walk(parse_schema(json.dumps(schema.struct)))
            if column.mapping_id is not None
        }
    except SchemaError:
        return set()


def _texts(commit: Described) -> dict[str, str]:
    return {name: value for name, value in (commit.properties or {}).items() if value is not None}


def words_of(effects: list[str]) -> str:
    """The effects as a clause: `deletes rows, drops columns`."""
    return ", ".join(TEXTS[name] for name in effects)
