"""Gives every row a turn when more are waiting than one round takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


class RoundTurns(Generic[M]):
    """Remembers where the last round stopped, so that the next one continues after it, even if a row made it fail."""

    def __init__(self) -> None:
        self._last: Any = None

    def take(self, rows: QuerySet[M], most: int) -> Iterator[M]:
        """The rows after the last one taken, then those from the start; `most` at most."""
        rows = rows.order_by("pk")
        if self._last is None:
            batch = list(rows[:most])
        else:
            batch = list(rows.filter(pk__gt=self._last)[:most])
            batch += rows.filter(pk__lte=self._last)[: most - len(batch)]
        for row in batch:
            self._last = row.pk
            yield row
