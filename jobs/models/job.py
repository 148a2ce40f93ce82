"""One request to run a command."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from jobs.domain.results import versions_in
from jobs.domain.states import CLAIMED, ENDED, OPEN, State

# In an order of their own: a set has none, and a constraint's migration is compared word for word.
_ENDED, _OPEN, _CLAIMED = (sorted(s.value for s in states) for states in (ENDED, OPEN, CLAIMED))
_STATES = [(s.value, s.value.replace("_", " ")) for s in State]


class Job(models.Model):
    """One request to run a command. `location` is the canonical place of its table, the key of the table's lease."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    command = models.CharField(max_length=20)
    schema_version = models.IntegerField()
    parameters = models.JSONField()
    parameters_sha256 = models.CharField(max_length=64)
    table = models.ForeignKey("tables.Table", on_delete=models.PROTECT, related_name="jobs")
    location = models.TextField()
    state = models.CharField(max_length=17, choices=_STATES)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs")
    requested_at = models.DateTimeField(db_default=Now())
    reason = models.TextField()
    expires_at = models.DateTimeField()
    idempotency_key = models.CharField(max_length=200, null=True)
    request_sha256 = models.CharField(max_length=64)

    revision = models.IntegerField(default=1)  # grows with each edit; part of the digest
    undoes = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="undone_by")
    schedule = models.ForeignKey("jobs.Schedule", null=True, on_delete=models.PROTECT, related_name="jobs")

    # Whether its preview also runs it on a private clone of the table. It is no parameter: the run is the same.
    rehearse = models.BooleanField(default=False, db_default=False)
    preview = models.JSONField(null=True)
    digest = models.CharField(max_length=64, null=True)
    base_version = models.BigIntegerField(null=True)
    policy = models.JSONField(default=dict)
    drift = models.JSONField(null=True)  # the last drift check before a run
    drift_at = models.DateTimeField(null=True)

    queued_at = models.DateTimeField(null=True)
    claimed_at = models.DateTimeField(null=True)
    attempt = models.IntegerField(default=0)
    token = models.BigIntegerField(null=True)  # the fencing token of the claim that holds this job now
    lease_until = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    cancel_requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    progress = models.JSONField(default=dict)
    result = models.JSONField(null=True)
    version = models.BigIntegerField(null=True)  # of the commit, once known
    no_op = models.BooleanField(default=False)
    error = models.JSONField(null=True)
    finished_at = models.DateTimeField(null=True)
    # A past round of a stream: lists show the newest alone, its stream's page all.
    folded = models.BooleanField(default=False, db_default=False)

    class Meta:
        ordering = ["-requested_at", "-id"]
        indexes = [
            models.Index(fields=["state", "queued_at"], name="job_state_queued"),
            models.Index(fields=["location", "claimed_at"], name="job_location_claimed"),
            models.Index(fields=["-requested_at", "-id"], name="job_newest"),
            models.Index(fields=["-requested_at", "-id"], name="job_newest_shown", condition=models.Q(folded=False)),
            models.Index(fields=["table", "-requested_at"], name="job_table_newest"),
            models.Index(
                fields=["requested_at", "id"],
                name="job_waiting",
                condition=models.Q(state=State.AWAITING_APPROVAL.value),
            ),
            models.Index(fields=["finished_at"], name="job_folded_ended", condition=models.Q(folded=True)),
        ]
        constraints = [
            models.CheckConstraint(name="job_state_known", condition=models.Q(state__in=[s.value for s in State])),
            models.CheckConstraint(name="job_reason_given", condition=~models.Q(reason="")),
            models.CheckConstraint(
                name="job_ended_has_end",
                condition=models.Q(state__in=_ENDED, finished_at__isnull=False)
                | models.Q(state__in=_OPEN, finished_at=None),
            ),
            models.CheckConstraint(
                name="job_ended_holds_no_lease",
                condition=models.Q(state__in=_OPEN) | models.Q(lease_until=None),
            ),
            models.CheckConstraint(
                name="job_claimed_has_attempt",
                condition=~models.Q(state__in=_CLAIMED) | models.Q(attempt__gte=1, token__isnull=False),
            ),
            models.CheckConstraint(
                name="job_queued_has_digest",
                condition=models.Q(state__in=["previewing", "failed", "withdrawn", "cancelled", "expired", "succeeded"])
                | models.Q(digest__isnull=False),
            ),
            models.CheckConstraint(
                name="job_success_has_result", condition=~models.Q(state="succeeded") | models.Q(result__isnull=False)
            ),
            models.CheckConstraint(
                name="job_failure_has_error", condition=~models.Q(state="failed") | models.Q(error__isnull=False)
            ),
            models.CheckConstraint(
                name="job_no_op_commits_nothing", condition=models.Q(no_op=False) | models.Q(version=None)
            ),
            models.UniqueConstraint(
                name="job_one_running_per_location",
                fields=["location"],
                condition=models.Q(state__in=_CLAIMED),
            ),
            models.UniqueConstraint(
                name="job_already_open",
                fields=["location", "command", "parameters_sha256"],
                condition=models.Q(state__in=_OPEN),
            ),
            models.UniqueConstraint(
                name="job_idempotency",
                fields=["requested_by", "idempotency_key"],
                condition=models.Q(idempotency_key__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.command} {self.location}"

    @property
    def versions(self) -> set[int]:
        """The versions that its run committed, as far as they are known: those that its result names, and its own."""
        named = versions_in(self.result or {})
        return named if self.version is None else named | {self.version}

    @property
    def is_ended(self) -> bool:
        return self.state in ENDED
