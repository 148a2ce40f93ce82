"""What is kept of a table's history after the log itself has been cleaned."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from tables.models.schema import Schema
from tables.models.table import Table
from tables.rules.destruction import DESTRUCTIVE, UNREAD


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
    removal = models.CharField(max_length=10, default=UNREAD, db_default=UNREAD)  # Removal, or destruction.UNREAD
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
            models.Index(fields=["-committed_at", "table", "incarnation", "-version"], name="commit_by_moment"),
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
    """What the commits of one day (UTC) made of a table; None where one of them doesn't tell.

    `…_in` and `…_out` are sums over the commits by which the table grew, and over those by which it shrank; a commit that doesn't tell
    is in `untold` instead.
    """

    pk = models.CompositePrimaryKey("table_id", "incarnation", "day")
    table = models.ForeignKey(Table, on_delete=models.PROTECT, related_name="+", db_index=False)
    incarnation = models.PositiveIntegerField(default=0)
    day = models.DateField()
    commits = models.BigIntegerField()
    bytes_grown = models.BigIntegerField(null=True)
    rows_grown = models.BigIntegerField(null=True)
    appends = models.BigIntegerField(db_default=0)  # by tables/rules/commit_kinds.py; the rest of `commits` are others
    changes = models.BigIntegerField(db_default=0)
    removals = models.BigIntegerField(db_default=0)
    upkeeps = models.BigIntegerField(db_default=0)
    rows_in = models.BigIntegerField(db_default=0)
    rows_out = models.BigIntegerField(db_default=0)
    bytes_in = models.BigIntegerField(db_default=0)
    bytes_out = models.BigIntegerField(db_default=0)
    untold = models.BigIntegerField(db_default=0)

    class Meta:
        # The last days of all tables lie together: summing a root's reads those, not the years before them.
        indexes = [models.Index(fields=["day", "table"], name="day_of_tables")]

    def __str__(self) -> str:
        return f"{self.day}"
