"""The commits that a restore undoes, grouped into runs of the same kind, so that you can read and accept many at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

LONGEST = 18  # digits of a version


@dataclass(frozen=True, slots=True)
class CommitRun:
    """Neighbouring commits of one operation by one writer. `rows` is by how many rows the table grew; None if a commit doesn't record it.

    `operation` is None for commits that the catalog doesn't list individually.
    """

    first: int
    last: int
    operation: str | None
    by: str | None = None
    jobs: tuple[str, ...] = ()
    first_at: str | None = None
    last_at: str | None = None
    rows: int | None = None

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def span(self) -> str:
        """Its value in a form: `903-916`."""
        return f"{self.first}-{self.last}"


def runs_of(
    commits: Sequence[Mapping[str, Any]], rows: Mapping[int, int | None], version: int, head: int
) -> list[CommitRun]:
    """The commits after `version` up to `head`, newest first. `commits` are those listed individually, newest first."""
    grouped = groupby(enumerate(commits), key=_kind)
    named = [_run([commit for _, commit in group], rows) for _, group in grouped]
    covered = {v for run in named for v in range(run.first, run.last + 1)}
    return sorted([*named, *_gaps(covered, version, head)], key=lambda run: -run.first)


def _kind(place: tuple[int, Mapping[str, Any]]) -> tuple[Any, ...]:
    """Equal for commits of one run: down a list without gaps, index and version add up to the same. A job's commit is its own run."""
    index, commit = place
    return commit["operation"], commit["by"], commit["job"], index + commit["version"]


def _run(group: Sequence[Mapping[str, Any]], rows: Mapping[int, int | None]) -> CommitRun:
    newest, oldest = group[0], group[-1]
    changes = [rows.get(commit["version"]) for commit in group]
    return CommitRun(
        first=oldest["version"],
        last=newest["version"],
        operation=newest["operation"],
        by=newest["by"],
        jobs=(newest["job"],) if newest["job"] else (),
        first_at=oldest["committed_at"],
        last_at=newest["committed_at"],
        rows=sum(change for change in changes if change is not None) if None not in changes else None,
    )


def _gaps(covered: Iterable[int], version: int, head: int) -> list[CommitRun]:
    """Spans of commits that aren't listed individually: the restore undoes them just as well."""
    known, gaps, start = set(covered), [], version + 1
    for edge in [*sorted(v for v in known if version < v <= head), head + 1]:
        if edge > start:
            gaps.append(CommitRun(start, edge - 1, None))
        start = edge + 1
    return gaps


def versions_in(spans: Iterable[str], version: int, head: int) -> set[int]:
    """The versions after `version` up to `head` that a form's ticks cover; ignores values that aren't spans."""
    return {v for span in spans for v in _span(span, version, head)}


def _span(text: str, version: int, head: int) -> range:
    first, _, last = text.partition("-")
    if not (_is_version(first) and _is_version(last)):
        return range(0)
    return range(max(int(first), version + 1), min(int(last), head) + 1)


def _is_version(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= LONGEST
