"""The page that asks for a rewrite of files: what to rewrite, what the log says of it; then the request."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.accounts.permissions import person_of
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.domain.commands import Command
from jobs.domain.errors import CommandRefused
from jobs.models import Job
from jobs.policy.needs import needs_of
from jobs.predicates.reading import MAX_LENGTH
from jobs.requests import asking, rehearsals
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_refused, problem_of_rewrite
from jobs.targets.subject import Subject
from jobs.targets.writable import subject_to_change
from jobs.web.asked_table import SAID_ON_THE_PAGE, asked_of
from jobs.web.prefilled import Values, filled_in
from tables.models import Table


class RewriteForm(forms.Form):
    """What every rewrite is asked by: a reason. A form of one's own says what it wants."""

    reason = forms.CharField(label="Reason", required=False, widget=forms.Textarea(attrs={"rows": 3}))
    rehearse = forms.BooleanField(label="Rehearse it first", required=False)

    def __init__(self, given: Mapping[str, Any], subject: Subject) -> None:
        super().__init__(given)

    def wanted(self, table: Table) -> Command:
        """The command that a valid form asks for."""
        raise NotImplementedError


class PartitionsForm(RewriteForm):
    """The form of a rewrite that may take some partitions alone."""

    predicate = forms.CharField(
        label="Partitions",
        required=False,
        max_length=MAX_LENGTH,
        help_text="A condition on partition columns; empty is the whole table.",
    )
    field_order = ("predicate",)

    def __init__(self, given: Mapping[str, Any], subject: Subject) -> None:
        super().__init__(given, subject)
        if "clustering" in subject.snapshot.features or not subject.metadata.partition_columns:
            del self.fields["predicate"]


@dataclass(frozen=True, slots=True)
class RewritePage:
    """The page of one command. `previewed` is the log's preview (raises CommandRefused); `more` adds to the template's context.

    `again` gives what a job of the command entered, to request the same again; `subject` is the table as the command needs it.
    """

    kind: str
    template: str
    form: type[RewriteForm]
    previewed: Callable[[Subject, Any], dict[str, Any]]
    more: Callable[[Subject, Mapping[str, Any] | None], dict[str, Any]]
    again: Callable[[Job], Values]
    subject: Callable[[uuid.UUID], Subject] = subject_to_change

    def answer(self, request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
        """What Delta would rewrite; with the request's button, the job."""
        table = table_to_change(Actor.of(request), table_id)
        try:
            subject = self.subject(table.pk)
        except CommandRefused as refused:
            problem = problem_of_refused(refused)
            context = {**asked_of(request, self.kind, table), "problem": problem}
            return render(request, self.template, context, status=problem.status)
        asks = request.method == "POST" and request.POST.get("do") == "request"
        form = self.form(filled_in(request, self.kind, table.pk, self.again), subject)
        context = self._context(request, subject, form)
        return self._requested(request, subject, form, context) if asks else render(request, self.template, context)

    def _context(self, request: HttpRequest, subject: Subject, form: RewriteForm) -> dict[str, Any]:
        preview, problem = self._preview(subject, form)
        return {
            **asked_of(request, self.kind, subject.table),
            "version": subject.version,
            "form": form,
            "may_rehearse": rehearsals.possible(self.kind),
            "preview": preview,
            "preview_problem": problem,
            "needs": needs_of(person_of(request), self.kind, subject.table, preview) if preview else None,
            **self.more(subject, preview),
        }

    def _preview(self, subject: Subject, form: RewriteForm) -> tuple[dict[str, Any] | None, Problem | None]:
        if not form.is_valid():
            return None, None
        try:
            return self.previewed(subject, form.wanted(subject.table)), None
        except CommandRefused as refused:
            return None, problem_of_rewrite(refused)

    def _requested(
        self, request: HttpRequest, subject: Subject, form: RewriteForm, context: dict[str, Any]
    ) -> HttpResponse:
        """The job; or the page again, with what is missing or refused."""
        if form.is_valid() and not form.cleaned_data["reason"].strip():
            form.add_error("reason", "Enter a reason: it stands in the audit log.")
        if not form.is_valid() or context["preview"] is None:
            return render(request, self.template, context, status=400)
        command, reason = form.wanted(subject.table), form.cleaned_data["reason"]
        try:
            rehearse = form.cleaned_data["rehearse"]
            made = asking.request(Actor.of(request), command, reason, seen=subject, rehearse=rehearse)
        except Problem as problem:
            if problem.status not in SAID_ON_THE_PAGE:
                raise
            return render(request, self.template, context | {"request_problem": problem}, status=problem.status)
        return redirect("jobs:detail", made.job.pk)
