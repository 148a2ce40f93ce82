"""The audit: one append-only record per act, the chain that holds them, and its signed heads.

Events, seals and heads belong to a role without a login (migrations 0001, 0002).
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models.functions import Now

from console.audit.actions import Action, ActorKind, EventOutcome, ObjectKind


class Event(models.Model):
    """Who did what to what, allowed or refused, with what result. `at`, `hash` and a missing `table_id` are set by the database."""

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
    outcome = models.CharField(max_length=7, choices=EventOutcome.choices)
    reason = models.TextField(blank=True, default="")
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    job = models.UUIDField(null=True)
    digest = models.CharField(max_length=64, null=True)
    table_version = models.BigIntegerField(null=True)
    request_id = models.CharField(max_length=64, blank=True, default="")
    hash = models.CharField(max_length=64, db_default="", editable=False)
    table_id = models.UUIDField(null=True)  # the table that it is about: its own, or its job's

    class Meta:
        db_table = '"audit"."event"'
        managed = False
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.actor_name} {self.action} {self.object_name}: {self.outcome}"


class Seal(models.Model):
    """One link of the chain: its number, its event, and the hash over both and over the link before."""

    sequence = models.BigIntegerField(primary_key=True)
    event = models.OneToOneField(Event, on_delete=models.DO_NOTHING, db_column="event", related_name="seal")
    previous = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)
    sealed_at = models.DateTimeField()

    class Meta:
        db_table = '"audit"."seal"'
        managed = False
        ordering = ["sequence"]

    def __str__(self) -> str:
        return f"#{self.sequence} {self.hash[:8]}"


class Head(models.Model):
    """The chain's end at one moment, signed; the same line lies in a file outside the database."""

    sequence = models.BigIntegerField(primary_key=True)
    hash = models.CharField(max_length=64)
    signed_at = models.DateTimeField()
    key = models.CharField(max_length=64)  # the public key, hexadecimal
    signature = models.CharField(max_length=128)

    class Meta:
        db_table = '"audit"."head"'
        managed = False
        ordering = ["sequence"]

    def __str__(self) -> str:
        return f"head #{self.sequence}"


class Verification(models.Model):
    """One pass over the chain: its progress, and the differences. An unfinished one continues where it stopped."""

    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    asked_by = models.CharField(max_length=64)
    first = models.BigIntegerField(default=0)  # the first sequence that was looked at
    last = models.BigIntegerField(default=0)  # and the last one so far
    hash = models.CharField(max_length=64)  # of that last one: the next link must follow it
    checked = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    problems = models.JSONField(default=list)  # the first ones: [{kind, sequence, text}]
    problem_count = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.first}–{self.last}: {self.problem_count}"

    @property
    def has_events(self) -> bool:
        """Whether there was an event to verify: a new instance has none."""
        return 0 < self.first <= self.last
