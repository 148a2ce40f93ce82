"""Shallow clones that the catalog knows: tables whose live files lie in another table's directory, as the last sync of each saw them."""

from __future__ import annotations

from dataclasses import dataclass

from tables.deltalog.vacuum.keys import spelled
from tables.models import Table
from tables.rules.health_findings import HealthCode


@dataclass(frozen=True, slots=True)
class ShallowClone:
    """A table that needs files of another one: `files` of its live files lie outside its own directory, all of them `in_this_one`, or
    in several ones, of which this may be one."""

    table: Table
    files: int
    in_this_one: bool


def clones_of(table: Table) -> list[ShallowClone]:
    """The tables of the catalog that need files in this one's directory, by name: the common directory of their outside files is it or
    lies below it, or lies above it. One query, over an index of findings."""
    outside = Table.objects.filter(
        health_codes__contains=[HealthCode.OUTSIDE_FILES.value], hidden_at=None, missing_since=None
    )
    rows = outside.exclude(pk=table.pk).only("name", "catalog_name", "layout").order_by("name")
    place = _directory(table.path)
    return [clone for row in rows if (clone := _clone_of(row, place))]


def _clone_of(row: Table, place: str) -> ShallowClone | None:
    """The row as a clone that needs files below `place`, if it may be one."""
    layout = row.layout or {}
    if not (under := layout.get("outside_under")):
        return None
    common = _directory(under)
    if not common.startswith(place) and not place.startswith(common):
        return None
    return ShallowClone(row, layout["outside_files"], common.startswith(place))


def _directory(path: str) -> str:
    return spelled(path).rstrip("/") + "/"
