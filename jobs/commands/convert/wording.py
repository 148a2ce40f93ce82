"""A convert in words and numbers."""

from __future__ import annotations

from jobs.domain.comparison import Unit
from jobs.domain.results import Result
from jobs.domain.wording import Figure, Parameters, Preview

NO_FOOTER = "some footers don’t say how many rows they hold"


TITLED_BY: tuple[str, ...] = ()


def title(table: str, parameters: Parameters, preview: Preview) -> str:
    return f"Convert {table} to Delta"


def figures(preview: Preview) -> list[Figure]:
    """What the inspection found; a convert changes none of these files."""
    if "num_files" not in preview:
        return []
    return [
        Figure("Files to add", preview["num_files"], "none rewritten"),
        Figure("Bytes", preview.get("size_bytes"), unit=Unit.BYTES),
        Figure("Rows", preview.get("num_records"), "from footers", why_unknown=NO_FOOTER),
        *(Figure(f"Values of {each['name']}", each["distinct"]) for each in preview.get("partition_columns", ())),
    ]


def weight(preview: Preview) -> Figure | None:
    return Figure("Adds", preview["num_files"], noun="file") if "num_files" in preview else None


def outcome(result: Result) -> list[Figure]:
    return []


def facts(preview: Preview) -> dict[str, str]:
    return {}
