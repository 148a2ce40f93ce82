"""Attributions of destructive commits to jobs."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from tables.models.table import Table


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
        CONTRADICTS = "contradicts"  # its job predicted, and people approved, something else than Delta recorded

    UNEXPLAINED = (Verdict.NOBODY, Verdict.UNAPPROVED, Verdict.FORGED, Verdict.CONTRADICTS)

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
                condition=models.Q(verdict__in=["nobody", "unapproved", "forged", "contradicts"], acknowledged_at=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict}: version {self.version}"

    @property
    def is_open(self) -> bool:
        """No approved job explains it, or its job said otherwise, and no person has acknowledged it."""
        return self.verdict in self.UNEXPLAINED and self.acknowledged_at is None
