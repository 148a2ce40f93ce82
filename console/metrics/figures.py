"""What a scrape asks the database and Redis: a few queries whose cost follows what is open, not what there ever was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import redis
from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import connection, transaction
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from console.audit.integrity import head_age
from console.wake_ups import REFUSED
from jobs.web import metrics as jobs
from tables.catalog import sync_lag

PATIENCE_MS = 5_000  # of one query; Prometheus itself waits ten seconds
REDIS_TIMEOUT_S = 1

Rows = Mapping[tuple[str, ...], Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric. `counts`: a counter; without it, a gauge."""

    name: str
    text: str
    counts: bool = False


@dataclass(frozen=True, slots=True)
class FigureSource:
    """One query and the metrics that it gives: for each row's labels one number for each family, None for none."""

    query: Callable[[], Rows]
    labels: tuple[str, ...]
    families: tuple[Family, ...]


SOURCES = (
    FigureSource(
        jobs.open_jobs,
        ("kind", "state"),
        (Family("levee_jobs_open", "Jobs that haven't ended."),),
    ),
    FigureSource(
        jobs.ended_jobs,
        ("kind", "state"),
        (Family("levee_jobs_ended", "Jobs that ended.", counts=True),),
    ),
    FigureSource(
        jobs.attempts,
        ("worker", "attempt"),
        (
            Family("levee_leases_lost", "Attempts whose lease was lost.", counts=True),
            Family("levee_engine_seconds", "Seconds that previews and runs took.", counts=True),
        ),
    ),
    FigureSource(
        jobs.queues,
        ("queue",),
        (
            Family("levee_queue_waiting", "Jobs and reads that wait for a worker."),
            Family("levee_queue_running", "Jobs and reads that a worker has claimed."),
            Family("levee_queue_oldest_seconds", "How long the oldest one has waited; 0 if none waits."),
        ),
    ),
    FigureSource(
        jobs.workers,
        ("kind", "state"),
        (Family("levee_workers", "Workers by reported state; lost: silent for three heartbeats."),),
    ),
    FigureSource(
        jobs.rounds,
        ("round",),
        (Family("levee_dispatcher_round_failures", "How often the dispatcher's round has failed in a row."),),
    ),
    FigureSource(
        jobs.streams,
        ("state",),
        (
            Family("levee_streams", "Streams."),
            Family("levee_stream_waiting", "Files or versions that the streams haven't read, when last measured."),
            Family("levee_stream_oldest_seconds", "How long the one that has waited longest has waited."),
        ),
    ),
    FigureSource(
        sync_lag.due,
        (),
        (
            Family("levee_tables_due", f"Tables due for a sync, counted up to {sync_lag.MOST}."),
            Family("levee_tables_oldest_due_seconds", "How long the one due longest has been due; 0 if none is."),
        ),
    ),
    FigureSource(
        head_age.of_newest,
        (),
        (
            Family("levee_audit_head_age_seconds", "Age of the newest signed head of the audit."),
            Family("levee_audit_unsigned", "Sealed audit records that no head covers yet."),
        ),
    ),
)
DATABASE_UP = Family("levee_database_up", "1 if the database gave this scrape's figures, else 0 and they are missing.")
REDIS_UP = Family("levee_redis_up", "1 if Redis answers.")
REFUSED_WAKE_UPS = Family("levee_wake_ups_refused", "Messages in the queues that were no wake-ups.", counts=True)


class FiguresCollector:
    """The collector of everything but requests."""

    def collect(self) -> Iterator[Metric]:
        """The metrics, read now; an unreachable database or Redis leaves its own out and never fails the scrape."""
        found = from_database()
        yield _metric(DATABASE_UP, (), {(): 0 if found is None else 1})
        for source, rows in found or ():
            for position, family in enumerate(source.families):
                yield _metric(family, source.labels, {labels: row[position] for labels, row in rows.items()})
        refused = refused_wake_ups()
        yield _metric(REDIS_UP, (), {(): 0 if refused is None else 1})
        yield _metric(REFUSED_WAKE_UPS, (), {(): refused})


def from_database() -> list[tuple[FigureSource, Rows]] | None:
    """What each source gives; None if the database doesn't answer in time."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                # Starting parallel workers takes longer than each of these queries.
                cursor.execute(
                    "select set_config('statement_timeout', %s, true), set_config('max_parallel_workers_per_gather', '0', true)",
                    [str(PATIENCE_MS)],
                )
            return [(source, source.query()) for source in SOURCES]
    except DatabaseFailure:
        return None


def refused_wake_ups() -> int | None:
    """The workers' count of refused messages, which Redis keeps; None if it doesn't answer."""
    try:
        counted = _redis(settings.ENV.redis).get(REFUSED)
    except (redis.RedisError, OSError):
        return None
    return int(counted) if isinstance(counted, bytes) and counted.isdigit() else 0


@cache
def _redis(address: str) -> redis.Redis:
    return redis.Redis.from_url(address, socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S)


def _metric(family: Family, labels: Sequence[str], rows: Mapping[tuple[str, ...], float | None]) -> Metric:
    kind = CounterMetricFamily if family.counts else GaugeMetricFamily
    metric = kind(family.name, family.text, labels=labels)
    for values, number in rows.items():
        if number is not None:
            metric.add_metric(values, number)
    return metric
