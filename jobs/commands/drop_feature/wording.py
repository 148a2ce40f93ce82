"""A dropped feature in words and numbers."""

from __future__ import annotations

from jobs.domain.results import Result
from jobs.domain.wording import Figure, Parameters, Preview

WAYS = {"plain": "at once", "fast": "at once, history protected", "truncate": "in two steps, history cut"}


TITLED_BY: tuple[str, ...] = ()


def title(table: str, parameters: Parameters, preview: Preview) -> str:
    how = " and cut its history" if parameters.get("truncate_history") else ""
    return f"Drop the feature {parameters.get('feature', '')} of {table}{how}"


def figures(preview: Preview) -> list[Figure]:
    if "measured_at_version" not in preview:
        return []
    able = sum(1 for reader in preview["readers"] if reader["reads"])
    return [
        Figure("Files", preview["files_total"], "in the table"),
        Figure("Engines that can read it afterwards", able, f"of {len(preview['readers'])} that Levee knows"),
    ]


def weight(preview: Preview) -> Figure | None:
    return Figure("Files", preview["files_total"], noun="file") if "files_total" in preview else None


def outcome(result: Result) -> list[Figure]:
    commits = result.details.get("commits", ())
    return [Figure("Commits", len(commits), " → ".join(str(commit["version"]) for commit in commits))]


def facts(preview: Preview) -> dict[str, str]:
    way = WAYS.get(preview.get("way", ""))
    return {"Method": way} if way else {}
