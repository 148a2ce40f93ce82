"""On few cores a warm-up gives way to the first round of a stream, for a while, and to nothing else."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import OperationalError
from django.utils import timezone

from jobs.domain.states import State
from jobs.models import Job, Read, StreamRound
from jobs.worker import precedence
from jobs.worker.precedence import LONGEST_S, GivingWay
from jobs.worker.warm import nobody_waits, take
from tests import factories

pytestmark = pytest.mark.django_db


class Time:
    """A clock that only waiting moves; `then` happens after the first wait."""

    def __init__(self, then=lambda: None):
        self.now, self.then = 0.0, then

    def sleep(self, seconds):
        self.now += seconds
        self.then()


def waited(cores=2, then=lambda: None, stages=1):
    time = Time(then)
    report = GivingWay(cores, lambda: time.now, time.sleep)
    for _ in range(stages):
        report.stage("warming up")
    return time.now


@pytest.fixture
def first_round():
    table = factories.TableFactory()
    stream = factories.stream(table)
    job = factories.job(State.QUEUED, table=table)
    return StreamRound.objects.create(stream=stream, job=job, number=1, revision=stream.revision)


def test_nothing_is_waited_for_without_a_stream():
    assert waited() == 0


def test_it_waits_for_a_first_round_until_that_has_ended(first_round):
    def end():
        Job.objects.filter(pk=first_round.job_id).update(state=State.CANCELLED, finished_at=timezone.now())

    assert waited(then=end) == precedence.LOOK_EVERY_S


def test_it_waits_a_minute_in_all_however_many_stages_there_are(first_round):
    assert waited(stages=5) == LONGEST_S


def test_enough_cores_are_shared(first_round):
    assert waited(cores=4) == 0


def test_a_later_round_or_an_old_one_is_not_waited_for(first_round):
    StreamRound.objects.filter(pk=first_round.pk).update(opened_at=timezone.now() - timedelta(minutes=4))
    assert waited() == 0
    StreamRound.objects.filter(pk=first_round.pk).update(opened_at=timezone.now(), number=2)
    assert waited() == 0


def test_a_page_that_waits_for_a_read_comes_before_a_round(first_round):
    Read.objects.create(
        kind="rows", queue="interactive", question={}, person=factories.PersonFactory(),
        expires_at=timezone.now() + timedelta(minutes=1),
    )  # fmt: skip
    assert waited() == 0


def test_a_database_that_is_away_holds_up_no_warm_up(first_round, monkeypatch):
    def away(**_):
        raise OperationalError("away")

    monkeypatch.setattr(StreamRound.objects, "filter", away)
    assert waited() == 0


def test_a_worker_is_awaited_by_what_its_queue_holds():
    assert not any(map(precedence.is_awaited, ("spark", "interactive")))
    factories.job(State.AWAITING_APPROVAL)
    factories.job(State.QUEUED, expires_at=timezone.now() - timedelta(minutes=1))
    assert not any(map(precedence.is_awaited, ("spark", "interactive")))
    factories.job(State.PREVIEWING)
    assert [precedence.is_awaited(queue) for queue in ("spark", "interactive")] == [False, True]
    factories.job(State.QUEUED)
    assert [precedence.is_awaited(queue) for queue in ("spark", "interactive")] == [True, True]


def test_a_read_is_waited_for_in_its_own_queue():
    Read.objects.create(
        kind="rows", queue="interactive", question={}, state="waiting",
        person=factories.PersonFactory(), expires_at=timezone.now() + timedelta(minutes=10),
    )  # fmt: skip
    assert [precedence.is_awaited(queue) for queue in ("spark", "interactive")] == [False, True]
    Read.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    assert not precedence.is_awaited("interactive")


def test_a_database_that_is_away_leaves_a_warm_up_whole(monkeypatch):
    def away(*_, **__):
        raise OperationalError("away")

    monkeypatch.setattr(Job.objects, "filter", lambda **_: Away(away))
    assert not precedence.is_awaited("interactive")


class Away:
    """Rows that can't be asked for."""

    def __init__(self, exists):
        self.filter = self.exists = exists


def test_a_warm_up_ends_before_its_next_step_once_somebody_waits():
    taken: list[int] = []
    steps = [partial(taken.append, n) for n in range(5)]
    take(steps, lambda: len(taken) == 2)
    assert taken == [0, 1]
    take(steps, nobody_waits)
    assert taken == [0, 1, 0, 1, 2, 3, 4]
