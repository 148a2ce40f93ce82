"""The catalog: roots, tables, their commits and schemas, and the findings of scans."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Coalesce, Now

from tables.rules.destruction import DESTRUCTIVE
from tables.rules.health import Code as HealthCode

SYNC_SECONDS = 300
NEVER = datetime(1, 1, 1, tzinfo=UTC)  # unknown times sort as oldest


class Root(models.Model):
    """A registered storage prefix. Nothing outside a root is listed, read or changed."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100, unique=True)
    uri = models.TextField(unique=True)  # canonical: an absolute real path, or scheme://…, without a slash at the end
    sync_seconds = models.PositiveIntegerField(
        null=True, default=SYNC_SECONDS
    )  # the shortest pause; null: by hand only
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    added_at = models.DateTimeField(db_default=Now())
    scan_asked_at = models.DateTimeField(null=True)  # a scan is wanted that began after this
    scan_claimed_at = models.DateTimeField(null=True)  # a worker is at it; a claim lapses
    scanned_at = models.DateTimeField(null=True)  # when the last scan that ended began
    scan_entries = models.BigIntegerField(null=True)
    scan_stopped = models.TextField(
        blank=True, default=""
    )  # why the last scan ended early; empty when it saw everything
    scan_unreadable = ArrayField(models.TextField(), default=list)
    facets = models.JSONField(null=True)  # counts of its tables by what lists are narrowed by, for large roots
    facets_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_scanning(self) -> bool:
        """Whether a scan was asked for that has not ended."""
        return self.scan_asked_at is not None and (self.scanned_at is None or self.scanned_at < self.scan_asked_at)


class Schema(models.Model):
    """One distinct schema, by the sha256 of Spark's JSON text, so that a million versions with ten schemas cost ten
    rows."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    struct = models.JSONField()
    columns = ArrayField(models.TextField())  # names of all fields, nested ones dotted

    def __str__(self) -> str:
        return self.sha256[:8]


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
    log_state = models.JSONField(default=dict)  # log_state.of_snapshot of the newest version
    problems = models.JSONField(default=list)
    health = models.JSONField(default=list)
    health_codes = ArrayField(models.CharField(max_length=30, choices=HealthCode.choices), default=list)

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
    def is_delta(self) -> bool:
        return self.format == self.Format.DELTA

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


class Commit(models.Model):
    """One entry of a table's history, kept after the log itself has been cleaned.

    `schema`, `properties` and `protocol` are set where the commit carries them (its metaData or protocol action): the
    state at a version is that of the newest commit at or before it that has one. Parameters and metrics are texts, as
    DESCRIBE HISTORY has.
    """

    pk = models.CompositePrimaryKey("table_id", "incarnation", "version")
    table = models.ForeignKey(Table, on_delete=models.PROTECT, related_name="commits")
    incarnation = models.PositiveIntegerField(default=0)
    version = models.BigIntegerField()
    committed_at = models.DateTimeField(null=True)
    operation = models.TextField(blank=True, default="")
    operation_parameters = models.JSONField(default=dict)
    operation_metrics = models.JSONField(default=dict)
    user_name = models.TextField(blank=True, default="")
    engine_info = models.TextField(blank=True, default="")
    isolation_level = models.TextField(blank=True, default="")
    is_blind_append = models.BooleanField(null=True)
    read_version = models.BigIntegerField(null=True)
    txn_id = models.TextField(blank=True, default="")
    user_metadata = models.TextField(blank=True, default="")
    job = models.UUIDField(null=True)
    files_added = models.BigIntegerField(null=True)
    files_removed = models.BigIntegerField(null=True)
    bytes_added = models.BigIntegerField(null=True)
    bytes_removed = models.BigIntegerField(null=True)
    rows_added = models.BigIntegerField(null=True)
    rows_removed = models.BigIntegerField(null=True)
    rows_changed = models.BigIntegerField(null=True)  # by how many rows the table grew, from files or else from metrics
    schema = models.ForeignKey(Schema, null=True, on_delete=models.PROTECT, related_name="+")
    partition_columns = ArrayField(models.TextField(), null=True)
    properties = models.JSONField(null=True)
    protocol = models.JSONField(null=True)
    log_bytes = models.BigIntegerField(null=True)
    problems = models.JSONField(default=list)

    class Meta:
        ordering = ["-incarnation", "-version"]
        indexes = [
            models.Index(fields=["table", "incarnation", "operation", "-version"], name="commit_by_operation"),
            models.Index(fields=["table", "incarnation", "-committed_at"], name="commit_by_time"),
            models.Index(fields=["job"], name="commit_by_job", condition=models.Q(job__isnull=False)),
            models.Index(
                fields=["table", "incarnation", "-version"],
                name="commit_with_metadata",
                condition=models.Q(schema__isnull=False)
                | models.Q(properties__isnull=False)
                | models.Q(protocol__isnull=False),
            ),
            models.Index(
                fields=["table", "incarnation", "-version"],
                name="commit_removals",
                condition=models.Q(files_removed__gt=0),
            ),
            models.Index(fields=["-committed_at"], name="commit_destruction", condition=DESTRUCTIVE),
            models.Index(
                fields=["table", "incarnation", "-version"], name="commit_destruction_of", condition=DESTRUCTIVE
            ),
        ]

    def __str__(self) -> str:
        return f"version {self.version}"


class Baseline(models.Model):
    """What a table was at a version, from a checkpoint: the versions from `unknown_from` on have left the log unread.

    From `version` on the state is this one, until a commit says otherwise; before it, nothing from before `unknown_from` counts.
    """

    pk = models.CompositePrimaryKey("table_id", "incarnation", "unknown_from")
    table = models.ForeignKey(Table, on_delete=models.PROTECT, related_name="+", db_index=False)
    incarnation = models.PositiveIntegerField()
    unknown_from = models.BigIntegerField()
    version = models.BigIntegerField()
    schema = models.ForeignKey(Schema, null=True, on_delete=models.PROTECT, related_name="+")
    partition_columns = ArrayField(models.TextField())
    properties = models.JSONField()
    protocol = models.JSONField(null=True)

    def __str__(self) -> str:
        return f"version {self.version}"


class TableDay(models.Model):
    """What the commits of one day (UTC) made of a table; None where one of them doesn't tell."""

    pk = models.CompositePrimaryKey("table_id", "incarnation", "day")
    table = models.ForeignKey(Table, on_delete=models.PROTECT, related_name="+", db_index=False)
    incarnation = models.PositiveIntegerField(default=0)
    day = models.DateField()
    commits = models.BigIntegerField()
    bytes_grown = models.BigIntegerField(null=True)
    rows_grown = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.day}"


