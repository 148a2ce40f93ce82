"""The dispatcher's rounds: they wake, expire and forget, and no trouble ends them."""

import threading
from datetime import UTC, datetime
from functools import partial

import pytest
import redis
from django.db import OperationalError
from django.db.models.functions import Now

from console.base.errors import Problem
from console.pages.health import parts
from jobs.dispatcher import rounds as dispatch
from jobs.dispatcher.rounds import ENOUGH, Round, run_for_ever, run_round, tidy, wake_waiting
from jobs.domain.states import State
from jobs.lifecycle import wakeups
from jobs.models import DispatcherRound, Job, Read
from jobs.sample.growth import grow
from jobs.web.workers import queries
from jobs.worker.claims import claim_preview, claim_run
from tests import factories

EARLIER = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_sample_grows_in_one_of_the_rounds():
    assert [each.kind for each in dispatch.ROUNDS if each.act is grow] == ["sample"]


@pytest.fixture(autouse=True)
def _empty_queues(monkeypatch):
    monkeypatch.setattr(wakeups, "pending", lambda queue: 0)


@pytest.mark.django_db
def test_it_wakes_the_queues_in_which_something_waits(lake, olga, no_wakes):
    wake_waiting()
    assert no_wakes == []
    factories.job_on(factories.table_in(lake, "a"), olga)
    factories.job_on(factories.table_in(lake, "b"), olga, state=State.PREVIEWING)
    wake_waiting()
    assert sorted(no_wakes) == ["interactive", "spark"]


@pytest.mark.django_db
def test_it_wakes_nobody_for_what_is_claimed_or_expired(lake, olga, no_wakes):
    factories.job_on(factories.table_in(lake, "a"), olga)
    factories.job_on(factories.table_in(lake, "b"), olga, state=State.PREVIEWING)
    factories.job_on(factories.table_in(lake, "c"), olga, expires_at=EARLIER)
    assert claim_run(factories.holder())
    assert claim_preview(factories.holder())
    wake_waiting()
    assert no_wakes == []


@pytest.mark.django_db
def test_it_heaps_up_no_messages_where_nobody_takes_them(orders, olga, no_wakes, monkeypatch):
    factories.job_on(orders, olga)
    monkeypatch.setattr(wakeups, "pending", lambda queue: ENOUGH)
    wake_waiting()
    assert no_wakes == []


def test_messages_do_not_expire_by_anybodys_clock(redis_server, monkeypatch):
    monkeypatch.undo()
    assert wakeups.pending("spark-test") == 0
    assert wakeups.wake("spark-test")
    assert wakeups.pending("spark-test") == 1
    with redis.Redis.from_url(redis_server) as client:
        assert b'"expires": null' in client.lindex("spark-test", 0)


def test_without_redis_nothing_is_pending_and_nothing_raised(monkeypatch):
    monkeypatch.undo()

    class Nowhere:
        redis = "unix:///nonexistent/redis.sock"

        @classmethod
        def read(cls):
            return cls()

    monkeypatch.setattr(wakeups, "Env", Nowhere)
    assert wakeups.pending("spark") == 0


@pytest.mark.django_db
@pytest.mark.parametrize("state", [State.PREVIEWING, State.AWAITING_APPROVAL, State.QUEUED])
def test_a_request_past_its_time_expires(orders, olga, no_wakes, state):
    job = factories.job_on(orders, olga, state=state, expires_at=EARLIER)
    assert tidy() == 1
    assert Job.objects.get(pk=job.pk).state == State.EXPIRED


@pytest.mark.django_db
def test_a_running_job_never_expires(orders, olga, no_wakes):
    job = factories.job_on(orders, olga)
    assert claim_run(factories.holder())
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

    assert run_round(Round("test", lambda: 1, breaks))
    assert not DispatcherRound.objects.exists()
    assert run_round(Round("test", lambda: 1, lambda: 3))
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
    monkeypatch.setattr(dispatch, "run_round", lambda round_: round_.act() == 0)
    run_for_ever(stop)
    assert ran.count("seldom") == 1


def test_a_round_that_waits_for_a_store_holds_up_no_other_and_no_stop(monkeypatch):
    ran: list[str] = []
    stop, answers = threading.Event(), threading.Event()

    def asks() -> int:
        ran.append("asks")
        answers.wait()
        return 0

    def other() -> int:
        ran.append("other")
        if "asks" in ran and ran.count("other") >= 3:
            stop.set()
        return 0

    rounds = (Round("asks", lambda: 0.01, asks, asks_stores=True), Round("other", lambda: 0.01, other))
    monkeypatch.setattr(dispatch, "ROUNDS", rounds)
    monkeypatch.setattr(dispatch, "LAST_ANSWERS", 0.0)
    monkeypatch.setattr(dispatch, "run_round", lambda round_: round_.act() == 0)
    try:
        run_for_ever(stop)
        assert ran.count("asks") == 1
    finally:
        answers.set()


@pytest.fixture
def one_connection(monkeypatch):
    """The test's transaction stays open, whatever a round makes of its connection."""
    monkeypatch.setattr(dispatch, "close_old_connections", lambda: None)
    monkeypatch.setattr(dispatch, "connection", type("Connection", (), {"close": lambda self: None})())


@pytest.mark.django_db
def test_a_fault_in_one_round_is_said_and_ends_no_other(one_connection, monkeypatch):
    ran: list[str] = []
    stop = threading.Event()

    def broken() -> int:
        ran.append("broken")
        raise KeyError("a plain fault")

    def well() -> int:
        ran.append("well")
        if ran.count("well") == 3:
            stop.set()
        return 0

    monkeypatch.setattr(dispatch, "ROUNDS", (Round("broken", lambda: 0.01, broken), Round("well", lambda: 0.01, well)))
    run_for_ever(stop)
    assert ran.count("well") == 3
    row = DispatcherRound.objects.get(kind="broken")
    assert (row.failures, row.error) == (ran.count("broken"), "KeyError: 'a plain fault'")
    assert queries.dispatcher()["failing"] == [{"kind": "broken", "failures": row.failures, "error": row.error}]
    assert parts()["dispatcher"]["failing"] == ["broken"]


@pytest.mark.django_db
def test_a_round_that_goes_well_again_fails_no_more(one_connection):
    def broken() -> int:
        raise ValueError("x\x00y" * 500)

    assert not run_round(Round("test", lambda: 1, broken))
    assert DispatcherRound.objects.get(kind="test").failures == 1
    assert run_round(Round("test", lambda: 1, lambda: 3))
    assert DispatcherRound.objects.get(kind="test").failures == 0
    assert queries.failing_rounds() == []
    assert "failing" not in parts()["dispatcher"]


def test_a_round_that_fails_is_tried_ever_less_often():
    round_ = Round("test", lambda: 5, lambda: 0)
    assert [dispatch.pause(round_, failures) for failures in (0, 1, 2, 3, 10, 5000)] == [5, 10, 20, 40, 300, 300]
    assert dispatch.pause(Round("slow", lambda: 600, lambda: 0), 4) == 600
