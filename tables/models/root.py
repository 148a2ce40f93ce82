"""Roots: the storage prefixes outside of which nothing is listed, read or changed."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

SYNC_SECONDS = 300
MOST_SCAN_HOURS = 720


class RegisteredRoots(models.Manager["Root"]):
    """The roots that count: all but those that were removed."""

    def get_queryset(self) -> models.QuerySet[Root]:
        return super().get_queryset().filter(removed_at=None)


class Root(models.Model):
    """A registered storage prefix. Nothing outside a root is listed, read or changed.

    `objects` are the registered ones; `ever` also has those that were removed, whose names and places stay theirs.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100, unique=True)
    uri = models.TextField(unique=True)  # canonical: an absolute real path, or scheme://…, without a slash at the end
    sync_seconds = models.PositiveIntegerField(
        null=True, default=SYNC_SECONDS
    )  # the shortest pause; null: by hand only
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    added_at = models.DateTimeField(db_default=Now())
    scan_asked_at = models.DateTimeField(null=True)  # a scan is wanted that began after this
    scan_claimed_at = models.DateTimeField(null=True)  # a worker is at it; a claim lapses
    scanned_at = models.DateTimeField(null=True)  # when the last scan that ended began
    scan_entries = models.BigIntegerField(null=True)
    scan_stopped = models.TextField(
        blank=True, default=""
    )  # why the last scan ended early; empty when it saw everything
    scan_unreadable = ArrayField(models.TextField(), default=list)
    scan_others = models.JSONField(default=dict)  # tables in other formats, as scans.Pass.others_json has them
    scan_pass = models.JSONField(null=True)  # the scan that has begun and goes on, as scans.Pass has it
    scan_hours = models.PositiveIntegerField(null=True)  # a scan begins by itself after so many; null: on request only
    adds_found_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )  # who has Levee add what its scans find new; null: nobody
    paused_at = models.DateTimeField(null=True)  # no syncs and no scans since then
    removed_at = models.DateTimeField(null=True)
    facets = models.JSONField(null=True)  # counts of its tables by what lists are narrowed by, for large roots
    facets_at = models.DateTimeField(null=True)
    days = models.JSONField(null=True)  # what happened to its tables on each of the last days, for large roots
    days_at = models.DateTimeField(null=True)

    objects = RegisteredRoots()
    ever = models.Manager["Root"]()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                name="root_scan_hours",
                condition=models.Q(scan_hours=None) | models.Q(scan_hours__gte=1, scan_hours__lte=MOST_SCAN_HOURS),
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_scanning(self) -> bool:
        """Whether a scan has begun, or was asked for, that has not ended."""
        if self.scan_pass is not None:
            return True
        return self.scan_asked_at is not None and (self.scanned_at is None or self.scanned_at < self.scan_asked_at)
