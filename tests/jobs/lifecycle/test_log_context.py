"""Each log line of a job names the job, its attempt and the request that opened it, in every thread that works on it."""

import json
import logging
import threading
import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError

from console.base.logs import log, log_ids, logging_config
from jobs.dispatcher import reconcile
from jobs.lifecycle import log_context
from jobs.lifecycle.log_context import about_job
from jobs.models import Job
from jobs.worker.supervision import Watch
from tests import factories
from tests.clients import caller


@pytest.fixture
def lines(levee_home, monkeypatch):
    """What Levee logs meanwhile, as the JSON lines that a file gets."""
    written = []

    class Keep(logging.Handler):
        def emit(self, record):
            written.append(json.loads(self.format(record)))

    handler = Keep()
    config = logging_config(levee_home.path)["formatters"]["json"]
    handler.setFormatter(config["()"](processors=config["processors"], foreign_pre_chain=config["foreign_pre_chain"]))
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


def test_the_innermost_id_holds_and_ends_with_its_block(lines):
    with log_ids(job="a", attempt="1"):
        with log_ids(job="b", attempt=""):
            log.warning("inside")
        log.warning("between", attempt="2")
    log.warning("outside")
    inside, between, outside = lines
    assert (inside["job"], inside["attempt"]) == ("b", "1")
    assert (between["job"], between["attempt"]) == ("a", "2")
    assert "job" not in outside


@pytest.mark.django_db
def test_the_request_that_opened_a_job_is_on_its_workers_lines(lines, tmp_path, redis_server):
    (tmp_path / "orders").mkdir()
    operator = caller("operator")
    factories.RootFactory(uri=str(tmp_path))
    asked = operator.post(
        "/jobs", {"command": "convert", "path": str(tmp_path / "orders"), "source_format": "parquet", "reason": "tests"}
    )
    job = Job.objects.get(pk=asked.json()["id"])
    attempt = factories.attempt(job)
    with about_job(job.pk, attempt.pk):
        log.warning("worked")
    line = next(line for line in lines if line["event"] == "worked")
    assert (line["job"], line["attempt"], line["opened_by"]) == (str(job.pk), str(attempt.pk), asked["X-Request-Id"])
    audited = [line for line in lines if line["event"] == "audit" and line.get("job") == str(job.pk)]
    assert {line["request_id"] for line in audited} == {asked["X-Request-Id"]}


@pytest.mark.django_db
def test_the_newest_attempt_is_named_unless_told(lines):
    job = factories.job("queued")
    factories.attempt(job)
    newest = factories.attempt(job)
    with about_job(job.pk):
        log.warning("looked at")
    assert lines[-1]["attempt"] == str(newest.pk)
    assert "opened_by" not in lines[-1]


def test_without_a_database_the_job_is_named_all_the_same(lines, monkeypatch):
    def away(_):
        raise OperationalError("it is away")

    monkeypatch.setattr(log_context, "_opened_by", away)
    job, attempt = uuid.uuid4(), uuid.uuid4()
    with about_job(job, attempt):
        log.warning("worked")
    assert (lines[-1]["job"], lines[-1]["attempt"]) == (str(job), str(attempt))


@pytest.mark.django_db
def test_the_dispatchers_lines_about_a_job_name_it(lines):
    job = factories.job("running")

    def decide(pk):
        log.warning("decided")
        return True

    assert reconcile._each(decide, Job.objects.filter(pk=job.pk)) == 1
    assert (lines[-1]["job"], lines[-1]["attempt"]) == (str(job.pk), str(job.attempts.get().pk))


def test_both_threads_that_watch_a_run_name_its_job(lines, monkeypatch):
    monkeypatch.setattr(Watch, "_look", lambda self, last=False: log.warning("kept"))
    monkeypatch.setattr(Watch, "_ask_engine", lambda self: log.warning("asked"))
    claim: Any = SimpleNamespace(job=SimpleNamespace(pk=uuid.uuid4()))
    nobody: Any = None
    with (
        log_ids(job="a", opened_by="r"),
        Watch(claim, nobody, nobody, "tag", 60, threading.Event(), lambda: None, "who") as watch,
        watch.engine_runs(),
    ):
        pass
    watch._asker.join()
    assert {(line["event"], line["job"], line["opened_by"]) for line in lines} == {
        ("kept", "a", "r"),
        ("asked", "a", "r"),
    }
