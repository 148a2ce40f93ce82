"""Sample contexts of a table's history and schema with their drawings, of an optimize, and of the removal of the sample lake."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from console.templatetags.formatting.looks import StateLook
from jobs.commands.clone.rules import consequences_of as clone_consequences
from jobs.commands.optimize.rules import consequences_of
from jobs.commands.optimize.wording import MODES
from jobs.commands.reorg.rules import consequences_of as purged
from jobs.models import Stream
from jobs.sample.files import LakeFiles
from jobs.sample.removal import LakeConsequences
from jobs.targets.subject import Subject
from jobs.web.commands.clone.pages import CloneForm
from jobs.web.commands.optimize.pages import OptimizeForm
from jobs.web.commands.reorg.pages import ReorgForm
from tables.deltalog.rules.schema_changes import SchemaChange, SchemaChangeKind
from tables.history import growth, queries, schemas
from tables.history.operations import Destructive
from tables.history.reachability import Span
from tables.models import Commit, Root, Schema, Table
from tables.ports import JobRun
from tables.web.charts.commits import commits_by_day
from tables.web.charts.growth import rows_over_time, rows_over_versions, sizes_over_versions
from tables.web.charts.strip import strip
from tables.web.forms import HistoryForm
from tables.web.roots.forms import RemoveForm
from tables.web.table import timelines
from tables.web.table.shared import VersionAsked
from tests.hostile_texts import hostile_long
from tests.journeys.samples_accounts import NOW, before
from tests.journeys.samples_lists import listing

ROOT = Root(id=uuid.uuid4(), name="sample lake", uri="/var/lib/levee/sample-lake")
TABLE = Table(
    id=uuid.uuid4(), root=ROOT, name="sales.orders", path="/lake/sales/orders", version=64, format=Table.Format.DELTA,
    size_bytes=91 << 30, num_files=1_204, num_records=212_408_117, last_commit_at=before(hours=2),
)  # fmt: skip
TABS = ("Overview", "Schema", "History", "Protocol", "Layout", "Capabilities", "Rows", "Change feed", "Jobs", "Streams")
HEADER: dict[str, Any] = {
    "table": TABLE,
    "state": StateLook("ok", "circle-check", "good"),
    "crumbs": [{"text": "Tables", "url": "/tables/"}],
    "tabs": [{"name": name.lower(), "text": name, "url": "#", "current": name == "History"} for name in TABS],
    "is_favourite": True,
    **{
        f"{name}_url": "#"
        for name in ("optimize", "reorg", "vacuum", "alter_schema", "properties", "clone", "restore", "delete")
    },
}


def act(
    title: str, asked: float, version: int | None, undoes: JobRun | None = None, state: str = "succeeded"
) -> JobRun:
    """A job that was asked for `asked` days ago, ran for a day half a day later, and maybe has a commit."""
    return JobRun(
        id=uuid.uuid4(), url="/jobs/", title=title, reason="GDPR-2026-114", asked_by="ana", asked_at=before(days=asked),
        began_at=before(days=asked - 0.5), ended_at=before(days=asked - 1.5), state=state, version=version,
        undoes=undoes.id if undoes else None, undoes_version=undoes.version if undoes else None,
    )  # fmt: skip


DELETE = act("Delete rows from sales.orders", 20, 62)
ACTS = [DELETE, act(hostile_long("Optimize"), 12, None, state="failed"), act("Restore sales.orders", 6, 64, DELETE)]
SPANS = [
    Span(0, 40, before(days=90), before(days=30), False, False, None, "Its log was cleaned."),
    Span(41, 64, before(days=30), before(hours=2), True, True, True, None),
]
DESTROYED = [Destructive(62, before(days=18), "DELETE", True), Destructive(64, before(days=4), "RESTORE", False)]
DAYS = [queries.Day(before(days=back), 3 + back % 5, 80 << 30, 210_000_000 - back) for back in range(80, 0, -1)]
POINTS = [growth.GrowthPoint(version, 1, (60 + version) << 30, 200_000_000 + version) for version in range(40, 65)]
HISTORY: dict[str, Any] = HEADER | {
    "tab": "history",
    "listing": listing("history"), "rows": [], "form": HistoryForm(), "wanted": queries.HistoryFilter(), "incarnation": 0,
    "operations": ["DELETE", "WRITE"], "groups": queries.GROUPS, "commits_url": "/commits/", "begins": True,
    "spans": SPANS, "destructive": DESTROYED[::-1], "strip": strip(SPANS, DESTROYED),
    "days": DAYS, "commits_drawn": commits_by_day(DAYS), "rows_drawn": rows_over_time(DAYS),
    "points": POINTS[::-1], "version_sizes": sizes_over_versions(POINTS),
    "version_rows": rows_over_versions(POINTS),
    "acts": ACTS[::-1], "acts_drawn": timelines.acts_over_time(ACTS, NOW),
    "restorable": 24, "known": 65, "oldest": SPANS[1], "expires": NOW + timedelta(days=2), "retention": timedelta(days=7),
}  # fmt: skip

STRUCT = {
    "type": "struct",
    "fields": [
        {"name": "order_id", "type": "long", "nullable": False, "metadata": {"comment": "as in the shop"}},
        {"name": "channel", "type": "string", "nullable": True, "metadata": {}},
        {
            "name": hostile_long("column"),
            "type": "string",
            "nullable": True,
            "metadata": {"comment": hostile_long("comment")},
        },
    ],
}
CHANGED: list[timelines.SchemaCommit] = [
    (
        Commit(version=60, committed_at=before(days=3), operation="ADD COLUMNS"),
        [SchemaChange(SchemaChangeKind.ADDED, "channel", None, "string")],
    ),
    (
        Commit(version=41, committed_at=before(days=20), operation="CHANGE COLUMN", user_name="ana"),
        [
            SchemaChange(SchemaChangeKind.RENAMED, "order_id", "order_number_of_the_shop", "order_id"),
            SchemaChange(SchemaChangeKind.TYPE, "order_id", "int", "long"),
            SchemaChange(SchemaChangeKind.REMOVED, hostile_long("removed"), hostile_long("string"), None),
        ],
    ),
]
FIELDS = schemas.fields_of(Schema(struct=STRUCT), (), (), {})
SCHEMA: dict[str, Any] = HEADER | {
    "tab": "schema", "version": 52, "asked": VersionAsked(52, "52"),
    "at": SimpleNamespace(partition_columns=[], properties={}), "fields": schemas.listing(FIELDS),
    "q": "", "below": "", "page": {}, "changes": CHANGED, "columns_drawn": timelines.columns_over_time(CHANGED, NOW),
    "older_changes": None, "all_changes": None, "compared": {},
}  # fmt: skip

SUBJECT = cast(
    "Subject",
    SimpleNamespace(
        table=TABLE,
        snapshot=SimpleNamespace(features=frozenset()),
        metadata=SimpleNamespace(partition_columns=["day"]),
    ),
)
PREVIEW: dict[str, Any] = {
    "mode": "zorder", "files_total": 1_204, "files_in": 318, "bytes_in": 31 << 30, "files_out": 31, "exact": False,
    "deletion_vectors": 12, "past": {"seconds": 412.0, "runs": 3},
    "consequences": consequences_of(retention=timedelta(days=7), num_bytes=31 << 30, vectors=12),
}  # fmt: skip
OPTIMIZE: dict[str, Any] = {
    "table": TABLE, "table_name": TABLE.name, "version": 64, "clustering": [], "method": MODES["zorder"],
    "form": OptimizeForm({"predicate": "day >= '2026-11-01'", "zorder_by": "order_id"}, SUBJECT), "preview": PREVIEW,
    "may_rehearse": True,
    "needs": {"required_approvals": 1, "reasons": ["“Rewrites are seen by a second person”: 1 approver."]},
}  # fmt: skip
REORG: dict[str, Any] = OPTIMIZE | {
    "method": "purge", "form": ReorgForm({"predicate": "day >= '2026-11-01'"}, SUBJECT), "may_rehearse": False,
    "preview": PREVIEW | {
        "mode": "", "dropped_columns": True, "consequences": purged(retention=timedelta(days=7), rows=41_000, dropped=True)
    },
}  # fmt: skip
OPTIMIZE_REFUSED: dict[str, Any] = OPTIMIZE | {
    "form": OptimizeForm({"zorder_by": "day", "reason": "x"}, SUBJECT), "preview": None, "needs": None,
    "preview_problem": {"detail": "Delta can’t sort by day: it is a partition column."},
    "request_problem": {"detail": "The same optimize is requested already.", "extra": {"job": uuid.uuid4()}},
}  # fmt: skip

CLONE: dict[str, Any] = {
    "table": TABLE, "table_name": TABLE.name, "version": 64, "roots": ["/lake", "s3://lake/copies-of-the-whole-shop"],
    "form": CloneForm({"target": "/lake/copies/orders", "kind": "deep", "version": "62"}),
    "spans": [span for span in SPANS if span.restorable],
    "preview": {
        "depth": "deep", "source_version": 62, "files": 1_204, "bytes": 91 << 30, "rows": 212_408_117,
        "deletion_vectors": 12, "seconds": 812.4, "partition_columns": ["day", "country"], "properties": 4,
        "protocol": {"reader": 3, "writer": 7}, "features": ["appendOnly", "deletionVectors", "invariants"],
        "constraints": ["amount_is_positive", "day_is_known"],
        "consequences": clone_consequences(
            depth="deep", source=TABLE.name, features=["rowTracking"], is_newest=False, retention=timedelta(days=7),
            until=NOW + timedelta(days=2),
        ),
    },
    "needs": {"required_approvals": 0, "reasons": []},
}  # fmt: skip
CLONE_REFUSED: dict[str, Any] = CLONE | {
    "form": CloneForm({"target": "", "kind": "shallow", "reason": "x"}), "preview": None, "needs": None,
    "preview_problem": {"detail": "/lake/copies/orders isn’t empty: it holds part-0.parquet. Choose an empty or a new directory."},
    "request_problem": {"detail": "The same request is already open.", "extra": {"job": uuid.uuid4()}},
}  # fmt: skip

FILES = LakeFiles(Path(ROOT.uri), frozenset(Path(f"part-{n}.parquet") for n in range(96)), frozenset(), 41 << 20, 3)
STREAMS = [
    Stream(id=uuid.uuid4(), name=name, state=state)
    for name, state in (("clicks", "running"), (hostile_long("logs"), "stopped"))
]
FREE = LakeConsequences(tables=9, streams=STREAMS, files=FILES, jobs=0, rules=0, roots=[])
HELD = LakeConsequences(tables=9, streams=[], files=FILES, jobs=2, rules=1, roots=[])
REMOVAL = "jobs/sample/remove.html"
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "history": ("tables/table/history.html", HISTORY),
    "schema": ("tables/table/schema.html", SCHEMA),
    "optimize": ("jobs/optimize/page.html", OPTIMIZE),
    "reorg": ("jobs/reorg/page.html", REORG),
    "optimize-refused": ("jobs/optimize/page.html", OPTIMIZE_REFUSED),
    "clone": ("jobs/clone/page.html", CLONE),
    "clone-refused": ("jobs/clone/page.html", CLONE_REFUSED),
    "sample-removal": (REMOVAL, {"root": ROOT, "form": RemoveForm(expected=ROOT.name), "consequences": FREE}),
    "sample-removal-refused": (
        REMOVAL,
        {
            "root": ROOT,
            "form": RemoveForm({"name": "x"}, expected=ROOT.name),
            "consequences": HELD,
            "confirm_first": "/confirm/?next=/roots/",
        },
    ),
}
