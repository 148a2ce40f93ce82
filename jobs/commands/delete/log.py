"""A delete's stored preview: the log's bounds at once, Spark's count afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.commands.delete.rules import PASSED_OVER, ROWS_LEFT, consequences_of, of_rows
from jobs.domain.consequences import Consequence, said
from jobs.domain.delta.readers import unseen_by
from jobs.domain.measures import Matched
from jobs.domain.predicates.tree import Node
from jobs.pruning.prediction import empty_files_notes, see
from jobs.pruning.skipping import Missed, note_of, sampled
from jobs.pruning.spread import counted
from jobs.targets.file_sets import files_sha256
from jobs.targets.metadata import refuse_schema
from jobs.targets.subject import Subject
from tables.deltalog.read.paths import placed
from tables.deltalog.rules.retention import deleted_file_retention
from tables.deltalog.rules.schema_limits import Use
from tables.deltalog.state.livefiles import PARTITION, rows_of, sum_of, visible_rows

FOR_DRIFT = frozenset(["shape_sha256", "files_sha256", "target_sha256"])


@dataclass(frozen=True, slots=True)
class LogPreview:
    """A preview from the log: its JSON, the files that may hold matching rows, and those of them that Delta's skipping passes over."""

    values: dict[str, Any]
    files: pa.Table
    passed_over: pa.Table


def from_log(subject: Subject, node: Node | None) -> LogPreview:
    """The log's preview of a predicate (None: the whole table) at the subject's version.

    Raises CommandRefused: `append_only`, `unsupported_schema` where Spark can't count the rows or write the others again.
    """
    prediction, files, passed_over = see(subject.snapshot, subject.struct, subject.schema, node)
    if prediction.branch != "nothing":
        refuse_schema(subject.struct, Use.READ, subject.table.path)
    if prediction.branch == "rewrite":
        refuse_schema(subject.struct, Use.REWRITE, subject.table.path)
    values = prediction.as_json() | {
        "table_id": subject.metadata.id,
        "shape_sha256": subject.shape_sha256,
        "files_sha256": files_sha256(files),
        "rows_total": rows_of(subject.snapshot.files()),
        "rows_copied": None if prediction.branch == "rewrite" else 0,
        "rows_hash": None,
        "consequences": of_rows(prediction.rows_matched, _consequences(subject, prediction.branch)),
    }
    return LogPreview(values, files, passed_over)


def further_question(log: LogPreview, subject: Subject, tree: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What Spark is asked of files that Delta's skipping passes over, beside its count; None where there are none."""
    if not log.passed_over.num_rows:
        return None
    named = sampled(log.passed_over)
    return {"path": subject.table.path, "version": subject.version, "tree": tree, PASSED_OVER: named}


def with_passed_over(values: Mapping[str, Any], answer: Mapping[str, Any], files: int) -> dict[str, Any]:
    """A preview with what Spark found in a sample of the `files` that Delta's skipping passes over, read without it.

    Matching rows there are a consequence, since the delete leaves them; without one it is a note.
    """
    found = {**answer, "of": files}
    told = {**values, PASSED_OVER: found}
    if answer["rows"]:
        return told | {"consequences": [said(ROWS_LEFT, note_of(**found)), *values["consequences"]]}
    return told | {"notes": [*values["notes"], note_of(**found)]}


def _consequences(subject: Subject, branch: str) -> list[Consequence]:
    retention = deleted_file_retention(subject.configuration)
    told = consequences_of(branch, change_feed=subject.change_feed, retention=retention, version=subject.version)
    return [*told, *unseen_by(subject.other_formats)] if told else told


def with_count(preview: LogPreview, subject: Subject, matched: Matched) -> dict[str, Any]:
    """The preview with Spark's count in place of the log's bounds. If it counts every row, its class is the whole table."""
    touched = _touched(preview, subject.table.path, matched.files)
    branch = preview.values["branch"]
    rewrites = branch == "rewrite"
    whole = preview.values["class"] == "whole_table" or matched.rows >= matched.rows_total
    return preview.values | {
        "class": "whole_table" if whole else "ordinary",
        "files_candidates": preview.values["files_matched"],
        "files_matched": touched.num_rows if branch == "metadata_only" else len(matched.files),
        "bytes_matched": sum_of(touched, "size"),
        "files_to_rewrite": len(matched.files) if rewrites else 0,
        "bytes_to_rewrite": sum_of(touched, "size") if rewrites else 0,
        "rows_matched": matched.rows,
        "rows_matched_exact": True,
        "rows_total": matched.rows_total,
        "rows_copied": _copied(touched, matched) if rewrites else 0,
        "rows_hash": matched.rows_hash,
        "partitions": _partitions(touched),
        "by_partition": _by_partition(preview, subject.table.path, matched),
        "consequences": of_rows(matched.rows, preview.values["consequences"]),
        "notes": [
            *empty_files_notes(touched.num_rows - len(matched.files)),
            *Missed(**preview.values["skipping"]).notes,
        ],
        "speed": "spark",
    }


def files_copied(preview: LogPreview, subject: Subject, matched: Matched) -> pa.Table | None:
    """The files whose other rows a rewrite copies; None where Delta copies none."""
    return _touched(preview, subject.table.path, matched.files) if preview.values["branch"] == "rewrite" else None


def uncounted(preview: LogPreview, seconds: float) -> dict[str, Any]:
    """The log's bounds if Spark couldn't count within `seconds`, in the whole-table class.

    Without a count there is no hash of the rows, so the drift check couldn't tell later whether the same ones match.
    """
    note = (
        f"Spark couldn’t count the matching rows within {seconds:,.0f} s. Their number is unknown, so this is reviewed as a"
        " delete of the whole table: any newer version of the table before the run makes it stale."
    )
    return preview.values | {"class": "whole_table", "notes": [note, *preview.values["notes"]]}


def _by_partition(preview: LogPreview, location: str, matched: Matched) -> dict[str, Any] | None:
    """Spark's count by partition; None for a table without partitions."""
    spread: dict[str, Any] | None = preview.values["by_partition"]
    paths = [placed(path, location) for path in preview.files.column("path").to_pylist()]
    return spread and counted(spread, preview.files, [matched.files.get(path, 0) for path in paths])


def _touched(preview: LogPreview, location: str, counted: Mapping[str, int]) -> pa.Table:
    """The files in which Spark found matching rows, by their decoded absolute paths. By the log alone files without rows go too."""
    files = preview.files
    absolute = [placed(path, location) for path in files.column("path").to_pylist()]
    touched = pa.array([path in counted for path in absolute], pa.bool_())
    if preview.values["branch"] == "metadata_only":
        touched = pc.or_(touched, pc.invert(pc.fill_null(pc.greater(visible_rows(files), 0), False)))
    return files.filter(touched)


def _copied(touched: pa.Table, matched: Matched) -> int | None:
    """Rows that a rewrite must copy; None if the log doesn't record how many rows a file holds."""
    rows = rows_of(touched) if touched.num_rows == len(matched.files) else None
    return None if rows is None else max(0, rows - matched.rows)


def _partitions(files: pa.Table) -> int | None:
    names = [name for name in files.column_names if name.startswith(PARTITION)]
    return int(files.group_by(names).aggregate([]).num_rows) if names else None


def shown(preview: Mapping[str, Any]) -> dict[str, Any]:
    """The preview without the values that only the drift check needs."""
    return {name: value for name, value in preview.items() if name not in FOR_DRIFT}
