"""The audit: one append-only record per act. The table belongs to a role that nobody logs in with (migration 0001)."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models.functions import Now

from console.audit.actions import Action, ActorKind, ObjectKind, Outcome


class Event(models.Model):
    """Who did what to what, allowed or refused, with what result. `at` and `hash` are set by the database."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    at = models.DateTimeField(db_default=Now(), editable=False)
    actor_kind = models.CharField(max_length=6, choices=ActorKind.choices)
    actor_id = models.UUIDField(null=True)
    actor_name = models.CharField(max_length=64)
    token_id = models.UUIDField(null=True)
    session = models.CharField(max_length=64, blank=True, default="")  # sha256 of the session's key, never the key
    address = models.CharField(max_length=64, blank=True, default="")
    action = models.CharField(max_length=40, choices=Action.choices)
    object_kind = models.CharField(max_length=10, choices=ObjectKind.choices)
    object_id = models.TextField()
    object_name = models.TextField()
    outcome = models.CharField(max_length=7, choices=Outcome.choices)
    reason = models.TextField(blank=True, default="")
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    job = models.UUIDField(null=True)
    digest = models.CharField(max_length=64, null=True)
    table_version = models.BigIntegerField(null=True)
    request_id = models.CharField(max_length=64, blank=True, default="")
    hash = models.CharField(max_length=64, db_default="", editable=False)

    class Meta:
        db_table = '"audit"."event"'
        managed = False
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.actor_name} {self.action} {self.object_name}: {self.outcome}"
