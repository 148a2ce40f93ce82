"""Jobs, their attempts, events and logs; table leases; reads; workers. The database refuses what can't be."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from jobs.domain.states import CLAIMED, ENDED, OPEN, State

# In an order of their own: a set has none, and a constraint's migration is compared word for word.
_ENDED, _OPEN, _CLAIMED = (sorted(s.value for s in states) for states in (ENDED, OPEN, CLAIMED))
_STATES = [(s.value, s.value.replace("_", " ")) for s in State]


class Worker(models.Model):
    """A process that claims work. One row per name; the process that holds it is told by host, boot id, pid and start ticks."""

    class Kind(models.TextChoices):
        SPARK = "spark"
        INTERACTIVE = "interactive"
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

    class Meta:
        ordering = ["-requested_at", "-id"]
        indexes = [
            models.Index(fields=["state", "queued_at"], name="job_state_queued"),
            models.Index(fields=["location", "claimed_at"], name="job_location_claimed"),
            models.Index(fields=["-requested_at", "-id"], name="job_newest"),
            models.Index(fields=["table", "-requested_at"], name="job_table_newest"),
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
    def is_ended(self) -> bool:
        return self.state in ENDED


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


class PolicyRule(models.Model):
    """How many approvals of which role a command needs, where, and for how much of a table."""

    class Scope(models.TextChoices):
        EVERYTHING = "everything"
        ROOT = "root"
        TABLE = "table"

    class TableClass(models.TextChoices):
        WHOLE_TABLE = "whole_table"
        ORDINARY = "ordinary"

    MOST_APPROVALS = 5

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    command = models.CharField(max_length=20)
    table_class = models.CharField(max_length=11, choices=TableClass.choices, blank=True, default="")  # empty: any
    min_share = models.FloatField(null=True)  # of the table's rows, 0 to 1
    scope = models.CharField(max_length=10, choices=Scope.choices, default=Scope.EVERYTHING)
    root = models.ForeignKey("tables.Root", null=True, on_delete=models.PROTECT, related_name="+")
    table = models.ForeignKey("tables.Table", null=True, on_delete=models.PROTECT, related_name="+")
    required_approvals = models.IntegerField()
    role = models.CharField(max_length=10, default="approver")
    refuses_tokens = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    version = models.IntegerField(default=1)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    changed_at = models.DateTimeField(db_default=Now())
    removed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["command", "name"]
        constraints = [
            models.CheckConstraint(
                name="policy_rule_approvals", condition=models.Q(required_approvals__gte=0, required_approvals__lte=5)
            ),
            models.CheckConstraint(name="policy_rule_role", condition=models.Q(role="approver")),
            models.CheckConstraint(
                name="policy_rule_share",
                condition=models.Q(min_share=None) | models.Q(min_share__gte=0, min_share__lte=1),
            ),
            models.CheckConstraint(
                name="policy_rule_scope",
                condition=models.Q(scope="everything", root=None, table=None)
                | models.Q(scope="root", root__isnull=False, table=None)
                | models.Q(scope="table", root=None, table__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Attempt(models.Model):
    """One worker's claim on a job: a run (numbered) or its preview (number 0)."""

    class Kind(models.TextChoices):
        PREVIEW = "preview"
        RUN = "run"

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
        indexes = [models.Index(fields=["job", "claimed_at"], name="attempt_job")]

    def __str__(self) -> str:
        return f"{self.kind} {self.number} of {self.job_id}"


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


class DispatcherRound(models.Model):
    """The dispatcher's last round of each kind: when, and what it did."""

    kind = models.CharField(max_length=20, primary_key=True)
    at = models.DateTimeField(db_default=Now())
    seconds = models.FloatField(default=0)
    text = models.CharField(max_length=500, blank=True, default="")

    def __str__(self) -> str:
        return self.kind
