"""Claims: who may run next, and that nobody else does."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from jobs.commands.convert.rules import Convert
from jobs.dispatcher.reconcile import reconcile
from jobs.domain.states import Cause, State
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Attempt, Job, TableLease
from jobs.worker.claims import claim_preview, claim_run
from tests import factories


def convert(path: str) -> Convert:
    return Convert(path=path, name=None, source_format="parquet", partition_schema=None)


def end(claim) -> None:
    error = {"code": "x", "message": "x"}
    move(claim.job, State.FAILED, Cause.WORKER, "w", token=claim.token, error=error)


@pytest.mark.django_db
def test_a_claim_sets_attempt_token_lease_and_table_lease_at_once(orders, olga):
    job = factories.job_on(orders, olga)
    claim = claim_run(factories.holder())
    assert claim is not None
    assert claim.job.pk == job.pk
    row = Job.objects.get(pk=job.pk)
    assert (row.state, row.attempt, row.token) == (State.RUNNING, 1, claim.token)
    assert Job.objects.filter(pk=job.pk, lease_until__gt=Now() + timedelta(seconds=25)).exists()
    lease = TableLease.objects.get(location=orders.path)
    assert (lease.job_id, lease.token, lease.exclusive_tree) == (job.pk, claim.token, False)
    attempt = Attempt.objects.get(pk=claim.attempt_id)
    assert (attempt.number, attempt.token, attempt.worker, attempt.ended_at) == (1, claim.token, "spark@here", None)


@pytest.mark.django_db
def test_nothing_is_claimed_when_nothing_waits(db):
    assert claim_run(factories.holder()) is None
    assert claim_preview(factories.holder()) is None


@pytest.mark.django_db
@pytest.mark.parametrize(
    "values",
    [
        lambda: {"expires_at": timezone.now() - timedelta(seconds=1)},
        lambda: {"command": "vacuum"},
        lambda: {"schema_version": 2},
        lambda: {"policy": {"required_approvals": 1}},
    ],
    ids=["expired", "unknown command", "unknown schema version", "quorum missing"],
)
def test_it_leaves_what_may_not_run(orders, olga, values):
    factories.job_on(orders, olga, **values())
    assert claim_run(factories.holder()) is None


@pytest.mark.django_db
def test_one_table_runs_one_job_and_the_next_follows(orders, olga):
    first, second = factories.job_on(orders, olga), factories.job_on(orders, olga)
    claim = claim_run(factories.holder())
    assert claim is not None
    assert claim.job.pk == first.pk
    assert claim_run(factories.holder()) is None
    end(claim)
    after = claim_run(factories.holder())
    assert after is not None
    assert after.job.pk == second.pk


@pytest.mark.django_db
def test_the_order_is_fair_between_tables(lake, olga):
    """Ten jobs on one table do not keep another table's only job waiting for all of them."""
    busy, quiet = factories.table_in(lake, "busy"), factories.table_in(lake, "quiet")
    hour_ago = timezone.now() - timedelta(hours=1)
    for n in range(4):
        factories.job_on(busy, olga, queued_at=hour_ago + timedelta(seconds=n))
    factories.job_on(quiet, olga, queued_at=hour_ago + timedelta(minutes=1))
    order = []
    while (claim := claim_run(factories.holder())) is not None:
        order.append(claim.job.table.name)
        end(claim)
    assert order == ["busy", "quiet", "busy", "busy", "busy"]


@pytest.mark.django_db
def test_the_jobs_of_one_table_keep_their_order(orders, olga):
    """Those queued before the table was last served stand in one place: among them the first come is first."""
    asked = [factories.job_on(orders, olga).pk for _ in range(8)]
    order = []
    while (claim := claim_run(factories.holder())) is not None:
        order.append(claim.job.pk)
        end(claim)
    assert order == asked


@pytest.mark.django_db
@pytest.mark.parametrize(("held", "wanted"), [("a/b", "a"), ("a", "a/b"), ("a", "a")])
def test_a_convert_waits_for_leases_above_and_below(lake, olga, held, wanted):
    factories.job_on(factories.table_in(lake, held), olga)
    claim = claim_run(factories.holder())
    assert claim is not None
    at = claim.job.table if held == wanted else factories.table_in(lake, wanted)
    factories.job_on(at, olga, convert(at.path))
    assert claim_run(factories.holder()) is None
    end(claim)
    assert claim_run(factories.holder()) is not None


