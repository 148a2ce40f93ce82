"""Lost claims: dead first, then the history, then on; by three dispatchers as by one."""

import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from console.audit.models import Event
from console.audit.services import record
from console.base.errors import Problem
from console.base.processes import boot_id, start_ticks
from jobs.commands import registry
from jobs.commands.convert.rules import Convert
from jobs.commands.optimize.rules import Optimize
from jobs.commands.stream_round.rules import StreamRound
from jobs.dispatcher import reconcile as rounds
from jobs.dispatcher.fencing import proven_dead, takes_versions_once
from jobs.dispatcher.late_commits import find_late_commits
from jobs.dispatcher.reconcile import reconcile
from jobs.dispatcher.stores import Stores
from jobs.domain.fences import Fence
from jobs.domain.states import Cause, State, table_state
from jobs.lifecycle import endings
from jobs.lifecycle.transitions import Fenced, move, renew
from jobs.models import Attempt, Job, JobEvent, TableLease
from jobs.worker.claims import ClaimHolder, claim_run
from tables.storage.local import mounted
from tests import factories
from tests.jobs import fake_table
from tests.patience import limit


@pytest.fixture(autouse=True)
def _quiet(no_wakes):
    return no_wakes


def dead_holder():
    """On this host, and gone: a pid that nobody can have."""
    return ClaimHolder("spark@here", socket.gethostname(), boot_id(), 2**22 + 1, 1, 2**22 + 2, 1)


def lapse(job, seconds=1):
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=seconds))


def claimed(job, holder=None):
    claim = claim_run(holder or dead_holder())
    assert claim is not None
    assert claim.job.pk == job.pk
    return claim


def lost(job, holder=None):
    claim = claimed(job, holder)
    lapse(job)
    return claim


def commit_for(job):
    mark = f'{{"job": "{job.pk}", "attempt": 1, "digest": null}}'
    return fake_table.commit(job.location, "WRITE", mark, {fake_table.write_data(job.location, 1): 1})


@pytest.mark.django_db
def test_a_claim_that_is_renewed_is_left_alone(orders, olga):
    claimed(factories.job_on(orders, olga))
    assert reconcile() == 0
    assert Job.objects.get().state == State.RUNNING


@pytest.mark.django_db
def test_a_lost_run_without_commit_is_tried_again_once(orders, olga, no_wakes):
    job = factories.job_on(orders, olga)
    first = lost(job)
    assert reconcile() == 2  # taken over, then decided
    row = Job.objects.get(pk=job.pk)
    assert (row.state, row.attempt) == (State.QUEUED, 1)
    assert not TableLease.objects.exists()
    assert no_wakes == ["spark"]
    assert Attempt.objects.get(pk=first.attempt_id).outcome == "lost"
    assert Event.objects.filter(job=job.pk, action="job.retry").count() == 1

    second = lost(job)
    assert second.number == 2
    reconcile()
    row = Job.objects.get(pk=job.pk)
    assert row.state == State.FAILED
    assert (row.error or {})["code"] == "attempts_exhausted"
    assert claim_run(dead_holder()) is None


@pytest.mark.django_db
def test_a_lost_convert_leaves_no_empty_log(orders, olga):
    log = Path(orders.path) / "_delta_log"
    (log / "_staged_commits").mkdir(parents=True)
    lost(factories.job_on(orders, olga, Convert(orders.path, None, "parquet", None)))
    reconcile()
    assert not log.exists()


@pytest.mark.django_db
def test_what_lies_in_the_log_of_a_lost_convert_stays(orders, olga):
    log = Path(orders.path) / "_delta_log"
    log.mkdir(parents=True)
    (log / ".00000000000000000000.json.tmp").write_text("{}")
    lost(factories.job_on(orders, olga, Convert(orders.path, None, "parquet", None)))
    reconcile()
    assert [entry.name for entry in log.iterdir()] == [".00000000000000000000.json.tmp"]


