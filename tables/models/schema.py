"""Schemas, one row for each distinct one."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Schema(models.Model):
    """One distinct schema, by the sha256 of Spark's JSON text, so that a million versions with ten schemas cost ten
    rows."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    struct = models.JSONField()
    columns = ArrayField(models.TextField())  # names of all fields, nested ones dotted

    def __str__(self) -> str:
        return self.sha256[:8]
