"""Brings the catalog's entry of one table up to date with what lies at its location.

One sync of a table runs at a time (an advisory lock); whoever waited finds nothing left to do. Only what is new in the log is
read. A log that was replaced by another one begins a new incarnation, so that the two histories stay apart.
"""

from __future__ import annotations

import errno
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

import pyarrow as pa
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from console.logs import log
from tables import baselines, days, deltalog, discovery, effects, facts, history, kept, rewrites
from tables.deltalog import DeltaLog, NoTable, Snapshot, StorageError, Sync, load, open_log
from tables.deltalog.filenames import commit_version
from tables.locations import LocationError, NoSuchDirectory, resolve
from tables.models import Commit, Incarnation, Root, Table

LONGEST_PAUSE = timedelta(days=1)
BATCH = 1_000
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
    "rebuildable", "lost_commits", "rewritten",
    "checkpoint_version", "last_commit_at", "size_bytes", "num_files", "num_records", "schema", "partition_columns", "clustering_columns",
    "properties", "protocol", "features", "created_at", "comment", "layout", "log_state", "problems", "health", "health_codes",
    "synced_at", "sync_error", "missing_since", "next_sync_at", "quiet_syncs", "leaf", "words", "grams",
]  # fmt: skip


SAID = ("name", "catalog_name", "catalog_entry", "owner", "tags", "description")  # by people, not by the log


def files_path(table_id: uuid.UUID) -> Path:
    """The disposable Arrow file of a table's live files."""
    return Path(settings.ENV.home) / "files" / str(table_id) / "live.arrow"


def sync(table_id: uuid.UUID, *, doubting: bool = False) -> Table:
    """The table's entry, read again as far as its log has moved.

    With `doubting`, a log in which something was broken is read anew from there on, though nothing in it seems to have changed.
    Never raises for what is wrong with the table: that is in `sync_error`, `problems` and `health`. Raises Table.DoesNotExist, and
    OperationalError or InterfaceError when the database is lost.
    """
    with transaction.atomic():
        wait_for_turn(table_id)
        try:
            with transaction.atomic():
                return _follow(table_id, doubting=doubting)
        except UNTAKEN as error:  # no log, however hostile, may stop the syncs of the others
            log.warning("sync_failed", table=str(table_id), exc_info=error)
            return _failed(table_id, error)


def _follow(table_id: uuid.UUID, *, doubting: bool) -> Table:
    """Reads on, and writes what was found."""
    table = entry(table_id)
    before = (table.version, table.head_mark, table.format)
    known, rewritten = effects.known_now(table), table.rewritten
    table.sync_error = ""
    mended = _read(table, doubting=doubting)
    effects.ask_who(table, _before_rewrite(known, table) if table.rewritten != rewritten else known, mended)
    now = timezone.now()
    table.quiet_syncs = 0 if (table.version, table.head_mark, table.format) != before else table.quiet_syncs + 1
    table.synced_at = table.synced_at if table.sync_error or table.missing_since else now
    table.next_sync_at = next_sync(table.root, table.quiet_syncs, now)
    facts.judge(table)
    _hear(table)
    facts.index_words(table)
    table.save(update_fields=STATE_FIELDS)
    return table


def _hear(table: Table) -> None:
    """Takes over what people have said of the table while its log was read, and keeps them waiting until that is written."""
    said = Table.objects.select_for_update().only(*SAID).get(pk=table.pk)
    for name in SAID:
        setattr(table, name, getattr(said, name))
    if table.is_delta:
        table.catalog_entry = None  # the log says it, as Delta empties the entry that it has converted


def _before_rewrite(known: effects.Known, table: Table) -> effects.Known:
    """What is known of a log that was rewritten: what it was before that."""
    if known.version is None or table.rewritten is None:
        return known
    return replace(known, version=min(known.version, table.rewritten["from_version"] - 1))


def entry(table_id: uuid.UUID) -> Table:
    """The table as the catalog has it now, with its root and schema. Raises Table.DoesNotExist."""
    return Table.objects.select_related("root", "schema").get(pk=table_id)


def _failed(table_id: uuid.UUID, error: Exception) -> Table:
    """The entry as it was, with what went wrong; tried again ever less often. A lost connection fails here again, and is raised."""
    table = entry(table_id)
    reason = history.text((str(error).splitlines() or [""])[0][:200])
    table.sync_error = f"Levee could not take in what this log says: {type(error).__name__}: {reason}"
    table.quiet_syncs += 1
    table.next_sync_at = next_sync(table.root, table.quiet_syncs, timezone.now())
    table.save(update_fields=["sync_error", "quiet_syncs", "next_sync_at"])
    return table


def next_sync(root: Root, quiet: int, now: datetime) -> datetime | None:
    """When the table is due again: the root's pause, doubled for each sync in a row that found nothing, a day at most."""
    if root.sync_seconds is None:
        return None
    shortest = timedelta(seconds=root.sync_seconds)
    pause: timedelta = min(shortest * 2 ** min(quiet, 12), max(LONGEST_PAUSE, shortest))
    return now + pause


def claim_due() -> uuid.UUID | None:
    """The table that has waited longest past its time, put off by CLAIM so that nobody else takes it; None when none is due."""
    with transaction.atomic():
        waiting = Table.objects.filter(next_sync_at__lte=Now(), hidden_at=None).order_by("next_sync_at")
        table_id = waiting.select_for_update(skip_locked=True).values_list("pk", flat=True).first()
        if table_id is not None:
            Table.objects.filter(pk=table_id).update(next_sync_at=Now() + CLAIM)
    return table_id


