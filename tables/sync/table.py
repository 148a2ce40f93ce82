"""Brings the catalog's entry of one table up to date with what lies at its location.

One sync of a table runs at a time (an advisory lock); a sync that waited for it finds nothing left to do. Only what is new in the log is
read. A log that was replaced by another one begins a new incarnation, so that the two histories stay apart.
"""

from __future__ import annotations

import copy
import errno
import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from console.base.errors import unexpected
from console.base.logs import log
from tables.deltalog.read.filenames import commit_version
from tables.deltalog.read.problems import ProblemCode as ProblemCode
from tables.deltalog.replay.log import DeltaLog, NoTable, open_log
from tables.deltalog.replay.obstacles import obstacles
from tables.deltalog.replay.sync import Sync
from tables.deltalog.state.snapshot import Snapshot, load
from tables.history import destructive_effects, removed_files
from tables.models import Commit, Incarnation, Root, Table
from tables.record import (
    commit_rows,
    commit_storage,
    commit_times,
    daily_totals,
    history_gaps,
    log_extent,
    log_rewrites,
    lost_files,
    table_fields,
)
from tables.record.live_files import files_path, live_files
from tables.rules import discovery
from tables.rules.health_findings import HealthCode
from tables.rules.locations import LocationError, NoSuchDirectory, resolve
from tables.storage.store import StorageError
from tables.sync.fingerprint import fingerprint, listed

LONGEST_PAUSE = timedelta(days=1)
CLAIM = timedelta(minutes=5)  # a sync that died with its worker is tried again after that
UNTAKEN = (
    DatabaseError,
    pa.ArrowException,
    ValueError,
    ArithmeticError,
    RecursionError,
)  # by PostgreSQL, Arrow, Python
_LOCKS = 0x6C767379  # the space of advisory locks in which a sync of a table takes one

STATE_FIELDS = [
    "format", "catalog_entry", "incarnation", "table_id", "head_mark", "version", "first_version", "first_readable",
    "rebuildable", "lost_commits", "lost_files", "file_check", "rewritten", "read_by",
    "checkpoint_version", "last_commit_at", "size_bytes", "num_files", "num_records", "schema", "partition_columns", "clustering_columns",
    "properties", "protocol", "features", "created_at", "comment", "layout", "removed", "log_state", "problems", "health", "health_codes",
    "sync_error", "missing_since", "leaf", "words", "grams",
]  # fmt: skip


GLANCE = timedelta(minutes=1)
USER_FIELDS = ("name", "catalog_name", "catalog_entry", "owner", "tags", "description")  # by people, not by the log


def sync(table_id: uuid.UUID, *, reread_broken: bool = False, glancing: bool = False) -> Table:
    """The table's entry, read again as far as its log has moved.

    With `reread_broken`, a log in which something was broken is read anew from there on, though nothing in it seems to have changed.
    With `glancing`, nothing is written of a table that has not changed and was looked at within the last GLANCE.
    Never raises for what is wrong with the table: that is in `sync_error`, `problems` and `health`. Raises Table.DoesNotExist, and
    OperationalError or InterfaceError when the database is lost.
    """
    with transaction.atomic():
        wait_for_turn(table_id)
        try:
            with transaction.atomic():
                return _follow(table_id, reread_broken=reread_broken, glancing=glancing)
        except UNTAKEN as error:  # no log, however hostile, may stop the syncs of the others
            log.warning("sync_failed", table=str(table_id), exc_info=error)
            return _failed(table_id, error)


