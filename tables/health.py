"""Whether a table is well: each finding with its value, its threshold and what to do. Rules over facts, no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import models

SMALL_FILE_BYTES = 32 * 2**20
SMALL_SHARE = 0.4  # of the files
SMALL_COUNT = 100  # fewer small files than this disturb nobody
SKEW = 10.0  # largest partition against the median one
SKEW_BYTES = 2**30  # a largest partition below this is no trouble, whatever its neighbours are
STATISTICS_SHARE = 1.0
LOG_LENGTH = 100  # commits since the last checkpoint
LOG_BYTES = 2**30
STALE = timedelta(days=2)


class Code(models.TextChoices):
    """What can be found; the words are those of the facet."""

    SMALL_FILES = "small_files", "Small files"
    SKEW = "skew", "Partition skew"
    MISSING_STATISTICS = "missing_statistics", "Missing statistics"
    NO_CHECKPOINT = "no_checkpoint", "No checkpoint"
    LONG_LOG = "long_log", "Long log"
    STALE_SYNC = "stale_sync", "Stale sync"
    CORRUPT_LOG = "corrupt_log", "Corrupt log"
    NEEDS_FEATURE = "needs_feature", "Can’t be read by Levee"
    UNKNOWN_ACTIONS = "unknown_actions", "Unknown log entries"
    MISSING = "missing", "Directory missing"
    RECREATED = "recreated", "Recreated"
    REWRITTEN = "rewritten", "Log rewritten"
    OUTSIDE_FILES = "outside_files", "Files outside the table"


class Severity(models.TextChoices):
    """How much it matters: an error stops readers or Levee, a warning costs, a note is to know."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found: `value` against `threshold` in words or numbers, `text` a sentence, `advice` what to do."""

    code: Code
    severity: Severity
    value: float | str | None
    threshold: float | str | None
    text: str
    advice: str

    def as_json(self) -> dict[str, object]:
        return {
            "code": self.code.value,
            "severity": self.severity.value,
            "value": self.value,
            "threshold": self.threshold,
            "text": self.text,
            "advice": self.advice,
        }


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rules look at; None is unknown, and an unknown fact finds nothing."""

    num_files: int | None = None
    small_files: int | None = None
    small_bytes: int | None = None
    size_bytes: int | None = None
    files_with_statistics: int | None = None
    largest_partition_bytes: int | None = None
    median_partition_bytes: int | None = None
    commits_since_checkpoint: int | None = None
    log_bytes: int | None = None
    unknown_features: tuple[str, ...] = ()
    unknown_actions: tuple[str, ...] = ()
    broken_entries: tuple[str, ...] = ()
    outside_files: int = 0
    recreated_at: datetime | None = None
    rewritten: tuple[int, str, tuple[str, ...]] | None = None  # from which version on, seen when, what was there before


def findings(facts: Facts) -> list[Finding]:
    """Everything the rules find, worst first."""
    found = [finding for rule in _RULES for finding in rule(facts)]
    return sorted(found, key=lambda finding: list(Severity).index(finding.severity))


def stale(synced_at: datetime | None, now: datetime) -> Finding | None:
    """Whether the entry is older than it should be: asked when it is shown, since time passes without a sync."""
    if synced_at is None or now - synced_at <= STALE:
        return None
    days = (now - synced_at).days
    text = f"Levee last read this table’s log {days} days ago; what it shows may be old."
    return Finding(
        Code.STALE_SYNC, Severity.WARNING, days, STALE.days, text, "Sync the table; if that fails, it says why."
    )


def missing(path: str) -> Finding:
    """The directory is not there any more."""
    text = f"There is no table at {path} any more. The history below is what Levee has kept."
    advice = "If it was moved, add it at its new place; if it was dropped, hide this entry."
    return Finding(Code.MISSING, Severity.ERROR, None, None, text, advice)


def _small_files(facts: Facts) -> Iterator[Finding]:
    if not facts.num_files or facts.small_files is None or facts.small_files < SMALL_COUNT:
        return
    share = facts.small_files / facts.num_files
    if share < SMALL_SHARE:
        return
    of_bytes = (
        f" and hold {_percent(facts.small_bytes / facts.size_bytes)} of the bytes"
        if facts.size_bytes and facts.small_bytes is not None
        else ""
    )
    text = f"{_percent(share)} of the files are smaller than 32 MiB{of_bytes}. Each costs a reader one request."
    advice = "Compact the table (OPTIMIZE), and write larger batches."
    yield Finding(Code.SMALL_FILES, Severity.WARNING, round(share, 4), SMALL_SHARE, text, advice)


def _skew(facts: Facts) -> Iterator[Finding]:
    largest, median = facts.largest_partition_bytes, facts.median_partition_bytes
    if not largest or not median or largest < SKEW_BYTES or largest / median < SKEW:
        return
    ratio = largest / median
    text = f"The largest partition is {ratio:,.0f} × the median one: readers of it wait for one place."
    advice = "Partition by something more even, or cluster instead of partitioning."
    yield Finding(Code.SKEW, Severity.WARNING, round(ratio, 1), SKEW, text, advice)


def _statistics(facts: Facts) -> Iterator[Finding]:
    if not facts.num_files or facts.files_with_statistics is None:
        return
    share = facts.files_with_statistics / facts.num_files
    if share >= STATISTICS_SHARE:
        return
    without = facts.num_files - facts.files_with_statistics
    text = f"{without:,} of {facts.num_files:,} files have no statistics: queries open them all, and row counts are unknown."
    advice = "Rewrite these files (OPTIMIZE), or convert with statistics next time."
    yield Finding(Code.MISSING_STATISTICS, Severity.WARNING, round(share, 4), STATISTICS_SHARE, text, advice)


def _checkpoint(facts: Facts) -> Iterator[Finding]:
    commits = facts.commits_since_checkpoint
    if commits is None or commits <= LOG_LENGTH:
        return
    text = f"{commits:,} commits since the last checkpoint: opening the table reads them one by one."
    advice = "Any write by Delta makes a checkpoint when delta.checkpointInterval is reached; see why it doesn’t."
    yield Finding(Code.NO_CHECKPOINT, Severity.WARNING, commits, LOG_LENGTH, text, advice)


def _long_log(facts: Facts) -> Iterator[Finding]:
    if facts.log_bytes is None or facts.log_bytes <= LOG_BYTES:
        return
    text = f"The log’s commits hold {facts.log_bytes / 2**30:.1f} GiB."
    advice = "Lower delta.logRetentionDuration, or see whether delta.enableExpiredLogCleanup is off."
    yield Finding(Code.LONG_LOG, Severity.WARNING, facts.log_bytes, LOG_BYTES, text, advice)


def _features(facts: Facts) -> Iterator[Finding]:
    for name in facts.unknown_features:
        text = f"The protocol asks for {name}, which Levee can’t interpret. History is shown; files may not be."
        yield Finding(
            Code.NEEDS_FEATURE, Severity.ERROR, name, None, text, "Read it with an engine that has this feature."
        )


def _actions(facts: Facts) -> Iterator[Finding]:
    if not facts.unknown_actions:
        return
    count = len(facts.unknown_actions)
    what = "entry of the log is" if count == 1 else "entries of the log are"
    text = f"{count:,} {what} of a kind that Levee doesn’t know: {facts.unknown_actions[0]}"
    advice = "What they do to the table is not shown. See which writer makes them."
    yield Finding(Code.UNKNOWN_ACTIONS, Severity.WARNING, count, 0, text, advice)


def _corrupt(facts: Facts) -> Iterator[Finding]:
    if not facts.broken_entries:
        return
    count = len(facts.broken_entries)
    text = f"{count:,} {'entry' if count == 1 else 'entries'} of the log can’t be read: {facts.broken_entries[0]}"
    advice = "Everything else is shown. Restore the named files from a backup; do not edit the log."
    yield Finding(Code.CORRUPT_LOG, Severity.ERROR, count, 0, text, advice)


def _outside(facts: Facts) -> Iterator[Finding]:
    if not facts.outside_files:
        return
    text = f"The log names {facts.outside_files:,} files outside its directory: a shallow clone, or a forged log."
    advice = "Levee refuses to change this table until its files lie inside it."
    yield Finding(Code.OUTSIDE_FILES, Severity.WARNING, facts.outside_files, 0, text, advice)


def _recreated(facts: Facts) -> Iterator[Finding]:
    if facts.recreated_at is None:
        return
    text = f"Another table lay here until {facts.recreated_at:%Y-%m-%d %H:%M} UTC; its history is kept apart."
    yield Finding(Code.RECREATED, Severity.NOTE, None, None, text, "Nothing, if this was on purpose.")


def _rewritten(facts: Facts) -> Iterator[Finding]:
    if facts.rewritten is None:
        return
    version, day, before = facts.rewritten
    named = ", ".join(before[:3]) + (", …" if len(before) > 3 else "")
    text = f"The log was rewritten from version {version:,} on, seen on {day}: before, Levee had read {named} there."
    advice = "See who changed files in _delta_log: a backup that was put back, or commits removed by hand."
    yield Finding(Code.REWRITTEN, Severity.WARNING, version, None, text, advice)


_RULES = (
    _small_files,
    _skew,
    _statistics,
    _checkpoint,
    _long_log,
    _features,
    _actions,
    _corrupt,
    _outside,
    _recreated,
    _rewritten,
)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"
