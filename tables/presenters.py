"""What the pages of a table show, worked out once so that templates only place it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.urls import NoReverseMatch, reverse

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.templatetags.levee import StateLook, number, size
from tables import drawings, explanations, freshness, health, histories, schemas
from tables import partitions as listing
from tables.behind import Job
from tables.deltalog.features import Demand
from tables.deltalog.properties import PROTOCOL, Setting, settings, unset
from tables.deltalog.reachability import Reach as VersionReach
from tables.descriptions import demands_of
from tables.health import SMALL_FILE_BYTES
from tables.models import DESTRUCTIVE, Commit, Explanation, Table
from tables.queries import moved_to
from tables.reach import CHANGE_FEED
from tables.serializers import health_json

SEVERITY_LEVELS = {"error": "error", "warning": "warning", "note": "info"}


def state_of(table: Table) -> StateLook:
    """The word of lists and headers, worst news first."""
    if table.missing_since:
        return StateLook("bad", "circle-x", "missing")
    if table.sync_error:
        return StateLook("unknown", "help-circle", "can’t be read")
    if health.Code.NEEDS_FEATURE.value in table.health_codes:
        return StateLook("unknown", "help-circle", "needs a feature")
    if health.Code.CORRUPT_LOG.value in table.health_codes:
        return StateLook("bad", "circle-x", "corrupt log")
    codes = [code for code in freshness.codes_of(table) if code != health.Code.RECREATED.value]
    if len(codes) == 1:
        return StateLook("wait", "alert-triangle", health.Code(codes[0]).label.lower())
    if codes:
        return StateLook("wait", "alert-triangle", f"{len(codes)} warnings")
    if table.synced_at:
        return StateLook("ok", "circle-check", "good")
    return (
        StateLook("run", "loader-2", "being read")
        if table.next_sync_at
        else StateLook("idle", "info-circle", "not read yet")
    )


def may(person: Person, table: Table, permission: Permission) -> bool:
    return person.scopes(permission).covers_table(table.root_id, table.pk)


def header(person: Person, table: Table, tab: str) -> dict[str, Any]:
    """What every page of a table begins with."""
    unexplained = explanations.count_open(table)
    return {
        "table": table,
        "state": state_of(table),
        "crumbs": [
            {"text": "Tables", "url": reverse("tables:list")},
            {"text": table.root.name, "url": f"{reverse('tables:list')}?root={table.root_id}"},
        ],
        "tabs": _tabs(table, tab) + _row_tabs(person, table, tab) + _job_tab(table),
        "may_sync": may(person, table, Permission.TABLE_ADD),
        "may_describe": may(person, table, Permission.TABLE_ADD),
        "may_tag": may(person, table, Permission.TAG_MANAGE),
        "convert_url": _convert_url(person, table),
        "delete_url": _change_url("jobs:delete", person, table),
        "rows_url": _rows_url(person, table),
        "restore_url": _change_url("jobs:restore", person, table),
        "moved_to": moved_to(person, table),
        "unexplained": sum(unexplained.values()),
        "unexplained_in": next(iter(unexplained), table.incarnation),
        "is_behind": bool(table.sync_error) or table.missing_since is not None,
    }


def commit_crumbs(table: Table) -> list[dict[str, str]]:
    """The way to a commit: through its table's history."""
    return [
        {"text": "Tables", "url": reverse("tables:list")},
        {"text": table.catalog_name or table.name, "url": reverse("tables:overview", args=[table.pk])},
        {"text": "History", "url": reverse("tables:history", args=[table.pk])},
    ]


_DELTA_TABS = (("Schema", "schema"), ("History", "history"), ("Protocol", "protocol"), ("Layout", "layout"))


def _tabs(table: Table, current: str) -> list[dict[str, Any]]:
    named = _DELTA_TABS if table.version is not None else (("History", "history"),) if table.incarnation else ()
    names = [("Overview", "overview"), *named]
    tabs = [
        {"text": text, "url": reverse(f"tables:{name}", args=[table.pk]), "current": name == current}
        for text, name in names
    ]
    live = _reversed("jobs:capabilities", table.pk)
    if live and table.version is not None:
        tabs.append({"text": "Capabilities", "url": live, "current": current == "capabilities"})
    return tabs