def _follow(table_id: uuid.UUID, *, reread_broken: bool, glancing: bool) -> Table:
    """Reads on, and writes what was found: only the fields that have changed, since most syncs find nothing."""
    table = entry(table_id)
    written = copy.deepcopy(_state(table))
    before = (table.version, table.head_mark, table.format)
    known, rewritten = destructive_effects.known_now(table), table.rewritten
    table.sync_error = table.times.fingerprint = ""
    mended = _read(table, reread_broken=reread_broken)
    if reread_broken and table.is_delta and not table.sync_error:
        _note_obstacles(table)
    destructive_effects.open_attributions(
        table, _before_rewrite(known, table) if table.rewritten != rewritten else known, mended
    )
    now = timezone.now()
    judge(table, now)
    if _changed(table, written):
        _reload_user_fields(table)
        table.save(update_fields=[*_changed(table, written), "catalog_entry"])  # which a person may have set meanwhile
    elif glancing and _is_young(table.synced_at, now):
        return table
    moved = (table.version, table.head_mark, table.format) != before
    _stamp(table, 0 if moved else table.times.quiet_syncs + 1, now)
    return table


def judge(table: Table, now: datetime) -> None:
    """Sets the table's health, unsaved, with what time alone adds."""
    table_fields.judge(table)
    if removed_files.finding_of(table, now):
        table.health_codes = sorted({*table.health_codes, HealthCode.OLD_FILES.value})


def _changed(table: Table, written: dict[str, Any]) -> list[str]:
    """The fields that are no longer as they were written."""
    if table.is_delta:
        table.catalog_entry = None  # the log says it, as Delta empties the entry that it has converted
    table_fields.index_words(table)
    return [name for name, value in _state(table).items() if value != written[name]]


def _stamp(table: Table, quiet: int, now: datetime) -> None:
    """Writes when the table was read, unless it couldn't be, when it is due again, and by what its log is known until then.

    Due by its root as it is now: a log can be long, and the root be paused, resumed or another one meanwhile.
    """
    times = table.times
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, [times.pk])
        cursor.execute(_PAUSE, [table.pk])
        (pause,) = cursor.fetchone()
        times.synced_at = times.synced_at if table.sync_error or table.missing_since else now
        times.quiet_syncs, times.next_sync_at = quiet, next_sync(pause, quiet, now)
        if table.sync_error or table.missing_since or table.problems:  # what is wrong may be mended without a new name
            times.fingerprint = ""
        cursor.execute(_NOTE, [times.synced_at, times.quiet_syncs, times.next_sync_at, times.fingerprint, times.pk])


# Before its root is read: sync_interval.set_due waits for it.
_HOLD = "select 1 from tables_synctimes where table_id = %s for update"
_PAUSE = """
select case when r.paused_at is null and r.removed_at is null then r.sync_seconds end
from tables_root r join tables_table t on t.root_id = r.id where t.id = %s
"""
_NOTE = "update tables_synctimes set synced_at = %s, quiet_syncs = %s, next_sync_at = %s, fingerprint = %s where table_id = %s"


def _state(table: Table) -> dict[str, Any]:
    """The entry's fields as they are written."""
    return {name: table.schema_id if name == "schema" else getattr(table, name) for name in STATE_FIELDS}


def _is_young(synced_at: datetime | None, now: datetime) -> bool:
    return synced_at is not None and now - synced_at < GLANCE


def _reload_user_fields(table: Table) -> None:
    """Reloads the fields that people changed while the log was read, and locks them until the sync has written."""
    stored = Table.objects.select_for_update().values(*USER_FIELDS).get(pk=table.pk)
    for name, value in stored.items():
        setattr(table, name, value)


def _before_rewrite(known: destructive_effects.Known, table: Table) -> destructive_effects.Known:
    """What is known of a log that was rewritten: what it was before that."""
    if known.version is None or table.rewritten is None:
        return known
    return replace(known, version=min(known.version, table.rewritten["from_version"] - 1))


def entry(table_id: uuid.UUID) -> Table:
    """The table as the catalog has it now, with its root and schema. Raises Table.DoesNotExist."""
    return Table.objects.select_related("root", "schema", "times").get(pk=table_id)


def _failed(table_id: uuid.UUID, error: Exception) -> Table:
    """The entry as it was, with what went wrong; tried again ever less often. A lost connection fails here again, and is raised."""
    table = entry(table_id)
    table.sync_error = f"Levee couldn’t process this log: {commit_rows.text(unexpected(error)[:220])}"
    table.save(update_fields=["sync_error"])
    _stamp(table, table.times.quiet_syncs + 1, timezone.now())
    return table


