"""Queries of a table's history in the catalog: pages of commits, the state at a version, the changes between two."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum, Window
from django.db.models.functions import Lag
from django.http import Http404

from console.base.errors import Problem
from console.base.pagination import OrderKey, Page, page
from tables import ports
from tables.models import Baseline, Commit, Explanation, Schema, Table, TableDay
from tables.rules.destruction import DESTRUCTIVE

NEWEST = (OrderKey("version", descending=True),)
OLDEST = (OrderKey("version"),)
STREAMING = "STREAMING UPDATE"
UNEXPLAINED = "unexplained"
GROUPS = {"but_streaming": "All but streaming", "destructive": "Destructive", UNEXPLAINED: "To acknowledge"}
SERIES_DAYS = 90
SCHEMA_COMMITS = 10_000  # the newest changes of a schema that are listed
ID_DIGITS = 32  # of a job's id, without its hyphens


def newest(table: Table) -> int:
    """The newest version. Raises Problem: 409 `not_delta` for a parquet directory, 422 `unreadable` for a log that wasn't read."""
    if table.version is not None:
        return table.version
    if not table.is_delta:
        raise Problem(409, "not_delta", f"{table.name} is not a Delta table, so it has no versions.")
    why = table.sync_error or "Its first sync is pending."
    raise Problem(
        422, "unreadable", f"The log of {table.name} has not been read. {why}", sync_error=table.sync_error or None
    )


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """How a history is narrowed.

    `operation` is a name, or a group: `destructive`, `but_streaming`, `unexplained`. `by` is a user or an engine as the log has it, or who
    asked for the job that made the commit; `job` is a job's id, or its beginning.
    """

    operation: str = ""
    by: str = ""
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None
    job: str = ""

    def __bool__(self) -> bool:
        return any((self.operation, self.by, self.since, self.until, self.before is not None, self.job))


def commits_of(table: Table, incarnation: int | None = None) -> QuerySet[Commit]:
    """The history of the table that lies there now, or of an earlier one."""
    return Commit.objects.filter(table=table, incarnation=table.incarnation if incarnation is None else incarnation)


def incarnation_of(table: Table, text: str) -> int:
    """Which of the tables that have lain here is meant; the present one without a text. Raises Http404 for one that never was."""
    if not text:
        return table.incarnation
    if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text) <= table.incarnation):
        raise Http404
    return int(text)


def history_page(
    table: Table,
    wanted: HistoryFilter,
    limit: int,
    cursor: str = "",
    incarnation: int | None = None,
    order: tuple[OrderKey] = NEWEST,
) -> Page[Commit]:
    """One page of commits, newest first unless told."""
    return page(commits_of(table, incarnation).filter(_condition(table, wanted)), order, limit, cursor)


def _condition(table: Table, wanted: HistoryFilter) -> Q:
    condition = Q()
    if wanted.operation == "destructive":
        condition &= DESTRUCTIVE
    elif wanted.operation == UNEXPLAINED:
        condition &= _unexplained(table)
    elif wanted.operation == "but_streaming":
        condition &= ~Q(operation=STREAMING)
    elif wanted.operation:
        condition &= (
            Q(operation__iexact=wanted.operation) if wanted.operation.islower() else Q(operation=wanted.operation)
        )
    if wanted.by:
        condition &= Q(user_name=wanted.by) | Q(engine_info=wanted.by) | ports.asked_by(wanted.by)
    if wanted.since:
        condition &= Q(committed_at__gte=wanted.since)
    if wanted.until:
        condition &= Q(committed_at__lt=wanted.until)
    if wanted.before is not None:
        condition &= Q(version__lt=wanted.before)
    if wanted.job:
        condition &= _job(wanted.job)
    return condition


def _job(text: str) -> Q:
    """Commits that name the job of this id, or one whose id begins so; none for what begins no id."""
    digits = text.lower().replace("-", "")
    if not digits or len(digits) > ID_DIGITS or set(digits) - set("0123456789abcdef"):
        return Q(pk__in=[])
    return Q(job__range=(uuid.UUID(digits.ljust(ID_DIGITS, "0")), uuid.UUID(digits.ljust(ID_DIGITS, "f"))))


