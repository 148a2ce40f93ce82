"""The page that asks for a vacuum: how long to keep old files, what the log says would go; then the request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from console.accounts.permissions import requires
from console.accounts.roles import Permission
from jobs.commands.vacuum.log.preview import from_log
from jobs.commands.vacuum.rules import MOST_HOURS, NEGATIVE, Vacuum
from jobs.models import Job
from jobs.targets.subject import Subject
from jobs.web.commands.vacuum.drawing import drawn
from jobs.web.parts import Parts, on_table
from jobs.web.prefilled import Values, again_at
from jobs.web.rewrites import RewriteForm, RewritePage
from tables.models import Table
from tables.ports import Offer


class VacuumForm(RewriteForm):
    """How long to keep, and how to look."""

    retention_hours = forms.IntegerField(
        label="Hours to keep",
        required=False,
        min_value=0,
        max_value=MOST_HOURS,
        error_messages={"min_value": NEGATIVE.message},
        help_text="Empty keeps old files as long as the table says. Less than 168 hours needs approvals of its own.",
    )
    lite = forms.BooleanField(
        label="By the log alone (lite)",
        required=False,
        help_text="Faster, without a listing: leaves files that the log doesn’t name.",
    )
    field_order = ("retention_hours", "lite", "reason")

    def wanted(self, table: Table) -> Vacuum:
        return Vacuum(str(table.pk), self.cleaned_data["retention_hours"], self.cleaned_data["lite"])


def _more(subject: Subject, preview: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"drawn": drawn(subject.table, preview or {})}


def _again(job: Job) -> Values:
    """The same values."""
    hours = job.parameters.get("retention_hours")
    given = {} if hours is None else {"retention_hours": str(hours)}
    return given | ({"lite": "on"} if job.parameters.get("lite") else {})


_PAGE = RewritePage(Vacuum.kind, "jobs/vacuum/page.html", VacuumForm, from_log, _more, _again)


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def vacuum(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """What Delta would delete; with the request's button, the job."""
    return _PAGE.answer(request, table_id)


def _drawn(job: Job) -> Mapping[str, Any]:
    return drawn(job.table, job.preview or {})


PARTS = Parts(
    what="jobs/vacuum/what.html",
    ask_again=partial(again_at, "jobs:vacuum"),
    drawn=_drawn,
    offer=Offer(
        Vacuum.kind,
        "Vacuum…",
        on_table("jobs:vacuum"),
        words="clean old unused files retention",
        mends={"old_files": ""},
    ),
)
