"""The figures of jobs, workers and streams for `/metrics`. Each mapping's keys are label values, its values one number per metric.

Ends and attempts are counted by the database as they end (jobs/models/totals): a scrape never counts what has ended.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, Sum
from django.utils import timezone

from console.base.timeouts import timing
from jobs.domain.states import OPEN
from jobs.models import DispatcherRound, EndedJobs, Job, Worker
from jobs.web.workers import queries

Counts = dict[tuple[str, ...], tuple[float | None, ...]]


def open_jobs() -> Counts:
    """(kind, state) → how many. Reads the open jobs alone, by their state."""
    rows = Job.objects.filter(state__in=OPEN).order_by().values_list("command", "state").annotate(Count("pk"))
    return {(command, state): (number,) for command, state, number in rows}


def ended_jobs() -> Counts:
    """(kind, state) → how many have ended, those that Levee has deleted since among them."""
    rows = EndedJobs.objects.order_by().values_list("command", "state").annotate(Sum("jobs"))
    return {(command, state): (number,) for command, state, number in rows}


def queues() -> Counts:
    """(queue) → waiting, running, seconds that the oldest has waited."""
    now = timezone.now()
    return {(q.name,): (q.waiting, q.running, _seconds(q.oldest_at, now) or 0.0) for q in queries.queues()}


def workers() -> Counts:
    """(kind, state) → how many."""
    silent = timezone.now() - timedelta(seconds=3 * timing().heartbeat)
    counts: Counter[tuple[str, str]] = Counter()
    for kind, condition, beat in Worker.objects.values_list("kind", "condition", "heartbeat_at"):
        counts[kind, "lost" if condition != Worker.Condition.DOWN and beat < silent else condition] += 1
    return {labels: (number,) for labels, number in counts.items()}


def rounds() -> Counts:
    """(kind of the dispatcher's round) → failures in a row."""
    return {(kind,): (failures,) for kind, failures in DispatcherRound.objects.values_list("kind", "failures")}


_STREAMS = """
select state, count(*), coalesce(sum((lag->>'waiting')::bigint), 0),
    coalesce(extract(epoch from max(clock_timestamp() - (lag->>'oldest')::timestamptz)), 0)
from jobs_stream where removed_at is null group by state
"""


def streams() -> Counts:
    """(state) → streams; files or versions that wait; seconds that the oldest of them has waited."""
    return {(state,): (number, float(lag), float(oldest)) for state, number, lag, oldest in _rows(_STREAMS)}


# One statement: an attempt that ends meanwhile is counted once, as open or as ended. Its end is of the moment at which the transaction
# of its end began, so what is open counts up to somewhat earlier: the total never falls.
_ATTEMPTS = """
select worker, kind, sum(lost), sum(seconds) from (
    select worker, kind, lost, seconds from jobs_endedattempts
    union all
    select split_part(split_part(worker, '@', 1), '-', 1), kind, 0,
        greatest(0, extract(epoch from clock_timestamp() - claimed_at) - %(margin)s)
    from jobs_attempt where ended_at is null
) parts group by 1, 2
"""
MARGIN_S = 10


def attempts() -> Counts:
    """(kind of worker, preview or run) → attempts lost, and seconds of work."""
    rows = _rows(_ATTEMPTS, {"margin": MARGIN_S})
    return {(worker, kind): (float(lost), float(seconds)) for worker, kind, lost, seconds in rows}


def _rows(query: str, values: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())


def _seconds(since: datetime | None, now: datetime) -> float | None:
    return None if since is None else max((now - since).total_seconds(), 0.0)
