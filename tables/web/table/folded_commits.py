"""Runs of similar commits: a stream's thousand updates are one line of a history, which a link unfolds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from tables.deltalog.rules.reachability import VersionReach
from tables.web.charts.commits import spark
from tables.web.table.commit_lines import CommitRow, files_text, signed, signed_bytes

SHORTEST = 5  # commits; fewer are shown one by one


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """Neighbouring commits of one operation by one writer, with nothing to review. Sums as texts; None is unknown.

    `reach` is that of the oldest, the first to be lost. `times` draws when they were made, as a path; empty where that isn't known.
    """

    first: int
    last: int
    first_at: datetime | None
    last_at: datetime | None
    operation: str
    writer: str
    rows: str | None
    files: str
    bytes: str | None
    reach: VersionReach | None
    times: str = ""

    @property
    def count(self) -> int:
        return self.last - self.first + 1


def folded(rows: Sequence[CommitRow]) -> list[CommitRow | FoldedRun]:
    """The lines of a history, newest first, with each run of SHORTEST commits or more as one."""
    lines: list[CommitRow | FoldedRun] = []
    # Down a list of neighbours, place and version add up to the same.
    for _, group in groupby(enumerate(rows), lambda placed: (*_sameness(placed[1]), sum_of(placed))):
        run = [row for _, row in group]
        lines += [_run(run)] if len(run) >= SHORTEST and _is_plain(run[0]) else run
    return lines


def sum_of(placed: tuple[int, CommitRow]) -> int:
    """The same for all commits of a list without gaps."""
    place, row = placed
    return place + row.commit.version


def _sameness(row: CommitRow) -> tuple[object, ...]:
    commit, reach = row.commit, row.reach
    kept = reach and (reach.in_log, reach.restorable)
    return (_is_plain(row), commit.operation, commit.engine_info, commit.user_name, kept)


def _is_plain(row: CommitRow) -> bool:
    """Whether the commit needs no review of its own; the newest version, which never expires, always has its own line."""
    asks = (row.is_destructive, row.explanation, row.commit.job, row.predicate, row.commit.problems)
    is_newest = row.reach is not None and row.reach.restorable and row.reach.until is None
    return bool(row.commit.operation) and not is_newest and not any(asks)


def _run(rows: Sequence[CommitRow]) -> FoldedRun:
    newest, oldest = rows[0], rows[-1]
    commits = [row.commit for row in rows]
    return FoldedRun(
        first=oldest.commit.version,
        last=newest.commit.version,
        first_at=oldest.commit.committed_at,
        last_at=newest.commit.committed_at,
        operation=newest.commit.operation,
        writer=newest.commit.user_name or newest.commit.engine_info,
        rows=signed(_sum([commit.rows_changed for commit in commits])),
        files=files_text(_sum([c.files_added for c in commits]), _sum([c.files_removed for c in commits])),
        bytes=signed_bytes(_sum([c.bytes_added for c in commits]), _sum([c.bytes_removed for c in commits])),
        reach=oldest.reach,
        times=spark([commit.committed_at for commit in commits]),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