@pytest.mark.django_db
def test_a_lost_run_of_a_command_that_this_dispatcher_does_not_know_is_tried_again(orders, olga, monkeypatch):
    job = factories.job_on(orders, olga)
    lost(job)
    monkeypatch.delitem(registry.ROWS, job.command)
    reconcile()
    assert Job.objects.get(pk=job.pk).state == State.QUEUED


@pytest.mark.django_db
def test_a_commit_that_is_found_is_a_success(orders, olga):
    job = factories.job_on(orders, olga)
    lost(job)
    version = commit_for(job)
    reconcile()
    row = Job.objects.get(pk=job.pk)
    assert (row.state, row.version) == (State.SUCCEEDED, version)
    assert "found in the history" in JobEvent.objects.get(job=job, target="succeeded").text
    orders.refresh_from_db()
    assert orders.next_sync_at is not None


@pytest.mark.django_db
def test_the_old_worker_writes_nothing_after_it_was_taken_over(orders, olga):
    job = factories.job_on(orders, olga)
    claim = lost(job)
    reconcile()
    assert renew(job, claim.token, 30) is None
    with pytest.raises(Fenced):
        move(job, State.SUCCEEDED, Cause.WORKER, "w", token=claim.token, result={})


@pytest.mark.django_db
def test_a_worker_that_wakes_up_before_it_is_taken_over_keeps_its_claim(orders, olga):
    job = factories.job_on(orders, olga)
    claim = lost(job)
    assert renew(job, claim.token, 30) == State.RUNNING
    assert reconcile() == 0


@pytest.mark.django_db
def test_a_lost_cancel_ends_cancelled_or_committed(lake, olga):
    for name, committed in (("a", False), ("b", True)):
        job = factories.job_on(factories.table_in(lake, name), olga)
        claimed(job)
        Job.objects.filter(pk=job.pk).update(cancel_requested_at=Now())
        move(job, State.CANCELLING, Cause.CANCELLER, "olga")
        lapse(job)
        if committed:
            commit_for(job)
        reconcile()
        row = Job.objects.get(pk=job.pk)
        assert row.state == (State.SUCCEEDED if committed else State.CANCELLED)
        assert row.version == (0 if committed else None)


@pytest.mark.django_db
def test_a_cancel_while_it_is_unknown_ends_it_instead_of_trying_again(orders, olga):
    job = factories.job_on(orders, olga, state=State.QUEUED)
    claim = claimed(job)
    move(job, State.RECONCILING, Cause.WORKER, "w", token=claim.token, lease_until=None)
    Job.objects.filter(pk=job.pk).update(cancel_requested_at=Now())
    move(job, State.CANCELLING, Cause.CANCELLER, "olga")
    reconcile()
    assert Job.objects.get(pk=job.pk).state == State.CANCELLED


@pytest.mark.django_db
def test_another_hosts_worker_is_stale_after_its_time_by_the_databases_clock(orders, olga, timing, monkeypatch):
    timing(unproven=60)
    job = factories.job_on(orders, olga)
    lost(job, factories.holder(host="elsewhere"))
    monkeypatch.setattr("time.time", lambda: 4_000_000_000.0)  # this process's clock says nothing
    assert reconcile() == 1
    assert reconcile() == 0
    assert Job.objects.get().state == State.RECONCILING
    assert TableLease.objects.exists()
    JobEvent.objects.update(at=F("at") - timedelta(seconds=61))
    assert reconcile() == 1
    row = Job.objects.get()
    assert row.state == State.STALE
    assert "another host" in (row.error or {})["message"]


def converting(orders, olga):
    """A job of which Delta lets only one attempt commit."""
    (Path(orders.path)).mkdir(exist_ok=True)
    return factories.job_on(orders, olga, Convert(orders.path, None, "parquet", None))


def unproven_for(job, seconds, host="elsewhere"):
    """Another host's worker is lost, and the dispatcher has known it for so long."""
    claim = lost(job, factories.holder(host=host))
    assert reconcile() == 1
    JobEvent.objects.filter(job=job).update(at=F("at") - timedelta(seconds=seconds))
    return claim


