"""Which versions of a catalogued table can be reached: the rules of `deltalog.reachability` over the rows of its history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from tables.deltalog.rules import lost_versions
from tables.deltalog.rules.reachability import FileKnowledge, VacuumRun, VersionFacts, reachability
from tables.deltalog.rules.reachability import VersionReach as VersionReach
from tables.deltalog.rules.retention import LONGEST, deleted_file_retention
from tables.deltalog.vacuum import operations
from tables.models import Baseline, Commit, Table
from tables.record import log_extent

CHANGE_FEED = "delta.enableChangeDataFeed"
VACUUMS = 20  # the newest ones that are looked at
FEED_CHANGES = 200

NOT_HERE = "It belongs to an earlier table at this location."
UNREACHABLE = VersionReach(-1, False, False, FileKnowledge.PERHAPS_GONE, False, False, False, None, NOT_HERE)


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring versions of which the same is true. Times are those of its first and last commit that the catalog knows."""

    first: int
    last: int
    first_at: datetime | None
    last_at: datetime | None
    in_log: bool
    restorable: bool
    change_feed: bool | None  # None: unknown
    why: str | None

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    def as_json(self) -> dict[str, Any]:
        return {
            "from_version": self.first,
            "to_version": self.last,
            "from_at": self.first_at,
            "to_at": self.last_at,
            "in_log": self.in_log,
            "readable": self.restorable,
            "restorable": self.restorable,
            "change_feed": self.change_feed,
            "why": self.why,
        }


class TableReach:
    """What can be done with the versions of one table now. Made once for a page: three queries, however long the history."""

    def __init__(self, table: Table, now: datetime | None = None) -> None:
        self.table = table
        self.now = now or timezone.now()
        self.retention = deleted_file_retention({k: v for k, v in table.properties.items() if v is not None})
        self._history = Commit.objects.filter(table=table, incarnation=table.incarnation)
        self._vacuums = _vacuums(self._history, self.retention)
        self._removals = _last_removal(self._history, self._vacuums)
        self._feed = _feed_changes(table, self._history)
        self.lost = lost_versions.of_json(table.lost_files)

    @property
    def vacuumed_until(self) -> datetime | None:
        """Files removed before this are gone by a vacuum that completed; None for none."""
        return max((vacuum.at - vacuum.retention for vacuum in self._vacuums if vacuum.completed), default=None)

    def of(self, commit: Commit) -> VersionReach:
        """What can be done with the version of one commit."""
        return self.over([commit])[0]

    def over(self, commits: Sequence[Commit]) -> list[VersionReach]:
        """The same for several, in their order."""
        if self.table.version is None:
            return [UNREACHABLE] * len(commits)
        facts = {fact.version: fact for fact in map(self._fact, self._removals)}
        asked = [commit for commit in commits if commit.incarnation == self.table.incarnation]
        facts |= {fact.version: fact for fact in map(self._fact, asked)}
        reaches = reachability(
            [facts[version] for version in sorted(facts)],
            head=self.table.version,
            rebuildable=log_extent.rebuildable(self.table),
            vacuums=self._vacuums,
            retention=self.retention,
            now=self.now,
            lost=self.lost,
        )
        by_version = {reach.version: reach for reach in reaches}
        here = self.table.incarnation
        return [by_version[c.version] if c.incarnation == here else UNREACHABLE for c in commits]

    def _fact(self, commit: Commit) -> VersionFacts:
        return VersionFacts(
            version=commit.version,
            committed_at=commit.committed_at or self.now,
            in_log=log_extent.in_log(self.table, commit.version),
            removes_files=bool(commit.files_removed),
            change_feed=next((on for version, on in self._feed if version <= commit.version), None),
        )

    def expires_at(self, span: Span) -> datetime | None:
        """When the oldest version of a restorable span stops to be; None for the newest version, which never does."""
        if span.first_at is None or span.first == self.table.version:
            return None
        try:
            return span.first_at + self.retention
        except OverflowError:  # a log may say that it was written in the year 9999
            return None

    @cached_property
    def spans(self) -> list[Span]:
        """All known versions, oldest first, cut where an answer changes. Two more queries."""
        if self.table.version is None:
            return []
        edges = self._edges(self.table.version)
        ends = [edge - 1 for edge in edges[1:]] + [self.table.version]
        known = {c.version: c for c in self._history.filter(version__in={*edges, *ends}).only(*_FACTS)}
        return [self._span(first, last, known) for first, last in zip(edges, ends, strict=True)]

    def losing(self, dying: Iterable[Sequence[int]]) -> list[Span]:
        """The spans as they would be without the files of the `dying` versions, `[first, last]` each. One more query."""
        spans = without(joined(self.spans), dying)
        asked = {
            v for span in spans for v, at in ((span.first, span.first_at), (span.last, span.last_at)) if at is None
        }
        known = dict(self._history.filter(version__in=asked).values_list("version", "committed_at")) if asked else {}
        return [
            replace(s, first_at=s.first_at or known.get(s.first), last_at=s.last_at or known.get(s.last)) for s in spans
        ]

    def _edges(self, head: int) -> list[int]:
        """First versions of the spans: where the log begins, where it can be rebuilt, where retention and vacuums cut."""
        oldest = self._history.order_by("version").values_list("version", flat=True).first()
        expired = self._history.filter(committed_at__lt=self.now - self.retention).order_by("-version")
        last_expired = expired.values_list("version", flat=True).first()
        start = oldest if oldest is not None else head
        edges = {start, head, *(version for version, _ in self._feed), *(c.version for c in self._removals)}
        edges |= {v for v in (self.table.first_version, self.table.first_readable) if v is not None}
        for first, last in (*(self.table.rebuildable or ()), *(self.table.lost_commits or ())):
            edges |= {first, last + 1}
        for each in self.lost:
            edges |= {each.begin, each.first, each.last + 1}
        if last_expired is not None:
            edges.add(last_expired + 1)
        return sorted(edge for edge in edges if start <= edge <= head)

    def _span(self, first: int, last: int, known: dict[int, Commit]) -> Span:
        commit = known.get(first) or Commit(table=self.table, incarnation=self.table.incarnation, version=first)
        reach = self.of(commit)
        return Span(
            first,
            last,
            commit.committed_at,
            known[last].committed_at if last in known else None,
            reach.in_log,
            reach.restorable,
            reach.change_feed,
            reach.why,
        )


