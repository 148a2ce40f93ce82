"""The instance's health, for load balancers, scripts and the health page: cheap, public, never an error."""

from __future__ import annotations

from functools import cache
from typing import Any

import redis
from django.conf import settings
from django.db import Error as DatabaseFailure
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.accounts.permissions import Open, requires
from console.base.disks import DiskRoom, disks, full_disk, fullest
from console.base.version import VERSION
from jobs.lifecycle.worker_states import DOWN, HUNG, READY, Parts, is_hung, recorded_parts, state_of, worker_states
from jobs.models import DispatcherRound, Worker

REDIS_TIMEOUT_S = 1
NEEDED = ("database", "redis", "web")
UNWANTED = "unwanted"  # as the supervisor records a part that it starts once it is needed


@requires(Open.PUBLIC)
@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """200 as long as the web process answers at all."""
    return JsonResponse({"state": "live"})


@requires(Open.PUBLIC)
@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """200 when database, Redis and web answer and requests can be recorded, else 503; with Levee's version and the state of every part."""
    states = parts()
    fit = all(states[name]["state"] == READY for name in NEEDED) and full_disk(settings.ENV) is None
    return JsonResponse({"version": VERSION, "parts": states}, status=200 if fit else 503)


def parts() -> Parts:
    """Each part by name: `state` (starting, ready, hung, down); under `up` also restarts, last_exit, since (epoch seconds).

    A part that `up` records as unwanted, since nothing has needed it yet, is left out unless one runs all the same.
    `dispatcher` names its rounds that fail (`failing`), when there are any.
    The part `disk` is `ready`, `low` or `full`, with the place that has the least room (home, database, audit, temporary).
    """
    recorded = recorded_parts()
    workers = None if is_hung("postgres", recorded) else worker_states()
    states: Parts = {
        "database": {"state": _server_state("postgres", recorded, workers is not None)},
        "redis": {"state": _server_state("redis", recorded, redis_answers())},
        "web": {"state": READY},
    }
    for kind in Worker.Kind.values:
        works = state_of(kind, workers, recorded)
        if works != DOWN or recorded.get(kind, {}).get("state") != UNWANTED:
            states[kind] = {"state": works}
    states["disk"] = _disk_state()
    if failing := failing_rounds():
        states[Worker.Kind.DISPATCHER]["failing"] = failing
    for name, state in states.items():
        details = recorded.get("postgres" if name == "database" else name, {})
        state.update({key: details[key] for key in ("restarts", "last_exit", "since") if key in details})
    return states


def failing_rounds() -> list[str]:
    """The kinds of the dispatcher's rounds that failed when they last ran."""
    try:
        return list(DispatcherRound.objects.filter(failures__gt=0).order_by("kind").values_list("kind", flat=True))
    except DatabaseFailure:
        return []


def _disk_state() -> dict[str, Any]:
    disk = fullest(disks(settings.ENV))
    if disk is None:
        return {"state": DiskRoom.ENOUGH.value}
    return {"state": disk.room.value, "place": disk.place, "free_bytes": disk.free_bytes}


def _server_state(name: str, recorded: Parts, answers: bool) -> str:
    return READY if answers else HUNG if is_hung(name, recorded) else DOWN


@cache
def _redis(address: str) -> redis.Redis:
    return redis.Redis.from_url(address, socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S)


def redis_answers() -> bool:
    """Whether Redis answers within a moment; the connection is kept, for every page asks."""
    try:
        return bool(_redis(settings.ENV.redis).ping())
    except (redis.RedisError, OSError):
        return False
