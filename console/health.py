"""Whether the instance works, for load balancers, scripts and the health page: cheap, public, never an error."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import redis
from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db.models.functions import Now
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.accounts.permissions import Open, asks
from console.supervisor.pids import boot_id, start_ticks
from jobs.models import Worker

LIVES_S = 30  # three heartbeats: a worker silent for longer doesn't count
REDIS_TIMEOUT_S = 1
NEEDED = ("database", "redis", "web")
READY, STARTING, DOWN = "ready", "starting", "down"

Parts = dict[str, dict[str, Any]]


@asks(Open.PUBLIC)
@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """200 as long as the web process answers at all."""
    return JsonResponse({"state": "live"})


@asks(Open.PUBLIC)
@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """200 when database, Redis and web answer, else 503; with the state of every part."""
    states = parts()
    fit = all(states[name]["state"] == READY for name in NEEDED)
    return JsonResponse({"parts": states}, status=200 if fit else 503)


def parts() -> Parts:
    """Each part by name: `state` (starting, ready, down); under `up` also restarts, last_exit, since (epoch seconds)."""
    recorded = _recorded()
    workers = _worker_states()
    states: Parts = {
        "database": {"state": READY if workers is not None else DOWN},
        "redis": {"state": READY if _redis_answers() else DOWN},
        "web": {"state": READY},
    }
    for kind in Worker.Kind.values:
        states[kind] = {"state": _state_of(kind, workers, recorded)}
    for name, state in states.items():
        details = recorded.get("postgres" if name == "database" else name, {})
        state.update({key: details[key] for key in ("restarts", "last_exit", "since") if key in details})
    return states


def worker_state(kind: str) -> str:
    """`ready`, `starting` or `down`: the best of the workers of this kind."""
    return _state_of(kind, _worker_states(), _recorded())


def _state_of(kind: str, workers: dict[str, str] | None, recorded: Parts) -> str:
    """What the worker says of itself; while it says nothing, what its supervisor knows."""
    said = (workers or {}).get(kind)
    if said:
        return said
    return STARTING if recorded.get(kind, {}).get("state") in ("waiting", "starting", "ready") else DOWN


def _worker_states() -> dict[str, str] | None:
    """The best state of the living workers of each kind; None when the database doesn't answer."""
    try:
        young = Worker.objects.filter(heartbeat_at__gt=Now() - timedelta(seconds=LIVES_S))
        rows = list(young.values_list("kind", "condition", "boot_id", "pid", "start_ticks"))
    except DatabaseFailure:
        return None
    here = boot_id()
    states: dict[str, str] = {}
    for kind, condition, boot, pid, ticks in rows:
        if boot == here and start_ticks(pid) != ticks:
            continue  # it has died; its last heartbeat is still young
        state = condition if condition in (STARTING, READY) else DOWN
        states[kind] = max(states.get(kind, DOWN), state, key=(DOWN, STARTING, READY).index)
    return states


def _redis_answers() -> bool:
    try:
        with redis.Redis.from_url(
            settings.ENV.redis, socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S
        ) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def _recorded() -> Parts:
    """What `up` wrote of its processes; empty where the parts are run by something else."""
    try:
        value = json.loads((settings.ENV.home / "state" / "processes.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
