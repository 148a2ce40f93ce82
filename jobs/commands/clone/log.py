"""A clone's preview: what the new table would name or copy, by the source's log alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from django.utils import timezone

from jobs.commands.clone.rules import ROW_TRACKING, Clone, consequences_of
from jobs.domain.consequences import in_words
from jobs.domain.delta.protocols import FEATURES
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.targets.file_sets import files_sha256
from jobs.targets.metadata import READ_REMEDY, refuse_metadata, refuse_unopenable_version, struct_at
from jobs.targets.subject import Subject
from tables.deltalog.replay.log import NoTable, open_log
from tables.deltalog.rules.retention import deleted_file_retention
from tables.deltalog.state.livefiles import sum_of
from tables.deltalog.state.snapshot import Snapshot
from tables.history.reachability import TableReach
from tables.models import Commit
from tables.storage.store import StorageError

CONSTRAINT = "delta.constraints."
ENABLED = "delta.enableRowTracking"
OUTSIDE = r"^/|^[A-Za-z][A-Za-z0-9+.\-]*:|(^|/)(\.|%2[eE]){2}(/|$)"
EXPIRED = "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION"
REMEDY = "Choose a newer version; the history shows which ones can still be read."


def from_log(subject: Subject, command: Clone, until: datetime | None = None) -> dict[str, Any]:
    """What the clone of `command.version` (None: the newest) would hold; `until` as `kept_until` answers it.

    Raises CommandRefused: `version_gone`, `unreadable`, `outside_roots` for a source that is a shallow clone itself, `invalid`,
    `bad_column_name` and `stops_spark` with Delta's own condition.
    """
    with _at(subject, command.version) as snapshot:
        return _values(subject, command, snapshot, until)


def files_hash(subject: Subject, version: int) -> str:
    """The hash of a version's live files by today's log. Raises CommandRefused `version_gone`, `unreadable`."""
    with _at(subject, version) as snapshot:
        return files_sha256(snapshot.files())


def kept_until(subject: Subject, version: int | None) -> datetime | None:
    """Until when Delta reads an older version, and a VACUUM with the source's own retention leaves its files.

    None for the newest version, and for one whose commit the catalog doesn't know. Raises CommandRefused `version_gone` with Delta's own
    condition. Whether a vacuum with less retention took some of its files, only storage tells: the preview by Spark looks there.
    """
    if version is None or version == subject.version:
        return None
    table = subject.table
    commit = Commit.objects.filter(table=table, incarnation=table.incarnation, version=version).first()
    reach = TableReach(table)
    until = reach.of(commit).until if commit is not None else None
    if until is not None and until < timezone.now():
        text = f"Cannot time travel beyond delta.deletedFileRetentionDuration ({in_words(reach.retention)}) set on the table."
        failure = EngineFailure(EXPIRED, "0AKDD", text)
        raise CommandRefused(Refusal("version_gone", text, remedy=REMEDY, engine=failure))
    return until


def _values(subject: Subject, command: Clone, snapshot: Snapshot, until: datetime | None) -> dict[str, Any]:
    metadata, protocol, files = snapshot.metadata, snapshot.protocol, snapshot.files()
    if metadata is None or protocol is None:
        raise CommandRefused(Refusal("unreadable", f"Version {snapshot.version:,} has no metadata in the log."))
    _refuse(command, snapshot, files)
    struct = struct_at(snapshot.version, metadata)
    refuse_unopenable_version(snapshot.version, protocol, metadata.configuration, struct)
    older = None if snapshot.version == subject.version else READ_REMEDY
    refuse_metadata(struct, metadata.partition_columns, metadata.configuration, command.source, values_remedy=older)
    deep, size = command.depth == "deep", sum_of(files, "size") or 0
    return {
        "class": "ordinary",
        "depth": command.depth,
        "source": {"id": command.table, "name": command.source_name, "path": command.source},
        "reads": {"table": command.table, "root": str(subject.table.root_id)},
        "target": command.path,
        "source_version": snapshot.version,
        "files": files.num_rows,
        "bytes": size,
        "rows": snapshot.num_records,
        "deletion_vectors": files.num_rows - files.column("deletion_vector").null_count,
        "files_to_copy": files.num_rows if deep else 0,
        "bytes_to_copy": size if deep else 0,
        "partition_columns": list(metadata.partition_columns),
        "properties": len(metadata.configuration),
        "constraints": sorted(
            key.removeprefix(CONSTRAINT) for key in metadata.configuration if key.startswith(CONSTRAINT)
        ),
        "protocol": {"reader": protocol.min_reader_version, "writer": protocol.min_writer_version},
        "features": [name for name in snapshot.features if name in FEATURES],
        "table_id": metadata.id,
        "files_sha256": files_sha256(files),
        "measured_at_version": snapshot.version,
        "readable_until": until.isoformat() if until else None,
        "begins_empty": True,
        "speed": "log",
        "consequences": consequences_of(
            depth=command.depth,
            source=command.source_name,
            features=snapshot.features,
            is_newest=snapshot.version == subject.version,
            retention=deleted_file_retention(subject.configuration),
            until=until,
        ),
    }


def _refuse(command: Clone, snapshot: Snapshot, files: pa.Table) -> None:
    outside = pc.match_substring_regex(files.column("path"), OUTSIDE)
    if pc.any(outside).as_py():
        text = f"{command.source_name} names files outside its directory, as a shallow clone does."
        remedy = "Clone the table whose files they are."
        raise CommandRefused(Refusal("outside_roots", text, place=command.source, remedy=remedy))
    enabled = (snapshot.metadata.configuration if snapshot.metadata else {}).get(ENABLED, "").lower() == "true"
    if (enabled or ROW_TRACKING in snapshot.features) and files.column("num_records").null_count:
        text = "Cannot shallow clone a table without statistics and with row tracking enabled."
        failure = EngineFailure("DELTA_CLONE_WITH_ROW_TRACKING_WITHOUT_STATS", "22000", text)
        remedy = "Have the statistics collected first."
        raise CommandRefused(Refusal("invalid", text, remedy=remedy, engine=failure))


@contextmanager
def _at(subject: Subject, version: int | None) -> Iterator[Snapshot]:
    if version is None or version == subject.version:
        yield subject.snapshot
        return
    with tempfile.TemporaryDirectory(prefix="levee-clone-") as folder:
        yield _older(subject, version, Path(folder))


def _older(subject: Subject, version: int, folder: Path) -> Snapshot:
    try:
        snapshot = open_log(subject.table.path).snapshot(version, folder / "files.arrow")
    except NoTable:
        raise _no_version(version) from None
    except StorageError as error:
        raise CommandRefused(Refusal("unreadable", f"The log can’t be read: {error}")) from None
    if not snapshot.complete:
        raise _no_version(version)
    return snapshot


def _no_version(version: int) -> CommandRefused:
    text = f"The log no longer holds what version {version:,} is rebuilt from, so it can’t be cloned."
    return CommandRefused(Refusal("version_gone", text, remedy=REMEDY))
