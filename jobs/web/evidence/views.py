"""Pages where jobs and audit meet: a job's whole life, and the verification of both."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.audit.integrity import heads, restores, verification
from console.audit.models import Verification
from console.audit.queries import EventFilter
from console.audit.readings import chain_context, record_reading
from jobs.targets.access import job_for
from jobs.web.evidence.api import verify_now
from jobs.web.jobs.job_timeline import life_of


@requires(Permission.AUDIT_READ, Permission.TABLE_READ)
@require_GET
def life(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Request, previews, decisions, attempts, commit and undo of one job, with their links in the chain."""
    person = person_of(request)
    job = job_for(person, job_id)
    record_reading(Actor.of(request), EventFilter(job=str(job_id)))
    return render(request, "audit/life.html", life_of(person, job))


@requires(Permission.AUDIT_READ)
@require_http_methods(["GET", "POST"])
def verify(request: HttpRequest) -> HttpResponse:
    """The last verifications; by POST, one more now."""
    if request.method == "POST":
        run = verify_now(Actor.of(request))
        text = "Something differs." if run.problem_count else "Nothing differs."
        messages.add_message(request, messages.ERROR if run.problem_count else messages.SUCCESS, text)
    runs = list(Verification.objects.order_by("-id")[:10])
    context = {
        "run": verification.as_json(runs[0]) if runs else None,
        "runs": runs,
        "public_key": heads.public_key(),
        "heads_file": heads.heads_file(),
        "restores": [restores.sentence(line) for line in heads.exported().restores],
        **chain_context(request),
    }
    return render(request, "audit/verification.html", context)
