"""The processes that claim work, and the dispatcher's last rounds."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models.functions import Now


class Worker(models.Model):
    """A process that claims work. One row per name; the process that holds it is told by host, boot id, pid and start ticks."""

    class Kind(models.TextChoices):
        SPARK = "spark"
        INTERACTIVE = "interactive"
        STREAMS = "streams"
        LIGHT = "light"
        DISPATCHER = "dispatcher"

    class Condition(models.TextChoices):
        STARTING = "starting"
        READY = "ready"
        DRAINING = "draining"
        DOWN = "down"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200, unique=True)
    kind = models.CharField(max_length=11, choices=Kind.choices)
    host = models.CharField(max_length=200)
    boot_id = models.CharField(max_length=64)
    pid = models.IntegerField()
    start_ticks = models.BigIntegerField()
    jvm_pid = models.IntegerField(null=True)
    jvm_start_ticks = models.BigIntegerField(null=True)
    jvm_memory_bytes = models.BigIntegerField(null=True)
    condition = models.CharField(max_length=8, choices=Condition.choices)
    text = models.CharField(max_length=500, blank=True, default="")  # what it does now, or why it can't
    version = models.CharField(max_length=40, blank=True, default="")
    started_at = models.DateTimeField(db_default=Now())
    heartbeat_at = models.DateTimeField(db_default=Now())
    drain_requested_at = models.DateTimeField(null=True)
    restart_requested_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["kind", "name"]

    def __str__(self) -> str:
        return self.name


class DispatcherRound(models.Model):
    """The dispatcher's last round of each kind that went well: when, and what it did; and how often it has failed since."""

    kind = models.CharField(max_length=20, primary_key=True)
    at = models.DateTimeField(db_default=Now())
    seconds = models.FloatField(default=0)
    text = models.CharField(max_length=500, blank=True, default="")
    failures = models.IntegerField(default=0, db_default=0)  # in a row
    error = models.CharField(max_length=500, blank=True, default="", db_default="")  # of the last one

    def __str__(self) -> str:
        return self.kind
