"""The rules of policy, and the changes that lower them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from jobs.domain.policy import ANY

_MOST_APPROVALS = 5


class PolicyRule(models.Model):
    """How many approvals of which role a command needs, where, and for how much of a table; or that it may never run there.

    A rule that forbids is about one command, or about ANY that changes a table.
    """

    class Scope(models.TextChoices):
        EVERYTHING = "everything"
        ROOT = "root"
        TABLE = "table"

    class TableClass(models.TextChoices):
        WHOLE_TABLE = "whole_table"
        SHORT_RETENTION = "short_retention"
        IRREVERSIBLE = "irreversible"
        ORDINARY = "ordinary"

    MOST_APPROVALS = _MOST_APPROVALS

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    command = models.CharField(max_length=20)
    forbids = models.BooleanField(default=False)  # the command never runs there; this never changes
    table_class = models.CharField(max_length=15, choices=TableClass.choices, blank=True, default="")  # empty: any
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
                name="policy_rule_approvals",
                condition=models.Q(required_approvals__gte=0, required_approvals__lte=_MOST_APPROVALS),
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
            models.CheckConstraint(
                name="policy_rule_forbids",
                condition=models.Q(forbids=False) & ~models.Q(command=ANY)
                | models.Q(forbids=True, required_approvals=0, table_class="", min_share=None, refuses_tokens=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PolicyChange(models.Model):
    """A rule that is lowered, switched off or removed: the terms before and after, who asked for it and who confirmed it.

    Until `applied_at` the old rule holds. Nobody as asker or confirmer is a command on the machine.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    rule = models.ForeignKey(PolicyRule, on_delete=models.PROTECT, related_name="changes")
    rule_version = models.IntegerField()  # of the rule that it changes
    before = models.JSONField()
    after = models.JSONField()
    removes = models.BooleanField(default=False)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(db_default=Now())
    confirmed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    applied_at = models.DateTimeField(null=True)
    dropped_at = models.DateTimeField(null=True)  # declined, or overtaken by another change

    class Meta:
        ordering = ["-asked_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["rule"], condition=models.Q(applied_at=None, dropped_at=None), name="policy_change_waiting"
            ),
            models.CheckConstraint(
                condition=models.Q(applied_at=None) | models.Q(dropped_at=None), name="policy_change_once"
            ),
        ]
        indexes = [models.Index(fields=["applied_at"], name="policy_change_applied")]

    def __str__(self) -> str:
        return f"change of {self.rule_id} at version {self.rule_version}"
