"""Sample contexts for every page template, in the shapes that views hand over. Numbers add up; nothing here is product code."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms

from console.templatetags.formatting.looks import StateLook
from jobs.pruning.column_profile import ColumnProfile as ColumnProfile
from jobs.pruning.column_profile import ColumnProfiles, Value
from jobs.web.commands.convert.pages import PARTS as CONVERT_PARTS
from jobs.web.jobs.forms import JobFilterForm
from jobs.web.reads import row_cells, row_lines
from tables.models import Table
from tests.hostile_texts import hostile, hostile_long, hostile_whole
from tests.journeys import (
    samples_accounts,
    samples_audit,
    samples_delete,
    samples_home,
    samples_lists,
    samples_metastore,
    samples_properties,
    samples_questions,
    samples_reference,
    samples_repair,
    samples_review,
    samples_schedules,
    samples_schema,
    samples_tables,
    samples_vacuum,
)

NOW = datetime.now(UTC)
JOB_ID = uuid.UUID("7c41e0d2-55b8-4c0f-b1a7-93e0f2d6c418")
TABLE_ID = uuid.UUID("0b7c2f7e-9d0e-4c53-8a8f-5b8d0f7d9a11")
DIGEST = "9f2c41d7b80e4d6a91c3f7e2a05b8c4d1e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b"
LONG_PATH = samples_accounts.LONG_PATH
JOB_FILTERS = JobFilterForm().visible_fields()


def before(**distance: float) -> datetime:
    return NOW - timedelta(**distance)


# -------------------------------------------------------------- inspection
def proposal(name: str, kind: str, evidence: str, distinct: int, nulls: int, *examples: str) -> dict[str, Any]:
    return {
        "name": name,
        "proposed_type": kind,
        "evidence": evidence,
        "distinct": distinct,
        "nulls": nulls,
        "examples": list(examples),
    }


def field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


INSPECTION: dict[str, Any] = {
    "path": "/lake/orders",
    "num_files": 3_412,
    "size_bytes": 90_838_859_776,
    "num_records": 212_408_117,
    "partition_columns": [
        proposal("day", "date", "all 137 values are dates", 137, 0, "2026-07-07", "2026-07-08"),
        proposal(
            "region",
            "string",
            "all look like numbers, but 9 begin with 0: as int, 01 becomes 1",
            12,
            3,
            "01",
            "02",
            "07",
        ),
        proposal("loaded at", "timestamp", "all 2 values are timestamps", 2, 0, "2026-07-07 10:00:00"),
        proposal(
            "station", "string", "not all values are numbers", 2, 0, "buoy_of_the_outer_harbour_beyond_the_breakwater"
        ),
        proposal(hostile_long("proposed"), "string", hostile_long("evidence"), 1, 0, hostile_long("example")),
    ],
    "conflicts": [
        {
            "column": "qty",
            "types": {"smallint": 210, "int": 3_202},
            "example_files": [],
            "fatal": False,
            "text": "smallint in 210 files, widened to int",
        }
    ],
    "stray_files": [],
    "nested_tables": [],
    "hidden_files": 3_413,
    "schema": {
        "type": "struct",
        "fields": [
            field("order_id", "long"),
            field("amount", "decimal(12,2)"),
            field("qty", "integer"),
            field(
                "lines",
                {
                    "type": "array",
                    "elementType": {"type": "struct", "fields": [field("sku", "string")]},
                    "containsNull": True,
                },
            ),
        ],
    },
    "refusals": [],
    "notes": [
        {
            "code": "null_partitions",
            "text": "3 directories hold no region (region=__HIVE_DEFAULT_PARTITION__): their rows get NULL.",
        },
        {"code": "empty_files", "text": "2 files have no rows: they are counted as converted, but not added."},
    ],
    "empty_files": 2,
    "from_metadata_log": False,
    "already_delta": False,
    "files_digest": DIGEST,
    "layout": ["day", "region"],
}
ENGINE = {
    "condition": "DELTA_FAILED_TO_MERGE_FIELDS",
    "sqlstate": "22005",
    "message": "Failed to merge fields 'amount' and 'amount'",
    "parameters": {},
    "retryable": False,
    "java_class": None,
}
STOPPED = INSPECTION | {
    "num_records": None,
    "partition_columns": [],
    "conflicts": [
        {
            "column": "amount",
            "types": {"int": 3_398, "bigint": 14},
            "example_files": ["part-1.parquet"],
            "fatal": True,
            "text": "int in 3,398 files, bigint in 14",
        }
    ],
    "stray_files": [hostile_long("readme.txt")],
    "schema": None,
    "refusals": [
        {
            "code": "schema_conflict",
            "message": "amount has two types: int in 3,398 files, bigint in 14.",
            "place": "amount",
            "remedy": "Rewrite the 14 files as int, or all others as bigint.",
            "engine": ENGINE,
        },
        {
            "code": "stray_files",
            "message": f"{hostile_long('readme.txt')} is no parquet file.",
            "place": f"{LONG_PATH}/{hostile_long('readme.txt')}",
            "remedy": "Move it out, or rename it to _readme.txt.",
            "engine": None,
        },
    ],
    "from_metadata_log": True,
}
TYPES = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp", "string"]


# --------------------------------------------------------------------- jobs
def stage(name: str, state: str, what: str, seconds: float | None) -> dict[str, Any]:
    return {"name": name, "state": state, "what": what, "seconds": seconds}


STAGES = [
    stage("claimed", "done", "worker spark-1, attempt 1", 0.2),
    stage("listing files", "done", "3,412 files, as inspected", 2.1),
    stage("reading footers", "now", "", 115),
    stage("committing", "todo", "one atomic step, as version 0", None),
]
ENDED_STAGES = [s | {"state": "done", "seconds": s["seconds"] or 1.5} for s in STAGES]
FAILED_STAGES = [*STAGES[:2], stage("reading footers", "failed", "stopped by Delta", 3.2), STAGES[3]]


def event(seconds: float, who: str, kind: str, text: str) -> dict[str, Any]:
    return {
        "at": before(seconds=seconds),
        "who": who,
        "kind": kind,
        "text": text,
        "from": "",
        "to": "",
        "attempt": None,
    }


EVENTS = [
    event(300, "ana", "previewing", "asked"),
    event(250, "", "queued", "3,412 files measured; no approval needed"),
    event(154, "spark-1", "running", "started, attempt 1"),
]
LOG = [
    {
        "at": before(seconds=200 - 3 * i),
        "text": f"reading footers, {i * 40} of 3,412 done, 0 failed; lease renewed until the next heartbeat",
    }
    for i in range(40)
]


def job(state: str, **facts: Any) -> dict[str, Any]:
    return {
        "id": JOB_ID,
        "short_id": str(JOB_ID)[:8],
        "command": "convert",
        "title": "Convert /lake/orders to Delta",
        "table": {"id": TABLE_ID, "name": "orders", "path": "/lake/orders", "url": f"/tables/{TABLE_ID}/"},
        "state": state,
        "state_text": "Reading footers, 131 of 198.",
        "table_state_text": "Nothing is committed yet: the directory is still plain parquet.",
        "requested_by": "ana",
        "requested_at": before(minutes=5),
        "reason": "Orders are queried by the finance team; they need time travel and schema checks.",
        "digest": DIGEST,
        "base_version": None,
        "preview": INSPECTION,
        "progress": {"stage": "reading footers", "done": 131, "total": 198, "stages": STAGES},
        "attempts": [
            {"number": 1, "worker": "spark-1", "claimed_at": before(seconds=154), "ended_at": None, "outcome": None}
        ],
        "events": EVENTS,
        "result": None,
        "error": None,
        "finished_at": None,
        "can_cancel": True,
        "log": LOG,
    } | facts


RUNNING = job("running")
MEASURING = job(
    "previewing",
    digest=None,
    preview=None,
    attempts=[],
    log=[],
    progress={"stage": None, "done": 0, "total": 0, "stages": []},
    state_text="Spark is starting.",
    events=EVENTS[:1],
)
ENDED = {"finished_at": before(minutes=1), "can_cancel": False}
SUCCEEDED = job(
    "succeeded",
    **ENDED,
    state_text="Succeeded.",
    table_state_text="Committed as version 0.",
    progress={"stage": None, "done": 0, "total": 0, "stages": ENDED_STAGES},
    result={
        "version": 0,
        "operation": "CONVERT",
        "operation_parameters": {
            "numFiles": "3412",
            "partitionedBy": '["day","region"]',
            "collectStats": "true",
            "sourceFormat": "parquet",
        },
        "operation_metrics": {"numConvertedFiles": "3412"},
        "num_affected_rows": None,
        "no_op": False,
        "drifted": False,
        "read_version": -1,
        "details": {
            "files_converted": 3_412,
            "files_in_table": 3_410,
            "files_come": ["day=2026-11-21/region=01/part-9.parquet"],
            "files_gone": [],
            "collect_stats": True,
            "text": "Files that are not part of the table may be removed by a VACUUM from now on.",
        },
    },
)
NO_OP = job(
    "succeeded",
    **ENDED,
    state_text="Nothing was to be done: the directory is a Delta table already.",
    table_state_text="Unchanged, version 4.",
    progress={},
    preview=None,
    result={
        "no_op": True,
        "version": None,
        "details": {"text": "Delta: The table you are trying to convert is already a delta table."},
    },
)
FAILED = job(
    "failed",
    **ENDED,
    state_text="Failed.",
    table_state_text="Nothing was committed: the directory is as it was.",
    progress={"stage": None, "done": 0, "total": 0, "stages": FAILED_STAGES},
    error={
        "code": "schema_conflict",
        "message": "Delta refused: amount is int in some files and bigint in others.",
        "engine": ENGINE,
        "table_state": "nothing was committed",
        "what_to_do": "Rewrite the 14 files as int, then request it again.",
    },
)
UNKNOWN = job(
    "reconciling",
    state_text="The worker went silent while reading footers. Levee is finding out whether the convert was committed.",
    table_state_text="Usually decided within 90 s.",
    can_cancel=True,
)
STALE = job(
    "stale",
    **ENDED,
    state_text="Stale: what happened can’t be proven.",
    table_state_text="You decide; request it again to continue.",
    progress={},
)
QUEUED = job(
    "queued",
    title=hostile_long("Convert"),
    table={"id": TABLE_ID, "name": hostile_long("table"), "path": hostile_long("/lake/x"), "url": "/tables/"},
    reason=hostile_long("reason"),
    state_text=hostile_long("Waiting for a worker."),
    progress={},
    attempts=[],
    log=[{"at": before(seconds=1), "text": hostile_long("log")}],
)

WORKERS = [
    {
        "id": uuid.uuid4(),
        "name": "spark@node-1",
        "kind": "spark",
        "state": "busy",
        "host": "node-1",
        "pid": 4_711,
        "job": {"id": JOB_ID, "title": "Convert /lake/orders to Delta"},
        "jvm_memory_bytes": 1_460_000_000,
        "heartbeat_at": before(seconds=4),
        "started_at": before(hours=5),
        "version": "0.1.0",
        "drain_requested_at": None,
        "text": "",
    },
    {
        "id": uuid.uuid4(),
        "name": "interactive@node-1",
        "kind": "interactive",
        "state": "starting",
        "host": "node-1",
        "pid": 4_712,
        "job": None,
        "jvm_memory_bytes": None,
        "heartbeat_at": before(seconds=9),
        "started_at": before(seconds=30),
        "version": "0.1.0",
        "drain_requested_at": None,
        "text": hostile_long("starting Spark"),
    },
    {
        "id": uuid.uuid4(),
        "name": "light@node-1",
        "kind": "light",
        "state": "ready",
        "host": "node-1",
        "pid": 4_713,
        "job": None,
        "jvm_memory_bytes": None,
        "heartbeat_at": before(seconds=2),
        "started_at": before(hours=5),
        "version": "0.1.0",
        "drain_requested_at": None,
        "text": "",
    },
    {
        "id": uuid.uuid4(),
        "name": "spark@node-2",
        "kind": "spark",
        "state": "lost",
        "host": "node-2",
        "pid": 911,
        "job": None,
        "jvm_memory_bytes": 1_200_000_000,
        "heartbeat_at": before(minutes=8),
        "started_at": before(days=3),
        "version": "0.1.0",
        "drain_requested_at": before(minutes=9),
        "text": "",
    },
]
QUEUES = [
    {"name": "spark", "waiting": 2, "running": 1, "oldest_at": before(seconds=95)},
    {"name": "interactive", "waiting": 0, "running": 0, "oldest_at": None},
    {"name": "light", "waiting": 0, "running": 0, "oldest_at": None},
]
COMMITS = [
    {
        "table_name": "sales.orders",
        "version": 1_476,
        "url": "/tables/",
        "operation": "DELETE",
        "rows": 107_912_455,
        "files": 1_604,
        "behind": "ana; approved by marc",
        "at": before(days=1),
    },
    {
        "table_name": hostile_long("table"),
        "version": 1_474,
        "url": "/tables/",
        "operation": hostile_long("operation"),
        "rows": None,
        "files": 1,
        "behind": hostile_long("who"),
        "is_open": True,
        "at": before(days=2),
    },
]
CATALOG = {"tables": 12_408, "size_bytes": 1_362_000_000_000_000, "warnings": 312, "stale": 9}
NOTHING = {"tables": 0, "size_bytes": 0, "warnings": 0, "stale": 0}
UNDECIDED = RUNNING | {"state": "awaiting_approval", "table_state_text": "Nothing has run."}
FAVOURITES = [
    {"table": samples_tables.TABLE, "state": samples_tables.HEADER["state"]},
    {
        "table": Table(id=uuid.uuid4(), name=hostile_long("favourite"), format=Table.Format.PARQUET, num_files=2),
        "state": None,
    },
]
HOME = {
    "waiting": [],
    "favourites": FAVOURITES,
    "favourite_count": 14,
    "running": [RUNNING, UNKNOWN],
    "heading": "One job ended without a known outcome",
    "undecided": [UNDECIDED],
    "recent": [SUCCEEDED, FAILED, QUEUED],
    "catalog": CATALOG,
    "commits": COMMITS,
    "only_person": False,
    "spark_state": "ready",
}
FIRST_HOME = {
    "heading": "No tables yet",
    "waiting": [],
    "running": [],
    "recent": [],
    "catalog": NOTHING,
    "commits": [],
    "only_person": True,
    "spark_state": "starting",
}
CONVERT = {
    "path": "/lake/orders",
    "read": {"state": "answered", "asked_at": before(minutes=2)},
    "partition_types": TYPES,
    "may_request": True,
    "spark_state": "ready",
    "needs": {"required_approvals": 0, "reasons": []},
}
REDIS_DOWN = [
    {
        "level": "warning",
        "title": "Redis doesn’t answer.",
        "text": "Pages work; jobs are kept and start when the dispatcher wakes the workers again.",
    }
]

DISK_FULL = [
    {
        "level": "error",
        "title": "LEVEE_HOME's disk is full.",
        "text": "12 MiB are left. Levee accepts no new work until there is space; then it continues on its own.",
    }
]


# --------------------------------------------------------------------- rows
class RowFilters(forms.Form):
    version = forms.IntegerField(label="Version", required=False)
    timestamp = forms.DateTimeField(label="or as of, UTC", required=False)
    limit = forms.ChoiceField(label="At most", choices=[("100", "100")])
    columns = forms.MultipleChoiceField(
        choices=[(name, name) for name in ("order_id", "amount", "note", "lines")],
        initial=["order_id"],
        widget=forms.CheckboxSelectMultiple,
    )


class ChangeFilters(forms.Form):
    from_version = forms.IntegerField(label="From version", initial=1_480)
    to_version = forms.IntegerField(label="To version", required=False)
    limit = forms.ChoiceField(label="At most", choices=[("100", "100")])


FOUND: dict[str, Any] = {
    "columns": [
        {"name": "order_id", "type": "bigint"},
        {"name": "amount", "type": "decimal(12,2)"},
        {"name": hostile("note"), "type": "string"},
        {
            "name": "lines",
            "type": "array<struct<sku:string,qty:int,price:decimal(12,2),discount:decimal(12,2),taxed:boolean>>",
        },
        *({"name": f"measure_{number}", "type": "double"} for number in range(12)),
    ],
    "rows": [
        [2**60 + row, None if row % 3 else "19.90", text, [{"sku": "A-1", "qty": row}] * (row % 5), *([0.5 * row] * 12)]
        for row, text in enumerate(
            [hostile_whole("=cmd()"), "", None, "a\u202eb\n", "Happy birthday, " * 20, "<script>"] * 3
        )
    ],
    "version": 1_482,
    "from_version": 1_480,
    "to_version": 1_482,
    "truncated": True,
    "cut_cells": [[4, 2]],
}
ROWS: dict[str, Any] = {
    "table": {
        "pk": TABLE_ID, "name": "orders", "path": "/lake/sales/orders", "is_delta": True, "version": 1_482,
        "last_commit_at": before(hours=1), "size_bytes": 90_838_859_776, "num_files": 3_412, "num_records": None,
    },
    "state": StateLook("ok", "circle-check", "good"),
    "tabs": [
        {"text": "Overview", "url": "/", "current": False},
        {"text": "Rows", "url": "/", "current": True},
        {"text": "Change feed", "url": "/", "current": False},
    ],
    "form": RowFilters(),
    "read": {"pk": uuid.UUID(int=7), "table_id": TABLE_ID, "asked_at": before(seconds=3), "answered_at": before(seconds=2)},
    "spark_state": "ready",
}  # fmt: skip
ROWS_READ = ROWS | {"found": FOUND, "headings": row_cells.headings(FOUND), "lines": row_cells.lines(FOUND)}
CHANGES_READ = ROWS_READ | {"form": ChangeFilters(), "readable_from": 1_200}

DIFF: dict[str, Any] = FOUND | {
    "columns": [{"name": "_change_type", "type": "string"}, {"name": "_count", "type": "bigint"}, *FOUND["columns"]],
    "rows": [
        [("delete", "insert", "update_preimage", "update_postimage")[place % 4], 1 + place % 3 * 1_000, *row]
        for place, row in enumerate(FOUND["rows"])
    ],
    "cut_cells": [[4, 4]],
    "read_from": "change_feed", "no_feed": None, "read": {"files": 12, "bytes": 41_943_040, "rows": 204_113},
    "totals": {"insert": 20_412, "delete": 4, "update_preimage": 5, "update_postimage": 5, "lines": 20_417},
    "columns_added": [hostile("new")], "columns_removed": ["old"], "columns_changed": [], "added_as_null": True,
}  # fmt: skip
DIFF_READ = ROWS | {
    "form": ChangeFilters({"from_version": 1_480, "to_version": 1_482, "limit": "100"}), "found": DIFF,
    "headings": row_cells.headings(DIFF), "lines": row_cells.lines(DIFF), **row_lines.of_diff(DIFF),
}  # fmt: skip
DIFF_BY_FILES = DIFF_READ | {
    "found": DIFF | {"read_from": "files", "no_feed": "the table didn't keep one in each of these versions"},
    "updated": None, "lines": [], "came": 0, "went": 0, "more": 0,
}  # fmt: skip
PROFILE = ROWS | {
    "found": ColumnProfiles(
        1_482, 3_412, None, 12,
        (
            ColumnProfile("order_id", "bigint", 0, low="1", high="9007199254740993", has_bounds=True),
            ColumnProfile(hostile("note"), "string", 40_112, 7, "!", "z" * 32, high_is_cut=True, unbounded=9, has_bounds=True),
            ColumnProfile("lines", "array", None, 3_412),
            ColumnProfile("day", "date", 0, distinct=137, values=(Value("2026-07-07", 40_112), Value("2026-07-08", None))),
        ),
    ),
    "total": 4, "first": 1, "last": 4, "earlier": None, "later": None,
}  # fmt: skip
PROFILE_BY_ROWS = ROWS | {
    "found": {"version": 1_482, "rows": 212_408, "more_columns": 3, "read": {"files": 34, "bytes": 90_838_859}},
    "columns": [
        {"name": "order_id", "type": "bigint", "nulls": 0, "distinct": 211_000, "min": "1", "max": "900", "mean": 412.5, "frequent": []},
        {
            "name": hostile("note"), "type": "string", "nulls": 4_112, "distinct": 3, "min": "!", "max": hostile_whole("z"), "mean": None,
            "frequent": [{"value": hostile_whole("often"), "count": 200_100}, {"value": "", "count": 12}],
        },
    ],
}  # fmt: skip


def problem(status: int, code: str, detail: str) -> dict[str, Any]:
    return {"problem": {"status": status, "code": code, "detail": detail, "engine": None, "fields": None}}


# name → (template, context); the name is also the address in the test's server.
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "home": ("home/home.html", HOME | {"lake": samples_home.QUIET_LAKE}),
    "home-first": ("home/home.html", FIRST_HOME),
    **{f"home-story-{name}": ("home/home.html", FIRST_HOME | {"story": s}) for name, s in samples_home.STORIES.items()},
    **{f"story-bar-{name}": ("home/home.html", HOME | {"story_bar": b}) for name, b in samples_home.BARS.items()},
    "home-story-confirm": (
        "home/home.html",
        FIRST_HOME | {"story": samples_home.STORIES["nobody"], "confirm_first": "/confirm/?next=/"},
    ),
    "home-notices": ("home/home.html", HOME | {"notices": samples_accounts.NOTICES}),
    "home-waiting": ("home/home.html", HOME | samples_home.MOVED | {"banners": REDIS_DOWN}),
    **samples_home.PAGES,
    "home-disk": ("home/home.html", HOME | {"banners": DISK_FULL}),
    **samples_accounts.PAGES,
    **samples_audit.PAGES,
    **samples_questions.PAGES,
    **samples_reference.PAGES,
    **samples_delete.PAGES,
    **samples_lists.PAGES,
    **samples_metastore.PAGES,
    **samples_properties.PAGES,
    **samples_review.PAGES,
    **samples_schedules.PAGES,
    **samples_schema.PAGES,
    **samples_tables.PAGES,
    **samples_repair.PAGES,
    **samples_vacuum.PAGES,
    "jobs": (
        "jobs/jobs/list.html",
        {
            "page": {
                "jobs": [RUNNING, UNKNOWN, QUEUED, MEASURING, SUCCEEDED, FAILED, STALE],
                "next_url": "?before=x",
                "previous_url": None,
                "text": "the newest 7",
            },
            "filters": JOB_FILTERS,
            "listing": samples_lists.JOBS,
            "turned_url": "?order=oldest",
        },
    ),
    "jobs-none": ("jobs/jobs/list.html", {"page": {"jobs": [], "filtered": False}, "filters": JOB_FILTERS}),
    "jobs-filtered": ("jobs/jobs/list.html", {"page": {"jobs": [], "filtered": True}, "filters": JOB_FILTERS}),
    "job-measuring": ("jobs/jobs/job.html", {"job": MEASURING, "parts": CONVERT_PARTS}),
    "job-queued": ("jobs/jobs/job.html", {"job": QUEUED, "parts": CONVERT_PARTS}),
    "job-running": ("jobs/jobs/job.html", {"job": RUNNING, "parts": CONVERT_PARTS}),
    "job-unknown": ("jobs/jobs/job.html", {"job": UNKNOWN, "parts": CONVERT_PARTS}),
    "job-succeeded": ("jobs/jobs/job.html", {"job": SUCCEEDED, "parts": CONVERT_PARTS}),
    "job-no-op": ("jobs/jobs/job.html", {"job": NO_OP, "parts": CONVERT_PARTS}),
    "job-failed": ("jobs/jobs/job.html", {"job": FAILED, "parts": CONVERT_PARTS}),
    "job-stale": ("jobs/jobs/job.html", {"job": STALE, "parts": CONVERT_PARTS}),
    "convert": (
        "jobs/convert/page.html",
        {
            "path": "",
            "candidates": [{"path": "/lake/orders"}, {"path": hostile_whole(LONG_PATH)}],
            "roots": [{"uri": "/lake"}],
        },
    ),
    "convert-outside": (
        "jobs/convert/page.html",
        {
            "path": "/etc",
            "candidates": [],
            "roots": [{"uri": "/lake"}],
            "problem": {"detail": "/etc is not below a root that you may use."},
        },
    ),
    "convert-starting": (
        "jobs/convert/page.html",
        CONVERT
        | {
            "read": {"state": "pending", "asked_at": before(seconds=3)},
            "spark_state": "starting",
            "poll_url": "/pending",
        },
    ),
    "convert-reading": (
        "jobs/convert/page.html",
        CONVERT | {"read": {"state": "pending", "asked_at": before(seconds=3)}, "poll_url": "/pending"},
    ),
    "convert-unasked": ("jobs/convert/page.html", {"path": LONG_PATH, "read": {"state": "unasked"}}),
    "convert-failed": (
        "jobs/convert/page.html",
        CONVERT | {"read": {"state": "failed", "asked_at": before(seconds=3), "error": FAILED["error"]}},
    ),
    "convert-ready": ("jobs/convert/page.html", CONVERT | {"inspection": INSPECTION}),
    "convert-approved": (
        "jobs/convert/page.html",
        CONVERT
        | {"inspection": INSPECTION}
        | {"needs": {"required_approvals": 1, "reasons": ["“Ours”: a convert job needs 1 approver."]}},
    ),
    "convert-stopped": ("jobs/convert/page.html", CONVERT | {"path": LONG_PATH, "inspection": STOPPED}),
    "convert-delta": (
        "jobs/convert/page.html",
        CONVERT | {"inspection": INSPECTION | {"already_delta": True, "partition_columns": []}},
    ),
    "convert-refused": (
        "jobs/convert/page.html",
        CONVERT
        | {
            "inspection": INSPECTION,
            "problem_request": {"detail": "region: as int, 01 becomes 1."},
            "reason": "for finance",
            "collect_stats": False,
        },
    ),
    "rows": ("jobs/reads/rows.html", ROWS_READ),
    "rows-reading": ("jobs/reads/rows.html", ROWS | {"poll_url": "/pending"}),
    "rows-none": ("jobs/reads/rows.html", ROWS_READ | {"lines": [], "found": FOUND | {"truncated": False}}),
    "rows-refused": ("jobs/reads/rows.html", ROWS | {"error": FAILED["error"]}),
    "changes": ("jobs/reads/changes.html", CHANGES_READ),
    "profile": ("jobs/profiles/profile.html", PROFILE),
    "profile-rows": ("jobs/profiles/by_rows.html", PROFILE_BY_ROWS),
    "row-diff": ("jobs/reads/row_diff.html", DIFF_READ),
    "row-diff-files": ("jobs/reads/row_diff.html", DIFF_BY_FILES),
    "workers": (
        "jobs/workers/workers.html",
        {
            "workers": WORKERS,
            "queues": QUEUES,
            "dispatcher": {"state": "ready", "last_round_at": before(seconds=7), "seconds": 0.02},
        },
    ),
    "workers-failing": (
        "jobs/workers/workers.html",
        {
            "workers": WORKERS,
            "queues": QUEUES,
            "dispatcher": {
                "state": "ready",
                "last_round_at": before(seconds=7),
                "seconds": 0.02,
                "failing": [
                    {"kind": "sweep", "failures": 1, "error": "OSError: [Errno 28] No space left on device"},
                    {
                        "kind": "sync",
                        "failures": 7,
                        "error": hostile_whole(f"PermissionError: [Errno 13] '{LONG_PATH}'"),
                    },
                ],
            },
        },
    ),
    "workers-none": (
        "jobs/workers/workers.html",
        {"workers": [], "queues": QUEUES, "dispatcher": {"state": "down", "last_round_at": None, "seconds": None}},
    ),
    "error-400": (
        "errors/400.html",
        problem(400, "partition_mismatch", "partition_schema, position 4: 'dat' is no type."),
    ),
    "error-403": (
        "errors/403.html",
        problem(403, "outside_roots", "/data/hr is not below a registered root, so Levee does not look into it."),
    ),
    "error-404": ("errors/404.html", problem(404, "not_found", "Not found, or you don't have access.")),
    "error-500": (
        "errors/500.html",
        problem(500, "broken", "Something went wrong in Levee. The log has the details under this request ID."),
    ),
    "error-503": ("errors/503.html", {"title": "Levee’s database doesn’t answer"}),
    "error-csrf": ("errors/csrf.html", {"reason": "CSRF token incorrect."}),
    "error-csrf-entered": ("errors/csrf.html", {"reason": "CSRF token incorrect.", "draft": samples_accounts.DRAFT}),
}