def _unexplained(table: Table) -> Q:
    """Unapproved commits that await acknowledgement."""
    explanations = Explanation.objects.filter(table=table, verdict__in=Explanation.UNEXPLAINED, acknowledged_at=None)
    return Q(version__in=explanations.filter(incarnation=OuterRef("incarnation")).values("version"))


def commit_at(table: Table, version: int, incarnation: int | None = None) -> Commit:
    """One commit of the present history, or of an earlier table's. Raises Http404."""
    commit = commits_of(table, incarnation).filter(version=version).select_related("schema").first()
    if commit is None:
        raise Http404
    return commit


@dataclass(frozen=True, slots=True)
class StateAtVersion:
    """What the log said of a table at one version; None where no commit that the catalog has tells it."""

    version: int
    schema: Schema | None
    partition_columns: list[str] | None
    properties: dict[str, str | None] | None
    protocol: dict[str, Any] | None
    clustering_columns: list[str] | None = None


def state_at(table: Table, version: int, incarnation: int | None = None) -> StateAtVersion:
    """Schema, properties and protocol at a version of the present table or of an earlier one.

    They are the table's own at its head, else from the newest commit that set them, or from where the history begins. Raises Http404
    for a version that the table never had.
    """
    incarnation = table.incarnation if incarnation is None else incarnation
    newest = newest_version(table, incarnation)
    if newest is None or not 0 <= version <= newest:
        raise Http404
    if incarnation == table.incarnation and version == newest:
        return StateAtVersion(
            version,
            table.schema,
            table.partition_columns,
            table.properties,
            table.protocol,
            table.clustering_columns,
        )
    return _told(table, version, incarnation)


def incarnation_with(table: Table, version: int, job: str, usual: int) -> int:
    """The first of the tables that have lain here whose commit of this version names the job; `usual` when none does."""
    try:
        named = Commit.objects.filter(table=table, version=version, job=uuid.UUID(job))
    except ValueError:
        return usual
    incarnation = named.order_by("incarnation").values_list("incarnation", flat=True).first()
    return usual if incarnation is None else incarnation


def newest_version(table: Table, incarnation: int) -> int | None:
    """The last version of the present table or of an earlier one; None for one without versions."""
    if incarnation == table.incarnation:
        return table.version
    return commits_of(table, incarnation).order_by("-version").values_list("version", flat=True).first()


def _told(table: Table, version: int, incarnation: int) -> StateAtVersion:
    """The state as commits tell it, back to the version from which on the history has no gap."""
    begun = _baseline(table, version, incarnation)
    is_after = begun is not None and begun.version <= version
    start = 0 if begun is None else begun.version if is_after else begun.unknown_from
    before = commits_of(table, incarnation).filter(version__range=(start, version)).order_by("-version")
    described = before.filter(properties__isnull=False).select_related("schema").first() or (
        begun if is_after else None
    )
    protocol = before.filter(protocol__isnull=False).values_list("protocol", flat=True).first()
    if protocol is None and begun is not None and is_after:
        protocol = begun.protocol
    clustering = _clustering(protocol)
    if described is None:
        return StateAtVersion(version, None, None, None, protocol, clustering)
    return StateAtVersion(
        version, described.schema, described.partition_columns, described.properties, protocol, clustering
    )


def _clustering(protocol: dict[str, Any] | None) -> list[str] | None:
    """None for a table that may be clustered, by what its history doesn't keep; none where the protocol allows no clustering."""
    return None if protocol is None or "clustering" in (protocol.get("writer_features") or ()) else []


def _baseline(table: Table, version: int, incarnation: int) -> Baseline | None:
    begun = Baseline.objects.filter(table=table, incarnation=incarnation, unknown_from__lte=version)
    return begun.select_related("schema").order_by("-unknown_from").first()


