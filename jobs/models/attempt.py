"""A job's attempts with their logs, its events, and the lease of its table."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models.functions import Now

from jobs.models.job import Job


class Attempt(models.Model):
    """One worker's claim on a job: a run (numbered) or its preview (number 0)."""

    class Kind(models.TextChoices):
        PREVIEW = "preview"
        RUN = "run"

    UNPROVEN = "lost, unproven"  # outcome: its worker was on another host, where nobody can prove its end
    CAME_BACK = "came back, fenced"  # outcome: it went on after it was given up, and ended nothing

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="attempts")
    kind = models.CharField(max_length=7, choices=Kind.choices)
    number = models.IntegerField()
    token = models.BigIntegerField(unique=True)
    worker = models.CharField(max_length=200)
    host = models.CharField(max_length=200)
    boot_id = models.CharField(max_length=64)
    pid = models.IntegerField()
    start_ticks = models.BigIntegerField()
    jvm_pid = models.IntegerField(null=True)
    jvm_start_ticks = models.BigIntegerField(null=True)
    claimed_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=40, blank=True, default="")

    class Meta:
        ordering = ["claimed_at"]
        indexes = [
            models.Index(fields=["job", "claimed_at"], name="attempt_job"),
            models.Index(fields=["claimed_at"], name="attempt_open", condition=models.Q(ended_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.number} of {self.job_id}"

    @classmethod
    def may_have_committed(cls, job: Job) -> bool:
        """Whether an attempt of the job was given up without proof of its end: it may have committed since, or may yet."""
        return cls.objects.filter(job=job, outcome__in=[cls.UNPROVEN, cls.CAME_BACK]).exists()


class JobEvent(models.Model):
    """What happened to a job: who, when, from which state to which, why, in which attempt."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(db_default=Now())
    kind = models.CharField(max_length=20)  # a transition's target, or "late_commit", "released", "note"
    who = models.CharField(max_length=200)
    source = models.CharField(max_length=17, blank=True, default="")
    target = models.CharField(max_length=17, blank=True, default="")
    attempt = models.IntegerField(null=True)
    text = models.TextField()
    table_text = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["job", "id"], name="job_event_order")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class LogLine(models.Model):
    """One line of an attempt's bounded log."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="log")
    at = models.DateTimeField()
    text = models.TextField()

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["attempt", "id"], name="log_line_order")]

    def __str__(self) -> str:
        return self.text


class TableLease(models.Model):
    """One writer per table: held from the claim until the job is recorded or reconciled, never freed by time alone."""

    location = models.TextField(primary_key=True)
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="table_lease")
    token = models.BigIntegerField()
    exclusive_tree = models.BooleanField(default=False)  # a convert: nothing above or below may be held either
    taken_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.location
