"""What the page and the API of workers show: queues, workers, the dispatcher. A constant number of queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, Q
from django.utils import timezone

from console.base.timeouts import timing
from jobs.commands.registry import kinds_of, title_of
from jobs.domain.states import OPEN, State
from jobs.models import Attempt, DispatcherRound, Job, Read, Worker


@dataclass(frozen=True, slots=True)
class Queue:
    name: str
    waiting: int
    running: int
    oldest_at: datetime | None


def queues() -> list[Queue]:
    """What is waiting and running for each kind of worker."""
    streams = Q(command__in=kinds_of("streams"))
    jobs = Job.objects.filter(state__in=OPEN).aggregate(
        **_runs("", ~streams),
        **_runs("streams_", streams),
        previews=Count("pk", filter=Q(state=State.PREVIEWING, lease_until=None)),
        previewing=Count("pk", filter=Q(state=State.PREVIEWING, lease_until__isnull=False)),
        oldest_preview=Min("requested_at", filter=Q(state=State.PREVIEWING, lease_until=None)),
    )
    reads = {
        row["queue"]: row
        for row in Read.objects.values("queue").annotate(
            waiting=Count("pk", filter=Q(state=Read.State.WAITING)),
            running=Count("pk", filter=Q(state=Read.State.RUNNING)),
            oldest=Min("asked_at", filter=Q(state=Read.State.WAITING)),
        )
    }
    interactive, light = (_reads(name, reads.get(name)) for name in ("interactive", "light"))
    oldest = [at for at in (jobs["oldest_preview"], interactive.oldest_at) if at]
    return [
        Queue("spark", jobs["queued"], jobs["claimed"], jobs["oldest_queued"]),
        Queue("streams", jobs["streams_queued"], jobs["streams_claimed"], jobs["streams_oldest_queued"]),
        Queue(
            "interactive",
            jobs["previews"] + interactive.waiting,
            jobs["previewing"] + interactive.running,
            min(oldest, default=None),
        ),
        light,
    ]


def _runs(prefix: str, those: Q) -> dict[str, Count | Min]:
    """Aggregates over the runs of one queue."""
    queued, claimed = Q(state=State.QUEUED), Q(state__in=[State.RUNNING, State.CANCELLING])
    return {
        f"{prefix}queued": Count("pk", filter=those & queued),
        f"{prefix}claimed": Count("pk", filter=those & claimed),
        f"{prefix}oldest_queued": Min("queued_at", filter=those & queued),
    }


def _reads(name: str, row: Mapping[str, Any] | None) -> Queue:
    return Queue(name, row["waiting"], row["running"], row["oldest"]) if row else Queue(name, 0, 0, None)


WORKER_FIELDS = (
    *("id", "name", "kind", "host", "pid", "text", "jvm_memory_bytes"),
    *("heartbeat_at", "started_at", "version", "drain_requested_at"),
)


def workers() -> list[dict[str, Any]]:
    """Every worker in its reported state, with the job it runs; `lost` after three heartbeats without a sign."""
    silent = timezone.now() - timedelta(seconds=3 * timing().heartbeat)
    open_attempts = Attempt.objects.filter(ended_at=None, job__state__in=OPEN).select_related("job__table")
    running = {a.worker: {"id": a.job_id, "title": title_of(a.job), "reason": a.job.reason} for a in open_attempts}
    rows = []
    for worker in Worker.objects.all():
        lost = worker.condition != Worker.Condition.DOWN and worker.heartbeat_at < silent
        row = {name: getattr(worker, name) for name in WORKER_FIELDS}
        rows.append(row | {"state": "lost" if lost else worker.condition, "job": running.get(worker.name)})
    return rows


def dispatcher() -> dict[str, Any]:
    """The dispatcher's last round."""
    last = DispatcherRound.objects.filter(kind="reconcile").first()
    late = timezone.now() - timedelta(seconds=4 * timing().reconcile)
    state = "ready" if last and last.at > late else "down"
    return {
        "state": state,
        "last_round_at": last.at if last else None,
        "seconds": last.seconds if last else None,
        "failing": failing_rounds(),
    }


def failing_rounds() -> list[dict[str, Any]]:
    """The rounds that failed when they last ran: `kind`, how many `failures` in a row, the last one's `error`."""
    rows = DispatcherRound.objects.filter(failures__gt=0).order_by("kind").values("kind", "failures", "error")
    return [dict(row) for row in rows]
