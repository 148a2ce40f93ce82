"""A restore in words and numbers."""

from __future__ import annotations

from jobs.domain.results import Result
from jobs.domain.wording import Figure, Parameters, Preview

NO_COUNT = "the log doesn’t record how many rows some files hold"


TITLED_BY: tuple[str, ...] = ()


def title(table: str, parameters: Parameters, preview: Preview) -> str:
    return f"Restore {table} to version {parameters.get('version', 0):,}"


def figures(preview: Preview) -> list[Figure]:
    if "measured_at_version" not in preview:
        return []
    how = "row by row" if preview.get("rows_exact") else "by files, at most"
    return [
        Figure("Rows to restore", preview.get("rows_back"), how, why_unknown=NO_COUNT),
        Figure("Rows to remove", preview.get("rows_gone"), how, why_unknown=NO_COUNT),
        Figure("Commits to undo", preview.get("num_commits_undone")),
        Figure("Files to restore", preview.get("files_back")),
        Figure("Files to remove", preview.get("files_gone")),
    ]


def weight(preview: Preview) -> Figure | None:
    if "measured_at_version" not in preview:
        return None
    return Figure("Undoes", preview.get("num_commits_undone"), noun="commit")


def outcome(result: Result) -> list[Figure]:
    return []


def facts(preview: Preview) -> dict[str, str]:
    return {}
