"""The rows of pages with commits: the changes, the author, and whether you can read the version."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console.accounts.models import Person
from console.base.text.counted import counted
from console.templatetags.levee import number, size
from tables import ports
from tables.deltalog.rules.reachability import VersionReach as VersionReach
from tables.history import explained
from tables.history.operations import UNNAMED
from tables.history.reachability import TableReach
from tables.models import Commit, Explanation, Table
from tables.ports import NamedJob
from tables.rules.destruction import is_destructive
from tables.rules.reported_rows import reported_change, reported_taken


@dataclass(frozen=True, slots=True)
class CommitRow:
    """One line of the history."""

    commit: Commit
    reach: VersionReach | None  # None where it isn't shown
    rows: str | None
    reported: str | None
    files: str
    bytes: str | None
    is_destructive: bool
    explanation: Explanation | None
    job: NamedJob | None
    predicate: str


def lines_of(
    person: Person, table: Table, incarnation: int, commits: Sequence[Commit], reach: TableReach | None = None
) -> list[CommitRow]:
    """The lines of some commits of one table; the jobs behind them as far as the person may see them. Without `reach` it isn't asked."""
    known = explained.of_commits(table, incarnation, [commit.version for commit in commits])
    reaches = [None] * len(commits) if reach is None else reach.over(commits)
    return commit_rows(commits, reaches, known, ports.jobs_of(person, commits))


def commit_rows(
    commits: Sequence[Commit],
    reaches: Sequence[VersionReach | None],
    known: Mapping[int, Explanation],
    jobs: Mapping[int, NamedJob],
) -> list[CommitRow]:
    """The lines of a history; `known` has the explanations by version, `jobs` the jobs that may be seen."""
    rows = zip(commits, reaches, strict=True)
    return [_commit_row(c, reach, known.get(c.version), jobs.get(c.version)) for c, reach in rows]


def _commit_row(
    commit: Commit, reach: VersionReach | None, explanation: Explanation | None, job: NamedJob | None
) -> CommitRow:
    return CommitRow(
        commit,
        reach,
        signed(commit.rows_changed),
        signed(reported_otherwise(commit)),
        files_text(commit.files_added, commit.files_removed),
        signed_bytes(commit.bytes_added, commit.bytes_removed),
        is_destructive(commit.operation, commit.operation_parameters, commit.version, commit.removal),
        explanation,
        job,
        conditions_of(commit),
    )


def predicate_of(commit: Commit) -> str:
    """The operation's condition, without Catalyst's expression ids."""
    text = commit.operation_parameters.get("predicate") or ""
    return "" if text == "[]" else re.sub(r"#\d+L?", "", text)


def conditions_of(commit: Commit) -> str:
    """The same for a line: Spark writes a list of conditions as JSON, and all of them hold."""
    text = predicate_of(commit)
    try:
        conditions = json.loads(text) if text.startswith("[") else None
    except (ValueError, RecursionError):
        conditions = None
    if isinstance(conditions, list) and all(isinstance(each, str) for each in conditions):
        return " AND ".join(conditions)
    return text


def reported_otherwise(commit: Commit) -> int | None:
    """The change of rows that the commit's metrics report, where it isn't the one that its files come to; None where the two agree."""
    reported = reported_change(commit.operation, commit.operation_metrics)
    return None if reported == commit.rows_changed else reported


def signed(change: int | None) -> str | None:
    """A change with its sign; None when unknown."""
    if change is None:
        return None
    return "0" if change == 0 else f"{'+' if change > 0 else '−'}{abs(change):,}"


def signed_bytes(added: int | None, removed: int | None) -> str | None:
    if added is None or removed is None:
        return None
    change = added - removed
    return "0" if change == 0 else f"{'+' if change > 0 else '−'}{size(abs(change))}"


def files_text(added: int | None, removed: int | None) -> str:
    """`+3 −2`; `0` for none."""
    parts = [f"+{added:,}"] if added else []
    parts += [f"−{removed:,}"] if removed else []
    return " ".join(parts) or "0"


def seconds_of(commit: Commit) -> float | None:
    """How long the operation took, as its metrics say; None where they don't."""
    reported = (
        commit.operation_metrics.get("executionTimeMs") or commit.operation_metrics.get("execution_time_ms") or ""
    )
    return int(reported) / 1000 if reported.isascii() and reported.isdigit() and len(reported) < 15 else None


def title_of(commit: Commit) -> str:
    """A commit as a sentence with the number in it."""
    version, change = f"Version {number(commit.version)}", commit.rows_changed
    if commit.operation == "CONVERT" and commit.files_added is not None:
        return f"{version} made {counted(commit.files_added, 'parquet file')} a Delta table"
    if commit.operation == "UPDATE" and (taken := reported_taken(commit.operation, commit.operation_metrics)):
        return f"{version} changed {counted(taken, 'row')}"
    if change:
        return f"{version} {'removed' if change < 0 else 'added'} {counted(abs(change), 'row')}"
    return f"{version}: {commit.operation or UNNAMED}"