def wait_for_turn(table_id: uuid.UUID) -> None:
    """Keeps other syncs of the table away until the transaction ends: each writes what it read at its beginning."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCKS, str(table_id)])


def try_turn(table_id: uuid.UUID) -> bool:
    """As `wait_for_turn`, without waiting; False while another sync of the table runs."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s, hashtext(%s))", [_LOCKS, str(table_id)])
        return bool(cursor.fetchone()[0])


def _read(table: Table, *, doubting: bool) -> list[int]:
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
            return _read_delta(table, log, doubting=doubting)
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
        facts.forget(table)
        table.format = Table.Format.PARQUET
    table.missing_since = None
    found = discovery.measure(table.path)
    table.num_files, table.size_bytes, table.last_commit_at = found.files, found.size_bytes, found.modified_at
    table.num_records = None
    if found.stopped:
        table.num_files = table.size_bytes = None
        table.sync_error = f"The directory was not measured: {found.stopped}."


def _read_delta(table: Table, log: DeltaLog, *, doubting: bool) -> list[int]:
    target = files_path(table.pk)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left in target.parent.glob(f"{target.name}.*"):  # by a sync that was killed: one runs at a time
        left.unlink(missing_ok=True)
    try:
        run = _start(table, log, target, doubting=doubting)
    except NoTable:
        table.sync_error = "The log holds no commit and no checkpoint."
        return []
    table.missing_since = None
    known = -1 if table.version is None else table.version
    if run.head == table.version and not run.fresh and table.is_delta:
        kept.measure(table, log)  # Delta cleans a log after its commits
        baselines.keep(table, log, known)
        return []
    is_rewritten = _differs(table, run)
    if is_rewritten and _is_another(table, run):
        _end_incarnation(table, "another table was created at its location")
        facts.forget(table)
        run, known, is_rewritten = log.sync(target, None, None), -1, False
    elif is_rewritten:
        run = log.sync(target, None, None)
    table.format = Table.Format.DELTA
    gone = rewrites.drop_beyond(table, run.head) if is_rewritten and run.head is not None else []
    kept_commits = _keep(table, run.commits())
    gone += kept_commits.gone
    if gone:
        rewrites.note(table, gone)
    if is_rewritten:
        days.count_anew(table)
    snapshot = run.snapshot()
    facts.take(table, snapshot)
    kept.measure(table, log)
    baselines.keep(table, log, known)
    if snapshot.metadata is None or snapshot.protocol is None:
        table.sync_error = "The log doesn’t say what the table is: its metadata or its protocol can’t be read."
    return kept_commits.mended


def _start(table: Table, log: DeltaLog, target: Path, *, doubting: bool) -> Sync:
    """A pass from the saved files on. Without them, or when their version has left the log, from the log's beginning."""
    if doubting and table.is_delta and table.version is not None and table.problems:
        return log.sync(target, None, _last_sound(table, table.version))
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
    return facts.mark(entry) != table.head_mark


def _is_another(table: Table, run: Sync) -> bool:
    """True when the log says that it is of another table; a log that doesn't say it proves nothing."""
    metadata = run.snapshot().metadata
    return metadata is not None and facts.id_of(metadata) != table.table_id


@dataclass(slots=True)
class _Kept:
    """What rows that were known already have turned out to be: `gone` are those that were other commits, as they were; `mended`
    are versions that can be read by now, those older than the table's entry aside."""

    gone: list[Commit] = field(default_factory=list)
    mended: list[int] = field(default_factory=list)


def _keep(table: Table, commits: Iterable[deltalog.Commit]) -> _Kept:
    """Writes commits as rows, in batches."""
    rows, first, kept_commits = history.rows(table, commits), None, _Kept()
    while batch := list(islice(rows, BATCH)):
        history.ensure_schemas(batch)
        _write(table, [row.commit for row in batch], kept_commits)
        first = batch[0].commit.version if first is None else first
    if first is not None:
        days.recount(table, first)
    return kept_commits


def _write(table: Table, commits: list[Commit], found: _Kept) -> None:
    """Writes the rows anew that are known already. One that had a problem was mended: it is no other commit."""
    here = Commit.objects.filter(table=table, incarnation=table.incarnation)
    known = {row.version: row for row in here.filter(version__in=[row.version for row in commits])}
    Commit.objects.bulk_create([row for row in commits if row.version not in known], ignore_conflicts=True)
    again = [row for row in commits if row.version in known]
    fields = [each.name for each in Commit._meta.concrete_fields if each.name not in _KEY]
    Commit.objects.bulk_create(again, update_conflicts=True, unique_fields=_KEY, update_fields=fields)
    before = [(row, known[row.version]) for row in again]
    found.gone += [old for row, old in before if not old.problems and rewrites.are_different(row, old)]
    found.mended += [old.version for row, old in before if old.problems and not row.problems and _is_ours(table, old)]


def _is_ours(table: Table, commit: Commit) -> bool:
    """Whether a commit, as it was first read, is younger than the table's entry. Mending a file gives it a time of its own."""
    return commit.committed_at is None or commit.committed_at >= table.added_at


_KEY = ["table", "incarnation", "version"]


def _end_incarnation(table: Table, why: str) -> None:
    Incarnation.objects.create(
        table=table, number=table.incarnation, delta_id=table.table_id or "", version=table.version, why=why
    )
    table.incarnation += 1
    files_path(table.pk).unlink(missing_ok=True)
