"""The home page, the banners, and what every page has around it."""

from __future__ import annotations

from functools import cache
from typing import Any

import redis
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_GET

from console.accounts.models import Person
from console.accounts.permissions import Open, asks, person_of
from console.audit import chain
from console.audit.verification import last_word
from console.health import worker_state
from jobs import approval_queries, queries
from jobs.models import Worker
from tables import explanations, facets


@asks(Open.SIGNED_IN)
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """What waits for me, what runs, and how the catalog is."""
    person = person_of(request)
    context = {
        "waiting": approval_queries.waiting_rows(person),
        "running": queries.running(person),
        "recent": queries.ended_lately(person),
        "commits": queries.destructive_lately(person),
        "unexplained": explanations.open_lately(person),
        "catalog": facets.totals_for(person),
        "only_person": Person.objects.count() == 1,
        "spark_state": worker_state(Worker.Kind.SPARK),
    }
    return render(request, "home.html", context)


@asks(Open.SIGNED_IN)
@require_GET
def banners(request: HttpRequest) -> HttpResponse:
    """The banners alone; open pages ask again."""
    return render(request, "parts/banners.html")


def chrome(request: HttpRequest) -> dict[str, Any]:
    """The banners of every page: what doesn't work now, and what still does; and how many requests wait for its person.

    A fragment without them asks for nothing.
    """
    person = getattr(request, "user", None)
    if not isinstance(person, Person):
        return {}
    waiting = SimpleLazyObject(lambda: approval_queries.count_waiting(person))
    return {"banners": SimpleLazyObject(_troubles), "waiting_count": waiting}


def _troubles() -> list[dict[str, str]]:
    found = []
    if not _redis_answers():
        text = "Jobs are accepted and kept; they start when Redis is back. Tables and history can be read."
        found.append({"level": "warning", "title": "Redis doesn't answer.", "text": text})
    if worker_state(Worker.Kind.SPARK) == "down":
        text = "Jobs are accepted and kept; they start when a worker is back. Tables and history can be read."
        found.append({"level": "warning", "title": "No Spark worker answers.", "text": text})
    if chain.is_behind():
        text = "Events are recorded, but not chained yet; look at the dispatcher’s log."
        found.append({"level": "warning", "title": "The audit isn’t being sealed.", "text": text})
    broken = last_word()
    if broken is not None and broken.problem_count:
        text = f"{broken.problems[0]['text']} An auditor must look at it; the page Audit says what differs."
        found.append({"level": "error", "title": "The audit is not what was recorded.", "text": text})
    return found


@cache
def _redis() -> redis.Redis:
    return redis.Redis.from_url(settings.ENV.redis, socket_timeout=0.5, socket_connect_timeout=0.5)


def _redis_answers() -> bool:
    try:
        return bool(_redis().ping())
    except (redis.RedisError, OSError):
        return False
