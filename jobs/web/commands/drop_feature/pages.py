"""The page that drops a table feature: which can be dropped and which not, the steps that Delta takes, the request."""

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
from jobs.commands.drop_feature.log import droppable, kept, preview_of, wait_of, written_for
from jobs.commands.drop_feature.rules import PROTECTION, DropFeature
from jobs.models import Job
from jobs.targets.subject import Subject
from jobs.web.parts import Parts, on_table
from jobs.web.prefilled import Values, again_at
from jobs.web.rewrites import RewriteForm, RewritePage
from tables.models import Table
from tables.ports import Offer


class DropFeatureForm(RewriteForm):
    """Which feature, and whether history is cut."""

    feature = forms.ChoiceField(label="Feature", required=False)
    truncate_history = forms.BooleanField(
        label="Cut the history (TRUNCATE HISTORY)",
        required=False,
        help_text="In two requests with a wait between them, and without leaving checkpointProtection behind.",
    )

    def __init__(self, given: Mapping[str, Any], subject: Subject) -> None:
        super().__init__(given, subject)
        choices = [("", "Choose"), *((name, name) for name in droppable(subject))]
        self.fields["feature"] = forms.ChoiceField(label="Feature", required=False, choices=choices)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if self.data.get("do") == "request" and not values.get("feature"):
            self.add_error("feature", "Choose the feature to drop.")
        return values

    def wanted(self, table: Table) -> DropFeature:
        """The command that a valid form asks for; checkpointProtection goes with a cut history alone."""
        feature = self.cleaned_data["feature"]
        return DropFeature(str(table.pk), feature, self.cleaned_data["truncate_history"] or feature == PROTECTION)


def _previewed(subject: Subject, command: DropFeature) -> dict[str, Any]:
    return preview_of(subject, written_for(subject, command)) if command.feature else {}


def _more(subject: Subject, preview: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"kept": kept(subject), "wait": wait_of(subject)}


def _again(job: Job) -> Values:
    """The same feature."""
    given = {"feature": job.parameters.get("feature", "")}
    return given | ({"truncate_history": "on"} if job.parameters.get("truncate_history") else {})


_PAGE = RewritePage(DropFeature.kind, "jobs/drop_feature/page.html", DropFeatureForm, _previewed, _more, _again)


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def drop_feature(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """How Delta would drop the feature; with the request's button, the job."""
    return _PAGE.answer(request, table_id)


PARTS = Parts(
    what="jobs/drop_feature/what.html",
    ask_again=partial(again_at, "jobs:drop_feature"),
    offer=Offer(
        DropFeature.kind,
        "Drop a feature…",
        on_table("jobs:drop_feature"),
        words="protocol downgrade",
        beside="protocol",
    ),
)
