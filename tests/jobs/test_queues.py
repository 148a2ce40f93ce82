"""Two queues of runs: every worker takes the jobs of its own, and every job wakes the workers that may take it."""

import socket
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from console.accounts.roles import Role
from console.audit.actor import Actor
from console.base.processes import boot_id
from jobs.approvals import decisions
from jobs.commands.convert.rules import Convert
from jobs.commands.registry import ROWS, kinds_of, queue_of
from jobs.dispatcher.reconcile import reconcile
from jobs.dispatcher.rounds import wake_waiting
from jobs.domain.states import Cause, State
from jobs.lifecycle import wakeups
from jobs.lifecycle.transitions import move
from jobs.models import Attempt, Job
from jobs.worker.claims import Claim, ClaimHolder, claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tests import factories
from tests.jobs import scripted

BOTH_WAYS = [("spark", "streams"), ("streams", "spark")]


@pytest.fixture(autouse=True)
def _appends_have_a_queue_of_their_own(monkeypatch):
    monkeypatch.setitem(ROWS, "append", replace(ROWS["append"], queue="streams"))


def asked(queue: str, at, who, **values: Any) -> Job:
    """A job of the queue: converts are in `spark`, appends in `streams`."""
    convert = Convert(path=at.path, name=None, source_format="parquet", partition_schema=None)
    return factories.job_on(at, who, convert if queue == "spark" else None, **values)


def claimed(queue: str, holder: ClaimHolder | None = None) -> Claim:
    claim = claim_run(holder or factories.holder(), queue)
    assert claim is not None
    return claim


def end(claim: Claim) -> None:
    error = {"code": "x", "message": "x"}
    move(claim.job, State.FAILED, Cause.WORKER, "w", token=claim.token, error=error)


def test_every_command_is_of_one_queue():
    assert (queue_of("convert"), queue_of("append"), queue_of("unheard")) == ("spark", "streams", "spark")
    assert "append" in kinds_of("streams")
    assert "convert" in kinds_of("spark")
    assert sorted([*kinds_of("spark"), *kinds_of("streams")]) == sorted(ROWS)


@pytest.mark.django_db
@pytest.mark.parametrize(("queue", "other"), BOTH_WAYS)
def test_a_worker_leaves_the_other_queues_jobs(lake, olga, queue, other):
    first = asked(queue, factories.table_in(lake, "a"), olga)
    assert claim_run(factories.holder(), other) is None
    asked(other, factories.table_in(lake, "b"), olga)
    assert claimed(queue).job.pk == first.pk
    assert claim_run(factories.holder(), queue) is None


@pytest.mark.django_db
def test_who_names_no_queue_claims_of_the_first(lake, olga):
    asked("streams", factories.table_in(lake, "a"), olga)
    assert claim_run(factories.holder()) is None
    asked("spark", factories.table_in(lake, "b"), olga)
    assert claim_run(factories.holder()) is not None


@pytest.mark.django_db
@pytest.mark.parametrize(("queue", "other"), BOTH_WAYS)
@pytest.mark.parametrize("wanted", ["a", "a/b"])
def test_a_convert_and_the_other_queues_jobs_stay_out_of_one_tree(lake, olga, queue, other, wanted):
    asked(queue, factories.table_in(lake, wanted), olga)
    held = claimed(queue)
    at = factories.table_in(lake, "a/b" if wanted == "a" else "a")
    asked(other, at, olga)
    assert claim_run(factories.holder(), other) is None
    end(held)
    assert claimed(other).job.table_id == at.pk


def modes_of_locks() -> list[str]:
    """How this transaction holds the lock of those who claim."""
    with connection.cursor() as cursor:
        cursor.execute("select mode from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()")
        return [row[0] for row in cursor.fetchall()]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("beside", "mode"), [("spark", "ExclusiveLock"), ("streams", "ShareLock")])
def test_claims_of_one_queue_go_one_at_a_time_while_a_convert_waits_in_the_other(lake, olga, beside, mode):
    """A claim can't see the lease that a convert of the other queue is about to take."""
    asked("streams", factories.table_in(lake, "a"), olga)
    asked(beside, factories.table_in(lake, "b"), olga)
    with transaction.atomic():
        assert claim_run(factories.holder(), "streams") is not None
        assert modes_of_locks() == [mode]


# --- wake-ups ---------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_round_wakes_the_queues_in_which_jobs_wait(lake, olga, no_wakes, monkeypatch):
    monkeypatch.setattr(wakeups, "pending", lambda queue: 0)
    for name in ("a", "b"):
        asked("streams", factories.table_in(lake, name), olga)
    wake_waiting()
    assert no_wakes == ["streams"]
    asked("spark", factories.table_in(lake, "c"), olga)
    wake_waiting()
    assert sorted(no_wakes[1:]) == ["spark", "streams"]
    claimed("streams")
    claimed("streams")
    wake_waiting()
    assert no_wakes[3:] == ["spark"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("queue", ["spark", "streams"])
def test_a_preview_wakes_the_queue_of_its_command(orders, olga, timing, no_wakes, queue):
    timing(watch=0.3, lease=5, record_retry=5)
    asked(queue, orders, olga, state=State.PREVIEWING)
    claim, engine = claim_preview(factories.holder()), scripted.ScriptedEngine()
    assert claim is not None
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    assert Job.objects.get().state == State.QUEUED
    assert no_wakes == [queue]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("queue", ["spark", "streams"])
def test_the_last_approval_wakes_the_queue_of_its_command(orders, olga, no_wakes, queue):
    policy = {"required_approvals": 1, "role": "approver", "reasons": []}
    job = asked(queue, orders, olga, state=State.AWAITING_APPROVAL, policy=policy)
    decisions.approve(Actor.acting_for(factories.appointed("anna", Role.APPROVER)), job, job.digest or "")
    assert Job.objects.get().state == State.QUEUED
    assert no_wakes == [queue]


@pytest.mark.django_db
@pytest.mark.parametrize("queue", ["spark", "streams"])
@pytest.mark.parametrize("outcome", ["", "stopping"], ids=["lost", "given back"])
def test_a_run_that_ended_with_its_worker_wakes_the_queue_of_its_command(orders, olga, no_wakes, queue, outcome):
    job = asked(queue, orders, olga)
    gone = ClaimHolder(f"{queue}@here", socket.gethostname(), boot_id(), 2**22 + 1, 1, 2**22 + 2, 1)
    claimed(queue, gone)
    Attempt.objects.update(outcome=outcome)
    Job.objects.update(lease_until=Now() - timedelta(seconds=1))
    reconcile()
    assert Job.objects.get(pk=job.pk).state == State.QUEUED
    assert no_wakes == [queue]