def next_sync(seconds: int | None, quiet: int, now: datetime) -> datetime | None:
    """When the table is due again: its root's pause, doubled for each sync in a row that found nothing, a day at most."""
    if seconds is None:
        return None
    shortest = timedelta(seconds=seconds)
    pause: timedelta = min(shortest * 2 ** min(quiet, 12), max(LONGEST_PAUSE, shortest))
    return now + pause


def wait_for_turn(table_id: uuid.UUID) -> None:
    """Keeps other syncs of the table away until the transaction ends: each writes what it read at its beginning."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCKS, str(table_id)])


def try_turn(table_id: uuid.UUID) -> bool:
    """As `wait_for_turn`, without waiting; False while another sync of the table runs."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s, hashtext(%s))", [_LOCKS, str(table_id)])
        return bool(cursor.fetchone()[0])


def _read(table: Table, *, reread_broken: bool) -> list[int]:
    """Fills the table's fields from what lies at its path. Answers the versions that were mended since they were read."""
    try:
        resolve(table.path, Root.objects.all())
    except NoSuchDirectory:
        table.missing_since = table.missing_since or timezone.now()
        return []
    except LocationError as error:
        table.sync_error = str(error)
        return []
    try:
        log = open_log(table.path)
        if log.exists():
            return _read_delta(table, log, reread_broken=reread_broken)
        _read_parquet(table)
    except (StorageError, OSError) as error:
        table.sync_error = _why_unread(error)
    return []


def _why_unread(error: Exception) -> str:
    """A full disk is the one that holds Levee's home: at a table's place nothing is ever written."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return f"The disk that holds Levee's own files is full ({error.strerror or error}). Make room, then sync again."
    return f"The location can't be read: {error}"


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def _read_parquet(table: Table) -> None:
    """A directory without a log. One that had a log has lost its table: what was known becomes an earlier incarnation."""
    if table.is_delta:
        _end_incarnation(table, "its Delta log was removed")
        table_fields.forget(table)
        table.format = Table.Format.PARQUET
    table.missing_since = None
    measure = discovery.measure(table.path)
    table.num_files, table.size_bytes, table.last_commit_at = measure.files, measure.size_bytes, measure.modified_at
    table.num_records = None
    if measure.stopped:
        table.num_files = table.size_bytes = None
        table.sync_error = f"The directory was not measured: {measure.stopped}."


def _read_delta(table: Table, log: DeltaLog, *, reread_broken: bool) -> list[int]:
    target = files_path(table.pk)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left in target.parent.glob(f"{target.name}.*"):  # by a sync that was killed: one runs at a time
        left.unlink(missing_ok=True)
    names = listed(log)
    try:
        run = _start(table, log, target, reread_broken=reread_broken)
    except NoTable:
        table.sync_error = "The log holds no commit and no checkpoint."
        return []
    table.missing_since = None
    known = -1 if table.version is None else table.version
    if run.head == table.version and not run.fresh and table.is_delta:
        _measure(table, log, known, names)  # Delta cleans a log after its commits
        return []
    is_rewritten = _differs(table, run)
    if is_rewritten and _is_another(table, run):
        _end_incarnation(table, "another table was created at its location")
        table_fields.forget(table)
        run, known, is_rewritten = log.sync(target, None, None), -1, False
    elif is_rewritten:
        run = log.sync(target, None, None)
    table.format = Table.Format.DELTA
    told_by = commit_times.told_by(table)
    gone = log_rewrites.drop_beyond(table, run.head) if is_rewritten and run.head is not None else []
    stored = commit_storage.store(table, run.commits(), lambda: run.completed)
    table.read_by = commit_rows.RULES
    gone += stored.gone
    if gone:
        log_rewrites.note(table, gone)
    snapshot = run.snapshot()
    retimed = commit_times.tell_anew(table, log, snapshot.metadata, before=told_by, known=known, mistimed=run.mistimed)
    if is_rewritten or retimed:
        daily_totals.count_anew(table)
    table_fields.take(table, snapshot)
    if is_rewritten:
        table.lost_files, table.file_check = [], None
    lost_files.follow(table, log, snapshot)
    anew = is_rewritten or retimed or stored.retimed
    table.removed = removed_files.by_day(table, None if anew else stored.first)
    if table.schema is not None and table.schema.sha256 not in stored.schemas:
        commit_rows.ensure_schemas([table.schema])
    _measure(table, log, known, names, first_stored=stored.first)
    if snapshot.metadata is None or snapshot.protocol is None:
        table.sync_error = "Levee can’t tell what this table is: its metadata or its protocol can’t be read."
    return stored.mended


def _measure(table: Table, log: DeltaLog, known: int, names: str, first_stored: int | None = None) -> None:
    """Sets what the log holds, and by what it is known again: its `names`, as they were before it was read."""
    log_extent.measure(table, log)
    is_told = history_gaps.keep(table, log, known, first_stored)
    table.times.fingerprint = fingerprint(names, files_path(table.pk)) if is_told and table.head_mark else ""


def _note_obstacles(table: Table) -> None:
    """Adds what stops Spark in files that a sync doesn't read while their names are known: looked for when a person asks."""
    snapshot = live_files(table)
    if snapshot is None:
        return
    known = {item["file"] for item in table.problems if item["code"] == ProblemCode.STOPS_SPARK.value}
    try:
        found = obstacles(table.path, snapshot, table.checkpoint_version)
    except (StorageError, OSError) as error:
        table.sync_error = _why_unread(error)
        return
    table.problems = [*table.problems, *(problem.as_json() for problem in found if problem.file not in known)]


