"""A restore's preview: what it adds and removes between the newest version and an older one, by their live files."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.base.text.counted import counted
from jobs.commands.restore.rules import consequences_of
from jobs.domain.delta.readers import unseen_by
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.measures import Restorable
from jobs.models import Job
from jobs.targets.file_sets import files_sha256
from jobs.targets.metadata import refuse_older_metadata, struct_at
from jobs.targets.subject import Subject
from tables.deltalog.replay.log import NoTable, open_log
from tables.deltalog.rules.retention import deleted_file_retention
from tables.deltalog.rules.schema_changes import compare_schemas
from tables.deltalog.state.livefiles import canonical_paths, rows_of, sum_of, visible_rows, without
from tables.deltalog.state.snapshot import Snapshot
from tables.models import Commit
from tables.storage.store import StorageError

NAMED_COMMITS = 200
NAMED_PROPERTIES = 100


def from_log(subject: Subject, version: int) -> dict[str, Any]:
    """What a restore to `version` would do, by the log alone. Raises CommandRefused `version_gone`, `unreadable`, `stops_spark`,
    `bad_column_name`.

    Rows are those that a reader sees, counted by files until Spark has compared them one by one: a rewritten file counts most of
    its rows both as removed and as restored. None if the log doesn't record how many rows a file holds.
    """
    with tempfile.TemporaryDirectory(prefix="levee-restore-") as folder:
        target = _target(subject, version, Path(folder))
        if version != subject.version and target.metadata is not None:
            struct, configuration = struct_at(version, target.metadata), target.metadata.configuration
            protocols = subject.snapshot.protocol, target.protocol
            partitions, place = target.metadata.partition_columns, subject.table.path
            refuse_older_metadata(version, protocols, configuration, struct, partitions, place)
        values = _compared(subject, target) | {"target_sha256": files_sha256(target.files())}
    commits = _commits_undone(subject, version)
    return values | {
        "class": "whole_table",
        "to_version": version,
        "table_id": subject.metadata.id,
        "files_sha256": files_sha256(subject.snapshot.files()),
        "commits_undone": commits,
        "num_commits_undone": subject.version - version,
        "measured_at_version": subject.version,
        "missing_files": [],
        "rows_exact": False,
        "consequences": [
            *consequences_of(
                change_feed=subject.change_feed,
                retention=deleted_file_retention(subject.configuration),
                head=subject.version,
                no_way_back=_no_way_back(subject),
            ),
            *unseen_by(subject.other_formats),
        ],
        "speed": "log",
    }


def _no_way_back(subject: Subject) -> str | None:
    """Why Delta would refuse to restore today's version later; None where it wouldn't."""
    protocols, metadata = (subject.snapshot.protocol, subject.snapshot.protocol), subject.metadata
    try:
        refuse_older_metadata(
            subject.version,
            protocols,
            subject.configuration,
            subject.struct,
            metadata.partition_columns,
            subject.table.path,
        )
    except CommandRefused as refused:
        return refused.refusals[0].message
    return None


def files_hash(subject: Subject, version: int) -> str:
    """The hash of a version's live files by today's log. Raises CommandRefused `version_gone`, `unreadable`."""
    if version == subject.version:
        return files_sha256(subject.snapshot.files())
    with tempfile.TemporaryDirectory(prefix="levee-restore-") as folder:
        return files_sha256(_target(subject, version, Path(folder)).files())


def with_measure(values: dict[str, Any], restorable: Restorable) -> dict[str, Any]:
    """The preview with Spark's measure: the rows that the restored table must have, and the files missing from storage."""
    counted = (
        {"rows_back": restorable.rows_back, "rows_gone": restorable.rows_gone}
        if restorable.rows_back is not None
        else {}
    )
    return values | {
        **counted,
        "rows_exact": bool(counted),
        "missing_files": list(restorable.missing_files),
        "num_missing_files": restorable.missing_count,
        "rows_to": restorable.rows,
        "rows_hash_to": restorable.rows_hash,
        "unread_because": restorable.unread_because,
        "speed": "spark",
    }


def gone(version: int, missing: int) -> Refusal:
    """The refusal when VACUUM has removed files that the version needs."""
    count = counted(missing, "file")
    text = f"Storage no longer holds {count} of version {version:,}: VACUUM has removed {'it' if missing == 1 else 'them'}."
    remedy = "Choose a newer version; the history shows which ones you can still restore."
    return Refusal("version_gone", text, remedy=remedy)


def _target(subject: Subject, version: int, folder: Path) -> Snapshot:
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
    text = f"The log no longer holds what version {version:,} is rebuilt from, so you can’t restore it."
    return CommandRefused(Refusal("version_gone", text, remedy="Choose a newer version."))