def _row_tabs(person: Person, table: Table, current: str) -> list[dict[str, Any]]:
    """Rows, for whom may read them, and the change feed where the table keeps one."""
    if table.version is None or not may(person, table, Permission.TABLE_ROWS):
        return []
    named = [("Rows", "rows"), *([("Change feed", "changes")] if has_change_feed(table) else [])]
    found = [(text, name, _reversed(f"jobs:{name}", table.pk)) for text, name in named]
    return [{"text": text, "url": url, "current": name == current} for text, name, url in found if url]


def _rows_url(person: Person, table: Table) -> str | None:
    """Where the rows of a Delta table are read, for whom may read them."""
    allowed = table.version is not None and not table.missing_since and may(person, table, Permission.TABLE_ROWS)
    return _reversed("jobs:rows", table.pk) if allowed else None


def has_change_feed(table: Table) -> bool:
    """Whether the newest version keeps a change data feed."""
    return str(table.properties.get(CHANGE_FEED)).lower() == "true"


def _job_tab(table: Table) -> list[dict[str, Any]]:
    jobs = _reversed("jobs:list")
    return [{"text": "Jobs", "url": f"{jobs}?table={table.pk}", "current": False}] if jobs else []


def _convert_url(person: Person, table: Table) -> str | None:
    """Where this directory is converted, for whom may ask for it."""
    if table.is_delta or table.missing_since or not may(person, table, Permission.JOB_REQUEST):
        return None
    return _reversed("jobs:convert")


def _change_url(name: str, person: Person, table: Table) -> str | None:
    """Where a change of a Delta table is asked for, for whom may ask for it."""
    if table.version is None or table.missing_since or not may(person, table, Permission.JOB_REQUEST):
        return None
    return _reversed(name, table.pk)


def _reversed(name: str, *args: object) -> str | None:
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return None


def findings(table: Table) -> list[dict[str, Any]]:
    """The health findings as rows of a list: `measured` and `limit` in words, and where to look; empty when all is well."""
    return [{**finding, **_measured(table, finding)} for finding in health_json(table)]


def _of_files(share: float) -> str:
    return f"{share:.1%} of files"


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


_Code = health.Code
_IN_WORDS: Mapping[str, Callable[[Any], str]] = {
    _Code.SMALL_FILES.value: _of_files,
    _Code.MISSING_STATISTICS.value: _of_files,
    _Code.SKEW.value: "{:,.1f} ×".format,
    _Code.NO_CHECKPOINT.value: "{:,} commits".format,
    _Code.LONG_LOG.value: lambda length: str(size(length)),
    _Code.STALE_SYNC.value: "{:,} days".format,
}
_LOOK_AT = {
    **dict.fromkeys((_Code.SMALL_FILES.value, _Code.SKEW.value, _Code.MISSING_STATISTICS.value), "layout"),
    **dict.fromkeys((_Code.NO_CHECKPOINT.value, _Code.LONG_LOG.value, _Code.RECREATED.value), "history"),
    _Code.NEEDS_FEATURE.value: "protocol",
}


def _measured(table: Table, finding: Mapping[str, Any]) -> dict[str, Any]:
    """A finding's value and limit in its own unit; None where it has none, as a thing that is there or not."""
    words = _IN_WORDS.get(str(finding["code"]), _plain)
    value, limit = finding["value"], finding["threshold"]
    place = _LOOK_AT.get(str(finding["code"])) if table.version is not None else None
    return {
        "level": SEVERITY_LEVELS[str(finding["severity"])],
        "measured": None if value is None or limit is None else words(value),
        "limit": None if limit is None else words(limit),
        "look_at": place and {"text": place.capitalize(), "url": reverse(f"tables:{place}", args=[table.pk])},
    }


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """A property of the overview. `is_own` marks what differs from Delta's default; `source` says where it comes from."""

    name: str
    value: str | None
    default: str | None
    meaning: str | None
    source: str
    is_own: bool


def properties(table: Table) -> tuple[list[PropertyRow], list[Setting]]:
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


@dataclass(frozen=True, slots=True)
class CommitRow:
    """One line of the history."""

    commit: Commit
    reach: VersionReach
    rows: str | None
    files: str
    bytes: str | None
    is_destructive: bool
    explanation: Explanation | None
    job: Job | None
    predicate: str


