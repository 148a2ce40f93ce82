"""The page that asks for a reorg: which partitions, what the log says of it; then the request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from console.accounts.permissions import requires
from console.accounts.roles import Permission
from jobs.commands.reorg.handling import written_for
from jobs.commands.reorg.log import NOTHING, from_log
from jobs.commands.reorg.rules import Reorg
from jobs.models import Job
from jobs.targets.past_runs import with_past
from jobs.targets.subject import Subject
from jobs.web.parts import Parts, on_table
from jobs.web.prefilled import Values, again_at
from jobs.web.rewrites import PartitionsForm, RewritePage
from tables.models import Table
from tables.ports import Offer


class ReorgForm(PartitionsForm):
    """Which partitions to purge."""

    def wanted(self, table: Table) -> Reorg:
        return Reorg(str(table.pk), self.cleaned_data.get("predicate") or None)


def _previewed(subject: Subject, command: Reorg) -> dict[str, Any]:
    return with_past(subject.table, Reorg.kind, from_log(subject, *written_for(subject, command)))


def _more(subject: Subject, preview: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"method": "purge", "nothing": NOTHING if preview and preview["nothing_to_do"] else ""}


def _again(job: Job) -> Values:
    """The same predicate."""
    return {"predicate": job.parameters.get("predicate") or ""}


_PAGE = RewritePage(Reorg.kind, "jobs/reorg/page.html", ReorgForm, _previewed, _more, _again)


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def reorg(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """What Delta would rewrite; with the request's button, the job."""
    return _PAGE.answer(request, table_id)


PARTS = Parts(
    what="jobs/reorg/what.html",
    ask_again=partial(again_at, "jobs:reorg"),
    offer=Offer(
        Reorg.kind,
        "Purge…",
        on_table("jobs:reorg"),
        words="reorg deletion vectors",
        mends={"deletion_vectors": "most_vectors"},
    ),
)
