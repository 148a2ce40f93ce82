"""A clone in words and numbers."""

from __future__ import annotations

from jobs.domain.comparison import Unit, number_of
from jobs.domain.results import Result
from jobs.domain.wording import Figure, Parameters, Preview

DEPTHS = {"shallow": "names the source’s files", "deep": "copies the files"}
NO_STATISTICS = "the log doesn’t say how many rows every file holds"


TITLED_BY: tuple[str, ...] = ()


def title(table: str, parameters: Parameters, preview: Preview) -> str:
    """`table` is the clone's name; the source's is a parameter."""
    source, depth = parameters.get("source_name") or "a table", parameters.get("depth")
    return f"Clone {source} to {table}{f', {depth}' if depth else ''}"


def figures(preview: Preview) -> list[Figure]:
    if "measured_at_version" not in preview:
        return []
    copied = preview["bytes_to_copy"]
    return [
        Figure("Files", preview["files"], "copied" if preview["files_to_copy"] else "named, none copied"),
        Figure("Bytes", preview["bytes"], "copied" if copied else "referenced", unit=Unit.BYTES),
        Figure("Rows", preview["rows"], "by the log", why_unknown=NO_STATISTICS),
    ]


def weight(preview: Preview) -> Figure | None:
    if "measured_at_version" not in preview:
        return None
    if preview["bytes_to_copy"]:
        return Figure("Copies", preview["bytes_to_copy"], unit=Unit.BYTES)
    return Figure("Names", preview["files"], noun="file")


def outcome(result: Result) -> list[Figure]:
    metrics = result.operation_metrics
    return [
        Figure("Files named", number_of(metrics, "sourceNumOfFiles"), "sourceNumOfFiles", unknown="not recorded"),
        Figure("Files copied", number_of(metrics, "numCopiedFiles"), "numCopiedFiles", unknown="not recorded"),
    ]


def facts(preview: Preview) -> dict[str, str]:
    depth = preview.get("depth")
    return {"Kind": depth} if depth else {}
