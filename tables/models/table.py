"""Tables of the catalog, when they are read, and what lay at their locations before."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Coalesce, Now

from tables.models.root import Root
from tables.models.schema import Schema
from tables.rules.health_findings import HealthCode as HealthCode

NEVER = datetime(1, 1, 1, tzinfo=UTC)  # unknown times sort as oldest


class Table(models.Model):
    """A catalogued Delta table, or a parquet directory that could become one. One entry per location.

    What was read from the log is of `version`, at `synced_at`; null means unknown. `incarnation` counts the tables
    that have lain at this location: a directory that was dropped and made anew keeps its earlier histories apart.
    When it was and will be read stands in a small row of its own (SyncTimes): most syncs find nothing new.
    """

    class Format(models.TextChoices):
        DELTA = "delta"
        PARQUET = "parquet"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    root = models.ForeignKey(Root, on_delete=models.PROTECT, related_name="tables")
    path = models.TextField(unique=True)  # the canonical location; the key of the table's lease
    name = models.TextField()  # displayed name: the catalog name, else the path below the root
    catalog_name = models.TextField(
        null=True, unique=True
    )  # `database.table` in lower case, as names.canonical_name gives it
    catalog_entry = models.JSONField(
        null=True
    )  # what a parquet entry declares: names.Entry; null: nothing, or a Delta table
    format = models.CharField(max_length=7, choices=Format.choices)
    owner = models.CharField(max_length=100, blank=True, default="")
    description = models.TextField(blank=True, default="")
    tags = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    added_at = models.DateTimeField(db_default=Now())
    hidden_at = models.DateTimeField(null=True)

    incarnation = models.PositiveIntegerField(default=0)
    table_id = models.CharField(max_length=64, null=True)  # Delta's metaData.id
    head_mark = models.TextField(blank=True, default="")  # what tells the head's commit from another one of that number
    version = models.BigIntegerField(null=True)
    first_version = models.BigIntegerField(null=True)  # the oldest commit that is still in the log
    first_readable = models.BigIntegerField(null=True)  # the oldest version whose files can still be named from the log
    rebuildable = models.JSONField(null=True)  # [[first, last], …] that the log can rebuild; null: not measured
    lost_commits = models.JSONField(null=True)  # [[first, last], …] after first_version that are not in the log
    rewritten = models.JSONField(
        null=True
    )  # {from_version, seen_at, commits: what the log held before}; null: never seen
    lost_files = models.JSONField(
        default=list, db_default=[]
    )  # versions whose files storage was found not to hold: lost_versions.Lost; those of another table at this place are dropped
    file_check = models.JSONField(null=True)  # what storage was found to hold of the live files: file_check.of_look
    checkpoint_version = models.BigIntegerField(null=True)  # the newest checkpoint; null: none
    last_commit_at = models.DateTimeField(null=True)
    size_bytes = models.BigIntegerField(null=True)
    num_files = models.BigIntegerField(null=True)
    num_records = models.BigIntegerField(null=True)
    schema = models.ForeignKey(Schema, null=True, on_delete=models.PROTECT, related_name="+")
    partition_columns = ArrayField(models.TextField(), default=list)
    clustering_columns = ArrayField(models.TextField(), default=list)
    properties = models.JSONField(default=dict)
    protocol = models.JSONField(null=True)
    features = ArrayField(models.TextField(), default=list)
    created_at = models.DateTimeField(null=True)  # metaData.createdTime
    comment = models.TextField(blank=True, default="")  # metaData.description
    layout = models.JSONField(null=True)
    removed = models.JSONField(
        default=list, db_default=[]
    )  # removed_files.by_day: bytes that commits removed and no vacuum deleted
    log_state = models.JSONField(default=dict)  # log_state.of_snapshot of the newest version
    problems = models.JSONField(default=list)
    health = models.JSONField(default=list)
    health_codes = ArrayField(models.CharField(max_length=30, choices=HealthCode.choices), default=list)

    read_by = models.PositiveSmallIntegerField(
        default=0, db_default=0
    )  # by which commit_rows.RULES its commits were read

    sync_error = models.TextField(blank=True, default="")
    missing_since = models.DateTimeField(null=True)

    leaf = models.TextField(default="")  # lower case, the last part of the name: what a search compares first
    words = models.TextField(default="")  # lower case, all that a search looks through
    grams = ArrayField(models.TextField(), default=list)  # the parts of `words`, one to three characters long

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(format__in=["delta", "parquet"]), name="table_format_known"),
        ]
        indexes = [
            models.Index(fields=["name", "id"], name="table_by_name", condition=models.Q(hidden_at=None)),
            models.Index(fields=["root", "name", "id"], name="table_by_root", condition=models.Q(hidden_at=None)),
            models.Index(Coalesce("size_bytes", -1).desc(), "id", name="table_by_size"),
            models.Index(Coalesce("num_files", -1).desc(), "id", name="table_by_files"),
            models.Index(Coalesce("last_commit_at", NEVER).desc(), "id", name="table_by_change"),
            models.Index(
                fields=["leaf", "name", "id"],
                name="table_by_leaf",
                opclasses=["text_pattern_ops", "text_ops", "uuid_ops"],
            ),
            models.Index(
                fields=["root", "leaf"],
                name="table_by_root_leaf",
                opclasses=["uuid_ops", "text_pattern_ops"],
                condition=models.Q(hidden_at=None),
            ),
            models.Index(fields=["table_id"], name="table_by_delta_id", condition=models.Q(table_id__isnull=False)),
            models.Index(fields=["owner", "name", "id"], name="table_by_owner", condition=models.Q(hidden_at=None)),
            models.Index(
                fields=["name", "id"],
                name="table_trouble",
                condition=models.Q(hidden_at=None) & (models.Q(missing_since__isnull=False) | ~models.Q(sync_error="")),
            ),
            GinIndex(fields=["grams"], name="table_grams"),
            GinIndex(fields=["features"], name="table_features"),
            GinIndex(fields=["tags"], name="table_tags"),
            GinIndex(fields=["health_codes"], name="table_health"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def configuration(self) -> dict[str, str]:
        """The properties that have a value."""
        return {name: value for name, value in self.properties.items() if value is not None}

    @property
    def is_delta(self) -> bool:
        return self.format == self.Format.DELTA

    @property
    def is_not_there_yet(self) -> bool:
        """Whether its place held neither a log nor a parquet file: a stream or a clone makes the table with its first commit."""
        return not self.is_delta and self.num_files == 0

    @property
    def synced_at(self) -> datetime | None:
        """When a sync last read the table, None for never. A query of its own without `select_related("times")`."""
        return self.times.synced_at

    @property
    def next_sync_at(self) -> datetime | None:
        """When the next sync is due, None for one by hand only."""
        return self.times.next_sync_at


class SyncTimes(models.Model):
    """When a table was read and is read next: all that a sync writes which finds nothing new.

    The database makes one with every table.
    """

    table = models.OneToOneField(Table, primary_key=True, on_delete=models.PROTECT, related_name="times")
    synced_at = models.DateTimeField(null=True)
    next_sync_at = models.DateTimeField(null=True)
    quiet_syncs = models.PositiveIntegerField(default=0)  # syncs in a row that found nothing new, or failed
    fingerprint = models.TextField(default="", db_default="")  # of the log as it was read; empty: read it in full again

    class Meta:
        indexes = [
            models.Index(fields=["next_sync_at"], name="sync_due", condition=models.Q(next_sync_at__isnull=False)),
            models.Index(fields=["synced_at"], name="sync_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.table_id} at {self.synced_at}"


class Incarnation(models.Model):
    """A table that has lain at a location before the present one, and when Levee saw that it was replaced."""

    table = models.ForeignKey(Table, on_delete=models.PROTECT, related_name="earlier")
    number = models.PositiveIntegerField()
    delta_id = models.CharField(max_length=64, blank=True, default="")
    version = models.BigIntegerField(null=True)
    ended_at = models.DateTimeField(db_default=Now())
    why = models.TextField()

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["table", "number"], name="incarnation_once")]

    def __str__(self) -> str:
        return f"{self.delta_id} until version {self.version}"
