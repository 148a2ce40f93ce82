"""The data of the protocol's page: properties, features, and their requirements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tables.deltalog.rules.features import Demand
from tables.deltalog.rules.properties import PROTOCOL, TableProperty, settings, unset
from tables.history.payloads import demands_of
from tables.models import Table


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """A property of the overview. `is_own` marks what differs from Delta's default; `source` says where it comes from."""

    name: str
    value: str | None
    default: str | None
    meaning: str | None
    source: str
    is_own: bool


def properties(table: Table) -> tuple[list[PropertyRow], list[TableProperty]]:
    """The properties that are set, protocol entries after them, and those at their default."""
    given = {name: value or "" for name, value in table.properties.items()}
    rows = [PropertyRow(s.name, s.value, s.default, s.meaning, "table", s.value != s.default) for s in settings(given)]
    return rows + _protocol_rows(table), list(unset(given))


def _protocol_rows(table: Table) -> list[PropertyRow]:
    if table.protocol is None:
        return []
    versions = dict(
        zip(PROTOCOL, (table.protocol["min_reader_version"], table.protocol["min_writer_version"]), strict=True)
    )
    rows = [
        PropertyRow(s.name, s.value, s.default, s.meaning, "protocol", s.value != s.default)
        for s in settings({name: str(value) for name, value in versions.items()})
    ]
    listed = {*(table.protocol["reader_features"] or ()), *(table.protocol["writer_features"] or ())}
    return rows + [PropertyRow(f"delta.feature.{n}", "supported", None, None, "protocol", True) for n in sorted(listed)]


def features(table_protocol: dict[str, Any] | None) -> list[Demand]:
    return demands_of(table_protocol)
