"""The past of streams, thinned by age."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.audit.actor import Actor
from console.audit.models import Event
from jobs.dispatcher.attribution import judgement
from jobs.evidence.consistency import differences
from jobs.lifecycle.transitions import note
from jobs.models import Attempt, Job, LogLine, Stream, StreamBatch, StreamRound
from jobs.requests.asking import IdempotencyKey, known_request
from jobs.streams import acts, runs, thinning
from jobs.streams.thinning import thin
from tables.models import Commit, Explanation
from tests.jobs.streams.small_stream import SmallStream, approve, book_ended, fresh, make_due, open_due, run_round

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
ROW = {"id": 1, "p": "a"}


def test_old_batches_and_old_empty_rounds_are_thinned_and_what_committed_stays(actor, stream):
    runs.start(actor, stream)
    run_round(SmallStream([ROW], [ROW]))
    book_ended()
    for _ in range(2):
        make_due(stream)
        open_due()
        run_round(SmallStream())
        book_ended()
    old = timezone.now() - timedelta(days=100)
    Job.objects.update(finished_at=old)
    StreamBatch.objects.update(at=old)
    thin()
    left = list(Job.objects.order_by("requested_at").values_list("version", "folded"))
    assert left == [(2, True), (None, False)]
    assert StreamBatch.objects.get().version == 2  # a stream's newest commit stays
    assert Stream.objects.get().rounds == 3


def test_of_each_stream_its_newest_batch_with_a_version_stays(actor, stream, asked, root):
    other = acts.create(actor, "second", "more", {**asked, "target": {"path": f"{root.uri}/second"}})
    old, young = timezone.now() - timedelta(days=100), timezone.now()

    def batches(of: Stream, *told: tuple[int | None, Any]) -> None:
        for number, (version, at) in enumerate(told):
            StreamBatch.objects.create(
                stream=of, query_id="q", batch_id=number, output_mode="append", version=version, at=at
            )

    batches(stream, (1, old), (2, old), (None, old), (None, old))
    batches(other, (1, old), (2, old), (3, young))
    thin()
    assert [batch.version for batch in StreamBatch.objects.filter(stream=stream)] == [2]
    assert [batch.version for batch in StreamBatch.objects.filter(stream=other)] == [3]


def test_an_empty_round_with_an_idempotency_key_answers_to_it_as_long_as_other_old_rounds(actor, stream):
    key = IdempotencyKey("nightly 7", "0" * 64)
    job: Any = runs.run_once(actor, stream, key)
    run_round(SmallStream())
    book_ended()
    Job.objects.update(folded=True, finished_at=timezone.now() - timedelta(days=9))
    thin()
    assert known_request(actor, key) == job
    old = timezone.now() - timedelta(days=100)
    Job.objects.update(finished_at=old)
    StreamRound.objects.update(booked_at=old)
    thin()
    assert not Job.objects.exists()


def test_a_round_that_was_approved_is_never_thinned(actor, counted):
    stream = acts.create(actor, "count", "sums", counted)
    job: Any = runs.start(actor, stream)
    approve(job)
    run_round(SmallStream())
    book_ended()
    Job.objects.update(folded=True, finished_at=timezone.now() - timedelta(days=9))
    thin()
    assert Job.objects.filter(pk=job.pk).exists()


def _rounds_of_old(actor: Actor, stream: Stream, *engines: SmallStream) -> list[Job]:
    """So many rounds, each run by its engine, and one more, so that all of them are folded; all ended 100 days ago."""
    for engine in (*engines, SmallStream(), SmallStream()):
        if fresh(stream).state == "running":
            make_due(stream)
            open_due()
        else:
            runs.start(actor, fresh(stream))
        run_round(engine)
        book_ended()
    old = timezone.now() - timedelta(days=100)
    Job.objects.filter(folded=True).update(finished_at=old)
    StreamRound.objects.update(booked_at=old)
    return list(Job.objects.order_by("requested_at"))


def _failing() -> SmallStream:
    return SmallStream(fails="DELTA_METADATA_MISMATCH")


def test_old_rounds_that_failed_go_and_of_those_that_committed_what_told_how_they_ran(actor, stream):
    committed, failed, *_ = _rounds_of_old(actor, stream, SmallStream([ROW]), _failing())
    Attempt.objects.get(job=committed).log.create(at=timezone.now(), text="a line")
    assert committed.events.count() > 1
    note(committed, "dispatcher", "late_commit", "Another commit of it was found.", "Committed as version 2.")
    StreamRound.objects.filter(job=failed).update(booked_at=timezone.now() - timedelta(days=80))
    thin()
    assert Job.objects.filter(pk=failed.pk).exists()  # not old enough
    assert not LogLine.objects.filter(attempt__job=committed).exists()
    assert sorted(event.kind for event in committed.events.all()) == ["late_commit", "succeeded"]
    assert judgement(Commit.objects.get(table=stream.table, version=1)).verdict == Explanation.Verdict.NEEDED_NONE
    StreamRound.objects.filter(job=failed).update(booked_at=timezone.now() - timedelta(days=91))
    thin()
    assert not Job.objects.filter(pk=failed.pk).exists()
    assert Job.objects.filter(pk=committed.pk).exists()
    assert not list(differences())
    assert Event.objects.filter(action="job.end", job=failed.pk).exists()


def test_a_failed_round_that_something_refers_to_stays_whole(actor, stream):
    named, standing, *_ = _rounds_of_old(actor, stream, _failing(), _failing())
    Job.objects.filter(pk=named.pk).update(version=None)
    Commit.objects.create(table=stream.table, incarnation=0, version=50, job=named.pk)
    Stream.objects.filter(pk=stream.pk).update(approved_by_job=standing)
    thin()
    assert {named.pk, standing.pk} <= set(Job.objects.values_list("pk", flat=True))


def test_the_newest_rounds_are_not_thinned_and_a_look_takes_so_many(actor, stream, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(thinning, "ROUNDS", 1)
    _rounds_of_old(actor, stream, _failing(), _failing(), _failing())
    Job.objects.filter(no_op=True).update(finished_at=timezone.now())
    for left in (4, 3, 2):
        thin()
        assert Job.objects.count() == left
    thin()
    assert Job.objects.count() == 2
