"""The live `DeltaTableV2` in words: every member of the object, its properties with their source, its capabilities explained.

What each capability lets Spark do is from Spark's TableCapability and Delta 4.4's catalog/DeltaTableV2.scala.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from console.base.text.counted import counted
from tables.deltalog.rules.properties import PROTOCOL, settings
from tables.deltalog.rules.schema import Column, SchemaError, dotted, parse_schema, type_text, walk


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
    """One member of the object: its name in Delta, its value, and a note."""

    name: str
    value: str
    note: str = ""
    lines: tuple[tuple[str, str], ...] = ()  # its parts, unfolded on the page


@dataclass(frozen=True, slots=True)
class ShownProperty:
    name: str
    value: str
    source: str
    default: str | None
    meaning: str


def members(live: Mapping[str, Any]) -> list[Member]:
    """The members as rows; a note explains a missing value."""
    return [
        Member("name()", live["name"]),
        Member("path", live["path"]),
        Member("rootPath", live["root_path"], "the directory of the log; path can be a directory below it"),
        _set_or("tableIdentifier", live["table_identifier"], "none: opened by path"),
        _catalog_member("catalogTable", live["catalog_table"]),
        _set_or("timeTravelOpt", _travel(live["time_travel_opt"]), "none: no version requested"),
        _set_or("timeTravelByPath", _travel(live["time_travel_by_path"]), "none: the path has no @"),
        _set_or("timeTravelSpec", _travel(live["time_travel_spec"]), "none: this is the latest version"),
        _set_or("options", _pairs(live["options"]), "none; options of a change feed appear here (once cdcOptions)"),
        _schema(live["schema"]),
        _set_or("partitioning()", ", ".join(live["partitioning"]), "none: unpartitioned, or clustered"),
        *_partition_filters(live.get("partition_filters") or []),
        Member("capabilities()", str(len(live["capabilities"])), "the same for every Delta table"),
        _v1_table(live["v1_table"], travels=live["time_travel_spec"] is not None),
    ]


def _set_or(name: str, value: str | None, otherwise: str) -> Member:
    return Member(name, value) if value else Member(name, "", otherwise)


def _schema(struct: Mapping[str, Any]) -> Member:
    """Every field of the version, parents before their children."""
    try:
        fields = list(walk(parse_schema(json.dumps(struct))))
    except SchemaError:
        return Member("schema()", "", "it contains a type that Levee doesn't know; the API returns it unchanged")
    columns = len(struct.get("fields", []))
    lines = [(dotted(path), _typed(column)) for path, column in fields[:MOST_FIELDS]]
    if len(fields) > MOST_FIELDS:
        lines.append((f"{len(fields) - MOST_FIELDS:,} more", "all of them are in the API's answer"))
    return Member("schema()", counted(columns, "column"), lines=tuple(lines))


def _typed(column: Column) -> str:
    text = type_text(column.type) + ("" if column.nullable else " NOT NULL")
    return f"{text}: {column.comment}" if column.comment else text


def _partition_filters(filters: Sequence[Mapping[str, Any]]) -> list[Member]:
    """The filters that Delta derives from a directory below the table; empty without one."""
    texts = [f"{each['column']} = {'NULL' if each['value'] is None else each['value']}" for each in filters]
    return [Member("partition filter", " AND ".join(texts), "of the directory below the table")] if texts else []


def _v1_table(value: Mapping[str, Any], *, travels: bool) -> Member:
    error = value.get("error")
    if error:
        condition = error["engine"].get("condition") or "refused"
        return Member("v1Table", condition, "a table opened by path has none: Delta refuses the call")
    note = _STATISTICS[value.get("has_statistics")]
    return _catalog_member(
        "v1Table", value, "without statistics: Delta drops them under time travel" if travels else note
    )


def _catalog_member(name: str, value: Mapping[str, Any] | None, note: str = "") -> Member:
    if not value:
        return Member(name, "", "none: opened by path")
    return Member(name, str(value.get("identifier") or ""), note, _catalog_lines(value))


def _catalog_lines(value: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    columns = len((value.get("schema") or {}).get("fields", []))
    plain = [(part.replace("_", " "), str(value.get(part) or "none")) for part in CATALOG_PARTS]
    return (
        *plain,
        ("schema", counted(columns, "column") if columns else "none: it is in the log"),
        ("partition columns", ", ".join(value.get("partition_columns") or []) or "none: they are in the log"),
        ("properties", _pairs(value.get("properties") or {}) or "none"),
        ("storage properties", _pairs(value.get("storage_properties") or {}) or "none"),
    )


MOST_FIELDS = 200  # that a page shows
_STATISTICS = {True: "with the catalog's statistics", False: "the catalog has no statistics of it", None: ""}
CATALOG_PARTS = ("type", "provider", "location", "owner", "comment", "created_at")


def _travel(value: Mapping[str, Any] | None) -> str:
    if not value:
        return ""
    at = f"version {value['version']}" if value.get("version") is not None else f"timestamp {value.get('timestamp')}"
    return f"{at} (source {value['source']})" if value.get("source") else at


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(values.items()))


def properties(live: Mapping[str, Any]) -> list[ShownProperty]:
    """`properties()` row by row, each with its source, default and meaning."""
    held = live.get("properties", {})
    known = {setting.name: setting for setting in settings({**held})}
    rows = []
    for name, value in sorted(held.items()):
        setting = known.get(name)
        rows.append(
            ShownProperty(
                name=name,
                value=value,
                source=_source(name, by_name=live.get("catalog_table") is not None),
                default=setting.default if setting else None,
                meaning=_MEANINGS.get(name) or (setting.meaning if setting else None) or "",
            )
        )
    return rows


_MEANINGS = {
    "provider": "always delta",
    "location": "the path as given, so with @v0 for time travel by path",
    "owner": "the catalog's owner",
    "external": "the files outlive the catalog's entry (Type in older descriptions)",
    "is_managed_location": "the files go with the catalog's entry (Type in older descriptions)",
    "clusteringColumns": "read from the log, not from the catalog",
    "comment": "the description in metaData",
}
_BY_CATALOG = {"owner", "external", "is_managed_location"}


def _source(name: str, *, by_name: bool) -> str:
    if name in PROTOCOL or name.startswith("delta.feature."):
        return "protocol"
    if name.startswith("option."):
        return "storage"
    if name in _BY_CATALOG or (name == "location" and by_name):
        return "catalog"
    if name in {"provider", "location"}:
        return "given on reading"
    return "table"


def capabilities(live: Mapping[str, Any]) -> list[Capability]:
    """The capabilities, each explained; one that Levee doesn't know only by name."""
    unknown = "Levee doesn't know this capability; Delta may be newer than Levee."
    return [EXPLAINED.get(name, Capability(name, unknown, "")) for name in live.get("capabilities", [])]


def with_details(live: Mapping[str, Any]) -> dict[str, Any]:
    """The answer for programs: every member, and the explanations of properties and capabilities."""
    return {
        **live,
        "property_details": [asdict(each) for each in properties(live)],
        "capability_details": [asdict(each) for each in capabilities(live)],
    }