def _compared(subject: Subject, target: Snapshot) -> dict[str, Any]:
    head_files, target_files = subject.snapshot.files(), target.files()
    back, going = without(target_files, head_files), without(head_files, target_files)
    rows_back, rows_gone = _rows_moved(back, going)
    properties = _property_changes(subject, target)
    return {
        "files_back": back.num_rows,
        "files_gone": going.num_rows,
        "bytes_back": sum_of(back, "size"),
        "bytes_gone": sum_of(going, "size"),
        "rows_back": rows_back,
        "rows_gone": rows_gone,
        "schema_changes": _schema_changes(subject, target),
        "property_changes": properties[:NAMED_PROPERTIES],
        "num_property_changes": len(properties),
        "clustering_change": _clustering_change(subject.snapshot, target),
    }


def _rows_moved(back: pa.Table, going: pa.Table) -> tuple[int | None, int | None]:
    """Rows that the restore adds and removes. A file on both sides has two deletion vectors: only their difference counts."""
    back, going = _by_canonical_path(back), _by_canonical_path(going)
    both = pa.array(sorted(set(back.column("path").to_pylist()) & set(going.column("path").to_pylist())), pa.string())
    only_back, only_gone = (rows_of(_other_than(files, both)) for files in (back, going))
    shared = _shared_rows(back, going, both)
    if only_back is None or only_gone is None or shared is None:
        return None, None
    return only_back + shared[0], only_gone + shared[1]


def _by_canonical_path(files: pa.Table) -> pa.Table:
    paths = canonical_paths(files.column("path").combine_chunks())
    return files.set_column(files.column_names.index("path"), "path", paths)


def _other_than(files: pa.Table, paths: pa.Array) -> pa.Table:
    return files.filter(pc.invert(pc.is_in(files.column("path"), value_set=paths)))


def _shared_rows(back: pa.Table, going: pa.Table, paths: pa.Array) -> tuple[int, int] | None:
    come = gone_rows = 0
    before, after = _visible(going, paths), _visible(back, paths)
    for path, rows in after.items():
        now = before[path]
        if rows is None or now is None:
            return None
        come, gone_rows = come + max(0, rows - now), gone_rows + max(0, now - rows)
    return come, gone_rows


def _visible(files: pa.Table, paths: pa.Array) -> dict[str, int | None]:
    """Rows that a reader sees, by path."""
    chosen = files.filter(pc.is_in(files.column("path"), value_set=paths))
    return dict(zip(chosen.column("path").to_pylist(), visible_rows(chosen).to_pylist(), strict=True))


def _schema_changes(subject: Subject, target: Snapshot) -> list[dict[str, Any]]:
    if target.metadata is None:
        return []
    struct = struct_at(target.version, target.metadata)
    return [asdict(change) | {"kind": change.kind.value} for change in compare_schemas(subject.struct, struct)]


def _property_changes(subject: Subject, target: Snapshot) -> list[dict[str, Any]]:
    now, then = dict(subject.configuration), dict(target.metadata.configuration) if target.metadata else {}
    names = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
    return [{"property": name, "before": now.get(name), "after": then.get(name)} for name in names]


def _clustering_change(head: Snapshot, target: Snapshot) -> dict[str, list[str]] | None:
    """The clustering columns before and after; None if they stay.

    Delta 4.4.0 writes those of the older version anew, and none for one that isn't clustered
    (`DomainMetadataUtils.handleDomainMetadataForRestoreTable`).
    """
    now, then = (_clustering_paths(snapshot) for snapshot in (head, target))
    if now == then:
        return None
    return {
        "before": list(head.clustering_columns) if now else [],
        "after": list(target.clustering_columns) if then else [],
    }


def _clustering_paths(snapshot: Snapshot) -> tuple[tuple[str, ...], ...]:
    return snapshot.clustering_paths if "clustering" in snapshot.features else ()


def _commits_undone(subject: Subject, version: int) -> list[dict[str, Any]]:
    """The later commits, newest first, at most NAMED_COMMITS of them."""
    later = Commit.objects.filter(table=subject.table, incarnation=subject.table.incarnation, version__gt=version)
    commits = list(later.order_by("-version")[:NAMED_COMMITS])
    jobs = Job.objects.filter(pk__in=[commit.job for commit in commits if commit.job]).select_related("requested_by")
    people = {(job.pk, job.version): job.requested_by.name for job in jobs}
    return [
        {
            "version": commit.version,
            "operation": commit.operation,
            "committed_at": commit.committed_at.isoformat() if commit.committed_at else None,
            "by": people.get((commit.job, commit.version)) if commit.job else commit.user_name or None,
            "job": str(commit.job) if commit.job else None,
        }
        for commit in commits
    ]
