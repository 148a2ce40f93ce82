"""The numbers of a request as pages show them: the first is what it is about, unknown is a word."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.templatetags.levee import number, size, unknown
from jobs.models import Job
from jobs.titles import title_of
from jobs.undoing import Undo

Figure = dict[str, Any]
NO_COUNT = "some files don’t say how many rows they hold"


def heading_of(job: Job) -> str:
    """The title with the number in it, once it is counted."""
    preview = job.preview or {}
    rows = preview.get("rows_matched")
    if job.command != "delete" or rows is None or not preview.get("rows_matched_exact"):
        return title_of(job)
    every = "all " if preview.get("class") == "whole_table" else ""
    return f"Delete {every}{rows:,} {'row' if rows == 1 else 'rows'} from {job.table.name}"


def figures_of(job: Job, undo: Undo | None) -> list[Figure]:
    """What the preview counted; empty before there is one."""
    preview = job.preview or {}
    if "measured_at_version" not in preview:
        return []
    found = _of_delete(preview) if job.command == "delete" else _of_restore(preview)
    return found if undo is None or undo.until is None else [*found, _undo(undo)]


def _of_delete(preview: Mapping[str, Any]) -> list[Figure]:
    found = [_rows(preview), *_files(preview)]
    if preview.get("partitions") is not None:
        found.append(_figure("Partitions", preview["partitions"], "with such rows"))
    return found


def _rows(preview: Mapping[str, Any]) -> Figure:
    rows, total = preview.get("rows_matched"), preview.get("rows_total")
    if rows is None:
        return {"label": "Rows to delete", "value": unknown(NO_COUNT), "sub": "Spark counts them"}
    counted = bool(preview.get("rows_matched_exact"))
    value = number(rows) if counted else f"≤ {number(rows)}"
    of = f"{percent(rows, total)} of the table, " if total else ""
    return {"label": "Rows to delete", "value": value, "sub": f"{of}{'exact' if counted else 'at most, by the log'}"}


def percent(part: int, whole: int) -> str:
    """A share in at most three digits, never rounded to nothing or to all."""
    share = 100 * part / whole
    if part and share < 0.001:
        return "< 0.001%"
    return "> 99.9%" if part < whole and share > 99.9 else f"{share:.3g}%"


def _files(preview: Mapping[str, Any]) -> list[Figure]:
    total = preview.get("files_total")
    of = None if total is None else f"of {number(total)}"
    match preview.get("branch"):
        case "rewrite":
            rewritten = _figure("Files to rewrite", preview.get("files_to_rewrite"), of)
            return [rewritten, _bytes("Bytes to rewrite", preview.get("bytes_to_rewrite"))]
        case "metadata_only":
            removed = _figure("Files to remove", preview.get("files_matched"), of)
            return [removed, _bytes("Bytes to remove", preview.get("bytes_matched"))]
        case "deletion_vectors":
            return [_figure("Files with marked rows", preview.get("files_matched"), of)]
    return [_figure("Files that match", preview.get("files_matched"), of)]


def _of_restore(preview: Mapping[str, Any]) -> list[Figure]:
    how = "row by row" if preview.get("rows_exact") else "by files, so at most"
    return [
        _figure("Rows that come back", preview.get("rows_back"), how, NO_COUNT),
        _figure("Rows that go", preview.get("rows_gone"), how, NO_COUNT),
        _figure("Commits undone", preview.get("num_commits_undone"), None),
        _figure("Files that come back", preview.get("files_back"), None),
        _figure("Files that go", preview.get("files_gone"), None),
    ]


def _figure(label: str, value: int | None, sub: str | None, why_unknown: str = "") -> Figure:
    return {"label": label, "value": unknown(why_unknown) if value is None else number(value), "sub": sub}


def _bytes(label: str, value: int | None) -> Figure:
    return {"label": label, "value": size(value), "sub": None}


def _undo(undo: Undo) -> Figure:
    if not undo.possible or undo.until is None:
        return {"label": "Undo", "value": "not possible", "sub": "once it has run"}
    return {"label": "Undo until", "value": day_and_time(undo.until), "sub": "UTC, if it has run by then"}


def day_and_time(moment: datetime) -> SafeString:
    """A moment short enough for a figure (`27 Nov, 08:00`); in full on hover."""
    utc = moment.astimezone(UTC)
    year = "" if utc.year == timezone.now().year else f" {utc.year}"
    text = f"{utc.day} {utc:%b}{year}, {utc:%H:%M}"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', utc.isoformat(), f"{utc:%Y-%m-%d %H:%M:%S} UTC", text
    )
