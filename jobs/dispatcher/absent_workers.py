"""Takes a streams' worker that died without a word off the list of the lost, once nothing needs one.

The supervisor starts a streams' worker only while a stream needs it, so nothing takes the dead one's row over.
"""

from __future__ import annotations

import socket
from datetime import timedelta

from django.db.models.functions import Now

from console.base.logs import log
from console.base.processes import boot_id, is_same_boot, start_ticks
from console.base.timeouts import timing
from jobs.commands.registry import kinds_of
from jobs.domain.states import CLAIMED, State
from jobs.models import Job, Stream, Worker

TEXT = "It ended without a word, and no stream needs a worker now."


def mark_absent() -> int:
    """Marks the dead workers of this host's streams as down. Returns their number."""
    if _is_needed():
        return 0
    limit = timedelta(seconds=3 * timing().heartbeat)
    silent = Worker.objects.filter(
        kind=Worker.Kind.STREAMS, host=socket.gethostname(), heartbeat_at__lt=Now() - limit
    ).exclude(condition=Worker.Condition.DOWN)
    return sum(_mark(worker) for worker in silent if _is_dead(worker))


def _is_needed() -> bool:
    """Whether a stream runs or a round is yet to end, as the supervisor asks before it starts a worker."""
    rounds = Job.objects.filter(command__in=kinds_of("streams"), state__in={State.QUEUED, *CLAIMED})
    running = Stream.objects.filter(state__in=[Stream.State.RUNNING, Stream.State.STOPPING])
    return rounds.exists() or running.exists()


def _is_dead(worker: Worker) -> bool:
    """Whether it is proven: in another container of this machine its pids count from elsewhere."""
    if worker.boot_id != boot_id():
        return not is_same_boot(worker.boot_id, boot_id())
    pairs = ((worker.pid, worker.start_ticks), (worker.jvm_pid, worker.jvm_start_ticks))
    return all(pid is None or start_ticks(pid) != ticks for pid, ticks in pairs)


def _mark(worker: Worker) -> bool:
    same = Worker.objects.filter(pk=worker.pk, pid=worker.pid, start_ticks=worker.start_ticks, boot_id=worker.boot_id)
    marked = bool(same.update(condition=Worker.Condition.DOWN, text=TEXT))
    if marked:
        log.warning("worker_absent", worker=worker.name, pid=worker.pid)
    return marked
