"""The page that asks for an optimize: which partitions, sorted by what, what the log says of it; then the request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.optimize.handling import problem_of, written_for
from jobs.commands.optimize.log import NOTHING, clustering_columns, from_log
from jobs.commands.optimize.rules import Optimize
from jobs.commands.optimize.wording import MODES
from jobs.domain.errors import CommandRefused
from jobs.models import Job
from jobs.policy.needs import needs_of
from jobs.predicates.reading import MAX_LENGTH
from jobs.requests import asking
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_refused
from jobs.targets.subject import Subject, subject_of
from jobs.web.asked_table import SAID_ON_THE_PAGE, name_of
from jobs.web.parts import Parts
from tables.models import Table


class OptimizeForm(forms.Form):
    """What to optimize. A clustered table takes `full` alone, any other the two texts."""

    predicate = forms.CharField(
        label="Partitions",
        required=False,
        max_length=MAX_LENGTH,
        help_text="A condition on partition columns; empty is the whole table.",
    )
    zorder_by = forms.CharField(
        label="Sort by (Z-order)",
        required=False,
        max_length=2000,
        help_text="Data columns, separated by commas; empty only joins small files.",
    )
    full = forms.BooleanField(
        label="Every file",
        required=False,
        help_text="Clusters files again that were clustered by other columns.",
    )
    reason = forms.CharField(label="Reason", required=False, widget=forms.Textarea(attrs={"rows": 3}))

    def __init__(self, given: Mapping[str, Any], subject: Subject) -> None:
        super().__init__(given)
        clustered = bool(clustering_columns(subject))
        unused = ("predicate", "zorder_by") if clustered else ("full",)
        if not clustered and not subject.metadata.partition_columns:
            unused = (*unused, "predicate")
        for name in unused:
            del self.fields[name]

    def wanted(self, table: Table) -> Optimize:
        """The command that a valid form asks for."""
        given = self.cleaned_data
        columns = [name.strip() for name in given.get("zorder_by", "").split(",") if name.strip()]
        return Optimize(str(table.pk), given.get("predicate") or None, columns or None, given.get("full", False))


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def optimize(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """What Delta would rewrite; with the request's button, the job."""
    table = table_to_change(Actor.of(request), table_id)
    try:
        subject = subject_of(table.pk)
    except CommandRefused as refused:
        problem = problem_of_refused(refused)
        context = {"table": table, "table_name": name_of(table), "problem": problem}
        return render(request, "jobs/optimize/page.html", context, status=problem.status)
    asks = request.method == "POST" and request.POST.get("do") == "request"
    form = OptimizeForm(request.POST if request.method == "POST" else request.GET, subject)
    context = _context(request, subject, form)
    return _requested(request, subject, form, context) if asks else render(request, "jobs/optimize/page.html", context)


def _context(request: HttpRequest, subject: Subject, form: OptimizeForm) -> dict[str, Any]:
    preview, problem = _previewed(subject, form)
    return {
        "table": subject.table,
        "table_name": name_of(subject.table),
        "version": subject.version,
        "clustering": list(clustering_columns(subject)),
        "form": form,
        "preview": preview,
        "preview_problem": problem,
        "method": MODES[preview["mode"]] if preview else "",
        "nothing": NOTHING[preview["mode"]] if preview and preview["nothing_to_do"] else "",
        "needs": needs_of(person_of(request), Optimize.kind, subject.table, preview) if preview else None,
    }


def _previewed(subject: Subject, form: OptimizeForm) -> tuple[dict[str, Any] | None, Problem | None]:
    if not form.is_valid():
        return None, None
    try:
        command, node = written_for(subject, form.wanted(subject.table))
        return from_log(subject, command, node), None
    except CommandRefused as refused:
        return None, problem_of(refused)


def _requested(request: HttpRequest, subject: Subject, form: OptimizeForm, context: dict[str, Any]) -> HttpResponse:
    """The job; or the page again, with what is missing or refused."""
    if form.is_valid() and not form.cleaned_data["reason"].strip():
        form.add_error("reason", "Enter a reason: it stands in the audit log.")
    if not form.is_valid() or context["preview"] is None:
        return render(request, "jobs/optimize/page.html", context, status=400)
    try:
        made = asking.request(Actor.of(request), form.wanted(subject.table), form.cleaned_data["reason"], seen=subject)
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE:
            raise
        return render(request, "jobs/optimize/page.html", context | {"request_problem": problem}, status=problem.status)
    return redirect("jobs:detail", made.job.pk)


def _ask_again(job: Job) -> str:
    """The page with the same values."""
    parameters = job.parameters
    values = {
        "predicate": parameters.get("predicate") or "",
        "zorder_by": ", ".join(parameters.get("zorder_by") or ()),
        "full": "on" if parameters.get("full") else "",
    }
    given = {name: value for name, value in values.items() if value}
    address = reverse("jobs:optimize", args=[job.table_id])
    return f"{address}?{urlencode(given)}" if given else address


PARTS = Parts(what="jobs/optimize/what.html", ask_again=_ask_again)
