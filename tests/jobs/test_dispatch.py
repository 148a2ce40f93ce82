"""The dispatcher's rounds: they wake, expire and forget, and no trouble ends them."""

import threading
from datetime import timedelta
from functools import partial

import pytest
import redis
from django.db import OperationalError
from django.db.models.functions import Now
from django.utils import timezone

from console.errors import Problem
from jobs import broker, dispatch
from jobs.claims import claim_preview, claim_run
from jobs.dispatch import ENOUGH, Round, run_for_ever, run_round, tidy, wake_waiting
from jobs.domain.states import State
from jobs.models import DispatcherRound, Job, Read
from tests.jobs import making

EARLIER = timezone.now() - timedelta(hours=1)


@pytest.fixture(autouse=True)
def _empty_queues(monkeypatch):
    monkeypatch.setattr(broker, "pending", lambda queue: 0)


@pytest.mark.django_db
def test_it_wakes_the_queues_in_which_something_waits(lake, olga, no_wakes):
    wake_waiting()
    assert no_wakes == []
    making.job(making.table(lake, "a"), olga)
    making.job(making.table(lake, "b"), olga, state=State.PREVIEWING)
    wake_waiting()
    assert sorted(no_wakes) == ["interactive", "spark"]


@pytest.mark.django_db
def test_it_wakes_nobody_for_what_is_claimed_or_expired(lake, olga, no_wakes):
    making.job(making.table(lake, "a"), olga)
    making.job(making.table(lake, "b"), olga, state=State.PREVIEWING)
    making.job(making.table(lake, "c"), olga, expires_at=EARLIER)
    assert claim_run(making.holder())
    assert claim_preview(making.holder())
    wake_waiting()
    assert no_wakes == []


@pytest.mark.django_db
def test_it_heaps_up_no_messages_where_nobody_takes_them(orders, olga, no_wakes, monkeypatch):
    making.job(orders, olga)
    monkeypatch.setattr(broker, "pending", lambda queue: ENOUGH)
    wake_waiting()
    assert no_wakes == []


def test_messages_do_not_expire_by_anybodys_clock(redis_server, monkeypatch):
    monkeypatch.undo()
    assert broker.pending("spark-test") == 0
    assert broker.wake("spark-test")
    assert broker.pending("spark-test") == 1
    with redis.Redis.from_url(redis_server) as client:
        assert b'"expires": null' in client.lindex("spark-test", 0)


def test_without_redis_nothing_is_pending_and_nothing_raised(monkeypatch):
    monkeypatch.undo()

    class Nowhere:
        redis = "unix:///nonexistent/redis.sock"

        @classmethod
        def read(cls):
            return cls()

    monkeypatch.setattr(broker, "Env", Nowhere)
    assert broker.pending("spark") == 0


@pytest.mark.django_db
@pytest.mark.parametrize("state", [State.PREVIEWING, State.AWAITING_APPROVAL, State.QUEUED])
def test_a_request_past_its_time_expires(orders, olga, no_wakes, state):
    job = making.job(orders, olga, state=state, expires_at=EARLIER)
    assert tidy() == 1
    assert Job.objects.get(pk=job.pk).state == State.EXPIRED


@pytest.mark.django_db
def test_a_running_job_never_expires(orders, olga, no_wakes):
    job = making.job(orders, olga)
    assert claim_run(making.holder())
    Job.objects.filter(pk=job.pk).update(expires_at=EARLIER)
    assert tidy() == 0


@pytest.mark.django_db
def test_reads_are_forgotten(olga):
    Read.objects.create(kind="x", queue="light", person=olga, question={}, question_sha256="", expires_at=EARLIER)
    tidy()
    assert not Read.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "trouble", [OperationalError("the server is gone"), Problem(503, "audit_unavailable", "no")], ids=["db", "audit"]
)
def test_trouble_with_the_database_ends_no_dispatcher(trouble, monkeypatch):
    monkeypatch.setattr(dispatch, "close_old_connections", lambda: None)

    class Connection:
        def close(self) -> None: ...

    monkeypatch.setattr(dispatch, "connection", Connection())

    def breaks() -> int:
        raise trouble

    assert run_round(Round("test", lambda: 1, breaks)) == 0
    assert run_round(Round("test", lambda: 1, lambda: 3)) == 3
    assert DispatcherRound.objects.get(kind="test").text == "3 done"
    assert DispatcherRound.objects.filter(at__lte=Now()).exists()


def test_rounds_keep_their_own_pace(monkeypatch):
    ran: list[str] = []
    stop = threading.Event()

    def act(kind: str) -> int:
        ran.append(kind)
        if ran.count("often") == 5:
            stop.set()
        return 0

    rounds = (Round("often", lambda: 0.01, partial(act, "often")), Round("seldom", lambda: 60, partial(act, "seldom")))
    monkeypatch.setattr(dispatch, "ROUNDS", rounds)
    monkeypatch.setattr(dispatch, "run_round", lambda round_: round_.act())
    run_for_ever(stop)
    assert ran.count("seldom") == 1
