"""The page that asks for a repair: what the last check of the table's files found; then the request, for which a worker asks storage."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from console.accounts.permissions import requires
from console.accounts.roles import Permission
from jobs.commands.repair.log import from_log
from jobs.commands.repair.rules import Repair
from jobs.models import Job
from jobs.targets.subject import Subject
from jobs.web.parts import Parts, on_table
from jobs.web.prefilled import Values, again_at
from jobs.web.rewrites import RewriteForm, RewritePage
from tables.models import Table
from tables.ports import Offer


class RepairForm(RewriteForm):
    """A reason: which files are missing, storage says."""

    def wanted(self, table: Table) -> Repair:
        return Repair(str(table.pk))


def _previewed(subject: Subject, command: Repair) -> dict[str, Any]:
    return from_log(subject)


def _more(subject: Subject, preview: Mapping[str, Any] | None) -> dict[str, Any]:
    last = (preview or {}).get("last_check")
    return {"last": last and {**last, "at": datetime.fromisoformat(last["at"])}}


def _again(job: Job) -> Values:
    """Nothing but the reason, which every command keeps."""
    return {}


_PAGE = RewritePage(Repair.kind, "jobs/repair/page.html", RepairForm, _previewed, _more, _again)


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def repair(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """What is known of missing files; with the request's button, the job."""
    return _PAGE.answer(request, table_id)


PARTS = Parts(
    what="jobs/repair/what.html",
    ask_again=partial(again_at, "jobs:repair"),
    offer=Offer(
        Repair.kind,
        "Repair…",
        on_table("jobs:repair"),
        words="fsck missing lost files",
        mends={"files_missing": ""},
        repeats=False,
    ),
)
