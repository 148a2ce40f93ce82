"""`GET /metrics`: who may read it, and that each figure is the database's."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest
import redis
import time_machine
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from console.metrics import figures
from console.wake_ups import REFUSED
from jobs.domain.states import Cause, State
from jobs.lifecycle.transitions import move
from jobs.models import Attempt, DispatcherRound, EndedJobs, Job, Stream, Worker
from jobs.web import metrics
from tables.catalog import sync_lag
from tables.models import SyncTimes, Table
from tests import factories
from tests.clients import browser, caller
from tests.console.audit import making

TOKEN = "scrape-" + "0123456789abcdef" * 2
PROBLEM = "application/problem+json"


@pytest.fixture
def scraper(monkeypatch):
    """A client with the instance's own token."""
    monkeypatch.setattr(settings, "ENV", replace(settings.ENV, metrics_token=TOKEN))
    return Client(headers={"authorization": f"Bearer {TOKEN}"})


def scraped(client, **headers):
    """The scrape's samples: (name, labels) → value."""
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = text_string_to_metric_families(answer.content.decode())
    return {(s.name, *sorted(s.labels.items())): s.value for family in families for s in family.samples}


def labelled(name, **labels):
    return (name, *sorted(labels.items()))


# --- who may read it ----------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("header", [None, "Bearer wrong", "Bearer lv_1_2", "Basic eDp5", "Bearer é"])
def test_a_stranger_gets_401_as_a_problem(scraper, header):
    answer = Client(headers={"authorization": header} if header else {}).get("/metrics")
    assert (answer.status_code, answer["Content-Type"]) == (401, PROBLEM)
    assert answer.json()["code"] == "not_authenticated"
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.django_db
def test_without_the_setting_no_text_is_its_token(redis_server):
    for header in ("Bearer ", "Bearer None", f"Bearer {TOKEN}"):
        assert Client(headers={"authorization": header}).get("/metrics").status_code == 401


@pytest.mark.django_db
def test_an_auditor_of_everything_reads_it_by_token_and_browser(redis_server):
    program = caller("auditor", "read")
    assert labelled("levee_database_up") in scraped(program.client)
    assert scraped(browser(program.person))[labelled("levee_redis_up")] == 1


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["viewer", "operator", "approver", "admin"])
def test_other_roles_are_refused_as_a_problem(role):
    answer = caller(role).client.get("/metrics")
    assert (answer.status_code, answer["Content-Type"]) == (403, PROBLEM)


@pytest.mark.django_db
def test_an_auditor_of_one_root_is_refused_since_the_figures_are_of_all():
    answer = caller("auditor", root=factories.RootFactory()).client.get("/metrics")
    assert answer.status_code == 403
    assert "on everything" in answer.json()["detail"]


@pytest.mark.django_db
def test_a_token_without_the_scope_is_refused():
    assert caller("auditor", "approve").client.get("/metrics").status_code == 403