def without(spans: Iterable[Span], dying: Iterable[Sequence[int]]) -> list[Span]:
    """The spans as they would be if the `dying` versions, from first to last, lost their files."""
    cut = list(spans)
    for first, last in dying:
        cut = [part for span in cut for part in _parts(span, first, last)]
    return joined(cut)


LOSES_FILES = "The vacuum would delete files that this version needs."


def _parts(span: Span, first: int, last: int) -> Iterator[Span]:
    """What lies before, in and after the dying versions. The times of a cut aren't known."""
    start, end = max(span.first, first), min(span.last, last)
    if start > end or not span.restorable:
        yield span
        return
    if span.first < start:
        yield replace(span, last=start - 1, last_at=None)
    begun, ended = span.first_at if start == span.first else None, span.last_at if end == span.last else None
    yield replace(span, first=start, last=end, first_at=begun, last_at=ended, restorable=False, why=LOSES_FILES)
    if end < span.last:
        yield replace(span, first=end + 1, first_at=None)


_FACTS = ("table", "incarnation", "version", "committed_at", "files_removed")


def joined(spans: Iterable[Span]) -> list[Span]:
    """Neighbours that say the same as one."""
    merged: list[Span] = []
    for span in spans:
        same = merged and _says(merged[-1]) == _says(span)
        merged.append(_together(merged.pop(), span) if same else span)
    return merged


def _says(span: Span) -> tuple[object, ...]:
    return span.in_log, span.restorable, span.change_feed, span.why


def _together(one: Span, next_one: Span) -> Span:
    return Span(one.first, next_one.last, one.first_at, next_one.last_at, *_says(one))  # type: ignore[arg-type]


def _vacuums(history: QuerySet[Commit], retention: timedelta) -> list[VacuumRun]:
    """The newest vacuums, with the retention that they were started with. One without an end, or whose end says that it failed, has
    deleted files as well."""
    rows = history.filter(operation__in=(operations.START, operations.END)).order_by("-version")[: 2 * VACUUMS]
    vacuums: list[VacuumRun] = []
    end: Commit | None = None
    for row in rows:
        if row.operation == operations.END:
            end = row
            continue
        completed = end is not None and end.operation_parameters.get("status") == "COMPLETED"
        last, end = (row if end is None else end), None
        if last.committed_at is not None:
            vacuums.append(VacuumRun(last.version, last.committed_at, _asked_retention(row, retention), completed))
    return vacuums


def _asked_retention(start: Commit, usual: timedelta) -> timedelta:
    for name in ("specifiedRetentionMillis", "defaultRetentionMillis"):
        text = start.operation_parameters.get(name) or ""
        if text.isascii() and text.isdigit() and len(text) < 15:
            return min(timedelta(milliseconds=int(text)), LONGEST)
    return usual


def _last_removal(history: QuerySet[Commit], vacuums: Sequence[VacuumRun]) -> list[Commit]:
    """The newest commit whose removed files a vacuum deleted, or began to: that vacuum is the one which reached farthest."""
    if not vacuums:
        return []
    farthest = max(vacuums, key=lambda vacuum: vacuum.at - vacuum.retention)
    horizon = farthest.at - farthest.retention
    rows = history.filter(version__lt=farthest.version, files_removed__gt=0, committed_at__lte=horizon)
    return list(rows.only(*_FACTS).order_by("-version")[:1])


def _feed_changes(table: Table, history: QuerySet[Commit]) -> list[tuple[int, bool | None]]:
    """Where the change feed was turned on or off, newest first; None from where it is unknown."""
    rows = (
        history.filter(properties__isnull=False)
        .order_by("-version")
        .values_list("version", "properties")[:FEED_CHANGES]
    )
    begun = Baseline.objects.filter(table=table, incarnation=table.incarnation).order_by("-unknown_from")
    begins = list(begun.values_list("version", "properties", "unknown_from")[:FEED_CHANGES])
    reported = {version: _is_on(properties) for version, properties in [*((v, p) for v, p, _ in begins), *rows]}
    unknown: dict[int, bool | None] = {start: None for _, _, start in begins}
    return sorted((unknown | reported).items(), reverse=True)


def _is_on(properties: dict[str, str | None]) -> bool:
    return str(properties.get(CHANGE_FEED)).lower() == "true"
