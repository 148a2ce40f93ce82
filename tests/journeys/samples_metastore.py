"""Sample contexts for the metastore's pages, in the shapes that their views hand over."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from tests.hostile_texts import hostile_long, hostile_whole

ADDRESS = "thrift://metastore.example.org:9083"
AWAY = f"LEVEE_METASTORE: the metastore at {ADDRESS} doesn’t answer: Connection refused."
READ = SimpleNamespace(pk=uuid.UUID(int=7), asked_at=datetime.now(UTC) - timedelta(seconds=4))
BASE: dict[str, Any] = {
    "address": ADDRESS, "database": "shop", "read": READ, "found": None, "problem": None, "addable": [], "next_url": None,
    "is_whole": False, "poll_url": None, "spark_state": "ready",
}  # fmt: skip


def row(name: str, form: str | None, **more: Any) -> dict[str, Any]:
    return {
        "name": name, "type": "external", "format": form, "location": f"/lake/shop/{name}", "root": "lake", "table": None,
        "catalog_name": None, "is_known": False, "is_stale": False, "refusal": "", **more,
    }  # fmt: skip


ROWS = [
    row("clicks", "delta"),
    row("customers", "delta", table=uuid.UUID(int=1), is_known=True, catalog_name="shop.customers"),
    row("events", "parquet", table=uuid.UUID(int=2), is_known=True, is_stale=True, catalog_name="shop.events"),
    row("orders", "parquet"),
    row("refunds", "delta", table=uuid.UUID(int=3)),
    row("report", None, type="view", location=None, root=None, refusal="A view has no files."),
    row(
        "suppliers", "delta", location="s3://elsewhere/warehouse/" + "a-long-part/" * 12, root=None, type="managed",
        refusal="Its location is outside of the roots that you see. Have an admin add a root above it.",
    ),
    row(hostile_long("table"), hostile_long("format"), location=hostile_whole("/lake/shop"), root=None, refusal=hostile_whole("refusal")),
    row("texts", "csv", refusal="Levee adds Delta and parquet tables; this one is csv."),
]  # fmt: skip
FOUND = {"database": "shop", "tables": ROWS, "total": len(ROWS), "next": None}
ADDABLE = [each for each in ROWS if not each["refusal"] and not each["is_known"]]
ADDED = {
    "database": "shop", "tables": 412, "added": 398, "named": 2, "known": 9, "refusals": 3,
    "refused": [
        {"name": "report", "code": "not_addable", "detail": "A view has no files."},
        {"name": "suppliers", "code": "outside_roots", "detail": "s3://elsewhere/suppliers is not below a root that you have access to."},
        {"name": hostile_long("table"), "code": "not_addable", "detail": hostile_whole("detail")},
        {"name": "texts", "code": "not_addable", "detail": "Levee adds Delta and parquet tables; this one is csv."},
    ],
}  # fmt: skip
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "metastore": (
        "jobs/metastore/databases.html",
        BASE | {"found": {"databases": ["default", "shop", hostile_long("database")]}},
    ),
    "metastore-away": ("jobs/metastore/databases.html", BASE | {"problem": SimpleNamespace(detail=AWAY)}),
    "metastore-tables": ("jobs/metastore/tables.html", BASE | {"found": FOUND, "addable": ADDABLE, "is_whole": True}),
    "metastore-more": (
        "jobs/metastore/tables.html",
        BASE | {"found": FOUND | {"total": 1_204, "next": "texts"}, "addable": ADDABLE, "next_url": "?cursor=texts"},
    ),
    "metastore-asking": ("jobs/metastore/tables.html", BASE | {"poll_url": "/tables/metastore/answers/x/"}),
    "metastore-adding": ("jobs/metastore/added.html", BASE | {"poll_url": "/tables/metastore/answers/x/"}),
    "metastore-added": ("jobs/metastore/added.html", BASE | {"found": ADDED}),
}
