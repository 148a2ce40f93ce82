"""What people say about a request: their decisions, and what its requester changed."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from jobs.models.job import Job


class Decision(models.Model):
    """One person's yes or no to one digest of a job. Triggers (migration 0004) refuse one's own, a stale digest, any change."""

    class Kind(models.TextChoices):
        APPROVE = "approve"
        REJECT = "reject"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="decisions")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions")
    decision = models.CharField(max_length=7, choices=Kind.choices)
    digest = models.CharField(max_length=64)
    comment = models.TextField(blank=True, default="")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(db_default=Now())
    voided_at = models.DateTimeField(null=True)  # by an edit, or by a change that the policy depends on

    class Meta:
        ordering = ["decided_at"]
        constraints = [
            models.UniqueConstraint(fields=["job", "person", "digest"], name="decision_once"),
            models.CheckConstraint(name="decision_known", condition=models.Q(decision__in=["approve", "reject"])),
        ]
        indexes = [models.Index(fields=["person", "-decided_at"], name="decision_person")]

    def __str__(self) -> str:
        return f"{self.decision} of {self.job_id}"


class Edit(models.Model):
    """What a request said before its requester changed it. Who has edited doesn't approve."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="edits")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())
    revision = models.IntegerField()  # the one that was left behind
    before = models.JSONField()
    after = models.JSONField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"edit {self.revision} of {self.job_id}"
