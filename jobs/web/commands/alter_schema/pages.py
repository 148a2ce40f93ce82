"""The page that asks for changes of a schema: a list of changes, what comes of them by the log, the request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.alter_schema.handling import previewed, problem_of
from jobs.commands.alter_schema.log.state import state_of
from jobs.commands.alter_schema.log.widening import Widening, widening_of
from jobs.commands.alter_schema.rules import MAPPING_MODE, AlterSchema, Change, fault_of
from jobs.commands.alter_schema.wording import CLASSES
from jobs.domain.delta.data_types import OFFERED
from jobs.domain.errors import CommandRefused
from jobs.models import Job
from jobs.policy.needs import needs_of
from jobs.requests import asking, rehearsals
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_refused
from jobs.targets.subject import Subject
from jobs.targets.writable import subject_to_change
from jobs.web.asked_table import SAID_ON_THE_PAGE, asked_of
from jobs.web.commands.alter_schema.forms import KINDS, AskedChanges, ChangeForm, ReasonForm, added, asked_in
from jobs.web.parts import Parts, on_table
from jobs.web.prefilled import OPPOSITE, again_at, as_entered, job_again, opposite_at
from tables.deltalog.rules.schema import dotted, walk
from tables.models import Table
from tables.ports import Offer

PAGE = "jobs/alter_schema/page.html"
MOST_OFFERED = 500  # columns that a field suggests
# What a property has to be for a change that Delta refuses without it.
SETTINGS = {MAPPING_MODE: "name", "delta.enableTypeWidening": "true"}


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def alter_schema(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """The changes and what comes of them; with the request's button, the job."""
    table = table_to_change(Actor.of(request), table_id)
    try:
        subject = subject_to_change(table.pk)
    except CommandRefused as refused:
        problem = problem_of_refused(refused)
        context = {**asked_of(request, AlterSchema.kind, table), "problem": problem}
        return render(request, PAGE, context, status=problem.status)
    asked = _asked_again(request, table) or asked_in(request)
    context = _context(request, subject, asked)
    if asked.act == "request":
        return _requested(request, subject, context)
    return render(request, PAGE, context)


def _asked_again(request: HttpRequest, table: Table) -> AskedChanges | None:
    """The changes that an earlier job on this table hasn't committed, or the opposite of those that it has; None if the address names
    no job."""
    if job := job_again(request, AlterSchema.kind, table.pk, OPPOSITE):
        return AskedChanges(tuple(_opposites(job)))
    job = job_again(request, AlterSchema.kind, table.pk)
    if job is None:
        return None
    changes = tuple(_as_asked(change) for change in job.parameters["changes"][_committed(job) :])
    return AskedChanges(changes, given=as_entered(job, {}))


def _committed(job: Job) -> int:
    """How many of its changes the job has committed."""
    return len((job.result or {}).get("details", {}).get("commits") or ())


def _opposites(job: Job) -> list[dict[str, Any]]:
    """What takes its committed changes back, the last one first; those that no change takes back are left out."""
    known = (job.preview or {}).get("opposites") or ()
    return [change for change in reversed(known[: _committed(job)]) if change is not None]


def _opposite(job: Job) -> str:
    return opposite_at("jobs:alter_schema", job) if _opposites(job) else ""


