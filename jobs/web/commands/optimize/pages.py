"""The page that asks for an optimize: which partitions, sorted by what, what the log says of it; then the request."""

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
from jobs.commands.optimize.handling import written_for
from jobs.commands.optimize.log import NOTHING, clustering_columns, from_log
from jobs.commands.optimize.rules import Optimize
from jobs.commands.optimize.wording import MODES
from jobs.models import Job
from jobs.targets.past_runs import with_past
from jobs.targets.subject import Subject
from jobs.web.parts import Parts, on_table
from jobs.web.prefilled import Values, again_at
from jobs.web.rewrites import PartitionsForm, RewritePage
from tables.models import Table
from tables.ports import Offer


class OptimizeForm(PartitionsForm):
    """What to optimize. A clustered table takes `full` alone, any other the two texts."""

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

    def __init__(self, given: Mapping[str, Any], subject: Subject) -> None:
        super().__init__(given, subject)
        del self.fields["zorder_by" if clustering_columns(subject) else "full"]

    def wanted(self, table: Table) -> Optimize:
        given = self.cleaned_data
        columns = [name.strip() for name in given.get("zorder_by", "").split(",") if name.strip()]
        return Optimize(str(table.pk), given.get("predicate") or None, columns or None, given.get("full", False))


def _previewed(subject: Subject, command: Optimize) -> dict[str, Any]:
    return with_past(subject.table, Optimize.kind, from_log(subject, *written_for(subject, command)))


def _more(subject: Subject, preview: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "clustering": list(clustering_columns(subject)),
        "method": MODES[preview["mode"]] if preview else "",
        "nothing": NOTHING[preview["mode"]] if preview and preview["nothing_to_do"] else "",
    }


def _again(job: Job) -> Values:
    """The same values."""
    parameters = job.parameters
    return {
        "predicate": parameters.get("predicate") or "",
        "zorder_by": ", ".join(parameters.get("zorder_by") or ()),
        "full": "on" if parameters.get("full") else "",
    }


_PAGE = RewritePage(Optimize.kind, "jobs/optimize/page.html", OptimizeForm, _previewed, _more, _again)


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def optimize(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """What Delta would rewrite; with the request's button, the job."""
    return _PAGE.answer(request, table_id)


PARTS = Parts(
    what="jobs/optimize/what.html",
    ask_again=partial(again_at, "jobs:optimize"),
    offer=Offer(
        Optimize.kind,
        "Optimize…",
        on_table("jobs:optimize"),
        words="compact compaction small files z-order zorder cluster",
        mends={"small_files": "most_small"},
        mends_not={"over_partitioned": "It joins files of one partition only, so here it has nothing to join."},
    ),
)
