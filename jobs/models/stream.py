"""Streams: standing definitions, their rounds (each one a job), and the micro-batches that the rounds ran."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from jobs.models.job import Job


class Stream(models.Model):
    """A standing ingestion into one table.

    `definition` is `Definition.as_json` of the command's rules, `asked` the same as the person gave it, `revision` counts its
    changes. The approval of a stream that replaces rows holds for the definition whose hash is `approved_sha256`.
    """

    class State(models.TextChoices):
        STOPPED = "stopped"  # never started, stopped, or run to its end
        RUNNING = "running"  # rounds are opened as they are due
        STOPPING = "stopping"  # the round that runs is the last one
        FAILED = "failed"  # a round failed; it opens no other one

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    reason = models.TextField()
    asked = models.JSONField()
    definition = models.JSONField()
    definition_sha256 = models.CharField(max_length=64)
    revision = models.IntegerField(default=1)
    table = models.ForeignKey("tables.Table", on_delete=models.PROTECT, related_name="streams_in")
    source_table = models.ForeignKey("tables.Table", null=True, on_delete=models.PROTECT, related_name="streams_out")
    checkpoint = models.TextField(unique=True)  # never shared: two queries on one would lose rows
    interval_seconds = models.PositiveIntegerField(null=True)  # null: a start is one round
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    edited_by = models.JSONField(default=list)  # ids of all who shaped the definition: none of them approves it
    idempotency_key = models.CharField(max_length=200, null=True)  # of the request that created it
    request_sha256 = models.CharField(max_length=64, blank=True, default="", db_default="")

    state = models.CharField(max_length=8, choices=State.choices, default=State.STOPPED)
    state_at = models.DateTimeField(db_default=Now())
    state_text = models.TextField(blank=True, default="")  # why it failed or stopped, in a sentence
    error = models.JSONField(null=True)  # a failed round's, as its job has it
    run_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    next_round_at = models.DateTimeField(null=True)
    rounds = models.BigIntegerField(default=0)

    prediction = models.JSONField(
        default=dict
    )  # of its first batch, when it was defined or started: prediction.values.Prediction
    query_id = models.CharField(max_length=64, null=True)
    made_table_id = models.CharField(max_length=64, null=True)  # Delta's id of the table that its first batch created
    target_table_id = models.CharField(max_length=64, null=True)  # Delta's id of the table that it writes into
    approved_sha256 = models.CharField(max_length=64, blank=True, default="")
    approved_by_job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    lag = models.JSONField(null=True)  # jobs.streams.lag.Lag.as_json; null: not measured
    lag_at = models.DateTimeField(null=True)
    lag_text = models.TextField(blank=True, default="", db_default="")  # why the last look at the source told nothing
    reads_from = models.BigIntegerField(null=True)  # version of its source table that the next round reads first
    removed_at = models.DateTimeField(null=True)  # its definition stays for the rounds that name it

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(name="stream_name_once", fields=["name"], condition=models.Q(removed_at=None)),
            models.UniqueConstraint(
                name="stream_idempotency",
                fields=["created_by", "idempotency_key"],
                condition=models.Q(idempotency_key__isnull=False),
            ),
            models.CheckConstraint(
                name="stream_state_known", condition=models.Q(state__in=["stopped", "running", "stopping", "failed"])
            ),
            models.CheckConstraint(name="stream_reason_given", condition=~models.Q(reason="")),
            models.CheckConstraint(
                name="stream_interval", condition=models.Q(interval_seconds=None) | models.Q(interval_seconds__gte=10)
            ),
            models.CheckConstraint(
                name="stream_failure_has_error", condition=~models.Q(state="failed") | models.Q(error__isnull=False)
            ),
            models.CheckConstraint(
                name="stream_runs_for_someone",
                condition=~models.Q(state__in=["running", "stopping"]) | models.Q(run_by__isnull=False),
            ),
            models.CheckConstraint(
                name="stream_removed_is_still",
                condition=models.Q(removed_at=None) | models.Q(state__in=["stopped", "failed"]),
            ),
        ]
        indexes = [models.Index(fields=["state", "next_round_at"], name="stream_due")]

    def __str__(self) -> str:
        return self.name


class StreamRound(models.Model):
    """One round of a stream: the job that ran it. `booked_at` is set once its batches and its end are in the stream's own rows."""

    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, related_name="round_set")
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="stream_round")
    number = models.BigIntegerField()
    revision = models.IntegerField()
    reset = models.BooleanField(default=False)
    opened_at = models.DateTimeField(db_default=Now())
    booked_at = models.DateTimeField(null=True)
    thinned_at = models.DateTimeField(null=True)  # when what its job no longer needs was removed, by its age

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(name="stream_round_number", fields=["stream", "number"]),
            # Two rounds of one stream at a time would be two starters of one query.
            models.UniqueConstraint(
                name="stream_one_open_round", fields=["stream"], condition=models.Q(booked_at=None)
            ),
        ]
        indexes = [
            models.Index(fields=["stream", "-id"], name="stream_round_newest"),
            models.Index(fields=["booked_at"], name="stream_round_unthinned", condition=models.Q(thinned_at=None)),
        ]

    def __str__(self) -> str:
        return f"round {self.number} of {self.stream_id}"


