"""How long a rewrite of files will take, by the runs of the same command on the same table that Levee has seen."""

from __future__ import annotations

from statistics import median
from typing import Any

from jobs.domain.comparison import number_of
from jobs.domain.states import State
from jobs.models import Job
from tables.models import Table

LAST = 10  # runs that are looked at
# A run that rewrote less than this share of the bytes says little: it spent its time on other things than bytes.
LEAST_SHARE = 0.1


def with_past(table: Table, kind: str, preview: dict[str, Any]) -> dict[str, Any]:
    """A preview with `past`: `{seconds, runs}`, or None if no finished run on this table tells."""
    return preview | {"past": expected(table, kind, preview.get("bytes_in"))}


def expected(table: Table, kind: str, num_bytes: int | None) -> dict[str, Any] | None:
    """The seconds from a run's start to its end for so many bytes: the median of seconds per byte of the last runs, and their number."""
    if not num_bytes:
        return None
    done = Job.objects.filter(table=table, command=kind, state=State.SUCCEEDED, no_op=False, claimed_at__isnull=False)
    paces = [pace for job in done.order_by("-finished_at")[:LAST] if (pace := _pace(job, num_bytes)) is not None]
    return {"seconds": round(median(paces) * num_bytes, 1), "runs": len(paces)} if paces else None


def _pace(job: Job, num_bytes: int) -> float | None:
    """Seconds per byte; None for a run that rewrote an unknown number of bytes, or far fewer."""
    rewritten = number_of((job.result or {}).get("operation_metrics") or {}, "numRemovedBytes")
    if not rewritten or rewritten < LEAST_SHARE * num_bytes or job.claimed_at is None or job.finished_at is None:
        return None
    return (job.finished_at - job.claimed_at).total_seconds() / rewritten
