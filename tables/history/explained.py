"""Attributions of commits, by version."""

from __future__ import annotations

from tables.models import Explanation, Table


def of_commits(table: Table, incarnation: int, versions: list[int]) -> dict[int, Explanation]:
    """Attributions by version."""
    explanations = Explanation.objects.filter(table=table, incarnation=incarnation, version__in=versions)
    return {e.version: e for e in explanations.select_related("acknowledged_by")}
