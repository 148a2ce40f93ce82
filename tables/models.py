"""The catalog: roots, tables, what is known of them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now


class Root(models.Model):
    """A registered storage prefix. Nothing outside a root is listed, read or changed."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100, unique=True)
    uri = models.TextField(unique=True)  # canonical: an absolute real path, or scheme://…, without a slash at the end
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    added_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Table(models.Model):
    """A catalogued Delta table, or a parquet directory that could become one. One entry per location."""

    class Format(models.TextChoices):
        DELTA = "delta"
        PARQUET = "parquet"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    root = models.ForeignKey(Root, on_delete=models.PROTECT, related_name="tables")
    path = models.TextField(unique=True)  # the canonical location; the key of the table's lease
    name = models.TextField()  # what people call it: the catalog name, else the path below the root
    catalog_name = models.TextField(null=True, unique=True)
    format = models.CharField(max_length=7, choices=Format.choices)
    table_id = models.CharField(max_length=64, null=True)  # Delta's metaData.id
    version = models.BigIntegerField(null=True)
    owner = models.CharField(max_length=100, blank=True, default="")
    description = models.TextField(blank=True, default="")
    tags = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    added_at = models.DateTimeField(db_default=Now())
    hidden_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(format__in=["delta", "parquet"]), name="table_format_known")
        ]

    def __str__(self) -> str:
        return self.name
