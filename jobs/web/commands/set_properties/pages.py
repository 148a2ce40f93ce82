"""The page of a table's properties: each with its value and meaning, what a change does by the log, the request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.accounts.permissions import requires
from console.accounts.roles import Permission
from jobs.commands.set_properties.log.preview import NOTHING, preview_of, written_for
from jobs.commands.set_properties.rules import SetProperties
from jobs.models import Job
from jobs.targets.subject import Subject
from jobs.targets.writable import subject_to_redefine
from jobs.web.commands.set_properties.forms import PropertiesForm
from jobs.web.parts import Parts, on_table
from jobs.web.prefilled import Values, again_at
from jobs.web.rewrites import RewritePage
from tables.ports import UNSET, Offer


def _previewed(subject: Subject, command: SetProperties) -> dict[str, Any]:
    if not command.set and not command.unset:
        return {}
    return preview_of(subject, written_for(subject, command))


def _more(subject: Subject, preview: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"nothing": NOTHING if preview and preview["nothing_to_do"] else ""}


def _again(job: Job) -> Values:
    """The same changes."""
    parameters = job.parameters
    return {
        "set": [f"{name}={value}" for name, value in (parameters.get("set") or {}).items()],
        "unset": list(parameters.get("unset") or ()),
    }


def _opposite(job: Job) -> str:
    query = (job.preview or {}).get("opposite")
    return f"{reverse('jobs:set_properties', args=[job.table_id])}?{query}" if query else ""


_PAGE = RewritePage(
    SetProperties.kind, "jobs/set_properties/page.html", PropertiesForm, _previewed, _more, _again, subject_to_redefine
)


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def set_properties(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """The properties, and what the changed ones do; with the request's button, the job."""
    return _PAGE.answer(request, table_id)


PARTS = Parts(
    what="jobs/set_properties/what.html",
    ask_again=partial(again_at, "jobs:set_properties"),
    opposite=_opposite,
    offer=Offer(
        SetProperties.kind,
        "Properties…",
        on_table("jobs:set_properties"),
        words="set tblproperties change",
        beside="protocol",
        mends={"unreadable_properties": UNSET, "long_log": ""},
        repeats=False,
    ),
)
