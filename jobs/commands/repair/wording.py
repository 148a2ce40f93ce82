"""A repair in words and numbers."""

from __future__ import annotations

from console.base.text.counted import counted
from jobs.domain.comparison import Unit
from jobs.domain.results import Result
from jobs.domain.wording import Figure, Parameters, Preview

NOT_ASKED = "a worker asks storage first"
NO_COUNT = "the log doesn’t record how many rows some of the files held"
TITLED_BY: tuple[str, ...] = ("files",)


def title(table: str, parameters: Parameters, preview: Preview) -> str:
    files = preview.get("files")
    if files is None:
        return f"Repair {table}: take missing files out"
    return f"Repair {table}: take {counted(files, 'missing file')} out"


def figures(preview: Preview) -> list[Figure]:
    if "measured_at_version" not in preview:
        return []
    of = f"of {preview['files_total']:,}"
    return [
        Figure("Missing files", preview["files"], of, why_unknown=NOT_ASKED),
        Figure("Rows lost", preview["rows"], "without deleted ones", why_unknown=_why_no_rows(preview)),
        Figure("Bytes", preview["bytes"], "by the log", unit=Unit.BYTES, why_unknown=NOT_ASKED),
    ]


def weight(preview: Preview) -> Figure | None:
    if "measured_at_version" not in preview:
        return None
    return Figure("Loses", preview["rows"], noun="row", why_unknown=_why_no_rows(preview))


def outcome(result: Result) -> list[Figure]:
    details = result.details
    return [
        Figure("Files taken out", details.get("files"), unknown="not recorded"),
        Figure("Rows lost", details.get("rows"), unknown="not recorded"),
        Figure("Bytes", details.get("bytes"), "by the log", unit=Unit.BYTES, unknown="not recorded"),
    ]


def facts(preview: Preview) -> dict[str, str]:
    partitions = preview.get("partitions")
    return {} if partitions is None else {"Partitions": f"{partitions:,}"}


def _why_no_rows(preview: Preview) -> str:
    return NOT_ASKED if preview["files"] is None else NO_COUNT