@pytest.mark.django_db
def test_another_hosts_run_is_tried_again_where_delta_lets_one_attempt_commit(orders, olga, timing, no_wakes):
    timing(fenced=30, unproven=90)
    job = converting(orders, olga)
    first = unproven_for(job, 29)
    assert reconcile() == 0
    assert TableLease.objects.filter(job=job).exists()
    log = Path(orders.path) / "_delta_log"
    log.mkdir()
    JobEvent.objects.update(at=F("at") - timedelta(seconds=2))
    assert reconcile() == 1
    row = Job.objects.get(pk=job.pk)
    assert (row.state, row.attempt) == (State.QUEUED, 1)
    assert not TableLease.objects.exists()
    assert log.exists(), "whoever may be alive may be writing there"
    assert Attempt.objects.get(pk=first.attempt_id).outcome == Attempt.UNPROVEN
    assert Event.objects.filter(job=job.pk, action="job.retry").count() == 1
    assert Fence.VERSION.value in JobEvent.objects.filter(job=job).latest("id").text
    assert no_wakes == ["spark"]
    unproven_for(job, 89)
    assert reconcile() == 0
    JobEvent.objects.update(at=F("at") - timedelta(seconds=2))
    assert reconcile() == 1
    assert Job.objects.get(pk=job.pk).state == State.STALE, "a third attempt isn't made"


@pytest.mark.django_db
def test_it_is_stale_where_storage_takes_a_version_twice(orders, olga, timing, monkeypatch):
    monkeypatch.setattr(rounds, "takes_versions_once", lambda path: False)
    timing(fenced=1, unproven=60)
    job = converting(orders, olga)
    unproven_for(job, 59)
    assert reconcile() == 0
    JobEvent.objects.update(at=F("at") - timedelta(seconds=2))
    assert reconcile() == 1
    assert Job.objects.get(pk=job.pk).state == State.STALE


@pytest.mark.django_db
@pytest.mark.parametrize("outcome", ["limit", "stopping"])
def test_one_past_its_limit_is_not_tried_again(orders, olga, timing, outcome):
    timing(fenced=1, unproven=60)
    job = converting(orders, olga)
    first = unproven_for(job, 61)
    Attempt.objects.filter(pk=first.attempt_id).update(outcome=outcome)
    reconcile()
    assert Job.objects.get(pk=job.pk).state == (State.STALE if outcome == "limit" else State.QUEUED)


@pytest.mark.django_db
def test_one_that_somebody_cancels_is_not_tried_again(orders, olga, timing):
    timing(fenced=1, unproven=60)
    job = converting(orders, olga)
    unproven_for(job, 2)
    Job.objects.filter(pk=job.pk).update(cancel_requested_at=Now())
    assert reconcile() == 0
    assert Job.objects.get(pk=job.pk).state == State.RECONCILING
    JobEvent.objects.update(at=F("at") - timedelta(seconds=60))
    assert reconcile() == 1
    assert Job.objects.get(pk=job.pk).state == State.STALE


MOUNTED = """\
1 0 8:1 / / rw shared:1 - ext4 /dev/sda1 rw
2 1 0:40 / /lake rw,noatime - nfs4 server:/lake rw
3 2 8:2 / /lake/here rw - xfs /dev/sdb rw
4 1 0:41 / /bucket rw shared:2 master:3 - fuse.s3fs s3fs rw
"""


@pytest.mark.parametrize(
    ("location", "once"),
    [
        ("/data/orders", True),
        ("/lake/orders", False),
        ("/lake/here/orders", True),
        ("/bucket/orders", False),
        ("hdfs://name:9000/lake/orders", True),
        ("s3://lake/orders", False),
        ("gs://lake/orders", True),
    ],
)
def test_disks_of_this_kernel_and_hdfs_take_a_version_once(monkeypatch, tmp_path, location, once):
    monkeypatch.setattr(mounted, "TABLE", tmp_path / "mountinfo")
    assert not takes_versions_once("/data/orders"), "nobody says what it lies on"
    (tmp_path / "mountinfo").write_text(MOUNTED)
    assert takes_versions_once(location) is once


