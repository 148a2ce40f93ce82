"""Tables that a person marked as favourites."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from tables.models.table import Table


class Favourite(models.Model):
    """One person's mark on one table. It goes with either of them, and with the table's being hidden."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    table = models.ForeignKey(Table, on_delete=models.CASCADE, related_name="+")
    marked_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["person", "table"], name="favourite_once")]

    def __str__(self) -> str:
        return f"{self.table_id} of {self.person_id}"
