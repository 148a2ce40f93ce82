"""Rows about how a person likes their lists: columns, order and page size of each, and filters with a name."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower, Now

NAME_LENGTH = 60
QUERY_LENGTH = 2_000


class ListPreference(models.Model):
    """How one person has one list: null and empty values stand for what the list does by itself."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="list_preferences")
    list = models.CharField(max_length=20)
    columns = ArrayField(models.CharField(max_length=20), null=True)  # the ones that show; null: all
    order = models.CharField(max_length=20, blank=True, default="")
    rows = models.PositiveSmallIntegerField(null=True)  # of a page

    class Meta:
        constraints = [models.UniqueConstraint(fields=["person", "list"], name="list_preference_once")]

    def __str__(self) -> str:
        return f"{self.list} of {self.person_id}"


class SavedFilter(models.Model):
    """The address of a filtered list under a name of its person's own."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="saved_filters")
    list = models.CharField(max_length=20)
    name = models.CharField(max_length=NAME_LENGTH)
    query = models.CharField(max_length=QUERY_LENGTH)  # of the address, without page and order of it
    pinned = models.BooleanField(default=False)  # stands first
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-pinned", "name", "id"]
        constraints = [models.UniqueConstraint("person", "list", Lower("name"), name="saved_filter_name_once")]

    def __str__(self) -> str:
        return self.name
