"""The page of workers, and what its buttons do."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from console.accounts.permissions import requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from jobs.models import Worker
from jobs.web.workers import queries, services


@requires(Permission.WORKER_MANAGE)
@require_GET
def workers(request: HttpRequest) -> HttpResponse:
    """Processes, queues, the dispatcher."""
    return render(request, "jobs/workers/workers.html", _workers_context())


@requires(Permission.WORKER_MANAGE)
@require_GET
def workers_now(request: HttpRequest) -> HttpResponse:
    """The part of the workers page that polls."""
    return render(request, "jobs/workers/_workers.html", _workers_context())


def _workers_context() -> dict[str, Any]:
    return {"workers": queries.workers(), "queues": queries.queues(), "dispatcher": queries.dispatcher()}


@requires(Permission.WORKER_MANAGE)
@require_POST
def worker_drain(request: HttpRequest, worker_id: uuid.UUID) -> HttpResponse:
    """Drains a worker: it finishes what it runs and claims nothing more. A second time: lets it claim again."""
    services.drain(Actor.of(request), get_object_or_404(Worker, pk=worker_id))
    return redirect("jobs:workers")


@requires(Permission.WORKER_MANAGE)
@require_POST
def worker_restart(request: HttpRequest, worker_id: uuid.UUID) -> HttpResponse:
    """Ends a worker with its JVM once it is idle; the supervisor starts another."""
    services.restart(Actor.of(request), get_object_or_404(Worker, pk=worker_id))
    return redirect("jobs:workers")
