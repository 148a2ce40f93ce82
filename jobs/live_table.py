"""The live `DeltaTableV2` in words: every member of the object, its properties with their source, its capabilities explained.

What each capability lets Spark do is from Spark's TableCapability and Delta 4.4's catalog/DeltaTableV2.scala.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tables.deltalog.properties import settings


@dataclass(frozen=True, slots=True)
class Capability:
    name: str
    meaning: str
    here: str


CAPABILITIES = (
    Capability(
        "ACCEPT_ANY_SCHEMA",
        "Skip Spark's own schema check on write: Delta checks, merges or refuses the schema itself.",
        "A new column is Delta's decision (mergeSchema), not Spark's.",
    ),
    Capability("BATCH_READ", "Read a version with a batch query.", "Rows and time travel."),
    Capability(
        "V1_BATCH_WRITE",
        "Write through Spark's V1 path: newWriteBuilder falls back to Delta's own transaction.",
        "Every write is one commit, or none.",
    ),
    Capability(
        "OVERWRITE_BY_FILTER",
        "Replace the rows that match a condition: the write builder's overwrite sets replaceWhere.",
        "Shown as a destructive commit in History.",
    ),
    Capability(
        "OVERWRITE_DYNAMIC",
        "Replace only the partitions that the new rows touch.",
        "Shown as a destructive commit in History. Older descriptions of Delta list five capabilities, without this one.",
    ),
    Capability(
        "TRUNCATE",
        "Remove all rows in one commit: the write builder's truncate.",
        "Shown as a destructive commit in History.",
    ),
)
EXPLAINED = {capability.name: capability for capability in CAPABILITIES}


@dataclass(frozen=True, slots=True)
class Member:
    """One member of the object: its name in Delta, its value, and what is to know about it."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Property:
    name: str
    value: str
    source: str
    default: str | None
    meaning: str


def members(live: Mapping[str, Any]) -> list[Member]:
    """The members as rows; what isn't set is said in words."""
    columns = len(live["schema"].get("fields", []))
    return [
        Member("name()", live["name"]),
        Member("path", live["path"]),
        Member("rootPath", live["root_path"], "where the log lies; path may be a directory below it"),
        _set_or("tableIdentifier", live["table_identifier"], "none: opened by path"),
        _set_or("catalogTable", _catalog_table(live["catalog_table"]), "none: opened by path"),
        _set_or("timeTravelOpt", _travel(live["time_travel_opt"]), "none: no version was asked for"),
        _set_or("timeTravelByPath", _travel(live["time_travel_by_path"]), "none: the path has no @"),
        _set_or("timeTravelSpec", _travel(live["time_travel_spec"]), "none: this is the latest version"),
        _set_or("options", _pairs(live["options"]), "none; a change feed's would stand here (once cdcOptions)"),
        Member("schema()", f"{columns} column{'s' if columns != 1 else ''}"),
        _set_or("partitioning()", ", ".join(live["partitioning"]), "none: unpartitioned, or clustered"),
        Member("capabilities()", str(len(live["capabilities"])), "the same for every Delta table"),
        _v1_table(live["v1_table"]),
    ]


def _set_or(name: str, value: str | None, otherwise: str) -> Member:
    return Member(name, value) if value else Member(name, "", otherwise)


def _v1_table(value: Mapping[str, Any]) -> Member:
    error = value.get("error")
    if error:
        condition = error["engine"].get("condition") or "refused"
        return Member("v1Table", condition, "a table opened by path has none: Delta refuses the call")
    return Member("v1Table", str(value.get("identifier") or ""), "without statistics under time travel")


def _catalog_table(value: Mapping[str, Any] | None) -> str:
    if not value:
        return ""
    return ", ".join(
        str(part) for part in (value.get("type"), f"provider {value.get('provider')}", value.get("identifier")) if part
    )


def _travel(value: Mapping[str, Any] | None) -> str:
    if not value:
        return ""
    at = f"version {value['version']}" if value.get("version") is not None else f"timestamp {value.get('timestamp')}"
    return f"{at} (source {value['source']})" if value.get("source") else at


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(values.items()))


def properties(live: Mapping[str, Any]) -> list[Property]:
    """`properties()` row by row, each with where Delta takes it from, its default and its meaning."""
    known = {setting.name: setting for setting in settings({**live["properties"]})}
    rows = []
    for name, value in sorted(live["properties"].items()):
        setting = known.get(name)
        rows.append(
            Property(
                name=name,
                value=value,
                source=_source(name, by_name=live["catalog_table"] is not None),
                default=setting.default if setting else None,
                meaning=_MEANINGS.get(name) or (setting.meaning if setting else None) or "",
            )
        )
    return rows


_MEANINGS = {
    "provider": "always delta",
    "location": "the path as it was given, so with @v0 where time travel was asked by path",
    "owner": "the catalog's owner",
    "external": "the files outlive the catalog's entry (Type in older descriptions)",
    "is_managed_location": "the files go with the catalog's entry (Type in older descriptions)",
    "clusteringColumns": "read from the log, not from the catalog",
    "comment": "the description in metaData",
}
_BY_CATALOG = {"owner", "external", "is_managed_location"}


def _source(name: str, *, by_name: bool) -> str:
    if name in {"delta.minReaderVersion", "delta.minWriterVersion"} or name.startswith("delta.feature."):
        return "protocol"
    if name.startswith("option."):
        return "storage"
    if name in _BY_CATALOG or (name == "location" and by_name):
        return "catalog"
    if name in {"provider", "location"}:
        return "given on reading"
    return "table"


def capabilities(live: Mapping[str, Any]) -> list[Capability]:
    """The set that was read, each explained; one that Levee doesn't know is shown by its name."""
    unknown = "Levee doesn't know this capability; Delta's version may be newer than it."
    return [EXPLAINED.get(name, Capability(name, unknown, "")) for name in live["capabilities"]]
