"""The page of workers, and what its buttons do."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.permissions import requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.questions import Question, ask, is_answered
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
    """Drains a worker: it finishes what it runs and claims nothing more. With `drain` "false": lets it claim again."""
    worker = get_object_or_404(Worker, pk=worker_id)
    takes_none = request.POST.get("drain") != "false"
    services.drain(Actor.of(request), worker, on=takes_none)
    then = "finishes what it runs and takes no other job" if takes_none else "takes jobs again"
    messages.success(request, f"{worker.name} {then}.")
    return redirect("jobs:workers")


@requires(Permission.WORKER_MANAGE)
@require_http_methods(["GET", "POST"])
def worker_restart(request: HttpRequest, worker_id: uuid.UUID) -> HttpResponse:
    """Ends a worker with its JVM once it is idle, after a question; the supervisor starts another."""
    worker = get_object_or_404(Worker, pk=worker_id)
    if not is_answered(request):
        return ask(request, _restart_question(worker))
    services.restart(Actor.of(request), worker)
    messages.success(request, f"{worker.name} restarts as soon as it is idle.")
    return redirect("jobs:workers")


def _restart_question(worker: Worker) -> Question:
    follows = [
        ("What it runs", "comes to its end before"),
        ("Its process", "ends, with its JVM; what supervises it starts another, or it stays away"),
        ("Way back", "none: a restart that was asked for isn’t taken back"),
    ]
    return Question(
        act=f"Restart {worker.name}",
        button="Restart",
        follows=follows,
        back=reverse("jobs:workers"),
        back_text="Workers",
    )
