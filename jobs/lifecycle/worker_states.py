"""The state of the workers of each kind, from their heartbeats and from what `up` recorded of their processes."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Now

from console.base.processes import boot_id, start_ticks
from jobs.models import Worker

LIVES_S = 30  # three heartbeats: a worker silent for longer isn't ready
READY, STARTING, HUNG, DOWN = "ready", "starting", "hung", "down"

Parts = dict[str, dict[str, Any]]


def worker_state(kind: str) -> str:
    """`ready`, `starting`, `hung` or `down`: the best of the workers of this kind."""
    return state_of(kind, worker_states(), recorded_parts())


def state_of(kind: str, workers: dict[str, str] | None, recorded: Parts) -> str:
    """What the kind's worker reports; without a report, what its supervisor knows."""
    reported = (workers or {}).get(kind)
    if is_hung(kind, recorded):
        return HUNG
    if reported:
        return reported
    return STARTING if recorded.get(kind, {}).get("state") in ("waiting", "starting", "ready") else DOWN


def worker_states() -> dict[str, str] | None:
    """The best state of the live workers of each kind; None if the database doesn't answer.

    A live process of this host that is silent for too long is hung; one on another host may be hung or gone, and doesn't count.
    """
    try:
        young = Q(heartbeat_at__gt=Now() - timedelta(seconds=LIVES_S))
        is_young = ExpressionWrapper(young, output_field=BooleanField())
        reported = Worker.objects.filter(young | ~Q(condition=Worker.Condition.DOWN))
        rows = list(reported.values_list("kind", "condition", is_young, "boot_id", "pid", "start_ticks"))
    except DatabaseFailure:
        return None
    here = boot_id()
    states: dict[str, str] = {}
    for kind, condition, lately, boot, pid, ticks in rows:
        if not lately and boot != here:
            continue
        if boot == here and start_ticks(pid) != ticks:
            continue  # it has died, though its last heartbeat may be recent
        state = HUNG if not lately else condition if condition in (STARTING, READY) else DOWN
        states[kind] = max(states.get(kind, DOWN), state, key=(DOWN, HUNG, STARTING, READY).index)
    return states


def is_hung(name: str, recorded: Parts) -> bool:
    return bool(recorded.get(name, {}).get("state") == HUNG)


def recorded_parts() -> Parts:
    """What `up` recorded of its processes; empty under another supervisor."""
    try:
        value = json.loads((settings.ENV.home / "state" / "processes.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
