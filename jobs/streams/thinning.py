"""Thins the past of streams by age. The audit keeps what every round did.

A job that has committed stays for good, since a commit of the table names it; so does one that people decided about, or whose
approval holds for later rounds. Of each stream stays its newest batch that has a version: the page of a stream that failed names it.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from jobs.domain.policy import TableClass
from jobs.domain.states import ENDED, State
from jobs.models import Job, JobEvent, LogLine, Stream, StreamBatch, StreamLag, StreamRound, TableLease
from tables.models import Commit

KEPT_BATCHES = timedelta(days=90)
KEPT_ROUNDS = timedelta(days=90)
KEPT_EMPTY_ROUNDS = timedelta(days=1)
KEPT_LAGS = timedelta(days=7)
ROUNDS = 500  # in one look
# A stale job stays: what became of it was never known.
_WITHOUT_COMMIT = (State.SUCCEEDED, State.FAILED, State.CANCELLED, State.WITHDRAWN, State.EXPIRED)


def thin() -> int:
    """Deletes what is beyond its age: batches, measures of lags, the jobs of rounds that committed nothing, the log's lines of others."""
    old, _ = StreamBatch.objects.filter(pk__in=_old_batches().values("pk")[:5_000]).delete()
    lags, _ = StreamLag.objects.filter(
        pk__in=StreamLag.objects.filter(at__lt=Now() - KEPT_LAGS).values("pk")[:5_000]
    ).delete()
    empty = _unneeded().filter(no_op=True, state=State.SUCCEEDED, finished_at__lt=Now() - KEPT_EMPTY_ROUNDS)
    empty = empty.filter(idempotency_key=None)  # its caller may still repeat the request; it goes with the old rounds
    gone, _ = Job.objects.filter(pk__in=empty.values("pk")[:500]).delete()
    return old + lags + gone + _thin_rounds()


def _old_batches() -> QuerySet[StreamBatch]:
    """Batches beyond their age, but for each stream's newest one that has a version."""
    newer = StreamBatch.objects.filter(stream=OuterRef("stream"), version__isnull=False, pk__gt=OuterRef("pk"))
    return StreamBatch.objects.filter(Q(version=None) | Q(Exists(newer)), at__lt=Now() - KEPT_BATCHES)


def _thin_rounds() -> int:
    """The rounds that have grown old, each once: their jobs go if they may, else what only tells how they ran."""
    with transaction.atomic():
        rounds = StreamRound.objects.filter(thinned_at=None, booked_at__lt=Now() - KEPT_ROUNDS, job__folded=True)
        ids = dict(rounds.order_by("booked_at").values_list("pk", "job")[:ROUNDS])
        jobs = list(ids.values())
        old = Job.objects.filter(pk__in=jobs, finished_at__lt=Now() - KEPT_ROUNDS)
        unneeded = _unneeded().filter(pk__in=old.values("pk"), state__in=_WITHOUT_COMMIT)
        gone, _ = Job.objects.filter(pk__in=unneeded.values("pk")).delete()
        undecided = Job.objects.filter(pk__in=jobs, decisions=None, edits=None).values("pk")
        lines, _ = LogLine.objects.filter(attempt__job__in=undecided).delete()
        passing = JobEvent.objects.filter(job__in=undecided).exclude(target__in=ENDED)
        events, _ = passing.exclude(kind="late_commit").delete()  # the one place that tells of a commit after the end
        StreamRound.objects.filter(pk__in=ids).update(thinned_at=Now())
    return gone + lines + events


def _unneeded() -> QuerySet[Job]:
    """Jobs of past rounds that nothing refers to: no commit, no decision, no lease, no approval of later rounds."""
    committed = Commit.objects.filter(job=OuterRef("pk"))
    standing = Stream.objects.filter(approved_by_job=OuterRef("pk"))
    held = TableLease.objects.filter(job=OuterRef("pk"))
    approves = Q(preview__class=TableClass.WHOLE_TABLE.value)  # later rounds may name it as their approval
    return Job.objects.filter(
        ~Exists(committed), ~Exists(standing), ~Exists(held), ~approves, folded=True, version=None,
        stream_round__booked_at__isnull=False, stream_round__reset=False, decisions=None, edits=None,
    )  # fmt: skip