@pytest.mark.django_db
def test_what_a_later_attempt_would_do_again_has_no_fence(orders, olga):
    assert {kind for kind in registry.several_kinds() if registry.handling_of(kind).fence} == set()
    plain = Optimize(str(orders.pk))
    unfenced = [replace(plain, zorder_by=["id"]), replace(plain, full=True), StreamRound("s", "n", {}, reset=True)]
    fenced = [plain, StreamRound("s", "n", {})]
    assert {registry.fence_of(factories.job_on(orders, olga, command)) for command in unfenced} == {Fence.NONE}
    assert all(registry.fence_of(factories.job_on(orders, olga, command)) for command in fenced)
    assert registry.fence_of(Job(command="of a later release")) is Fence.NONE


@pytest.mark.django_db
def test_a_second_attempt_that_is_dead_proves_nothing_of_the_first(orders, olga, timing):
    """Nothing is cleared away, and nobody says that nothing was committed, while the first may be alive."""
    timing(fenced=1, unproven=60)
    job = converting(orders, olga)
    unproven_for(job, 2)
    assert reconcile() == 1
    queued = Job.objects.get(pk=job.pk)
    assert table_state(State.QUEUED, None, unproven=queued.progress["unproven"]).startswith("Levee found no commit")
    assert JobEvent.objects.filter(job=job).latest("id").table_text.startswith("Levee found no commit")
    log = Path(orders.path) / "_delta_log"
    log.mkdir()
    lost(queued)
    assert reconcile() == 1
    assert reconcile() == 0
    JobEvent.objects.update(at=F("at") - timedelta(seconds=61))
    lapse(job, 61)
    assert reconcile() == 1
    assert Job.objects.get(pk=job.pk).state == State.STALE
    assert log.exists()


@pytest.mark.django_db
def test_a_commit_that_comes_after_it_was_withdrawn_is_told(orders, olga, timing):
    timing(fenced=1, unproven=60)
    job = converting(orders, olga)
    unproven_for(job, 2)
    reconcile()
    move(Job.objects.get(pk=job.pk), State.WITHDRAWN, Cause.REQUESTER, "olga")
    assert JobEvent.objects.filter(job=job).latest("id").table_text.startswith("Levee found no commit")
    assert find_late_commits() == 0
    version = commit_for(job)
    assert find_late_commits() == 1
    assert Job.objects.get(pk=job.pk).version == version


@pytest.mark.django_db
def test_another_hosts_commit_is_the_truth_all_the_same(orders, olga):
    job = factories.job_on(orders, olga)
    lost(job, factories.holder(host="elsewhere"))
    commit_for(job)
    reconcile()
    assert Job.objects.get().state == State.SUCCEEDED


@pytest.mark.django_db
def test_a_late_commit_is_said_on_job_and_audit_once(orders, olga, timing):
    timing(unproven=0.001)
    job = factories.job_on(orders, olga)
    lost(job, factories.holder(host="elsewhere"))
    reconcile()
    JobEvent.objects.update(at=F("at") - timedelta(seconds=1))
    reconcile()
    assert Job.objects.get().state == State.STALE
    assert find_late_commits() == 0
    version = commit_for(job)
    assert find_late_commits() == 1
    assert find_late_commits() == 0
    assert Job.objects.get().version == version
    assert JobEvent.objects.get(kind="late_commit").table_text == f"Committed as version {version}."
    event = Event.objects.get(action="job.late_commit")
    assert event.table_version == version


@pytest.mark.django_db
def test_an_earlier_boot_is_dead(orders, olga):
    holder = ClaimHolder("spark@here", socket.gethostname(), "another boot", os.getpid(), start_ticks(os.getpid()) or 0)
    claim = claimed(factories.job_on(orders, olga), holder)
    assert proven_dead(Attempt.objects.get(pk=claim.attempt_id)) is True


