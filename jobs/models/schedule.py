"""Schedules: commands that run again and again, approved once as a definition; what people said of them, and their runs."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class Schedule(models.Model):
    """A command on a table, on every table of a root or on every one with a tag, and when it runs.

    `parameters` are the command's as it was asked for; each run fills them in from the table as it is then. `shape` is what was
    approved with them (`jobs.schedules.standing`; nothing of many tables), `table_class` how much of the table the command affected by
    then; `digest` covers all of it. Approvals are given to the digest, and `jobs_approvals` counts them for its runs.
    """

    class State(models.TextChoices):
        AWAITING_APPROVAL = "awaiting_approval"
        ACTIVE = "active"  # runs are opened as they are due
        PAUSED = "paused"  # by a person
        STOPPED = "stopped"  # by itself, or by a rejection: `state_text` says why

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    reason = models.TextField()
    table = models.ForeignKey("tables.Table", null=True, on_delete=models.PROTECT, related_name="schedules")
    root = models.ForeignKey("tables.Root", null=True, on_delete=models.PROTECT, related_name="schedules")
    tag = models.CharField(max_length=50, blank=True, default="", db_default="")
    command = models.CharField(max_length=20)
    schema_version = models.IntegerField()
    parameters = models.JSONField()
    asked = models.JSONField()  # the command's values by the API's names
    cron = models.CharField(max_length=100)
    time_zone = models.CharField(max_length=60)
    window_minutes = models.PositiveIntegerField()
    max_bytes = models.BigIntegerField(null=True)  # by the preview of a run; null: any
    max_minutes = models.PositiveIntegerField(null=True)  # of a run; null: the instance's limit alone
    shape = models.JSONField()
    table_class = models.CharField(max_length=15)
    digest = models.CharField(max_length=64)
    policy = models.JSONField(default=dict)  # when it was last defined
    revision = models.IntegerField(default=1)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    run_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    edited_by = models.JSONField(default=list)  # ids of all who shaped the definition: none of them approves it
    idempotency_key = models.CharField(max_length=200, null=True)
    request_sha256 = models.CharField(max_length=64, blank=True, default="", db_default="")

    state = models.CharField(max_length=17, choices=State.choices)
    state_at = models.DateTimeField(db_default=Now())
    state_text = models.TextField(blank=True, default="", db_default="")
    next_due_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)  # in a row
    resumed_at = models.DateTimeField(db_default=Now())  # a person defined it or had it go on
    removed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(name="schedule_name_once", fields=["name"], condition=models.Q(removed_at=None)),
            models.UniqueConstraint(
                name="schedule_idempotency",
                fields=["created_by", "idempotency_key"],
                condition=models.Q(idempotency_key__isnull=False),
            ),
            models.CheckConstraint(
                name="schedule_state_known",
                condition=models.Q(state__in=["awaiting_approval", "active", "paused", "stopped"]),
            ),
            models.CheckConstraint(name="schedule_reason_given", condition=~models.Q(reason="")),
            models.CheckConstraint(
                name="schedule_one_place",
                condition=models.Q(table__isnull=False, root=None, tag="")
                | models.Q(table=None, root__isnull=False, tag="")
                | models.Q(table=None, root=None) & ~models.Q(tag=""),
            ),
            models.CheckConstraint(
                name="schedule_bound_in_window",
                condition=models.Q(max_minutes=None) | models.Q(max_minutes__lte=models.F("window_minutes")),
            ),
            models.CheckConstraint(
                name="schedule_due_while_active",
                condition=models.Q(next_due_at=None) | models.Q(state="active", removed_at=None),
            ),
        ]
        indexes = [models.Index(fields=["state", "next_due_at"], name="schedule_due")]

    def __str__(self) -> str:
        return self.name

    def closes(self, due_at: datetime) -> datetime:
        """When the window of a run closes."""
        return due_at + timedelta(minutes=self.window_minutes)


class ScheduleDecision(models.Model):
    """One person's yes or no to one digest of a schedule. Triggers (migration 0018) refuse one's own, a stale digest, any change."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    schedule = models.ForeignKey(Schedule, on_delete=models.PROTECT, related_name="decisions")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    decision = models.CharField(max_length=7, choices=[("approve", "Approve"), ("reject", "Reject")])
    digest = models.CharField(max_length=64)
    comment = models.TextField(blank=True, default="")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(db_default=Now())
    voided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["decided_at"]
        constraints = [
            models.UniqueConstraint(
                name="schedule_decision_once",
                fields=["schedule", "person", "digest"],
                condition=models.Q(voided_at=None),
            ),
            models.CheckConstraint(
                name="schedule_decision_known", condition=models.Q(decision__in=["approve", "reject"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.decision} of {self.schedule_id}"


class ScheduleRun(models.Model):
    """One time at which a schedule was due for a table: the job that ran it, or why none did. `outcome` is empty until it is known.

    Those of a schedule for many tables are planned when it is due, and opened one after the other.
    """

    class Outcome(models.TextChoices):
        OPEN = ""
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        SKIPPED = "skipped"  # late: its window closed before it could start
        ENDED = "ended"  # by a person, before it was done

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="runs")
    table = models.ForeignKey("tables.Table", on_delete=models.CASCADE, related_name="+")
    is_planned = models.BooleanField(default=False, db_default=False)  # not opened yet
    due_at = models.DateTimeField()
    job = models.OneToOneField("jobs.Job", null=True, on_delete=models.SET_NULL, related_name="schedule_run")
    digest = models.CharField(max_length=64)  # of the schedule when it was opened
    parameters_sha256 = models.CharField(max_length=64, blank=True, default="")  # of the job when it was opened
    opened_at = models.DateTimeField(db_default=Now())
    outcome = models.CharField(max_length=9, choices=Outcome.choices, blank=True, default="")
    text = models.TextField(blank=True, default="")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                name="schedule_one_open_run", fields=["schedule", "table"], condition=models.Q(outcome="")
            ),
        ]
        indexes = [
            models.Index(fields=["schedule", "-id"], name="schedule_run_newest"),
            models.Index(fields=["schedule", "table", "-id"], name="schedule_run_of_table"),
            models.Index(
                fields=["schedule", "-id"],
                name="schedule_run_planned",
                condition=models.Q(outcome="", is_planned=True),
            ),
            models.Index(fields=["id"], name="schedule_run_opened", condition=models.Q(outcome="", is_planned=False)),
            models.Index(fields=["schedule", "-id"], name="schedule_run_failed", condition=models.Q(outcome="failed")),
            models.Index(
                fields=["due_at"], name="schedule_run_due"
            ),  # those ahead of the clock are looked for all the time
        ]

    def __str__(self) -> str:
        return f"run of {self.schedule_id}, due {self.due_at}"
