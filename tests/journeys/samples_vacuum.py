"""Sample contexts of the page that asks for a vacuum."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from jobs.commands.vacuum.rules import consequences_of
from jobs.web.commands.vacuum.drawing import curve
from jobs.web.commands.vacuum.pages import VacuumForm
from tables.history.reachability import without
from tables.web.charts.strip import strip
from tests.journeys.samples_tables import DESTROYED, SPANS, SUBJECT, TABLE

DYING = [[41, 52]]
NEEDED = ["You could no longer undo what Levee committed as version 48."]
CURVE = [
    {"hours": hours, "files": files, "bytes": files << 24}
    for hours, files in ((0, 4_210), (1, 4_190), (6, 3_902), (24, 2_806), (48, 1_740), (168, 1_204), (720, 38))
]
LEFT = without(SPANS, DYING)
VACUUM: dict[str, Any] = {
    "table": TABLE, "table_name": TABLE.name, "version": 64,
    "form": VacuumForm({"retention_hours": "48"}, SUBJECT),
    "preview": {
        "class": "short_retention", "lite": False, "retention": "2 days", "own_retention": "7 days", "files": 1_740,
        "bytes": 27 << 30, "untracked_files": None, "dying_versions": DYING, "first_readable_after": 53, "exact": True, "curve": CURVE,
        "consequences": consequences_of(
            dying=DYING, retention=timedelta(days=2), own=timedelta(days=7), lite=False, feed=True, needed_by=NEEDED
        ),
    },
    "drawn": {"spans": LEFT, "destructive": DESTROYED, "strip": strip(LEFT, DESTROYED), "curve": curve(CURVE)},
    "needs": {"required_approvals": 2, "reasons": ["“Less than 7 days of retention is seen by two”: 2 approvers."]},
}  # fmt: skip
VACUUM_REFUSED: dict[str, Any] = VACUUM | {
    "form": VacuumForm({"retention_hours": "-1", "reason": "x"}, SUBJECT), "preview": None, "drawn": {}, "needs": None,
}  # fmt: skip
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "vacuum": ("jobs/vacuum/page.html", VACUUM),
    "vacuum-refused": ("jobs/vacuum/page.html", VACUUM_REFUSED),
}