class Explanation(models.Model):
    """The attribution of a destructive commit, or of one that names a job: to a job of Levee's, or to none that Levee knows.

    Made by the sync that first sees the commit; the verdict needs jobs, and is written by them. A table's history from before
    Levee knew the table has none.
    """

    class Verdict(models.TextChoices):
        WAITING = "waiting"  # its job has not ended yet, or the attribution is pending
        APPROVED = "approved"
        NEEDED_NONE = "needed_none"  # a job that needed no approval
        NOBODY = "nobody"
        UNAPPROVED = "unapproved"  # a job that lacked approvals
        FORGED = "forged"  # it names a job that isn't its job

    UNEXPLAINED = (Verdict.NOBODY, Verdict.UNAPPROVED, Verdict.FORGED)

    table = models.ForeignKey(Table, on_delete=models.PROTECT, related_name="explanations")
    incarnation = models.PositiveIntegerField()
    version = models.BigIntegerField()
    effects = ArrayField(models.CharField(max_length=20))  # what it takes away: names of tables.effects
    job = models.UUIDField(null=True)
    verdict = models.CharField(max_length=11, choices=Verdict.choices, default=Verdict.WAITING)
    why = models.TextField(blank=True, default="")
    found_at = models.DateTimeField(db_default=Now())
    judged_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField(blank=True, default="")  # by the person who acknowledged it

    class Meta:
        ordering = ["-found_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["table", "incarnation", "version"], name="explanation_once"),
            models.CheckConstraint(
                name="explanation_acknowledged",
                condition=models.Q(acknowledged_at=None, acknowledged_by=None, reason="")
                | models.Q(acknowledged_at__isnull=False, acknowledged_by__isnull=False) & ~models.Q(reason=""),
            ),
        ]
        indexes = [
            models.Index(fields=["found_at"], name="explanation_waiting", condition=models.Q(verdict="waiting")),
            models.Index(
                fields=["-found_at", "-id"],
                name="explanation_open",
                condition=models.Q(verdict__in=["nobody", "unapproved", "forged"], acknowledged_at=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict}: version {self.version}"

    @property
    def is_open(self) -> bool:
        """No approved job explains it, and no person has acknowledged it."""
        return self.verdict in self.UNEXPLAINED and self.acknowledged_at is None


class Finding(models.Model):
    """A directory that a scan of a root found. Whether it is in the catalog is asked of the catalog, not kept here."""

    root = models.ForeignKey(Root, on_delete=models.CASCADE, related_name="findings")
    path = models.TextField(unique=True)
    kind = models.CharField(max_length=7, choices=Table.Format.choices)
    first_seen_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField()
    gone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["path"]

    def __str__(self) -> str:
        return self.path
