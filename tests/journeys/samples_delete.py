"""Sample contexts for the pages that ask for a delete or a restore."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from console.base.errors import Problem
from jobs.commands.delete.rules import consequences_of as of_delete
from jobs.commands.delete.wording import branch_title, ways_of
from jobs.commands.restore.rules import consequences_of as of_restore
from jobs.commands.restore.undone_commits import runs_of
from jobs.domain.policy import Policy
from jobs.domain.predicates.schema import Field, Schema
from jobs.targets.undo_window import Undo
from jobs.web.commands.delete.forms import AskedCondition, condition_of
from tables.web.table.commit_lines import signed

NOW = datetime.now(UTC)
LONG = "a_column_with_a_rather_long_name_as_they_come_from_other_systems"
SCHEMA = Schema(
    (
        Field("order_id", "bigint"),
        Field("country", "string"),
        Field("source", "string"),
        Field("day", "date"),
        Field("customer", "struct", True, (Field("segment", "string"), Field("born", "date"))),
        Field(LONG, "decimal(18,2)"),
    )
)
TABLE = SimpleNamespace(pk=uuid.uuid4(), size_bytes=2_133_045_112_832, num_records=1_282_695_275)
TEXT = "country = 'FR'\nAND source = 'loadtest'\nAND day BETWEEN DATE '2026-10-01' AND DATE '2026-10-14'"
RETENTION = timedelta(days=7)
PREVIEW: dict[str, Any] = {
    "class": "ordinary",
    "branch": "rewrite",
    "why": "The table has no deletion vectors: each file with a matching row is written again without it.",
    "files_total": 8_421,
    "files_matched": 212,
    "files_to_rewrite": 212,
    "bytes_to_rewrite": 23_944_442_839,
    "rows_matched": 14_382_516,
    "rows_matched_exact": False,
    "rows_total": 1_282_695_275,
    "partitions": 14,
    "measured_at_version": 1_478,
    "notes": ["The statistics of files only say what can’t match: the number of rows is an upper bound."],
    "consequences": of_delete("rewrite", change_feed=True, retention=RETENTION, version=1_478),
}
COUNTED = PREVIEW | {
    "rows_matched": 184_207,
    "rows_matched_exact": True,
    "files_matched": 198,
    "bytes_to_rewrite": 22_441_204_121,
    "notes": [],
}
WHOLE = PREVIEW | {
    "class": "whole_table",
    "branch": "metadata_only",
    "why": "The whole table goes: Delta removes every file by the log alone and reads no data.",
    "files_matched": 8_421,
    "files_to_rewrite": 0,
    "bytes_to_rewrite": 0,
    "rows_matched": 1_282_695_275,
    "rows_matched_exact": True,
    "notes": [],
}
NOTHING = PREVIEW | {
    "branch": "nothing",
    "why": "No file can hold a matching row, so nothing will be committed.",
    "files_matched": 0,
    "rows_matched": 0,
    "rows_matched_exact": True,
    "bytes_to_rewrite": 0,
    "consequences": [],
    "notes": [],
}
ONE = Policy(1, "approver", ("“A delete is seen by a second person”: a delete job needs 1 approver.",))
TWO = Policy(
    2,
    "approver",
    (
        "“A whole table is seen by two”: a delete job on a whole table needs 2 approvers; a token’s approval doesn’t count.",
        "“A delete is seen by a second person”: a delete job needs 1 approver.",
    ),
)
UNDO = Undo(1_478, possible=True, until=NOW + timedelta(days=6, hours=3), why=None)
TOO_OLD = "Delta refuses to restore a version that is older than delta.deletedFileRetentionDuration."
NO_UNDO = Undo(1_478, possible=False, until=NOW - timedelta(days=30), why=TOO_OLD)


def delete_page(asked: AskedCondition, preview: dict[str, Any] | None, **more: Any) -> tuple[str, dict[str, Any]]:
    """The page as its view makes it."""
    context = {
        "table": TABLE,
        "table_name": "sales.orders",
        "version": 1_478,
        "asked": asked,
        "condition": condition_of(asked, SCHEMA),
        "predicate": asked.text,
        "preview": preview,
        "ways": ways_of(preview) if preview else [],
        "branch_title": branch_title(preview) if preview else "",
        "needs": ONE if preview else None,
        "retention": RETENTION,
        "undo": UNDO,
    }
    return "jobs/delete/page.html", context | more


def _commit(version: int, operation: str, by: str | None = None, job: str | None = None) -> dict[str, Any]:
    at = (NOW - timedelta(minutes=40 * (917 - version))).isoformat()
    return {"version": version, "operation": operation, "by": by, "job": job, "committed_at": at}


COMMITS = [
    *(_commit(version, "STREAMING UPDATE", "clicks-ingest") for version in range(916, 910, -1)),
    _commit(910, "ADD COLUMNS", "kai"),
    _commit(909, "DELETE", "ana", str(uuid.uuid4())),
    *(_commit(version, "STREAMING UPDATE") for version in range(908, 904, -1)),
]
RUNS = runs_of(COMMITS, {v: 400_295 for v in range(905, 917) if v != 907} | {910: 0, 909: -1_204}, 902, 916)
BACK: dict[str, Any] = {
    "num_commits_undone": 14,
    "files_back": 212,
    "files_gone": 841,
    "schema_changes": [{"kind": "removed", "column": "utm_term", "before": "string", "after": None}],
    "property_changes": [
        {"property": "delta.logRetentionDuration", "before": "interval 60 days", "after": "interval 30 days"},
        {"property": "delta.enableChangeDataFeed", "before": "true", "after": None},
    ],
    "num_property_changes": 2,
    "consequences": of_restore(change_feed=True, retention=RETENTION, head=916),
}


def restore_page(**more: Any) -> tuple[str, dict[str, Any]]:
    """The page as its view makes it."""
    context = {
        "table": TABLE,
        "table_name": "web.clicks",
        "head": 916,
        "version": 902,
        "commit": SimpleNamespace(committed_at=NOW - timedelta(hours=10)),
        "preview": BACK,
        "runs": [{"run": run, "rows": signed(run.rows)} for run in RUNS],
        "rows": "−5,208,114",
        "bytes": "−4.61 GiB",
        "needs": TWO,
        "way_back": Undo(902, possible=True, until=NOW + timedelta(days=6), why=None),
        "undo": UNDO,
        "accepted": set(),
        "reason": "",
        "name": "",
    }
    return "jobs/restore/page.html", context | more


def _choice(version: int, operation: str, rows: str | None, *, restorable: bool) -> dict[str, Any]:
    reach = SimpleNamespace(
        restorable=restorable, until=NOW + timedelta(days=2), why=None if restorable else "VACUUM has removed files."
    )
    commit = SimpleNamespace(version=version, committed_at=NOW - timedelta(days=5), operation=operation)
    return {"commit": commit, "reach": reach, "rows": rows}


OPEN = Problem(409, "already_open", "The same request is already open; nothing was requested.", job=str(uuid.uuid4()))
APPEND_ONLY = Problem(
    422,
    "append_only",
    "The table only takes new rows: delta.appendOnly is true. To allow deletes, set delta.appendOnly to false.",
    engine={
        "condition": "DELTA_CANNOT_MODIFY_APPEND_ONLY",
        "sqlstate": "42809",
        "message": "This table is configured to only allow appends.",
    },
)
READ = {"asked_at": NOW - timedelta(seconds=6)}
RICH = "country = 'FR' OR (customer.segment LIKE 'test%' AND NOT (order_id < 1000))"
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "delete": delete_page(AskedCondition(text=TEXT), PREVIEW),
    "delete-start": delete_page(AskedCondition(), None),
    "delete-counting": delete_page(
        AskedCondition(text=TEXT), PREVIEW, poll_url="/pending", read=READ, spark_state="ready", retention=None
    ),
    "delete-counted": delete_page(AskedCondition(text=TEXT), PREVIEW, counted=COUNTED, read=READ),
    "delete-count-failed": delete_page(
        AskedCondition(text=TEXT),
        PREVIEW,
        count_error={"message": "[DELTA_FILE_NOT_FOUND] /lake/sales/orders/part-0.parquet"},
    ),
    "delete-rich": delete_page(AskedCondition(text=RICH), PREVIEW, undo=NO_UNDO),
    "delete-unfilled": delete_page(
        AskedCondition(text="", act="add"), None, faults={"condition": "Enter a condition."}
    ),
    "delete-refused": delete_page(
        AskedCondition(text="country = 'FR' AND day < now()"),
        None,
        faults={"condition": "Levee can’t accept this predicate.", "reason": "Enter a reason: approvers read it."},
    ),
    "delete-long": delete_page(AskedCondition(text=f"{LONG} > 12.50 AND {LONG} IS NOT NULL"), PREVIEW),
    "delete-nothing": delete_page(AskedCondition(text="country = 'XX'"), NOTHING),
    "delete-whole": delete_page(
        AskedCondition(text=TEXT, whole=True, name="sales.order", reason="Closed."),
        WHOLE,
        needs=TWO,
        predicate=None,
        faults={"name": "This deletes every row: type sales.orders to confirm it."},
    ),
    "delete-open": delete_page(
        AskedCondition(text=TEXT, reason="Load test LT-118 wrote fake orders."), PREVIEW, request_problem=OPEN
    ),
    "delete-append-only": delete_page(AskedCondition(text=TEXT), None, preview_problem=APPEND_ONLY),
    "delete-impossible": (
        "jobs/delete/page.html",
        {"table": TABLE, "table_name": "sales.orders", "problem": APPEND_ONLY},
    ),
    "restore": restore_page(),
    "restore-refused": restore_page(
        undo=NO_UNDO,
        way_back=NO_UNDO,
        accepted={"911-916"},
        faults={
            "accept": "Tick every commit that this undoes; not ticked: 910, 909, 905-908, 903-904.",
            "name": "This restores the whole table: type web.clicks to confirm it.",
            "reason": "Enter a reason: approvers read it.",
        },
    ),
    "restore-open": restore_page(request_problem=OPEN, reason="Wrong visit ids since noon.", name="web.clicks"),
    "restore-newest": restore_page(version=916),
    "restore-choose": (
        "jobs/restore/page.html",
        {
            "table": TABLE,
            "table_name": "web.clicks",
            "head": 916,
            "choices": [
                _choice(915, "STREAMING UPDATE", "+400,295", restorable=True),
                _choice(914, "MERGE", None, restorable=True),
                _choice(12, "WRITE", "+2", restorable=False),
            ],
        },
    ),
    "restore-gone": (
        "jobs/restore/page.html",
        {
            "table": TABLE,
            "table_name": "web.clicks",
            "head": 916,
            "given": "2",
            "choices": [],
            "problem": Problem(
                410, "version_gone", "The log no longer holds what version 2 is rebuilt from, so it can’t be restored."
            ),
        },
    ),
}