@pytest.mark.django_db
def test_another_container_of_this_boot_proves_nothing(orders, olga, timing):
    """Its pids count from another namespace: that they are none of ours doesn't say that the run is dead."""
    timing(unproven=0.001)
    other = f"{boot_id().split('/')[0]}/1"
    lost(
        factories.job_on(orders, olga),
        ClaimHolder("spark@here", socket.gethostname(), other, 2**22 + 1, 1, 2**22 + 2, 1),
    )
    assert proven_dead(Attempt.objects.get()) is None
    reconcile()
    JobEvent.objects.update(at=F("at") - timedelta(seconds=1))
    reconcile()
    assert Job.objects.get().state == State.STALE


@pytest.mark.django_db
def test_a_pid_that_belongs_to_somebody_else_now_is_left_alive(orders, olga):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as other:
        ticks = (start_ticks(other.pid) or 0) - 1
        holder = ClaimHolder("spark@here", socket.gethostname(), boot_id(), other.pid, ticks, other.pid, ticks)
        claim = claimed(factories.job_on(orders, olga), holder)
        assert proven_dead(Attempt.objects.get(pk=claim.attempt_id)) is True
        assert other.poll() is None
        other.kill()


@pytest.mark.django_db
@pytest.mark.parametrize("frozen", [False, True])
def test_worker_and_jvm_are_ended_before_the_history_is_read(orders, olga, monkeypatch, frozen):
    alive = [subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(2)]
    worker, jvm = alive
    holder = ClaimHolder(
        "spark@here", socket.gethostname(), boot_id(),
        worker.pid, start_ticks(worker.pid) or 0, jvm.pid, start_ticks(jvm.pid) or 0,
    )  # fmt: skip
    job = factories.job_on(orders, olga)
    lost(job, holder)
    if frozen:
        for process in alive:
            process.send_signal(signal.SIGSTOP)
    real, seen = endings.committed, list[int | None]()

    def looks(job):
        seen.extend(p.poll() for p in alive)
        return real(job)

    monkeypatch.setattr(endings, "committed", looks)
    reconcile()
    assert seen == [-signal.SIGKILL, -signal.SIGKILL]
    assert Job.objects.get().state == State.QUEUED


@pytest.mark.django_db
def test_a_table_that_is_not_there_proves_nothing(orders, olga, timing):
    """An unmounted file system must not look like a run that committed nothing."""
    timing(unreadable=0.001)
    job = factories.job_on(orders, olga)
    lost(job)
    Path(orders.path).rename(orders.path + ".away")
    reconcile()
    assert Job.objects.get().state in {State.RECONCILING, State.STALE}
    JobEvent.objects.update(at=F("at") - timedelta(seconds=1))
    reconcile()
    row = Job.objects.get()
    assert row.state == State.STALE
    assert (row.error or {})["table_state"].startswith("Unknown")


@pytest.mark.django_db
@pytest.mark.parametrize("left", [[], [3]], ids=["emptied", "cleaned up"])
def test_a_log_without_all_commits_since_the_preview_proves_nothing(orders, olga, left):
    """The directory is there: an unmounted file system's mount point, or a log whose commits were cleaned up meanwhile."""
    for _ in range(4):
        fake_table.commit(orders.path, "WRITE", "", {fake_table.write_data(orders.path, 1): 1})
    job = factories.job_on(orders, olga, base_version=1)
    lost(job)
    for version in {0, 1, 2, 3} - set(left):
        (Path(orders.path) / "_delta_log" / f"{version:020}.json").unlink()
    reconcile()
    assert Job.objects.get(pk=job.pk).state == State.RECONCILING
    assert JobEvent.objects.filter(job=job, kind="log_unreadable").count() == 1


