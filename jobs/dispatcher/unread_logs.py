"""Says on a job's page that Levee waits for its table's log, which can't be read now, and that it waits no longer. Each is said once."""

from __future__ import annotations

from console.base.logs import log
from console.base.timeouts import timing
from jobs.lifecycle.transitions import note
from jobs.models import Job, JobEvent

WAITS, READS = "log_unreadable", "log_readable"
TEXT = (
    "{why} Levee looks again at least once a minute, for up to {hours:g} h, and lets nothing else write the table until it has looked for "
    "this job’s commit. If you cancel the job, it ends as stale instead."
)
AGAIN = "The table’s log can be read again. Levee looks for a commit of this job."


def tell(job: Job, who: str, why: str) -> None:
    """`why` is a sentence. Nothing is written while the job's page says it already."""
    if _last(job) == WAITS:
        return
    log.warning("history_unreadable", job=str(job.pk), error=why)
    text = TEXT.format(why=f"{why.rstrip('.')}.", hours=timing().unreadable / 3600)
    note(job, who, WAITS, text, "Unknown until Levee can read the table’s log.")


def tell_end(job: Job, who: str) -> None:
    """Once the log was read. Nothing is written for a job that never waited for it."""
    if _last(job) == WAITS:
        note(job, who, READS, AGAIN)


def _last(job: Job) -> str | None:
    events = JobEvent.objects.filter(job=job, kind__in=(WAITS, READS))
    return events.order_by("-id").values_list("kind", flat=True).first()