class StreamStart(models.Model):
    """The idempotency key of a start that met a waiting round: the round's job has the key of its own request, or none."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    idempotency_key = models.CharField(max_length=200)
    request_sha256 = models.CharField(max_length=64)
    round = models.ForeignKey(StreamRound, on_delete=models.CASCADE, related_name="starts")

    class Meta:
        constraints = [
            models.UniqueConstraint(name="stream_start_idempotency", fields=["person", "idempotency_key"]),
        ]

    def __str__(self) -> str:
        return f"a start that met {self.round_id}"


class StreamBatch(models.Model):
    """One micro-batch. What Spark or the log doesn't tell is null; `skipped`: Delta had it already and wrote nothing."""

    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, related_name="batches")
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="stream_batches")
    query_id = models.CharField(max_length=64)
    run_id = models.CharField(max_length=64, blank=True, default="")
    batch_id = models.BigIntegerField()
    version = models.BigIntegerField(null=True)
    output_mode = models.CharField(max_length=8)
    at = models.DateTimeField()
    skipped = models.BooleanField(default=False)
    input_rows = models.BigIntegerField(null=True)
    damaged_lines = models.BigIntegerField(null=True)  # left out; where they were counted, `input_rows` has them too
    rows_out = models.BigIntegerField(null=True)
    files_added = models.BigIntegerField(null=True)
    files_removed = models.BigIntegerField(null=True)
    bytes_added = models.BigIntegerField(null=True)
    took_ms = models.BigIntegerField(null=True)
    durations = models.JSONField(default=dict)  # milliseconds by Spark's phases
    input_rate = models.FloatField(null=True)  # rows per second
    processed_rate = models.FloatField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(name="stream_batch_once", fields=["stream", "query_id", "batch_id", "job"]),
            models.CheckConstraint(
                name="stream_batch_mode", condition=models.Q(output_mode__in=["append", "complete"])
            ),
        ]
        indexes = [
            models.Index(fields=["stream", "-id"], name="stream_batch_newest"),
            models.Index(fields=["at"], name="stream_batch_at"),
        ]

    def __str__(self) -> str:
        return f"batch {self.batch_id} of {self.stream_id}"


class StreamLag(models.Model):
    """The most that waited in a stream's source during a minute, `at` its beginning; null where no look in it could tell."""

    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, related_name="lags")
    at = models.DateTimeField()
    waiting = models.BigIntegerField(null=True)  # files or versions, by the stream's source
    exact = models.BooleanField(default=True)  # False: at least so many

    class Meta:
        constraints = [models.UniqueConstraint(name="stream_lag_once", fields=["stream", "at"])]
        indexes = [models.Index(fields=["at"], name="stream_lag_at")]

    def __str__(self) -> str:
        return f"lag of {self.stream_id} at {self.at}"