def _start(table: Table, log: DeltaLog, target: Path, *, reread_broken: bool) -> Sync:
    """A pass from the saved files on. Without them, or when their version has left the log, from the log's beginning; so once where
    the commits were read by other rules."""
    if reread_broken and table.is_delta and table.version is not None and table.problems:
        return log.sync(target, None, _last_sound(table, table.version))
    if table.is_delta and table.version is not None and table.read_by < commit_rows.RULES:
        return log.sync(target, None, -1)
    saved = _saved(target, table)
    run = log.sync(target, saved, table.version)
    if saved is not None and run.head != saved.version and saved.version not in run.listing.commits:
        return log.sync(target, None, table.version)
    return run


def _last_sound(table: Table, newest: int) -> int:
    """The version before the first commit that had a problem, as far as one is known; -1 for the log's beginning."""
    named = [version for item in table.problems if (version := commit_version(item["file"])) is not None]
    doubtful = _doubtful(table).order_by("version").values_list("version", flat=True)[:1]
    return min([newest, *(version - 1 for version in (*named, *doubtful))])


def _doubtful(table: Table) -> QuerySet[Commit]:
    return Commit.objects.filter(table=table, incarnation=table.incarnation).exclude(problems=[])


def _saved(target: Path, table: Table) -> Snapshot | None:
    if table.version is None or not table.is_delta:
        return None
    try:
        saved = load(target)
    except (OSError, ValueError):
        return None
    return saved if saved.version == table.version else None


def _differs(table: Table, run: Sync) -> bool:
    """True when this log is not as the entry was read from it, though it lies at the same place: another one, or rewritten."""
    if not table.is_delta or table.version is None or not run.fresh:
        return False
    entry = run.listing.commits.get(table.version)
    if entry is None:
        return (run.head is not None and run.head < table.version) or _is_another(table, run)
    return table_fields.mark(entry) != table.head_mark


def _is_another(table: Table, run: Sync) -> bool:
    """True when the log says that it is of another table; a log that doesn't say it proves nothing."""
    metadata = run.snapshot().metadata
    return metadata is not None and table_fields.id_of(metadata) != table.table_id


def _end_incarnation(table: Table, why: str) -> None:
    Incarnation.objects.create(
        table=table, number=table.incarnation, delta_id=table.table_id or "", version=table.version, why=why
    )
    table.incarnation += 1
    files_path(table.pk).unlink(missing_ok=True)
