"""The page that asks for a clone: which version, where to, shallow or deep, what the log says of it; then the request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.clone.handling import predicted, problem_of, source_for, target_for, written_for
from jobs.commands.clone.rules import Clone
from jobs.domain.errors import CommandRefused
from jobs.lifecycle.cancelling import require_person
from jobs.models import Job
from jobs.policy import protection
from jobs.policy.needs import needs_at
from jobs.requests import asking
from jobs.targets.problems import problem_of_refused
from jobs.targets.subject import Subject
from jobs.targets.writable import subject_to_read
from jobs.web.asked_table import SAID_ON_THE_PAGE, name_of
from jobs.web.parts import Parts, on_table
from jobs.web.prefilled import Values, again_at, filled_in
from tables.catalog import listing
from tables.history.reachability import TableReach, joined
from tables.models import Table
from tables.ports import Offer

KINDS = [
    ("shallow", "Shallow: a new log that names this table’s files"),
    ("deep", "Deep: a new log on copies of the files"),
]
MOST_SPANS = 20
# What a path that can't be a target is answered with, beside what every page says.
OF_THE_PATH = {403, 404}


class CloneForm(forms.Form):
    """What to clone, and where to."""

    target = forms.CharField(
        label="Directory of the clone",
        max_length=4096,
        help_text="An empty directory, or a new one in a directory that is there. Taken literally: no wildcards.",
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off", "autocapitalize": "none"}),
    )
    kind = forms.ChoiceField(label="Kind", choices=KINDS, initial="shallow", widget=forms.RadioSelect)
    version = forms.IntegerField(
        label="Version", required=False, min_value=0, help_text="Empty is the newest one at the request."
    )
    reason = forms.CharField(label="Reason", required=False, widget=forms.Textarea(attrs={"rows": 3}))

    def wanted(self, table: Table) -> Clone:
        """The command that a valid form asks for."""
        given = self.cleaned_data
        return Clone(str(table.pk), given["target"], given["kind"], given["version"])


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def clone(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """What the clone would hold; with the request's button, the job."""
    table = source_for(Actor.of(request), table_id)
    try:
        subject = subject_to_read(table.pk)
    except CommandRefused as refused:
        problem = problem_of_refused(refused)
        context = {"table": table, "table_name": name_of(table), "problem": problem}
        return render(request, "jobs/clone/page.html", context, status=problem.status)
    form = _form(request, table)
    context = _context(request, subject, form)
    if request.method == "POST" and request.POST.get("do") == "request":
        return _requested(request, subject, form, context)
    return render(request, "jobs/clone/page.html", context)


def _form(request: HttpRequest, table: Table) -> CloneForm:
    """Filled in by what was typed, by a job to make again, or by an address that leads here; empty at first."""
    given = filled_in(request, Clone.kind, table.pk, _again)
    return CloneForm(given) if request.method == "POST" or "target" in given else CloneForm()


def _again(job: Job) -> Values:
    """The same target, kind and version."""
    parameters: Mapping[str, Any] = job.parameters
    return {"target": parameters["target"], "kind": parameters["depth"], "version": str(parameters["version"])}


def _context(request: HttpRequest, subject: Subject, form: CloneForm) -> dict[str, Any]:
    spans = [span for span in joined(TableReach(subject.table).spans) if span.restorable]
    return {
        "table": subject.table,
        "table_name": name_of(subject.table),
        "version": subject.version,
        "form": form,
        "spans": spans[-MOST_SPANS:],
        "older_spans": max(0, len(spans) - MOST_SPANS),
        "roots": [root.uri for root in listing.roots_of(person_of(request), Permission.JOB_REQUEST)],
        **_previewed(Actor.of(request), subject, form),
    }


def _previewed(actor: Actor, subject: Subject, form: CloneForm) -> dict[str, Any]:
    """What the clone would hold, which approvals it needs in its place, and the rule that forbids it there; or why there is none."""
    nothing: dict[str, Any] = {"preview": None, "preview_problem": None, "needs": None, "protection": None}
    if not form.is_bound or not form.is_valid():
        return nothing  # its place isn't known
    try:
        command = written_for(subject, form.wanted(subject.table))
        place = target_for(actor, command)
        preview = predicted(subject, replace(command, path=place.path))
    except CommandRefused as refused:
        return nothing | {"preview_problem": problem_of(refused)}
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE | OF_THE_PATH:
            raise
        return nothing | {"preview_problem": problem}
    person, known = require_person(actor), place.table.pk if place.table else None
    return nothing | {
        "preview": preview,
        "needs": needs_at(person, Clone.kind, place.root.pk, known, preview),
        "protection": protection.over(Clone.kind, place.path, person.pk, preview),
    }


def _requested(request: HttpRequest, subject: Subject, form: CloneForm, context: dict[str, Any]) -> HttpResponse:
    """The job; or the page again, with what is missing or refused."""
    if form.is_valid() and not form.cleaned_data["reason"].strip():
        form.add_error("reason", "Enter a reason: it stands in the audit log.")
    if not form.is_valid() or context["preview"] is None:
        problem = context["preview_problem"]
        return render(request, "jobs/clone/page.html", context, status=problem.status if problem else 400)
    try:
        made = asking.request(Actor.of(request), form.wanted(subject.table), form.cleaned_data["reason"], seen=subject)
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE | OF_THE_PATH:
            raise
        return render(request, "jobs/clone/page.html", context | {"request_problem": problem}, status=problem.status)
    return redirect("jobs:detail", made.job.pk)


PARTS = Parts(
    what="jobs/clone/what.html",
    ask_again=partial(again_at, "jobs:clone"),
    offer=Offer(Clone.kind, "Clone…", on_table("jobs:clone"), words="copy shallow deep", changes=False),
)