@pytest.mark.django_db
def test_with_more_jobs_than_fit_a_round_each_has_its_turn(lake, olga, monkeypatch):
    monkeypatch.setattr(rounds, "AT_ONCE", 1)
    jobs = [factories.job_on(factories.table_in(lake, name), olga) for name in ("a", "b", "c")]
    for _ in jobs:
        claim = claim_run(dead_holder())
        assert claim is not None
        lapse(claim.job)
    looked = []

    def take_over(pk):
        looked.append(pk)
        return False

    monkeypatch.setattr(rounds, "_take_over", take_over)
    for _ in jobs:
        reconcile()
    assert set(looked) == {job.pk for job in jobs}


@pytest.mark.django_db
def test_one_jobs_trouble_holds_up_no_other(lake, olga, monkeypatch):
    jobs = [factories.job_on(factories.table_in(lake, name), olga) for name in ("a", "b")]
    for _ in jobs:
        claim = claim_run(dead_holder())
        assert claim is not None
        lapse(claim.job)
    real = record

    def unwritable(actor, action, kind, pk, *args, **kwargs):
        if pk == jobs[0].pk:
            raise Problem(503, "audit_unavailable", "no")
        return real(actor, action, kind, pk, *args, **kwargs)

    monkeypatch.setattr(rounds, "record", unwritable)
    reconcile()
    assert Job.objects.get(pk=jobs[0].pk).state == State.RECONCILING
    assert Job.objects.get(pk=jobs[1].pk).state == State.QUEUED
    monkeypatch.setattr(rounds, "record", real)
    reconcile()
    assert Job.objects.get(pk=jobs[0].pk).state == State.QUEUED


@pytest.mark.django_db
@pytest.mark.parametrize(("outcome", "state", "attempts"), [("stopping", State.QUEUED, 0), ("limit", State.FAILED, 1)])
def test_what_the_worker_meant_is_heeded_when_it_was_killed_first(orders, olga, outcome, state, attempts):
    job = factories.job_on(orders, olga)
    claim = lost(job)
    Attempt.objects.filter(pk=claim.attempt_id).update(outcome=outcome)
    reconcile()
    row = Job.objects.get()
    assert (row.state, row.attempt) == (state, attempts)
    assert JobEvent.objects.filter(kind="released").exists() == (outcome == "stopping")


@pytest.mark.django_db
def test_a_worker_that_ignores_a_cancel_is_ended(orders, olga, timing):
    timing(cancel_grace=60, reconcile=1)
    worker = subprocess.Popen(["sleep", "600"], start_new_session=True)
    job = factories.job_on(orders, olga)
    claimed(job, ClaimHolder("spark@here", socket.gethostname(), boot_id(), worker.pid, start_ticks(worker.pid) or 0))
    Job.objects.filter(pk=job.pk).update(cancel_requested_at=Now())
    move(job, State.CANCELLING, Cause.CANCELLER, "olga")
    assert reconcile() == 0
    assert worker.poll() is None
    Job.objects.filter(pk=job.pk).update(cancel_requested_at=Now() - timedelta(seconds=120))
    assert reconcile() == 1
    assert worker.wait(limit(15)) == -signal.SIGKILL
    reconcile()
    assert Job.objects.get().state == State.CANCELLED


@pytest.mark.django_db(transaction=True)
def test_three_dispatchers_do_no_more_than_one(lake, olga):
    jobs = [factories.job_on(factories.table_in(lake, f"t{n}"), olga) for n in range(6)]
    for _ in jobs:
        claim = claim_run(dead_holder())
        assert claim is not None
        lapse(claim.job)
    for job in jobs[:3]:
        commit_for(job)
    start = threading.Barrier(3)

    def dispatch():
        try:
            connection.ensure_connection()
            start.wait()
            stores = Stores()  # each dispatcher has its own
            for _ in range(2):
                reconcile(stores)
        finally:
            connection.close()

    threads = [threading.Thread(target=dispatch) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(limit(15))
    assert [Job.objects.get(pk=j.pk).state for j in jobs] == [State.SUCCEEDED] * 3 + [State.QUEUED] * 3
    for job in jobs:
        assert JobEvent.objects.filter(job=job).exclude(kind="running").count() == 2
        assert Event.objects.filter(job=job.pk).exclude(action="job.start").count() == 1