def commit_rows(
    commits: Sequence[Commit],
    reaches: Sequence[VersionReach],
    known: Mapping[int, Explanation],
    jobs: Mapping[int, Job],
) -> list[CommitRow]:
    """The lines of a history; `known` has the explanations by version, `jobs` the jobs that may be seen."""
    rows = zip(commits, reaches, strict=True)
    return [_commit_row(c, reach, known.get(c.version), jobs.get(c.version)) for c, reach in rows]


def _commit_row(commit: Commit, reach: VersionReach, explanation: Explanation | None, job: Job | None) -> CommitRow:
    return CommitRow(
        commit,
        reach,
        signed(commit.rows_changed),
        files_text(commit.files_added, commit.files_removed),
        signed_bytes(commit.bytes_added, commit.bytes_removed),
        commit.operation in DESTRUCTIVE,
        explanation,
        job,
        conditions_of(commit),
    )


def predicate_of(commit: Commit) -> str:
    """The operation's condition, without Catalyst's expression ids."""
    text = commit.operation_parameters.get("predicate") or ""
    return "" if text == "[]" else re.sub(r"#\d+L?", "", text)


def conditions_of(commit: Commit) -> str:
    """The same for a line: Spark writes a list of conditions as JSON, and all of them hold."""
    text = predicate_of(commit)
    try:
        found = json.loads(text) if text.startswith("[") else None
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and all(isinstance(each, str) for each in found):
        return " AND ".join(found)
    return text


def signed(change: int | None) -> str | None:
    """A change with its sign; None when unknown."""
    if change is None:
        return None
    return "0" if change == 0 else f"{'+' if change > 0 else '−'}{abs(change):,}"


def signed_bytes(added: int | None, removed: int | None) -> str | None:
    if added is None or removed is None:
        return None
    change = added - removed
    return "0" if change == 0 else f"{'+' if change > 0 else '−'}{size(abs(change))}"


def files_text(added: int | None, removed: int | None) -> str:
    """`+3 −2`; `0` for none."""
    parts = [f"+{added:,}"] if added else []
    parts += [f"−{removed:,}"] if removed else []
    return " ".join(parts) or "0"


def comparison(old: histories.State, new: histories.State) -> dict[str, Any]:
    """What differs between a table's states at two versions; `schema` is None where one of the schemas isn't known."""
    schema = None if old.schema is None or new.schema is None else schemas.differences(old.schema, new.schema)
    told = old.properties is not None and new.properties is not None
    return {
        "schema": schema,
        "properties": histories.changed(old.properties, new.properties) if told else None,
        "protocols": _protocols(old.protocol, new.protocol),
        "partitioning": (old.partition_columns, new.partition_columns),
    }


_PROTOCOL_LINES = {
    "Reader version": "min_reader_version",
    "Writer version": "min_writer_version",
    "Reader features": "reader_features",
    "Writer features": "writer_features",
    "Implied features": "implied_features",
}