@pytest.mark.django_db
def test_a_held_convert_keeps_others_out_of_its_tree_only(lake, olga):
    at = factories.table_in(lake, "a")
    factories.job_on(at, olga, convert(at.path))
    assert claim_run(factories.holder()) is not None
    below, beside = factories.table_in(lake, "a/b"), factories.table_in(lake, "ab")
    factories.job_on(below, olga)
    factories.job_on(beside, olga)
    claim = claim_run(factories.holder())
    assert claim is not None
    assert claim.job.table_id == beside.pk
    assert claim_run(factories.holder()) is None


@pytest.mark.django_db
def test_two_appends_may_nest(lake, olga):
    factories.job_on(factories.table_in(lake, "a"), olga)
    factories.job_on(factories.table_in(lake, "a/b"), olga)
    assert claim_run(factories.holder()) is not None
    assert claim_run(factories.holder()) is not None


@pytest.mark.django_db
def test_the_database_refuses_two_running_jobs_on_one_location(orders, olga):
    factories.job_on(orders, olga)
    other = factories.job_on(orders, olga)
    claim_run(factories.holder())
    with pytest.raises(IntegrityError, match="job_one_running_per_location"), transaction.atomic():
        Job.objects.filter(pk=other.pk).update(state=State.RUNNING, attempt=1, token=1)


@pytest.mark.django_db
def test_the_database_refuses_a_transition_that_does_not_exist(orders, olga):
    job = factories.job_on(orders, olga)
    with pytest.raises(IntegrityError, match="does not go from queued to succeeded"), transaction.atomic():
        Job.objects.filter(pk=job.pk).update(state=State.SUCCEEDED, result={}, finished_at=Now())


@pytest.mark.django_db
def test_a_preview_is_claimed_again_only_when_its_lease_has_lapsed(orders, olga, no_wakes):
    job = factories.job_on(orders, olga, state=State.PREVIEWING)
    first = claim_preview(factories.holder())
    assert first is not None
    assert not TableLease.objects.exists()
    assert claim_preview(factories.holder()) is None
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))
    second = claim_preview(factories.holder())
    assert second is not None
    assert second.token > first.token
    assert Attempt.objects.get(pk=first.attempt_id).outcome == "lost"
    with pytest.raises(Fenced):
        move(job, State.QUEUED, Cause.WORKER, "w", token=first.token)


@pytest.mark.django_db
def test_a_preview_that_kills_its_workers_is_given_up(orders, olga, no_wakes):
    job = factories.job_on(orders, olga, state=State.PREVIEWING)
    for _ in range(2):
        assert claim_preview(factories.holder()) is not None
        Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))
    assert claim_preview(factories.holder()) is None
    assert reconcile() == 1
    row = Job.objects.get(pk=job.pk)
    assert row.state == State.FAILED
    assert row.error is not None
    assert row.error["code"] == "attempts_exhausted"
    assert not Attempt.objects.filter(ended_at=None).exists()


def rival(start: threading.Barrier, won: list, took: list) -> None:
    try:
        connection.ensure_connection()
        start.wait()
        began = time.perf_counter()
        claim = claim_run(factories.holder())
        took.append(time.perf_counter() - began)
        if claim is not None:
            won.append(claim.job.pk)
    finally:
        connection.close()


def run_rivals(count: int) -> list:
    won: list = []
    start = threading.Barrier(count)
    rivals = [threading.Thread(target=rival, args=(start, won, [])) for _ in range(count)]
    for thread in rivals:
        thread.start()
    for thread in rivals:
        thread.join(60)
    return won


@pytest.mark.django_db(transaction=True)
def test_sixteen_rivals_have_one_winner(orders, olga):
    job = factories.job_on(orders, olga)
    assert run_rivals(16) == [job.pk]
    assert Attempt.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_rivals_on_one_table_claim_one_job_and_lose_no_other_table(lake, olga):
    """Whoever loses a table to a rival goes on to the next candidate instead of going home."""
    busy = factories.table_in(lake, "busy")
    for _ in range(15):
        factories.job_on(busy, olga)
    others = [factories.job_on(factories.table_in(lake, f"t{n}"), olga).pk for n in range(5)]
    won = run_rivals(16)
    assert len(won) == len(set(won)) == 6
    assert set(others) <= set(won)


@pytest.mark.django_db(transaction=True)
def test_rival_converts_in_one_tree_have_one_winner(lake, olga):
    for name in ("a", "a/b", "a/b/c", "a/d"):
        at = factories.table_in(lake, name)
        factories.job_on(at, olga, convert(at.path))
    assert len(run_rivals(8)) <= 2
    held = list(TableLease.objects.values_list("location", flat=True))
    nested = [(x, y) for x in held for y in held if y.startswith(x + "/")]
    assert held
    assert not nested
