"""A round that has ended never stands in the way of what a person asks for next, before the dispatcher has booked it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.models import Job, Stream, StreamRound
from jobs.streams import acts, rounds, runs
from tables.models import Root, SyncTimes
from tests import patience
from tests.jobs.streams.small_stream import SmallStream, approve, fresh, run_round

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
ROW = {"id": 1, "p": "a"}


@pytest.fixture
def ended(actor: Actor, stream: Stream) -> Stream:
    """A stream whose round has ended, as the person's page still has it."""
    runs.run_once(actor, stream)
    run_round(SmallStream([ROW]))
    assert rounds.open_round(stream) is not None
    return stream


def is_booked(stream: Stream, number: int) -> bool:
    return StreamRound.objects.get(stream=stream, number=number).booked_at is not None


ACTS: dict[str, Callable[[Actor, Stream], Any]] = {
    "start": runs.start,
    "run once": runs.run_once,
    "reset": lambda actor, stream: runs.reset(actor, stream, "once more"),
    "change": lambda actor, stream: acts.change(actor, stream, {"trigger": {"interval": "20s"}}),
    "remove": acts.remove,
}


@pytest.mark.parametrize("act", ACTS)
def test_the_next_act_books_it_first(actor: Actor, ended: Stream, act: str) -> None:
    ACTS[act](actor, ended)
    assert is_booked(ended, 1)
    assert fresh(ended).query_id


def test_so_it_does_with_one_that_failed(actor: Actor, stream: Stream) -> None:
    runs.run_once(actor, stream)
    assert run_round(SmallStream(fails="DELTA_FAILED_TO_MERGE_FIELDS")).state == "failed"
    runs.run_once(actor, stream)
    assert (is_booked(stream, 1), is_booked(stream, 2)) == (True, False)


def test_after_a_reset_the_source_may_change_at_once(
    actor: Actor, ended: Stream, asked: dict[str, Any], root: Root
) -> None:
    other = Path(root.uri) / "other"
    other.mkdir()
    (other / "a.json").write_text('{"id": 1, "p": "a"}\n')
    moved = {"source": {**asked["source"], "path": str(other)}}
    with pytest.raises(Problem) as refused:
        acts.change(actor, ended, moved)
    assert refused.value.code == "needs_reset"
    approve(runs.reset(actor, ended, "another source"))
    run_round(SmallStream())
    assert acts.change(actor, fresh(ended), moved).asked["source"]["path"] == str(other)


def test_one_whose_commits_the_catalog_has_not_read_is_booked_after_a_sync(actor: Actor, stream: Stream) -> None:
    runs.run_once(actor, stream)
    job = run_round(SmallStream([ROW]))
    Job.objects.filter(pk=job.pk).update(
        result={**(job.result or {}), "details": {}}
    )  # as its commit is found in the history
    assert job.finished_at is not None
    SyncTimes.objects.filter(table=stream.table).update(synced_at=job.finished_at - timedelta(seconds=1))
    runs.run_once(actor, stream)
    assert is_booked(stream, 1)


def test_a_dispatcher_that_books_it_now_is_waited_for(actor: Actor, ended: Stream) -> None:
    has_row = threading.Event()

    def book() -> None:
        with transaction.atomic():
            StreamRound.objects.select_for_update().get(stream=ended, number=1)
            has_row.set()
            patience.wait_for(somebody_waits, "the person's act to wait for the row")
            StreamRound.objects.filter(stream=ended, number=1).update(booked_at=ended.created_at)
        connection.close()

    dispatcher = threading.Thread(target=book)
    dispatcher.start()
    assert has_row.wait(patience.limit(10))
    runs.run_once(actor, ended)
    dispatcher.join()
    assert rounds.open_round(ended).number == 2  # type: ignore[union-attr]


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("select exists (select from pg_locks where not granted)")
        return bool(cursor.fetchone()[0])


def test_a_round_that_waits_or_runs_still_stands_in_the_way(actor: Actor, stream: Stream) -> None:
    job = runs.run_once(actor, stream)
    with pytest.raises(Problem) as refused:
        runs.run_once(actor, stream)
    assert (refused.value.code, refused.value.extra["job"]) == ("already_open", str(job.pk))
