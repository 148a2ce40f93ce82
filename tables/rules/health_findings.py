"""The findings of a table's health: their codes, how much each matters, and what one says."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import models


class HealthCode(models.TextChoices):
    """The findings; the words are those of the facet."""

    SMALL_FILES = "small_files", "Small files"
    OVER_PARTITIONED = "over_partitioned", "Over-partitioned"
    DELETION_VECTORS = "deletion_vectors", "Many deletion vectors"
    SKEW = "skew", "Partition skew"
    MISSING_STATISTICS = "missing_statistics", "Missing statistics"
    NO_CHECKPOINT = "no_checkpoint", "No checkpoint"
    LONG_LOG = "long_log", "Long log"
    STALE_SYNC = "stale_sync", "Stale sync"
    CORRUPT_LOG = "corrupt_log", "Corrupt log"
    STOPS_SPARK = "stops_spark", "Spark can’t open it"
    FILES_MISSING = "files_missing", "Files missing"
    VECTORS_MISSING = "vectors_missing", "Deletion vectors missing"
    FILE_SIZES = "file_sizes_differ", "Files of another size"
    LAST_CHECKPOINT = "last_checkpoint", "Bad _last_checkpoint"
    NEEDS_FEATURE = "needs_feature", "Can’t be read by Levee"
    LOCKS_WRITERS_OUT = "locks_writers_out", "Spark can’t write to it"
    UNREADABLE_COLUMNS = "unreadable_columns", "Spark can’t read it"
    UNSUPPORTED_COLUMNS = "unsupported_columns", "Unsupported columns"
    UNREADABLE_PROPERTIES = "unreadable_properties", "Unreadable properties"
    UNKNOWN_ACTIONS = "unknown_actions", "Unknown log entries"
    MISSING = "missing", "Directory missing"
    RECREATED = "recreated", "Recreated"
    REWRITTEN = "rewritten", "Log rewritten"
    OUTSIDE_FILES = "outside_files", "Files outside the table"
    OLD_FILES = "old_files", "Old files"


class Severity(models.TextChoices):
    """How much it matters: an error stops readers or Levee, a warning costs, a note is to know."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


ERRORS = [
    code.value
    for code in (
        HealthCode.CORRUPT_LOG, HealthCode.STOPS_SPARK, HealthCode.FILES_MISSING, HealthCode.VECTORS_MISSING, HealthCode.FILE_SIZES,
        HealthCode.NEEDS_FEATURE, HealthCode.MISSING, HealthCode.UNREADABLE_COLUMNS,
    )
]  # fmt: skip
"""The codes of findings that are always errors."""


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """One finding: `value` against `threshold` in words or numbers, `text` a sentence, `advice` what to do."""

    code: HealthCode
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
