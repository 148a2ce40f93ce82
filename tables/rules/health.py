"""A table's health: each finding with its value, threshold and advice. Rules over facts, no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from console.base.text.counted import counted
from tables.deltalog.read.filenames import commit_version
from tables.deltalog.rules.property_conflicts import MODE
from tables.deltalog.rules.property_values import UNREAD, named, remedy
from tables.deltalog.rules.schema_faults import NO_COLUMN, TOO_PRECISE, UNKNOWN_TYPE
from tables.deltalog.rules.schema_limits import SchemaLimit
from tables.rules.column_statistics import LIST_REMEDY, STATS_COLUMNS
from tables.rules.health_findings import HealthCode, HealthFinding, Severity
from tables.rules.property_faults import NO_FAULTS, PropertyFaults
from tables.rules.schema_findings import schema_findings
from tables.rules.shares import percent

SMALL_FILE_BYTES = 32 * 2**20
SMALL_SHARE = 0.4  # of the files
SMALL_COUNT = 100  # fewer small files than this do no harm
JOINED_BYTES = 2**30  # what an OPTIMIZE joins files up to
VECTOR_SHARE = 0.3  # of the files
VECTOR_COUNT = 10  # fewer files with a deletion vector than this cost a reader little
SKEW = 10.0  # largest partition against the median one
SKEW_BYTES = 2**30  # a largest partition below this is no trouble, whatever its neighbours are
STATISTICS_SHARE = 1.0
LOG_LENGTH = 100  # commits since the last checkpoint
LOG_BYTES = 2**30
STALE = timedelta(days=2)
OLD_BYTES = 2**30
OLD_SHARE = 0.3  # of the table's own bytes
OLD_LEAST = 2**20  # fewer old bytes than this are no trouble, however small the table is


CHANGE_ELSEWHERE = "Change it with an engine that supports all of its protocol, or drop the feature there first."


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """Live files that storage doesn't have as the log says, seen at `seen` for a version: how many, and the first of each by name."""

    version: int
    seen: datetime
    missing: int = 0
    first_missing: str = ""
    other_size: int = 0
    first_other_size: str = ""
    missing_vectors: int = 0
    first_missing_vector: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that the rules check; None is unknown, and an unknown fact gives no finding."""

    num_files: int | None = None
    small_files: int | None = None
    small_bytes: int | None = None
    small_alone: int | None = None  # those that no OPTIMIZE joins with another: their partition has none
    num_partitions: int | None = None
    size_bytes: int | None = None
    files_with_vectors: int | None = None
    files_with_statistics: int | None = None
    largest_partition_bytes: int | None = None
    median_partition_bytes: int | None = None
    commits_since_checkpoint: int | None = None
    log_bytes: int | None = None
    unknown_features: tuple[str, ...] = ()
    locking_out: tuple[str, ...] = ()  # what of the protocol Delta can't write by
    properties: PropertyFaults = NO_FAULTS
    schema_limits: tuple[SchemaLimit, ...] = ()
    unknown_actions: tuple[str, ...] = ()
    broken_entries: tuple[str, ...] = ()
    stopping: tuple[tuple[str, str], ...] = ()  # files that Spark can't do without, each with what is wrong
    pointer: str = ""  # what is wrong with `_last_checkpoint`
    stored: StoredFiles | None = None
    outside_files: int = 0
    recreated_at: datetime | None = None
    rewritten: tuple[int, str, tuple[str, ...]] | None = None  # from which version on, seen when, what was there before


def findings(facts: Facts) -> list[HealthFinding]:
    """All findings, worst first."""
    all_findings = [finding for rule in _RULES for finding in rule(facts)]
    return sorted(all_findings, key=lambda finding: list(Severity).index(finding.severity))


def stale(synced_at: datetime | None, now: datetime) -> HealthFinding | None:
    """Whether the entry is older than it should be: asked when it is shown, since time passes without a sync."""
    if synced_at is None or now - synced_at <= STALE:
        return None
    days = (now - synced_at).days
    text = f"Levee last read this table’s log {days} days ago; this page may be out of date."
    return HealthFinding(
        HealthCode.STALE_SYNC,
        Severity.WARNING,
        days,
        STALE.days,
        text,
        "Sync the table; if that fails, Levee shows why.",
    )


def old_files(old_bytes: int, size_bytes: int | None) -> HealthFinding | None:
    """Whether a vacuum would free much: `old_bytes` were removed longer ago than the table keeps them. Asked when it is shown."""
    limit = min(OLD_BYTES, max(OLD_LEAST, round(OLD_SHARE * size_bytes))) if size_bytes else OLD_BYTES
    if old_bytes < limit:
        return None
    of_size = f" ({percent(old_bytes, size_bytes)} of its size)" if size_bytes else ""
    text = f"Files of {old_bytes / 2**20:,.0f} MiB{of_size} were removed longer ago than the table keeps them, and still lie in storage."
    return HealthFinding(
        HealthCode.OLD_FILES, Severity.WARNING, old_bytes, limit, text, "Delete them from storage (VACUUM)."
    )


def missing(path: str) -> HealthFinding:
    """The finding for a directory that is gone."""
    text = f"The table at {path} is gone. Levee kept the history below."
    advice = "If it was moved, add it at its new location; if it was dropped, hide this entry."
    return HealthFinding(HealthCode.MISSING, Severity.ERROR, None, None, text, advice)


def _small_files(facts: Facts) -> Iterator[HealthFinding]:
    if not facts.num_files or facts.small_files is None or not has_many_small(facts.num_files, facts.small_files):
        return
    if is_over_partitioned(facts.small_files, facts.small_alone):
        yield _over_partitioned(facts.num_files, facts.small_alone or 0, facts.num_partitions)
        return
    share = facts.small_files / facts.num_files
    of_bytes = (
        f" and hold {percent(facts.small_bytes, facts.size_bytes)} of the bytes"
        if facts.size_bytes and facts.small_bytes is not None
        else ""
    )
    text = f"{percent(share, 1)} of the files are smaller than 32 MiB{of_bytes}. Each costs a reader one request."
    advice = "Compact the table (OPTIMIZE), and write larger batches."
    yield HealthFinding(HealthCode.SMALL_FILES, Severity.WARNING, round(share, 4), SMALL_SHARE, text, advice)


def is_over_partitioned(small_files: int, small_alone: int | None) -> bool:
    """Whether most of a table's small files are small because its partitions are: joining files can't help them."""
    return small_alone is not None and 2 * small_alone > small_files


def _over_partitioned(num_files: int, small_alone: int, num_partitions: int | None) -> HealthFinding:
    share = small_alone / num_files
    among = f" of {counted(num_partitions, 'partition')}" if num_partitions else ""
    text = (
        f"{percent(share, 1)} of the files are smaller than 32 MiB and the only file of their partition ({small_alone:,}{among})."
        " Each costs a reader one request."
    )
    advice = (
        "The table has too many partitions for its size. Write it anew with fewer: by a coarser column, such as the month"
        " instead of the day, or clustered instead of partitioned."
    )
    return HealthFinding(HealthCode.OVER_PARTITIONED, Severity.WARNING, round(share, 4), SMALL_SHARE, text, advice)


def has_many_small(num_files: int, small_files: int) -> bool:
    """Whether so many files of a table are small that it is a finding."""
    return small_files >= SMALL_COUNT and small_files / num_files >= SMALL_SHARE


def has_many_vectors(num_files: int, vectors: int) -> bool:
    """Whether so many files of a table have a deletion vector that it is a finding."""
    return vectors >= VECTOR_COUNT and vectors / num_files > VECTOR_SHARE


def _vectors(facts: Facts) -> Iterator[HealthFinding]:
    files, vectors = facts.num_files, facts.files_with_vectors
    if not files or vectors is None or not has_many_vectors(files, vectors):
        return
    share = vectors / files
    text = f"{percent(share, 1)} of the files have a deletion vector: readers open it too, and read rows that they then leave out."
    advice = "Purge the deleted rows from the files (REORG … APPLY (PURGE))."
    yield HealthFinding(HealthCode.DELETION_VECTORS, Severity.WARNING, round(share, 4), VECTOR_SHARE, text, advice)


def _skew(facts: Facts) -> Iterator[HealthFinding]:
    largest, median = facts.largest_partition_bytes, facts.median_partition_bytes
    if not largest or not median or largest < SKEW_BYTES or largest / median < SKEW:
        return
    ratio = largest / median
    text = f"The largest partition is {ratio:,.0f} × the median one: work on it doesn’t spread over machines."
    advice = "Partition by a more even column, or use clustering instead."
    yield HealthFinding(HealthCode.SKEW, Severity.WARNING, round(ratio, 1), SKEW, text, advice)


def _statistics(facts: Facts) -> Iterator[HealthFinding]:
    if not facts.num_files or facts.files_with_statistics is None:
        return
    share = facts.files_with_statistics / facts.num_files
    if share >= STATISTICS_SHARE:
        return
    without = facts.num_files - facts.files_with_statistics
    of = counted(facts.num_files, "file has", "files have")
    text = f"{without:,} of {of} no statistics: queries open them all, and row counts are unknown."
    advice = (
        "Write these files anew: OPTIMIZE with Z-order does so for all of them, without it only for those that it joins with others."
        " Convert with statistics next time."
    )
    yield HealthFinding(
        HealthCode.MISSING_STATISTICS, Severity.WARNING, round(share, 4), STATISTICS_SHARE, text, advice
    )


def _checkpoint(facts: Facts) -> Iterator[HealthFinding]:
    commits = facts.commits_since_checkpoint
    if commits is None or commits <= LOG_LENGTH:
        return
    text = f"{counted(commits, 'commit')} since the last checkpoint: opening the table reads them one by one."
    advice = "Delta writes a checkpoint once delta.checkpointInterval is reached; check why none was written."
    yield HealthFinding(HealthCode.NO_CHECKPOINT, Severity.WARNING, commits, LOG_LENGTH, text, advice)


def _long_log(facts: Facts) -> Iterator[HealthFinding]:
    if facts.log_bytes is None or facts.log_bytes <= LOG_BYTES:
        return
    text = f"The log’s commits hold {facts.log_bytes / 2**30:.1f} GiB."
    advice = "Lower delta.logRetentionDuration, or check whether delta.enableExpiredLogCleanup is off."
    yield HealthFinding(HealthCode.LONG_LOG, Severity.WARNING, facts.log_bytes, LOG_BYTES, text, advice)


def _features(facts: Facts) -> Iterator[HealthFinding]:
    for name in facts.unknown_features:
        text = (
            f"The protocol requires {name}, which Levee can’t interpret. Levee shows the history; files may be missing."
        )
        yield HealthFinding(
            HealthCode.NEEDS_FEATURE, Severity.ERROR, name, None, text, "Read it with an engine that has this feature."
        )


def _locks_out(facts: Facts) -> Iterator[HealthFinding]:
    if not facts.locking_out:
        return
    names = ", ".join(facts.locking_out)
    text = f"Spark with Delta 4.4 reads this table and can’t write to it: its protocol asks writers for {names}."
    yield HealthFinding(
        HealthCode.LOCKS_WRITERS_OUT, Severity.WARNING, facts.locking_out[0], None, text, CHANGE_ELSEWHERE
    )


def _properties(facts: Facts) -> Iterator[HealthFinding]:
    faults = facts.properties
    if failing := faults.failing:
        text = f"Spark with Delta 4.4 fails to change this table: {UNREAD}{named(failing)}."
        yield HealthFinding(
            HealthCode.UNREADABLE_PROPERTIES, Severity.WARNING, str(failing[0]), None, text, remedy(failing)
        )
    if quiet := faults.quiet:
        text = f"Spark with Delta 4.4 writes no checkpoint of this table: {UNREAD}{named(quiet)}."
        yield HealthFinding(
            HealthCode.UNREADABLE_PROPERTIES, Severity.WARNING, str(quiet[0]), None, text, remedy(quiet)
        )
    if faults.listed:
        text = f"Spark with Delta 4.4 refuses to change this table’s schema and properties: {STATS_COLUMNS} doesn’t fit it. {faults.listed}"
        yield HealthFinding(HealthCode.UNREADABLE_PROPERTIES, Severity.WARNING, STATS_COLUMNS, None, text, LIST_REMEDY)


def _schema(facts: Facts) -> Iterator[HealthFinding]:
    yield from schema_findings(facts.schema_limits)


def _actions(facts: Facts) -> Iterator[HealthFinding]:
    if not facts.unknown_actions:
        return
    count = len(facts.unknown_actions)
    what = "entry of the log is" if count == 1 else "entries of the log are"
    text = f"{count:,} {what} of a kind that Levee doesn’t know: {facts.unknown_actions[0]}"
    advice = "Levee doesn’t show what they do to the table. Check which writer makes them."
    yield HealthFinding(HealthCode.UNKNOWN_ACTIONS, Severity.WARNING, count, 0, text, advice)


def _corrupt(facts: Facts) -> Iterator[HealthFinding]:
    if not facts.broken_entries:
        return
    count = len(facts.broken_entries)
    text = f"{count:,} {'entry' if count == 1 else 'entries'} of the log can’t be read: {facts.broken_entries[0]}"
    advice = "Levee shows everything else. Restore the named files from a backup; don’t edit the log."
    yield HealthFinding(HealthCode.CORRUPT_LOG, Severity.ERROR, count, 0, text, advice)


def _stopping(facts: Facts) -> Iterator[HealthFinding]:
    for file, reason in facts.stopping:
        yield HealthFinding(
            HealthCode.STOPS_SPARK, Severity.ERROR, file, None, _stops(file, reason), advice_on(file, reason)
        )


def _stops(file: str, reason: str) -> str:
    if not file:
        return f"Spark with Delta 4.4 can’t open this table: {reason}. Levee reads it all the same."
    without = "this value" if commit_version(file) is not None else "this file"
    return f"Spark with Delta 4.4 can’t open this table: {file}: {reason}. Levee reads it without {without}."


def _stored(facts: Facts) -> Iterator[HealthFinding]:
    stored = facts.stored
    if stored is None:
        return
    when = f"seen on {stored.seen:%Y-%m-%d %H:%M} UTC at version {stored.version:,}"
    if stored.missing:
        text = (
            f"Storage has no regular file for {_files(stored.missing)}{_such_as(stored.first_missing)} ({when}). Queries that need"
            f" {'it' if stored.missing == 1 else 'them'} fail."
        )
        yield HealthFinding(HealthCode.FILES_MISSING, Severity.ERROR, stored.missing, 0, text, _PUT_BACK)
    if stored.missing_vectors:
        text = (
            f"Storage has no regular file for {_vectors_of(stored.missing_vectors)}{_such_as(stored.first_missing_vector)} ({when})."
            " Queries of the data files that they belong to fail, though the rows are there."
        )
        yield HealthFinding(HealthCode.VECTORS_MISSING, Severity.ERROR, stored.missing_vectors, 0, text, _VECTOR_BACK)
    if stored.other_size:
        differs = "isn’t as large as the log says" if stored.other_size == 1 else "aren’t as large as the log says"
        text = (
            f"{_files(stored.other_size).capitalize()} {differs}{_such_as(stored.first_other_size)} ({when}). {_SHORT}"
        )
        yield HealthFinding(HealthCode.FILE_SIZES, Severity.ERROR, stored.other_size, 0, text, _REPLACED)


_SHORT = "Spark reads a file only as far as the log’s size: it may leave rows out without an error."
_PUT_BACK = (
    "Put the files back, from a backup or the store’s own versions, then check the files again. If they are gone for good, restore a"
    " version that doesn’t need them, or take them out of the table with their rows (repair)."
)
_VECTOR_BACK = (
    "Put the files back, from a backup or the store’s own versions, then check the files again. A repair doesn’t help: it takes data files"
    " out. If they are gone for good, restore a version from before the rows were deleted, then delete these again."
)
_REPLACED = (
    "Find out who replaced the file, or which writer noted a wrong size; put it back, then check the files again."
)


def _files(count: int) -> str:
    return "one live file" if count == 1 else f"{count:,} live files"


def _vectors_of(count: int) -> str:
    return "one file of deletion vectors" if count == 1 else f"{count:,} files of deletion vectors"


def _such_as(text: str) -> str:
    return f", such as {text}" if text else ""


def advice_on(file: str, reason: str) -> str:
    """How to mend a file of the log that stops Spark; a property or the protocol where it is none."""
    if reason.startswith(UNREAD):
        by = "" if MODE in reason else " (deltalake: alter.set_table_properties with raise_if_not_exists=False)"
        return f"Set a value that Delta takes, with an engine that opens the table{by}. Don’t edit the log."
    if reason.startswith((UNKNOWN_TYPE, TOO_PRECISE, NO_COLUMN)):
        return (
            "Change the schema with an engine that opens the table, or read it there and write its rows into a new table. Don’t edit the"
            " log."
        )
    if not file:
        return (
            "Add these features to the protocol with an engine that opens the table (deltalake: alter.add_feature). Newer versions of the"
            " engine that wrote it list them. Don’t edit the log."
        )
    if file.endswith(".crc"):
        return f"Move {file} out of _delta_log: Delta does without it and reads the log itself. Check which writer made it."
    if commit_version(file) is not None:
        return (
            "Have the engine that wrote this commit write a checkpoint, in the version that wrote it (deltalake: create_checkpoint): Spark"
            " then begins there. Then have it write what Delta’s protocol allows; newer versions of deltalake do. Don’t edit the log."
        )
    return (
        f"Move {file} out of _delta_log, with all files of its checkpoint: Delta then begins with the checkpoint before it, or with"
        " the first commit. Do so only if that one, or all commits, are still there."
    )


def _pointer(facts: Facts) -> Iterator[HealthFinding]:
    if not facts.pointer:
        return
    text = (
        f"_last_checkpoint misleads readers: {facts.pointer}. Spark with Delta 4.4 still finds the newest checkpoint, by listing the whole"
        " log, and waits three seconds before if it can’t read the file. Other engines may fail."
    )
    advice = "Delete _last_checkpoint before you change the table: Delta writes it again with its next checkpoint."
    yield HealthFinding(HealthCode.LAST_CHECKPOINT, Severity.WARNING, None, None, text, advice)


def _outside(facts: Facts) -> Iterator[HealthFinding]:
    if not facts.outside_files:
        return
    text = (
        f"The log names {counted(facts.outside_files, 'file')} outside its directory: a shallow clone, or a forged log."
    )
    advice = "Levee refuses to change this table until its files lie inside it."
    yield HealthFinding(HealthCode.OUTSIDE_FILES, Severity.WARNING, facts.outside_files, 0, text, advice)


def _recreated(facts: Facts) -> Iterator[HealthFinding]:
    if facts.recreated_at is None:
        return
    text = f"Another table was at this location until {facts.recreated_at:%Y-%m-%d %H:%M} UTC; Levee keeps its history separately."
    yield HealthFinding(HealthCode.RECREATED, Severity.NOTE, None, None, text, "No action needed if this was intended.")


def _rewritten(facts: Facts) -> Iterator[HealthFinding]:
    if facts.rewritten is None:
        return
    version, day, before = facts.rewritten
    named = ", ".join(before[:3]) + (", …" if len(before) > 3 else "")
    text = f"The log was rewritten from version {version:,} on, seen on {day}: before, Levee had read {named} there."
    advice = "Check who changed files in _delta_log: a restored backup, or commits removed by hand."
    yield HealthFinding(HealthCode.REWRITTEN, Severity.WARNING, version, None, text, advice)


_RULES = (
    _small_files,
    _vectors,
    _skew,
    _statistics,
    _checkpoint,
    _long_log,
    _features,
    _locks_out,
    _properties,
    _schema,
    _actions,
    _corrupt,
    _stopping,
    _stored,
    _pointer,
    _outside,
    _recreated,
    _rewritten,
)