def _context(request: HttpRequest, subject: Subject, asked: AskedChanges) -> dict[str, Any]:
    form = ChangeForm(asked.kind, {} if asked.act == "kind" else asked.given)
    change = form.change()
    wanted = added(asked, change)
    preview, problem = _previewed(subject, wanted, asked.fault or form.fault)
    if asked.act == "add" and change is not None and preview:
        asked = AskedChanges(tuple(wanted), asked.kind, asked.act, 0, asked.given)
        form = ChangeForm(asked.kind, {})
    return {
        **asked_of(request, AlterSchema.kind, subject.table),
        "version": subject.version,
        "asked": asked,
        "wanted": list(wanted),
        "kinds": KINDS,
        "form": form,
        "reason_form": ReasonForm(asked.given if asked.act == "request" else {"reason": asked.given.get("reason", "")}),
        "columns": _names(subject),
        "types": OFFERED,
        "widening": _widening(subject, asked, form),
        "constraints": list(state_of(subject).constraints),
        "preview": preview,
        "preview_problem": problem,
        "properties_url": _properties_url(subject, problem),
        "class_text": CLASSES.get(preview["class"], "") if preview else "",
        "needs": needs_of(person_of(request), AlterSchema.kind, subject.table, preview) if preview else None,
        "may_rehearse": rehearsals.possible(AlterSchema.kind),
        "rehearse": asked.given.get("rehearse") == "on",
    }


def _names(subject: Subject) -> list[str]:
    return [dotted(path) for path, _ in walk(subject.struct)][:MOST_OFFERED]


def _widening(subject: Subject, asked: AskedChanges, form: ChangeForm) -> Widening | None:
    """What the column that is filled in can widen to; None while none is, and for another kind of change."""
    form.is_valid()
    name = form.cleaned_data.get("path")
    return widening_of(subject, asked.changes, name) if name and asked.kind == "widen" else None


def _previewed(subject: Subject, changes: Sequence[Change], fault: str) -> tuple[dict[str, Any] | None, Problem | None]:
    fault = fault or (fault_of(changes) if changes else "")
    if fault or not changes:
        return None, Problem(400, "invalid", fault) if fault else None
    try:
        return previewed(subject, AlterSchema(str(subject.table.pk), list(changes)))[1], None
    except CommandRefused as refused:
        problem = problem_of(refused)
        problem.extra["place"] = refused.refusals[0].place
        return None, problem


def _properties_url(subject: Subject, problem: Problem | None) -> str:
    """The page of properties with the one filled in that the change needs; empty if it needs none."""
    name = (problem.extra.get("place") if problem else None) or ""
    value = SETTINGS.get(name) or ("supported" if name.startswith("delta.feature.") else "")
    if not value:
        return ""
    address = reverse("jobs:set_properties", args=[subject.table.pk])
    return f"{address}?{urlencode({'set': f'{name}={value}'})}"


def _requested(request: HttpRequest, subject: Subject, context: dict[str, Any]) -> HttpResponse:
    """The job; or the page again, with what is missing or refused."""
    reason = context["reason_form"]
    if not context["wanted"]:
        problem = context["preview_problem"] or Problem(400, "invalid", "Give at least one change.")
        return render(request, PAGE, context | {"preview_problem": problem}, status=400)
    if not reason.is_valid() or not reason.cleaned_data["reason"].strip():
        reason.add_error("reason", "Enter a reason: it stands in the audit log.")
    if not reason.is_valid() or context["preview"] is None:
        return render(request, PAGE, context, status=400)
    command = AlterSchema(str(subject.table.pk), context["wanted"])
    try:
        said = reason.cleaned_data["reason"]
        made = asking.request(Actor.of(request), command, said, seen=subject, rehearse=context["rehearse"])
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE:
            raise
        return render(request, PAGE, context | {"request_problem": problem}, status=problem.status)
    return redirect("jobs:detail", made.job.pk)


def _as_asked(change: Mapping[str, Any]) -> dict[str, Any]:
    """A stored change without what Levee filled in."""
    [(kind, value)] = change.items()
    return {
        kind: {name: item for name, item in value.items() if name not in ("tree", "counted")}
        if isinstance(value, Mapping)
        else value
    }


PARTS = Parts(
    what="jobs/alter_schema/what.html",
    ask_again=partial(again_at, "jobs:alter_schema"),
    opposite=_opposite,
    offer=Offer(
        AlterSchema.kind,
        "Change the schema…",
        on_table("jobs:alter_schema"),
        words="alter add rename drop column constraint",
        beside="schema",
    ),
)
