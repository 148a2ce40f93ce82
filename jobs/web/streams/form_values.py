"""What the form of a stream says, as the API's request, and a stream's request as the form's values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jobs.commands.stream_round.rules import APPEND, FILE_FORMATS, is_on
from jobs.streams.definition import AVAILABLE_NOW, interval_of

FILES, TABLE = "files", "table"
DIRECTORY = "directory"
EVERY = "every"
# Options with a field of their own; the others are lines of `name=value`.
OWN_OPTIONS = ("mergeSchema", "overwriteSchema", "maxFilesPerTrigger")


def asked_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping in the API's shape, from the form's values. An empty part is empty, never missing."""
    return {
        "source": _source(given),
        "rename": given.get("rename") or {},
        "cast": given.get("cast") or {},
        "filter": given.get("filter") or "",
        "select": given.get("select") or [],
        "aggregate": _aggregate(given),
        "target": _target(given),
        "checkpoint": given.get("checkpoint") or None,
        "output_mode": given.get("output_mode") or APPEND,
        "partition_by": given.get("partition_by") or [],
        "options": _options(given),
        "trigger": _trigger(given),
    }


def _source(given: Mapping[str, Any]) -> dict[str, Any]:
    options = given.get("source_options")
    if given.get("source_kind") == TABLE:
        parts = {
            "table": given.get("source_table"),
            "starting_version": given.get("starting_version"),
            "starting_timestamp": given.get("starting_timestamp"),
            "skip_change_commits": given.get("skip_change_commits"),
            "options": options,
        }
    else:
        parts = {
            "path": given.get("path"),
            "format": given.get("format"),
            "schema": given.get("schema"),
            "options": options,
        }
    return {name: value for name, value in parts.items() if value or (value == 0 and value is not False)}


def _aggregate(given: Mapping[str, Any]) -> dict[str, Any]:
    if not given.get("group_by") and not given.get("count_as"):
        return {}
    return {"group_by": given.get("group_by") or [], "count_as": given.get("count_as") or ""}


def _target(given: Mapping[str, Any]) -> dict[str, str]:
    if given.get("target_kind") == TABLE:
        return {"table": given["target_table"]} if given.get("target_table") else {}
    return {"path": given["target_path"]} if given.get("target_path") else {}


def _options(given: Mapping[str, Any]) -> dict[str, str]:
    own = {
        "mergeSchema": "true" if given.get("merge_schema") else "",
        "overwriteSchema": "true" if given.get("overwrite_schema") else "",
        "maxFilesPerTrigger": given.get("max_files") or "",
    }
    return {**(given.get("other_options") or {}), **{name: value for name, value in own.items() if value}}


def _trigger(given: Mapping[str, Any]) -> Any:
    if given.get("trigger") != EVERY:
        return AVAILABLE_NOW
    return {"interval": f"{given.get('interval') or ''}{given.get('interval_unit') or 's'}"}


def _trigger_values(trigger: Any) -> dict[str, Any]:
    """The interval in the largest unit that it is a whole number of."""
    interval = interval_of(trigger or AVAILABLE_NOW)
    if interval is None:
        return {"trigger": AVAILABLE_NOW, "interval": None, "interval_unit": "s"}
    seconds = int(interval.total_seconds())
    size, unit = next((size, unit) for size, unit in UNITS if seconds % size == 0)
    return {"trigger": EVERY, "interval": seconds // size, "interval_unit": unit}


UNITS = ((3600, "h"), (60, "m"), (1, "s"))


def values_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """A stream's request as the form's values."""
    options = {name: _option_text(value) for name, value in (asked.get("options") or {}).items()}
    own = {name.lower(): options.pop(name) for name in list(options) if name.lower() in _OWN}
    aggregate: Mapping[str, Any] = asked.get("aggregate") or {}
    return {
        **_source_values(asked.get("source") or {}),
        **{part: dict(asked.get(part) or {}) for part in ("rename", "cast")},
        **{part: list(asked.get(part) or []) for part in ("select", "partition_by")},
        "filter": str(asked.get("filter") or "").strip(),
        "group_by": list(aggregate.get("group_by") or []),
        "count_as": str(aggregate.get("count_as") or "").strip(),
        "output_mode": str(asked.get("output_mode") or APPEND).lower(),
        "merge_schema": is_on(own.get("mergeschema")),
        "overwrite_schema": is_on(own.get("overwriteschema")),
        "max_files": own.get("maxfilespertrigger", ""),
        "other_options": options,
        **_trigger_values(asked.get("trigger")),
    }


_OWN = frozenset(name.lower() for name in OWN_OPTIONS)


def _option_text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _source_values(source: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: _option_text(value) for name, value in (source.get("options") or {}).items()}
    return {
        "source_kind": TABLE if source.get("table") else FILES,
        "path": source.get("path") or "",
        "format": source.get("format") or FILE_FORMATS[0],
        "schema": _schema_text(source.get("schema") or "").strip(),
        "source_table": source.get("table") or "",
        "starting_version": source.get("starting_version"),
        "starting_timestamp": source.get("starting_timestamp") or "",
        "skip_change_commits": bool(source.get("skip_change_commits")),
        "source_options": options,
    }


def _schema_text(schema: Any) -> str:
    """A schema as the API took it: SQL's text, or Spark's JSON."""
    return schema if isinstance(schema, str) else json.dumps(schema, ensure_ascii=False, indent=1)
