"""What scans of a root found, and the additions of all of it."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from tables.models.root import Root
from tables.models.table import Table


class Addition(models.Model):
    """The addition of all that the scans of a root had found new: requested once, worked off by the light worker in batches.

    Its findings that wait carry its id; `added` and `refused` count the others of `total`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    root = models.ForeignKey(Root, on_delete=models.PROTECT, related_name="additions")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    is_automatic = models.BooleanField(default=False)  # by the root's option, which `requested_by` switched on
    requested_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)
    stopped = models.TextField(blank=True, default="")  # why it ended early; empty when it didn't
    total = models.PositiveIntegerField()
    added = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-requested_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["root"], name="addition_open_once", condition=models.Q(ended_at__isnull=True)
            ),
            models.CheckConstraint(
                name="addition_counts", condition=models.Q(total__gte=models.F("added") + models.F("refused"))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.added} of {self.total}"


class Finding(models.Model):
    """A directory that a scan of a root found. Whether it is in the catalog is asked of the catalog, not kept here."""

    root = models.ForeignKey(Root, on_delete=models.CASCADE, related_name="findings")
    path = models.TextField(unique=True)
    kind = models.CharField(max_length=7, choices=Table.Format.choices)
    first_seen_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField()
    gone_at = models.DateTimeField(null=True)
    addition = models.ForeignKey(
        Addition, null=True, on_delete=models.SET_NULL, related_name="waiting", db_index=False
    )  # the one that it waits for
    refusal = models.TextField(blank=True, default="")  # why the last addition didn't take it

    class Meta:
        ordering = ["path"]
        indexes = [
            models.Index(
                fields=["addition", "path"], name="finding_to_add", condition=models.Q(addition__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.path
