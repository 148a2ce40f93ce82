"""A vacuum in words and numbers."""

from __future__ import annotations

from console.base.text.counted import counted
from jobs.commands.vacuum.rules import count_of
from jobs.domain.comparison import Unit
from jobs.domain.results import Result
from jobs.domain.wording import Figure, Parameters, Preview

NO_SIZES = "the log doesn’t say how large every file is"
TITLED_BY: tuple[str, ...] = ()


def title(table: str, parameters: Parameters, preview: Preview) -> str:
    hours = parameters.get("retention_hours")
    lite = " by its log" if parameters.get("lite") else ""
    keeping = "" if hours is None else f", keeping {counted(hours, 'hour')}"
    return f"Vacuum the old files of {table}{lite}{keeping}"


def figures(preview: Preview) -> list[Figure]:
    if "measured_at_version" not in preview:
        return []
    untracked = preview.get("untracked_files")
    sub = None if not untracked else f"{untracked:,} not in the log"
    return [
        Figure("Files to delete", preview["files"], sub, at_most=preview.get("lite", False)),
        Figure(
            "Bytes to delete",
            preview["bytes"],
            unit=Unit.BYTES,
            why_unknown=NO_SIZES,
            at_most=preview.get("lite", False),
        ),
        Figure("Versions lost", count_of(preview["dying_versions"]), "no longer readable"),
    ]


def weight(preview: Preview) -> Figure | None:
    if "measured_at_version" not in preview:
        return None
    return Figure("Deletes", preview["bytes"], unit=Unit.BYTES, why_unknown=NO_SIZES)


def outcome(result: Result) -> list[Figure]:
    details = result.details
    return [
        Figure("Files deleted", details.get("files"), unknown="not recorded"),
        Figure("Bytes deleted", details.get("bytes"), unit=Unit.BYTES, unknown="not recorded"),
    ]


def facts(preview: Preview) -> dict[str, str]:
    if "retention" not in preview:
        return {}
    return {"Retention": preview["retention"], "Method": "log" if preview.get("lite") else "listing"}
