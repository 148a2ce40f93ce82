"""Questions that a worker answers for a page."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class Read(models.Model):
    """A question that a worker answers for a page: no job, tried twice at most, kept ten minutes for its asker."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        ANSWERED = "answered"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=20)
    queue = models.CharField(max_length=11)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    table = models.ForeignKey("tables.Table", null=True, on_delete=models.CASCADE, related_name="+")
    question = models.JSONField()
    question_sha256 = models.CharField(max_length=64)
    asked_version = models.BigIntegerField(null=True)  # the head when it was asked
    asked_mark = models.CharField(max_length=60, blank=True, default="")  # its commit's file (tables.facts.mark)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    answer = models.JSONField(null=True)
    problem = models.JSONField(null=True)
    progress = models.JSONField(null=True)  # how far the answer has come, for kinds that tell
    worker = models.CharField(max_length=200, blank=True, default="")
    tries = models.SmallIntegerField(default=0)  # how often it was claimed
    asked_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["queue", "state", "asked_at"], name="read_waiting"),
            models.Index(fields=["person", "question_sha256", "-asked_at"], name="read_same"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.person_id}"

    @property
    def is_open(self) -> bool:
        """Whether its answer is still to come."""
        return self.state in {self.State.WAITING, self.State.RUNNING}