@pytest.mark.django_db
def test_the_token_opens_nothing_else(scraper):
    assert scraper.get("/api/v1/audit").status_code == 401
    assert scraper.get("/audit/").status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5", "*/*"])
def test_it_has_one_format_whatever_is_accepted(scraper, redis_server, accept):
    assert scraped(scraper, accept=accept)[labelled("levee_database_up")] == 1


@pytest.mark.django_db
def test_nothing_is_changed_by_it(scraper):
    assert scraper.post("/metrics").status_code == 405


# --- what stands in it --------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_open_jobs_by_kind_and_state(scraper, redis_server):
    for state in ("queued", "queued", "running", "succeeded"):
        factories.job(state)
    found = scraped(scraper)
    assert found[labelled("levee_jobs_open", kind="convert", state="queued")] == 2
    assert found[labelled("levee_jobs_open", kind="convert", state="running")] == 1
    assert labelled("levee_jobs_open", kind="convert", state="succeeded") not in found


@pytest.mark.django_db
def test_a_job_that_ends_is_counted_with_its_kind_and_state(scraper, redis_server):
    move(factories.job("queued"), State.WITHDRAWN, Cause.REQUESTER, "ann")
    for _ in range(2):
        move(factories.job("queued"), State.EXPIRED, Cause.DISPATCHER, "dispatcher")
    found = scraped(scraper)
    assert found[labelled("levee_jobs_ended_total", kind="convert", state="withdrawn")] == 1
    assert found[labelled("levee_jobs_ended_total", kind="convert", state="expired")] == 2


@pytest.mark.django_db
def test_queues_say_what_waits_and_for_how_long(scraper, redis_server):
    factories.job("queued", queued_at=timezone.now() - timedelta(minutes=5))
    factories.job("queued")
    factories.job("running")
    found = scraped(scraper)
    assert found[labelled("levee_queue_waiting", queue="spark")] == 2
    assert found[labelled("levee_queue_running", queue="spark")] == 1
    assert found[labelled("levee_queue_oldest_seconds", queue="spark")] == pytest.approx(300, abs=30)
    assert found[labelled("levee_queue_oldest_seconds", queue="streams")] == 0


@pytest.fixture
def attempts():
    """Makes attempts of one job, with tokens that rise as the database gives them, at moments before now."""
    job = factories.job("queued")
    tokens = iter(range(1, 10_000, 7))

    def make(begun, ended=None, outcome="", kind="run", worker="spark-2@host"):
        now = timezone.now()
        row = factories.attempt(job, token=next(tokens), kind=kind, worker=worker, outcome=outcome)
        times = {"claimed_at": now - begun, "ended_at": now - ended if ended is not None else None}
        Attempt.objects.filter(pk=row.pk).update(**times)

    return make


@pytest.mark.django_db
def test_lost_leases_and_engine_seconds(attempts):
    attempts(timedelta(days=400), timedelta(days=400) - timedelta(hours=1), "lost")
    attempts(timedelta(hours=11), timedelta(hours=9), "lost, committed")
    attempts(timedelta(hours=4), timedelta(hours=3), "succeeded", kind="preview", worker="interactive@host")
    attempts(timedelta(hours=2))
    found = metrics.attempts()
    assert found["spark", "run"][0] == 2
    assert found["spark", "run"][1] == pytest.approx(5 * 3600, abs=60)
    assert list(found["interactive", "preview"]) == [0, pytest.approx(3600, abs=60)]


@pytest.mark.django_db
def test_counters_do_not_fall_when_rows_are_deleted_or_an_attempt_ends(attempts):
    attempts(timedelta(hours=2))
    running = metrics.attempts()["spark", "run"][1]
    Attempt.objects.update(ended_at=timezone.now())
    ended = metrics.attempts()["spark", "run"][1]
    assert running is not None
    assert ended is not None
    assert running <= ended == pytest.approx(7200, abs=60)
    Attempt.objects.update(ended_at=timezone.now() + timedelta(hours=1))  # an end is counted once
    job = factories.job("queued")
    move(job, State.WITHDRAWN, Cause.REQUESTER, "ann")
    job.events.all().delete()
    Attempt.objects.all().delete()
    Job.objects.filter(pk=job.pk).delete()
    assert metrics.attempts()["spark", "run"][1] == ended
    assert metrics.ended_jobs() == {("convert", "withdrawn"): (1,)}


@pytest.mark.django_db(transaction=True)
def test_transactions_that_end_jobs_at_the_same_time_do_not_wait_for_each_other():
    """Each counts in a slot of its own, and what one of them undoes isn't counted."""
    jobs = [factories.job("queued") for _ in range(3)]

    def end(job):
        with connection.cursor() as cursor:
            cursor.execute("set lock_timeout = '2s'")
        try:
            move(job, State.WITHDRAWN, Cause.REQUESTER, "ann")
        finally:
            connection.close()

    with transaction.atomic():
        move(jobs[0], State.WITHDRAWN, Cause.REQUESTER, "ann")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(end, jobs[1]).result(20)
        undone = transaction.savepoint()
        move(jobs[2], State.WITHDRAWN, Cause.REQUESTER, "ann")
        transaction.savepoint_rollback(undone)
    assert metrics.ended_jobs() == {("convert", "withdrawn"): (2,)}
    assert EndedJobs.objects.count() == 2


@pytest.mark.django_db
def test_without_an_attempt_there_is_nothing_to_count():
    assert metrics.attempts() == {}


@pytest.mark.django_db
def test_workers_by_kind_and_state(scraper, redis_server):
    factories.WorkerFactory()
    factories.WorkerFactory(kind="light", condition="down")
    silent = factories.WorkerFactory()
    Worker.objects.filter(pk=silent.pk).update(heartbeat_at=timezone.now() - timedelta(hours=1))
    found = scraped(scraper)
    assert found[labelled("levee_workers", kind="spark", state="ready")] == 1
    assert found[labelled("levee_workers", kind="spark", state="lost")] == 1
    assert found[labelled("levee_workers", kind="light", state="down")] == 1


@pytest.mark.django_db
def test_rounds_of_the_dispatcher_that_fail(scraper, redis_server):
    DispatcherRound.objects.create(kind="reconcile", failures=3, error="it broke")
    assert scraped(scraper)[labelled("levee_dispatcher_round_failures", round="reconcile")] == 3


@pytest.mark.django_db
def test_streams_say_how_far_they_are_behind(scraper, redis_server):
    table, ann = factories.TableFactory(), factories.PersonFactory()
    lag = {"waiting": 4, "unit": "file", "oldest": (timezone.now() - timedelta(minutes=2)).isoformat(), "exact": True}
    for _ in range(2):
        factories.stream(table, state=Stream.State.RUNNING, run_by=ann, lag=lag)
    factories.stream(table, lag={**lag, "oldest": None})
    factories.stream(table)
    found = scraped(scraper)
    assert found[labelled("levee_streams", state="running")] == 2
    assert found[labelled("levee_stream_waiting", state="running")] == 8
    assert found[labelled("levee_stream_oldest_seconds", state="running")] == pytest.approx(120, abs=30)
    assert found[labelled("levee_streams", state="stopped")] == 2
    assert found[labelled("levee_stream_waiting", state="stopped")] == 4
    assert found[labelled("levee_stream_oldest_seconds", state="stopped")] == 0


def due(minutes, **fields):
    table = factories.TableFactory(**fields)
    SyncTimes.objects.filter(pk=table.pk).update(next_sync_at=timezone.now() - timedelta(minutes=minutes))
    return table


@pytest.mark.django_db
def test_tables_due_for_a_sync_hidden_ones_aside(scraper, redis_server, monkeypatch):
    due(3)
    due(2)
    due(-5)
    hidden = due(60)
    Table.objects.filter(pk=hidden.pk).update(hidden_at=timezone.now())
    found = scraped(scraper)
    assert found[labelled("levee_tables_due")] == 2
    assert found[labelled("levee_tables_oldest_due_seconds")] == pytest.approx(180, abs=30)
    monkeypatch.setattr(sync_lag, "MOST", 1)
    assert scraped(scraper)[labelled("levee_tables_due")] == 1


@pytest.mark.django_db
def test_without_a_table_that_is_due_there_is_no_lag():
    assert sync_lag.due() == {(): (0, 0.0)}


@pytest.mark.django_db
def test_the_age_of_the_audits_head_and_what_it_does_not_cover(scraper, redis_server, monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "ENV", replace(settings.ENV, audit_heads=tmp_path))
    making.sealed(1)
    before = scraped(scraper)
    assert labelled("levee_audit_head_age_seconds") not in before
    assert before[labelled("levee_audit_unsigned")] > 0
    making.signed()
    assert scraped(scraper)[labelled("levee_audit_unsigned")] == 0
    making.sealed(2)
    with time_machine.travel(timezone.now() + timedelta(minutes=7)):
        found = scraped(scraper)
    assert found[labelled("levee_audit_unsigned")] == 2
    assert found[labelled("levee_audit_head_age_seconds")] == pytest.approx(420, abs=30)


def test_a_database_that_is_away_is_said_and_the_rest_stays(scraper, redis_server, monkeypatch):
    def away(*_, **__):
        raise OperationalError("the connection is refused")

    monkeypatch.setattr(transaction, "atomic", away)
    found = scraped(scraper)
    assert found[labelled("levee_database_up")] == 0
    assert found[labelled("levee_redis_up")] == 1
    assert not any(name.startswith("levee_jobs") for name, *_ in found)


@pytest.mark.django_db
def test_a_redis_that_is_away_is_said_and_the_rest_stays(scraper, monkeypatch):
    monkeypatch.setattr(settings, "ENV", replace(settings.ENV, redis_url="unix:///nonexistent"))
    found = scraped(scraper)
    assert found[labelled("levee_redis_up")] == 0
    assert found[labelled("levee_database_up")] == 1
    assert labelled("levee_wake_ups_refused_total") not in found


@pytest.mark.django_db
@pytest.mark.parametrize(("stored", "number"), [(None, 0), (b"7", 7), (b"junk", 0)])
def test_refused_wake_ups_are_counted_in_redis(scraper, redis_server, stored, number):
    with redis.Redis.from_url(redis_server) as client:
        if stored is not None:
            client.set(REFUSED, stored)
    assert scraped(scraper)[labelled("levee_wake_ups_refused_total")] == number


@pytest.mark.django_db
def test_a_query_that_takes_too_long_is_a_database_that_is_away(scraper, redis_server, monkeypatch):
    def slow():
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("select pg_sleep(30)")

    source = figures.FigureSource(slow, (), (figures.Family("levee_slow", "Slow."),))
    monkeypatch.setattr(figures, "SOURCES", (source,))
    monkeypatch.setattr(figures, "PATIENCE_MS", 50)
    assert scraped(scraper)[labelled("levee_database_up")] == 0


@pytest.mark.django_db
def test_it_asks_as_often_for_many_rows_as_for_few(scraper, redis_server, django_assert_max_num_queries):
    with django_assert_max_num_queries(18):
        scraped(scraper)
    for _ in range(3):
        factories.job("queued")
        factories.stream(factories.TableFactory())
        factories.WorkerFactory()
    with django_assert_max_num_queries(18):
        scraped(scraper)
