"""A repair's preview: what the last check of the table's files found, until a worker has asked storage for every live file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.base.timeouts import timing
from jobs.commands.repair.rules import LOOK_SECONDS, MOST_MISSING, NAMED, LostFiles, consequences_of, untold
from jobs.domain.delta.readers import unseen_by
from jobs.domain.errors import CommandRefused, Refusal
from jobs.pruning.partitions import PartitionColumn
from jobs.pruning.prediction import files_of, refuse_append_only
from jobs.targets.readers import CommitChange, with_readers
from jobs.targets.subject import Subject
from tables.deltalog.read.data_files import below
from tables.deltalog.read.paths import canonical
from tables.deltalog.replay.absent_files import Absent, LookTooLong, Removed, lacking, look, named_of, removed_by
from tables.deltalog.state.livefiles import PARTITION, sum_of, visible_rows
from tables.record.file_check import Check
from tables.storage.store import StorageError

NOTHING = (
    "Storage holds every live file of the table’s directory: there is nothing to repair, and nothing was committed."
)
MOST_PARTITIONS = 20
LONGEST = 200  # characters of a partition's value
SHARE = 0.8  # of a preview's time limit
TOO_LONG = "Storage answered for {asked:,} of the table’s {of:,} files in {seconds:,.0f} seconds, which is as long as Levee asks."
DELETE = "Delete the rows of the lost files by a condition on partition columns alone: Delta opens no file for that."
TOO_MANY = "{count:,} files are missing, and one repair takes out {most:,} at most."


def from_log(subject: Subject) -> dict[str, Any]:
    """What is known before storage is asked: the last check's finding, as far as it names files. Raises CommandRefused `append_only`."""
    refuse_append_only(subject.snapshot)
    files = subject.snapshot.files()
    known = subject.table.file_check
    paths = _paths_in(subject, known)
    values = _values(subject, files.filter(_are_in(files, paths)), LostFiles(subject.version, None, None))
    told = None if known is None else {name: known[name] for name in ("version", "at", "asked", "missing")}
    unasked = dict.fromkeys(("files", "bytes", "rows", "partitions", "missing_sha256", "vectors_missing", "outside"))
    return _read_by(subject, values | unasked | {"last_check": told})


def with_look(subject: Subject, found: Absent) -> dict[str, Any]:
    """The preview that people approve: what storage was found not to hold. Raises CommandRefused `append_only`, `too_many_files`."""
    refuse_append_only(subject.snapshot)
    if len(found.missing) > MOST_MISSING:
        text = TOO_MANY.format(count=len(found.missing), most=MOST_MISSING)
        raise CommandRefused(Refusal("too_many_files", text, remedy=DELETE))
    files = subject.snapshot.files()
    missing = files.filter(_are_in(files, found.missing))
    rows = _sum(visible_rows(missing))
    loss = LostFiles(subject.version, missing.num_rows, rows, len(found.without_vector), found.outside)
    told = {"missing_sha256": found.digest, "last_check": None}
    return _read_by(subject, _values(subject, missing, loss) | told)


def asked(subject: Subject) -> Absent:
    """Asks storage for every live file. Raises CommandRefused: `too_many_files` for a table that takes too long, `unreadable`."""
    seconds = min(LOOK_SECONDS, timing().preview_limit * SHARE)
    try:
        return look(subject.table.path, named_of(subject.snapshot.files()), seconds)
    except LookTooLong as error:
        text = TOO_LONG.format(asked=error.asked, of=error.of, seconds=seconds)
        raise CommandRefused(Refusal("too_many_files", text, remedy=DELETE)) from None
    except (StorageError, OSError) as error:
        raise untold(error) from None


def back_in_storage(subject: Subject, paths: Sequence[str]) -> list[str]:
    """Those of a few of the log's paths that storage holds by now. Raises CommandRefused `unreadable`."""
    try:
        gone = set(lacking(subject.table.path, paths, LOOK_SECONDS))
    except (StorageError, OSError, LookTooLong) as error:
        raise untold(error) from None
    return [path for path in paths if path not in gone]


def no_longer_live(subject: Subject, paths: Collection[str]) -> list[str]:
    """Those of the log's paths that are no live files now."""
    live = {canonical(path) for path in subject.snapshot.files().column("path").to_pylist()}
    return [path for path in paths if canonical(path) not in live]


def taken_out(subject: Subject, version: int) -> Removed | None:
    """What a commit of the table took out, by its own actions; None where they can't be read."""
    try:
        return removed_by(subject.table.path, version)
    except (StorageError, OSError):
        return None


def _read_by(subject: Subject, values: Mapping[str, Any]) -> dict[str, Any]:
    """With the streams that meet the commit: it removes files and adds none."""
    return with_readers(values, subject, CommitChange(removes=True, adds=False))


def _values(subject: Subject, missing: pa.Table, loss: LostFiles) -> dict[str, Any]:
    paths = sorted(missing.column("path").to_pylist())
    partitions = _partitions(missing, files_of(subject.snapshot, subject.struct, subject.schema).partitions)
    return {
        "class": "irreversible",
        "files": missing.num_rows,
        "bytes": sum_of(missing, "size"),
        "rows": loss.rows,
        "files_total": subject.snapshot.num_files,
        "vectors_missing": loss.vectors,
        "outside": loss.outside,
        "sample": paths[:NAMED],
        "partitions": len(partitions) if partitions is not None else None,
        "by_partition": (partitions or [])[:MOST_PARTITIONS],
        "table_id": subject.metadata.id,
        "measured_at_version": subject.version,
        "speed": "log",
        "consequences": [
            *consequences_of(loss, change_feed=subject.change_feed),
            *unseen_by(subject.other_formats),
        ],
    }


def _paths_in(subject: Subject, check: Check | None) -> set[str]:
    """The log's paths of the live files that a check named as missing: it has them decoded, below the table."""
    named = {each["path"] for each in (check or {}).get("named", ()) if each["stored"] is None}
    if not named:
        return set()
    paths = subject.snapshot.files().column("path").to_pylist()
    return {path for path in paths if below(subject.table.path, path) in named}


def _are_in(files: pa.Table, paths: Collection[str]) -> pa.Array:
    return pc.is_in(files.column("path"), value_set=pa.array(sorted(paths), pa.string()))


def _sum(values: pa.Array) -> int | None:
    return None if values.null_count else int(pc.sum(values).as_py() or 0)


def _partitions(missing: pa.Table, columns: Sequence[PartitionColumn]) -> list[dict[str, Any]] | None:
    """The partitions that lose files, most files first: `{values: [[column, value]], files, rows}`. None for an unpartitioned table."""
    if not columns:
        return None
    keys = [PARTITION + column.physical for column in columns]
    counted = missing.select(keys).append_column("rows", visible_rows(missing))
    whole = pc.ScalarAggregateOptions(skip_nulls=False)
    totals = counted.group_by(keys).aggregate([("rows", "sum", whole), ("rows", "count", pc.CountOptions(mode="all"))])
    order = [("rows_count", "descending"), *((key, "ascending") for key in keys)]
    names = [".".join(column.path) for column in columns]
    return [
        {
            "values": [[name, _short(row[key])] for name, key in zip(names, keys, strict=True)],
            "files": row["rows_count"],
            "rows": row["rows_sum"],
        }
        for row in totals.sort_by(order).to_pylist()
    ]


def _short(value: str | None) -> str | None:
    return None if value is None else value[:LONGEST]