def _protocols(old: dict[str, Any] | None, new: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    """One line per part of the protocol, each marked where it differs; None where one isn't known."""
    if old is None or new is None:
        return None
    return [
        {
            "text": text,
            "before": _listed(old.get(name)),
            "after": _listed(new.get(name)),
            "differs": old.get(name) != new.get(name),
        }
        for text, name in _PROTOCOL_LINES.items()
    ]


def _listed(value: Any) -> str:
    return (", ".join(value) or "none") if isinstance(value, list) else "none" if value is None else str(value)


def features(table_protocol: dict[str, Any] | None) -> list[Demand]:
    return demands_of(table_protocol)


def layout(found: dict[str, Any]) -> dict[str, Any]:
    """A layout's drawings and rows."""
    files, total = found["num_files"], found["size_bytes"]
    partitions = found["partitions"]
    return {
        "found": found,
        "histogram": drawings.histogram(found["histogram"], SMALL_FILE_BYTES),
        "classes": [_class(row, files, total) for row in found["histogram"]],
        "small_share": _percent(found["small_files"], files),
        "small_bytes_share": _percent(found["small_bytes"], total),
        "statistics_share": _percent(found["with_statistics"], files),
        "skew": drawings.skew(partitions["curve"], partitions["count"], partitions["median_bytes"])
        if partitions
        else None,
        "rows_skew": drawings.row_skew(partitions["rows_curve"], partitions["count"], partitions["median_rows"])
        if partitions and partitions.get("rows_curve")
        else None,
        "ratio": _ratio(partitions),
        "columns": _columns(partitions, total) if partitions else [],
    }


def partitions(found: listing.Page, order: str, asked: QueryDict) -> dict[str, Any]:
    """A page of partitions: each with its share of the largest, and the pages before and after."""
    column = listing.ORDERS[order]
    rows = [{**row, "width": round(100 * (row[column] or 0) / found.top) if found.top else 0} for row in found.rows]
    last = found.start + len(found.rows)
    text = f"{found.start + 1:,} – {last:,} of {found.found:,}" if found.rows else ""
    around = {"next_url": _at(asked, found.next), "previous_url": _at(asked, found.previous)}
    orders = [{"value": name, "text": text, "checked": name == order} for name, text in _PARTITION_ORDERS.items()]
    pager = {**around, "text": text, "next_text": "Next", "previous_text": "Previous"}
    return {"found": found, "rows": rows, "page": pager, "orders": orders}


def field_pages(found: schemas.Listing, asked: QueryDict) -> dict[str, Any]:
    """The pages of a schema before and after, as `parts/pager.html` takes them; nothing for one page."""
    last = found.start + len(found.lines)
    return {
        "next_url": _at(asked, found.next),
        "previous_url": _at(asked, found.previous),
        "text": f"{found.start + 1:,} – {last:,} of {found.found:,}" if last < found.found or found.start else "",
        "next_text": "Next",
        "previous_text": "Previous",
    }


_PARTITION_ORDERS = {"size": "largest first", "rows": "most rows first", "files": "most files first"}


def _at(asked: QueryDict, start: int | None) -> str | None:
    if start is None:
        return None
    changed = asked.copy()
    changed["cursor"] = str(start)
    return f"?{changed.urlencode()}"


def _class(row: dict[str, Any], files: int, total: int | None) -> dict[str, Any]:
    text = drawings.class_text(row)
    return {"text": text, **row, "of_files": _percent(row["files"], files), "of_bytes": _percent(row["bytes"], total)}


def _percent(part: int | None, whole: int | None) -> str | None:
    return None if part is None or not whole else f"{100 * part / whole:.1f}%"


def _ratio(partitions: dict[str, Any] | None) -> str | None:
    if not partitions or not partitions["median_bytes"] or partitions["count"] < 2:
        return None
    return f"{partitions['largest_bytes'] / partitions['median_bytes']:,.1f}"


def _columns(partitions: dict[str, Any], total: int | None) -> list[dict[str, Any]]:
    """Per partition column, its largest values with their share of the largest one."""
    found = []
    for name, values in partitions["by_column"].items():
        top = max((row["bytes"] for row in values["largest"]), default=0)
        rows = [_value(row, name, top, total) for row in values["largest"][:20]]
        found.append({"name": name, "count": values["values"], "rows": rows, "rest": values["values"] - len(rows)})
    return found


def _value(row: dict[str, Any], name: str, top: int, total: int | None) -> dict[str, Any]:
    return {
        "value": row["values"][name],
        "width": round(100 * row["bytes"] / top) if top else 0,
        "bytes": row["bytes"],
        "of_all": _percent(row["bytes"], total),
        "files": row["files"],
        "rows": row["rows"],
        "mean": row["bytes"] // row["files"] if row["files"] else None,
    }


def seconds_of(commit: Commit) -> float | None:
    """How long the operation took, as its metrics say; None where they don't."""
    told = commit.operation_metrics.get("executionTimeMs") or commit.operation_metrics.get("execution_time_ms") or ""
    return int(told) / 1000 if told.isascii() and told.isdigit() and len(told) < 15 else None


def title_of(commit: Commit) -> str:
    """A commit as a sentence with the number in it."""
    version, change = f"Version {number(commit.version)}", commit.rows_changed
    if commit.operation == "CONVERT" and commit.files_added is not None:
        return f"{version} made {_counted(commit.files_added, 'parquet file')} a Delta table"
    if change:
        return f"{version} {'removed' if change < 0 else 'added'} {_counted(abs(change), 'row')}"
    return f"{version}: {commit.operation or 'an unnamed operation'}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
