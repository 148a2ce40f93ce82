"""A delete's preview as it is stored: what the log says at once, and what Spark counted afterwards."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from jobs.domain.consequences import of_delete
from jobs.domain.measures import Matched
from jobs.domain.predicates import Node
from jobs.preview.prediction import see
from jobs.preview.subject import Subject
from tables.deltalog.livefiles import PARTITION, deleted_rows, keys, sum_of
from tables.deltalog.retention import deleted_file_retention

CHANGE_FEED = "delta.enableChangeDataFeed"


@dataclass(frozen=True, slots=True)
class LogPreview:
    """What the log says: the preview's JSON, and the files that may hold matching rows."""

    values: dict[str, Any]
    files: pa.Table


def from_log(subject: Subject, node: Node | None) -> LogPreview:
    """The log's answer for a predicate (None: the whole table) at the subject's version. Raises CommandRefused (`append_only`)."""
    prediction, files = see(subject.snapshot, subject.struct, subject.schema, node)
    values = prediction.as_json() | {
        "table_id": subject.metadata.id,
        "shape_sha256": subject.shape_sha256,
        "files_sha256": files_sha256(files),
        "rows_total": _rows(subject.snapshot.files()),
        "rows_copied": None if prediction.branch == "rewrite" else 0,
        "rows_hash": None,
        "consequences": of_delete(
            prediction.branch,
            change_feed=subject.configuration.get(CHANGE_FEED, "").lower() == "true",
            retention=deleted_file_retention(subject.configuration),
            version=subject.version,
        ),
    }
    return LogPreview(values, files)


def files_sha256(files: pa.Table) -> str:
    """One hash of a set of live files: path, deletion vector and partition values, in whatever order they come."""
    combined = files.combine_chunks()
    batches = combined.to_batches()
    if not batches:
        return hashlib.sha256(b"").hexdigest()
    names = [name for name in combined.column_names if name.startswith(PARTITION)]
    columns = [keys(batches[0]), *(pc.fill_null(batches[0].column(name), "\x01") for name in names)]
    lines = sorted(pc.binary_join_element_wise(*columns, "\x02").to_pylist())
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def with_count(preview: LogPreview, subject: Subject, found: Matched) -> dict[str, Any]:
    """The preview with Spark's count in the place of the log's bounds. One that counts every row is of the whole table."""
    touched = _touched(preview.files, subject.table.path, found.files)
    rewrites = preview.values["branch"] == "rewrite"
    whole = preview.values["class"] == "whole_table" or found.rows >= found.rows_total
    return preview.values | {
        "class": "whole_table" if whole else "ordinary",
        "files_candidates": preview.values["files_matched"],
        "files_matched": len(found.files),
        "bytes_matched": sum_of(touched, "size"),
        "files_to_rewrite": len(found.files) if rewrites else 0,
        "bytes_to_rewrite": sum_of(touched, "size") if rewrites else 0,
        "rows_matched": found.rows,
        "rows_matched_exact": True,
        "rows_total": found.rows_total,
        "rows_copied": _copied(touched, found) if rewrites else 0,
        "rows_hash": found.rows_hash,
        "partitions": _partitions(touched),
        "notes": [],
        "speed": "spark",
    }


def uncounted(preview: LogPreview, seconds: float) -> dict[str, Any]:
    """The log's bounds as they stand where Spark couldn't count within so many seconds: a delete of the whole table by its class.

    Without a count there is no hash of the rows, so nothing could tell later whether the same ones match.
    """
    note = (
        f"Spark did not count the matching rows within {seconds:,.0f} s. How many they are is unknown, so this is reviewed as a"
        " delete of the whole table: any movement of the table before it runs makes it stale."
    )
    return preview.values | {"class": "whole_table", "notes": [note, *preview.values["notes"]]}


def _touched(files: pa.Table, location: str, counted: Mapping[str, int]) -> pa.Table:
    """The files in which Spark found matching rows, by their decoded absolute paths."""
    absolute = [_absolute(path, location) for path in files.column("path").to_pylist()]
    return files.filter(pa.array([path in counted for path in absolute], pa.bool_()))


def _absolute(path: str, location: str) -> str:
    plain = unquote(path)
    if plain.startswith("file:"):
        return "/" + plain.removeprefix("file:").lstrip("/")
    return plain if plain.startswith("/") or "://" in plain else f"{location.rstrip('/')}/{plain}"


def _copied(touched: pa.Table, found: Matched) -> int | None:
    """Rows that a rewrite must write again; None where a file doesn't say how many it holds."""
    rows = _rows(touched) if touched.num_rows == len(found.files) else None
    return None if rows is None else max(0, rows - found.rows)


def _rows(files: pa.Table) -> int | None:
    physical, hidden = sum_of(files, "num_records"), deleted_rows(files)
    return None if physical is None or hidden is None else max(0, physical - hidden)


def _partitions(files: pa.Table) -> int | None:
    names = [name for name in files.column_names if name.startswith(PARTITION)]
    return int(files.group_by(names).aggregate([]).num_rows) if names else None


def shown(preview: Mapping[str, Any]) -> dict[str, Any]:
    """The preview without what only the drift check needs."""
    return {name: value for name, value in preview.items() if name not in ("shape_sha256", "files_sha256")}
