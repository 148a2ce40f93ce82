"""Sample contexts of the page that asks for a repair."""

from __future__ import annotations

from typing import Any

from jobs.commands.repair.rules import LostFiles, consequences_of
from jobs.web.commands.repair.pages import RepairForm
from tests.journeys.samples_accounts import before
from tests.journeys.samples_tables import SUBJECT, TABLE

NAMES = [
    f"day=2026-05-{day:02}/country=FR/part-{day:05}-6f1d0a5e-4c11-4f1e-9b37-0d5f4ac0e9b1.c000.snappy.parquet"
    for day in (3, 4, 9)
]
LAST = {"version": 62, "at": before(hours=3), "asked": 1_204, "missing": 3}
REPAIR: dict[str, Any] = {
    "table": TABLE, "table_name": TABLE.name, "version": 64, "form": RepairForm({}, SUBJECT), "last": LAST,
    "preview": {
        "class": "irreversible", "files": None, "rows": None, "bytes": None, "files_total": 1_204, "sample": NAMES,
        "partitions": None, "by_partition": [
            {"values": [["day", "2026-05-03"], ["country", "FR"]], "files": 2, "rows": 41_808},
            {"values": [["day", "2026-05-09"], ["country", None]], "files": 1, "rows": None},
        ],
        "consequences": consequences_of(LostFiles(64, None, None), change_feed=True),
    },
    "needs": {"required_approvals": 2, "reasons": ["“A repair is seen by two”: 2 approvers."]},
}  # fmt: skip
REPAIR_REFUSED: dict[str, Any] = REPAIR | {
    "last": None, "preview": None, "needs": None,
    "preview_problem": {"detail": "The table only takes new rows: delta.appendOnly is true."},
}  # fmt: skip
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "repair": ("jobs/repair/page.html", REPAIR),
    "repair-refused": ("jobs/repair/page.html", REPAIR_REFUSED),
}