def schema_commits(table: Table) -> QuerySet[Commit]:
    """The commits whose schema is another one than that of the commit with a schema before them, which `older` names by its version.

    The oldest one known is among them, with none before it.
    """
    with_schema = commits_of(table).filter(schema__isnull=False)
    last = Window(Lag("schema_id"), order_by=F("version").asc())  # one pass, whatever the planner knows of a new table
    changed = with_schema.annotate(last=last).filter(Q(last=None) | ~Q(schema_id=F("last"))).order_by("-version")
    versions = list(
        changed.values_list("version", flat=True)[:SCHEMA_COMMITS]
    )  # as values: nothing to be looked up per row
    older = with_schema.filter(version__lt=OuterRef("version")).order_by("-version").values("version")[:1]
    return with_schema.filter(version__in=versions).annotate(older=Subquery(older)).select_related("schema")


def schemas_before(table: Table, commits: Sequence[Commit]) -> dict[int, Schema | None]:
    """The schema before each of some `schema_commits`, by their version; None if unknown. Two queries."""
    older = {commit.version: getattr(commit, "older", None) for commit in commits}
    with_schema = commits_of(table).filter(version__in=[v for v in older.values() if v is not None])
    schemas = {commit.version: commit.schema for commit in with_schema.select_related("schema")}
    begun = list(Baseline.objects.filter(table=table, incarnation=table.incarnation).select_related("schema"))
    return {version: _schema_before(version, before, schemas, begun) for version, before in older.items()}


def _schema_before(
    version: int, older: int | None, schemas: dict[int, Schema | None], begun: Sequence[Baseline]
) -> Schema | None:
    """That of the older commit, unless the history has a gap between the two."""
    gap = max((b for b in begun if b.unknown_from <= version), key=lambda b: b.unknown_from, default=None)
    if gap is None or (older is not None and older >= gap.version):
        return schemas.get(older) if older is not None else None
    if version > gap.version:
        return gap.schema
    return schemas.get(older) if older is not None and older >= gap.unknown_from else None


@dataclass(frozen=True, slots=True)
class Changed:
    """One entry that two mappings don't agree on; None stands for an entry that is not there."""

    name: str
    before: str | None
    after: str | None


def changed(before: dict[str, str | None] | None, after: dict[str, str | None] | None) -> list[Changed]:
    """The entries of two mappings that differ, by name."""
    old, new = before or {}, after or {}
    return [Changed(k, old.get(k), new.get(k)) for k in sorted({*old, *new}) if old.get(k) != new.get(k)]


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a table: when, its commits, and the bytes and rows of the table at its end (None: unknown)."""

    at: datetime
    commits: int
    size_bytes: int | None
    num_records: int | None

    @property
    def date(self) -> str:
        """`2026-11-20`, in UTC."""
        return f"{self.at:%Y-%m-%d}"


def days_of(table: Table, now: datetime) -> list[Day]:
    """Size and commits by day of the last SERIES_DAYS, oldest first, reckoned back from what the table is now. One query."""
    rows = TableDay.objects.filter(
        table=table, incarnation=table.incarnation, day__gte=(now - timedelta(days=SERIES_DAYS)).date()
    )
    days: list[Day] = []
    size, records = table.size_bytes, table.num_records
    for row in rows.order_by("-day"):
        days.append(Day(datetime.combine(row.day, time.min, UTC), row.commits, size, records))
        size = None if size is None or row.bytes_grown is None else size - row.bytes_grown
        records = None if records is None or row.rows_grown is None else records - row.rows_grown
    return days[::-1]


def between(table: Table, before: int, after: int, incarnation: int | None = None) -> dict[str, int | None]:
    """What the commits after one version up to another did in sum; a sum with an unknown part is None."""
    rows = commits_of(table, incarnation).filter(version__gt=before, version__lte=after)
    names = (
        "files_added",
        "files_removed",
        "bytes_added",
        "bytes_removed",
        "rows_added",
        "rows_removed",
        "rows_changed",
    )
    sums = rows.aggregate(
        count=Count("version"),
        **{f"{name}_sum": Sum(name) for name in names},
        **{f"{name}_known": Count(name) for name in names},
    )
    known = {n: (sums[f"{n}_sum"] or 0) if sums[f"{n}_known"] == sums["count"] else None for n in names}
    return {"count": sums["count"], **known}
