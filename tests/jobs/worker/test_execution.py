"""One claim from beginning to end: whatever the engine does, the job says the truth."""

import html
import itertools
import json
import re
import threading
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import DataError, OperationalError
from django.db.models.functions import Now

from console.audit.models import Event
from console.base.errors import Problem
from jobs.commands import registry
from jobs.commands.base import Drift, DriftVerdict
from jobs.domain.errors import CommandRefused, DirectorySwapped, EngineCancelled, EngineLost, Refusal
from jobs.domain.results import Result
from jobs.domain.states import Cause, State
from jobs.lifecycle import endings
from jobs.lifecycle.fault_points import FaultPoint
from jobs.lifecycle.transitions import move
from jobs.models import Attempt, Job, JobEvent, LogLine, TableLease
from jobs.web.jobs import queries
from jobs.worker import claimed_job
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Root, Table
from tables.storage.store import StorageError
from tables.sync import log_access
from tests import factories
from tests.clients import browser
from tests.factories import person_with
from tests.jobs import fake_table, scripted
from tests.jobs.append import inspection
from tests.patience import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def engine():
    return scripted.ScriptedEngine()


@pytest.fixture
def quick(timing, no_wakes):
    return timing(watch=0.02, heartbeat=0.05, lease=5, cancel_grace=0.3, record_retry=5, no_executors=0.05)


def lease_until(job):
    until = Job.objects.get(pk=job.pk).lease_until
    assert until is not None
    return until


def run(engine, stop=None, claiming=claim_run):
    claim = claiming(factories.holder())
    assert claim is not None
    work(Execution(claim, engine, stop or threading.Event(), engine.end_hard))
    return Job.objects.get(pk=claim.job.pk)


def cancel_while_it_runs(job):
    """The cancel of a person, from another connection."""
    Job.objects.filter(pk=job.pk).update(cancel_requested_at=Now(), cancel_requested_by=job.requested_by)
    move(job, State.CANCELLING, Cause.CANCELLER, "olga")


def assert_ended(job):
    assert job.is_ended
    assert job.lease_until is None
    assert not TableLease.objects.filter(job=job).exists()
    assert not Attempt.objects.filter(job=job, ended_at=None).exists()
    assert Event.objects.filter(job=job.pk, action="job.end").count() == 1
    assert_told(job)


def assert_told(job):
    """Every transition is an event, and they follow on each other."""
    events = list(JobEvent.objects.filter(job=job).exclude(target=""))
    assert events[-1].target == job.state
    for before, after in itertools.pairwise(events):
        assert after.source == before.target
    assert all(e.who and e.text and e.table_text for e in events)


def test_a_directory_swapped_under_a_run_is_said_loudly(orders, olga, engine, quick):
    def swapped(report):
        raise DirectorySwapped("/lake/t is a link. This happened while Spark was working on it.")

    engine.after = swapped
    factories.job_on(orders, olga)
    job = run(engine)
    assert (job.state, job.error["code"]) == (State.STALE, "directory_swapped")
    assert job.error["table_state"].startswith("Unknown")
    assert_ended(job)
    event = Event.objects.get(job=job.pk, action="job.end")
    assert (event.outcome, event.reason.partition(":")[0]) == ("failed", "directory_swapped")


@pytest.mark.parametrize(("state", "claiming"), [(State.QUEUED, claim_run), (State.PREVIEWING, claim_preview)])
def test_a_place_that_is_below_no_root_any_more_is_not_touched(orders, olga, engine, quick, state, claiming):
    """Whatever was judged when it was asked for."""
    engine.before = engine.found = lambda _: pytest.fail("the engine was asked")
    factories.job_on(orders, olga, state=state)
    Root.objects.filter(pk=orders.root_id).update(uri="/elsewhere")
    job = run(engine, claiming=claiming)
    assert (job.state, job.error["code"]) == (State.FAILED, "outside_roots")


def test_a_run_succeeds_though_the_catalog_can_not_follow(orders, olga, engine, quick, monkeypatch):
    def refused(table):
        raise DataError("unsupported Unicode escape sequence")

    monkeypatch.setattr(log_access, "sync", refused)
    factories.job_on(orders, olga)
    job = run(engine)
    assert (job.state, job.version) == (State.SUCCEEDED, 0)
    assert_ended(job)


def test_a_run_that_commits_succeeds_with_its_version(orders, olga, engine, quick):
    factories.job_on(orders, olga)
    job = run(engine)
    assert (job.state, job.version, job.no_op) == (State.SUCCEEDED, 0, False)
    assert fake_table.marks(orders.path) == {str(job.pk): [0]}
    assert_ended(job)
    orders.refresh_from_db()
    assert (orders.format, orders.version) == ("delta", 0)


def test_a_failure_before_the_commit_says_that_nothing_was_committed(orders, olga, engine, quick):
    def breaks(report):
        raise scripted.failure("no space left")

    engine.before = breaks
    factories.job_on(orders, olga)
    job = run(engine)
    assert job.state == State.FAILED
    assert job.error["table_state"] == endings.NOTHING
    assert "no space left" in job.error["message"]
    assert_ended(job)


def breaks_itself(report):
    raise KeyError("nobody thought of it")


def test_a_fault_of_our_own_before_the_commit_is_told_as_one(orders, olga, engine, quick):
    engine.before = breaks_itself
    factories.job_on(orders, olga)
    job = run(engine)
    assert (job.state, job.error["code"], job.attempt) == (State.FAILED, "broken", 1)
    assert "Something went wrong in Levee (KeyError)" in job.error["message"]
    assert job.error["table_state"] == endings.NOTHING
    assert_ended(job)


def test_a_fault_of_our_own_after_the_commit_leaves_the_job_with_its_version(orders, olga, engine, quick):
    engine.after = breaks_itself
    factories.job_on(orders, olga)
    job = run(engine)
    assert (job.state, job.version) == (State.SUCCEEDED, 0)
    assert "Then something went wrong in Levee (KeyError" in job.result["details"]["text"]
    assert_ended(job)


def test_a_fault_of_our_own_is_no_answer_while_the_log_cannot_be_read(orders, olga, engine, quick, monkeypatch):
    def unreadable(job):
        raise endings.LogUnreadable("the disk is away")

    engine.before = breaks_itself
    monkeypatch.setattr(endings, "committed", unreadable)
    job = factories.job_on(orders, olga)
    with pytest.raises(EngineLost):
        run(engine)
    assert Job.objects.get(pk=job.pk).state == State.RECONCILING


def test_a_preview_that_breaks_is_told_once_and_loses_no_worker(orders, olga, engine, quick):
    def breaks(path):
        raise KeyError("nobody thought of it")

    engine.found = breaks
    factories.job_on(orders, olga, state=State.PREVIEWING)
    job = run(engine, claiming=claim_preview)
    assert (job.state, job.error["code"]) == (State.FAILED, "broken")
    assert Attempt.objects.get(job=job).outcome == "failed"
    assert_ended(job)


def test_nobody_is_told_that_nothing_is_committed_while_it_is(orders, olga, engine, quick):
    """A restore reads its rows again after its commit, which may take minutes."""
    told = []

    def tell(job):
        told.append(queries.row(Job.objects.select_related("table", "requested_by").get(pk=job.pk))["table_state_text"])

    def before(report):
        tell(job)

    def after(report):
        report.point(FaultPoint.COMMIT_VISIBLE)
        wait_for(lambda: "committed" in Job.objects.get(pk=job.pk).progress, "the commit is reported")
        tell(job)
        cancel_while_it_runs(job)

    engine.before, engine.after = before, after
    job = factories.job_on(orders, olga)
    assert run(engine).state == State.SUCCEEDED
    assert [text.split(":")[0] for text in told] == ["No commit is known yet", "Committed"]
    assert JobEvent.objects.get(job=job, target=State.CANCELLING).table_text == told[1]


def test_a_failure_after_the_commit_is_a_success(orders, olga, engine, quick):
    """Delta's post-commit hooks fail after the fact: the history decides, not the exception."""

    def breaks(report):
        raise scripted.failure("the checkpoint failed")

    engine.after = breaks
    factories.job_on(orders, olga)
    job = run(engine)
    assert (job.state, job.version) == (State.SUCCEEDED, 0)
    [warning] = job.result["details"]["warnings"]
    assert warning == "The commit stands. Then a step that Delta takes after its commits failed: the checkpoint failed"
    assert_ended(job)
    assert "the checkpoint failed" in page_of(job)


def page_of(job):
    person = browser(person_with("viewer"))
    return html.unescape(person.get(f"/jobs/{job.pk}/").content.decode())


def test_a_commit_that_readers_of_another_format_do_not_see_succeeds_with_a_warning(
    orders, olga, engine, quick, monkeypatch
):
    monkeypatch.setattr(log_access, "sync", lambda table: None)
    Table.objects.filter(pk=orders.pk).update(properties={"delta.universalFormat.enabledFormats": "iceberg"})
    factories.job_on(orders, olga)
    job = run(engine)
    assert (job.state, job.version) == (State.SUCCEEDED, 0)
    [warning] = job.result["details"]["warnings"]
    assert warning.startswith("Iceberg readers don’t see version 0 yet")
    assert warning in page_of(job)


def test_a_vacuum_changes_no_row_that_they_could_miss(orders, olga):
    Table.objects.filter(pk=orders.pk).update(properties={"delta.universalFormat.enabledFormats": "iceberg"})
    job, end = factories.job_on(orders, olga), Result(version=9, operation="VACUUM END", details={})
    assert endings.judged(job, end) == end
    assert endings.judged(job, replace(end, operation="OPTIMIZE")).details["warnings"]


def test_a_run_that_leaves_nothing_to_do_has_no_warning(orders, olga, engine, quick):
    factories.job_on(orders, olga)
    job = run(engine)
    assert "warnings" not in job.result["details"]
    assert "something is left to do" not in page_of(job)


def test_a_refusal_lists_every_reason(orders, olga, engine, quick):
    def refuses(report):
        raise CommandRefused(Refusal("a", "first", remedy="mend it"), Refusal("b", "second"))

    engine.before = refuses
    factories.job_on(orders, olga)
    job = run(engine)
    assert job.state == State.FAILED
    assert [r["code"] for r in job.error["refusals"]] == ["a", "b"]
    assert job.error["message"] == "first (1 more)"
    assert job.error["what_to_do"] == "mend it"


def test_a_row_changed_after_its_digest_never_runs(orders, olga, engine, quick):
    job = factories.job_on(orders, olga)
    Job.objects.filter(pk=job.pk).update(parameters={"path": orders.path, "rows": 1000, "seconds": 0})
    ended = run(engine)
    assert ended.state == State.STALE
    assert "digest" in ended.error["message"]
    assert fake_table.marks(orders.path) == {}
    assert_ended(ended)


def test_a_cancel_stops_the_run_and_says_that_nothing_was_committed(orders, olga, engine, quick):
    job = factories.job_on(orders, olga)

    def cancelled(report):
        cancel_while_it_runs(job)
        engine.wait_for_cancel(report)

    engine.before = cancelled
    ended = run(engine)
    assert ended.state == State.CANCELLED
    assert ended.version is None
    assert engine.cancels[0] == f"levee-{job.pk}-1"
    assert_ended(ended)


def test_a_cancel_that_comes_too_late_says_committed(orders, olga, engine, quick):
    job = factories.job_on(orders, olga)

    def cancelled(report):
        cancel_while_it_runs(job)
        engine.wait_for_cancel(report)

    engine.after = cancelled
    ended = run(engine)
    assert (ended.state, ended.version) == (State.SUCCEEDED, 0)
    assert_ended(ended)


def test_a_cancel_after_the_engine_has_ended_is_answered_by_the_truth(orders, olga, engine, quick, monkeypatch):
    job = factories.job_on(orders, olga)
    monkeypatch.setattr(log_access, "sync", lambda table: cancel_while_it_runs(job))
    ended = run(engine)
    assert (ended.state, ended.version) == (State.SUCCEEDED, 0)


def test_a_run_that_does_not_heed_its_cancel_is_ended_with_its_jvm(orders, olga, engine, quick, timing):
    timing(**{**asdict(quick), "cancel_grace": 1})  # in which more than one look has time
    job = factories.job_on(orders, olga)

    def hangs(report):
        cancel_while_it_runs(job)
        engine.wait_for_the_end(report)

    engine.before = hangs
    with pytest.raises(EngineLost):
        run(engine)
    row = Job.objects.get(pk=job.pk)
    assert row.state == State.CANCELLING
    assert row.lease_until is None
    assert len(engine.cancels) > 1, "cancel is not sticky: it must be repeated"


def test_a_hanging_engine_holds_up_neither_lease_nor_cancel(orders, olga, engine, quick, monkeypatch):
    """A JVM that answers no question (stopped, or in a long collection) still keeps its claim, and can be ended."""
    job = factories.job_on(orders, olga)
    monkeypatch.setattr(engine, "progress", lambda tag: engine.ended_hard.wait(20))
    renewed = []

    def hangs(report):
        first = lease_until(job)
        making_sure = threading.Event()
        for _ in range(1000):
            if lease_until(job) > first:
                break
            making_sure.wait(0.01)
        renewed.append(lease_until(job) > first)
        cancel_while_it_runs(job)
        engine.wait_for_the_end(report)

    engine.before = hangs
    with pytest.raises(EngineLost):
        run(engine)
    assert renewed == [True]


def test_a_lost_jvm_leaves_the_answer_to_the_history(orders, olga, engine, quick):
    def dies(report):
        raise scripted.lost("java.lang.OutOfMemoryError: Java heap space")

    engine.before = dies
    job = factories.job_on(orders, olga)
    with pytest.raises(EngineLost):
        run(engine)
    row = Job.objects.get(pk=job.pk)
    assert row.state == State.RECONCILING
    assert row.lease_until is None
    assert TableLease.objects.filter(job=row).exists(), "nobody may write before it is known what happened"
    assert "OutOfMemoryError" in JobEvent.objects.get(job=row, target="reconciling").text
    assert engine.ended_hard.is_set()
    assert_told(row)


def test_an_unreadable_log_leaves_the_answer_open(orders, olga, engine, quick, monkeypatch):
    def breaks(report):
        raise scripted.failure()

    def unreadable(job):
        raise endings.LogUnreadable("no such device.")

    engine.after = breaks
    monkeypatch.setattr(endings, "committed", unreadable)
    job = factories.job_on(orders, olga)
    with pytest.raises(EngineLost):
        run(engine)
    assert Job.objects.get(pk=job.pk).state == State.RECONCILING


def test_a_planned_stop_gives_the_attempt_back(orders, olga, engine, quick):
    stop = threading.Event()

    def stopped(report):
        stop.set()
        engine.wait_for_cancel(report)

    engine.before = stopped
    factories.job_on(orders, olga)
    job = run(engine, stop)
    assert (job.state, job.attempt) == (State.QUEUED, 0)
    assert JobEvent.objects.filter(job=job, kind="released").count() == 1
    assert not TableLease.objects.exists()
    again = claim_run(factories.holder())
    assert again is not None
    assert again.number == 1


def test_a_run_past_its_limit_is_stopped(orders, olga, engine, timing, no_wakes):
    timing(watch=0.02, run_limit=0.1)
    engine.before = engine.wait_for_cancel
    factories.job_on(orders, olga)
    job = run(engine)
    assert job.state == State.FAILED
    assert job.error["code"] == "time_limit"
    assert_ended(job)


def test_a_run_past_its_limit_that_hangs_is_marked_for_the_reconciliation(orders, olga, engine, timing, no_wakes):
    timing(watch=0.02, run_limit=0.1, cancel_grace=0.2)
    engine.before = engine.wait_for_the_end
    factories.job_on(orders, olga)
    with pytest.raises(EngineLost):
        run(engine)
    assert Attempt.objects.get().outcome == "limit"


def test_missing_executors_are_said_once_and_taken_back_when_they_come(orders, olga, engine, quick):
    engine.executors = False
    job = factories.job_on(orders, olga)
    notes = JobEvent.objects.filter(job=job, kind="note").order_by("id")
    shown: list[tuple[str, str]] = []

    def show():
        row = Job.objects.get(pk=job.pk)
        shown.append((row.progress.get("stage"), queries.state_sentence(row)))

    def waits(report):
        wait_for(lambda: Job.objects.get(pk=job.pk).progress.get("waiting"), "the job says what it waits for")
        show()
        threading.Event().wait(0.3)  # it isn't said again
        engine.executors = True
        wait_for(lambda: "waiting" not in Job.objects.get(pk=job.pk).progress, "it waits no more")
        show()

    engine.before = waits
    run(engine)
    (waiting, sentence), (stage, later) = shown
    assert waiting == "waiting for executors"
    assert re.match(
        r"Waiting for executors: the cluster has given this job none for \d+ s\. It goes on by itself", sentence
    )
    assert (stage, later) == ("writing files", "Writing files, 1 of 2 Spark tasks.")
    assert [re.sub(r"\d+", "N", note.text.split(":")[0]) for note in notes] == [
        "Waiting for executors",
        "Executors have come after N s",
    ]
    assert LogLine.objects.filter(text__startswith="Waiting for executors: the cluster").count() == 1


def test_a_cancel_ends_a_run_that_waits_for_executors(orders, olga, engine, quick):
    engine.executors = False
    job = factories.job_on(orders, olga)

    def cancelled(report):
        wait_for(lambda: Job.objects.get(pk=job.pk).progress.get("waiting"), "the job says what it waits for")
        cancel_while_it_runs(Job.objects.get(pk=job.pk))
        engine.wait_for_cancel(report)

    engine.before = cancelled
    assert run(engine).state == State.CANCELLED


def test_a_fenced_worker_writes_nothing_and_stops_its_run(orders, olga, engine, quick):
    job = factories.job_on(orders, olga)

    def loses_its_claim(report):
        Job.objects.filter(pk=job.pk).update(token=999_999)
        engine.wait_for_cancel(report)

    engine.before = loses_its_claim
    row = run(engine)
    assert (row.state, row.token) == (State.RUNNING, 999_999)
    assert JobEvent.objects.filter(job=job).exclude(kind="running").count() == 0
    assert Attempt.objects.get(job=job).outcome == ""


def test_an_end_is_retried_while_the_database_is_away(orders, olga, engine, quick, monkeypatch):
    """And never guessed: the run committed, so it is `succeeded` when the database is back, not lost."""
    real, calls = move, []

    def away(*args, **kwargs):
        calls.append(1)
        if len(calls) < 3:
            raise OperationalError("server closed the connection unexpectedly")
        real(*args, **kwargs)

    monkeypatch.setattr(claimed_job, "move", away)
    factories.job_on(orders, olga)
    job = run(engine)
    assert (job.state, len(calls)) == (State.SUCCEEDED, 3)


def test_an_end_waits_for_the_audit(orders, olga, engine, quick, monkeypatch):
    real, calls = move, []

    def unwritable(*args, **kwargs):
        calls.append(1)
        if len(calls) < 3:
            raise Problem(503, "audit_unavailable", "no")
        real(*args, **kwargs)

    monkeypatch.setattr(claimed_job, "move", unwritable)
    factories.job_on(orders, olga)
    assert run(engine).state == State.SUCCEEDED


def test_the_lease_is_kept_until_the_end_is_recorded(orders, olga, engine, quick, monkeypatch):
    """A catalog that takes long to follow doesn't lose the claim."""
    job = factories.job_on(orders, olga)
    seen = []

    def slow(table):
        before = lease_until(job)
        wait_for(lambda: lease_until(job) > before, "the lease is renewed")
        seen.append(True)

    monkeypatch.setattr(log_access, "sync", slow)
    assert run(engine).state == State.SUCCEEDED
    assert seen == [True]


def test_a_preview_leads_to_the_queue_with_its_digest(orders, olga, engine, quick, no_wakes):
    factories.job_on(orders, olga, state=State.PREVIEWING)
    job = run(engine, claiming=claim_preview)
    assert job.state == State.QUEUED
    assert job.digest
    assert job.policy["required_approvals"] == 0
    assert no_wakes == ["spark"]
    assert Attempt.objects.get().outcome == "measured"
    assert run(scripted.ScriptedEngine()).state == State.SUCCEEDED


def test_a_preview_that_finds_reasons_ends_there(orders, olga, engine, quick):
    engine.found = lambda path: replace(inspection(path), refusals=(Refusal("no_files", "nothing to convert"),))
    factories.job_on(orders, olga, state=State.PREVIEWING)
    job = run(engine, claiming=claim_preview)
    assert job.state == State.FAILED
    assert job.error["code"] == "no_files"
    assert_ended(job)


def test_a_preview_of_a_delta_table_succeeds_with_nothing_done(orders, olga, engine, quick):
    engine.found = lambda path: replace(inspection(path), already_delta=True)
    factories.job_on(orders, olga, state=State.PREVIEWING)
    job = run(engine, claiming=claim_preview)
    assert (job.state, job.no_op, job.version) == (State.SUCCEEDED, True, None)


def test_a_preview_whose_jvm_is_lost_is_done_again_elsewhere(orders, olga, engine, quick):
    def dies(report):
        raise scripted.lost()

    engine.before = dies
    factories.job_on(orders, olga, state=State.PREVIEWING)
    with pytest.raises(EngineLost):
        run(engine, claiming=claim_preview)
    assert Attempt.objects.get().outcome == "lost"
    assert run(scripted.ScriptedEngine(), claiming=claim_preview).state == State.QUEUED


def test_a_preview_that_is_stopped_is_given_back(orders, olga, engine, quick):
    stop = threading.Event()

    def stopped(report):
        stop.set()
        engine.wait_for_cancel(report)

    engine.before = stopped
    factories.job_on(orders, olga, state=State.PREVIEWING)
    job = run(engine, stop, claiming=claim_preview)
    assert (job.state, job.lease_until) == (State.PREVIEWING, None)
    assert Attempt.objects.get().outcome == "released"


def test_a_preview_past_its_limit_fails(orders, olga, engine, timing, no_wakes):
    timing(watch=0.02, preview_limit=0.1)
    engine.before = engine.wait_for_cancel
    factories.job_on(orders, olga, state=State.PREVIEWING)
    job = run(engine, claiming=claim_preview)
    assert job.state == State.FAILED
    assert job.error["code"] == "time_limit"


def test_withdrawing_stops_a_preview(orders, olga, engine, quick):
    job = factories.job_on(orders, olga, state=State.PREVIEWING)

    def withdrawn(report):
        move(job, State.WITHDRAWN, Cause.REQUESTER, "olga")
        engine.wait_for_cancel(report)

    engine.before = withdrawn
    assert run(engine, claiming=claim_preview).state == State.WITHDRAWN


def test_spark_work_cancelled_by_somebody_else_is_not_taken_for_an_end(orders, olga, engine, quick):
    def cancelled(report):
        raise EngineCancelled("cancelled by another program")

    engine.before = cancelled
    factories.job_on(orders, olga)
    with pytest.raises(EngineLost):
        run(engine)
    assert Job.objects.get().state == State.RECONCILING


def test_the_log_is_bounded_masked_and_in_the_databases_time(orders, olga, engine, quick):
    def talks(report):
        report.log("fs.s3a.secret.key = hunter2 and \x00 half \ud800")
        for n in range(700):
            report.log(f"line {n} " + "x" * 3000)

    engine.before = talks
    factories.job_on(orders, olga)
    run(engine)
    lines = list(LogLine.objects.order_by("id").values_list("text", flat=True))
    assert len(lines) == 500
    assert lines[-1].startswith("The log ends here")
    assert max(map(len, lines)) <= 2000
    assert not [line for line in lines if "hunter2" in line]
    recent = LogLine.objects.filter(at__gt=Now() - timedelta(minutes=1), at__lte=Now())
    assert recent.count() == 500


def test_progress_names_the_stages(orders, olga, engine, quick):
    seen = []

    def looks(report):
        seen.append(
            wait_for(lambda: (progress := Job.objects.get().progress).get("total") and progress, "progress is written")
        )

    engine.before = looks
    factories.job_on(orders, olga)
    run(engine)
    assert seen[0]["stage"] == "writing files"
    assert (seen[0]["done"], seen[0]["total"]) == (1, 2)


def came_back(job, outcome=Attempt.UNPROVEN):
    """The first attempt was lost on another host; what it does now counts by the log alone."""
    factories.attempt(job, number=1, outcome=outcome, ended_at=Now())
    Job.objects.filter(pk=job.pk).update(attempt=1)


def commit_of(job):
    mark = json.dumps({"job": str(job.pk), "attempt": 1, "digest": job.digest})
    Path(job.location).mkdir(exist_ok=True)
    return fake_table.commit(job.location, "WRITE", mark, {fake_table.write_data(job.location, 1): 1})


@pytest.mark.parametrize("how", ["moved", "refused", "failed", "nothing left"])
@pytest.mark.parametrize("outcome", [Attempt.UNPROVEN, Attempt.CAME_BACK, "lost"])
def test_the_commit_of_an_attempt_that_came_back_is_the_outcome(orders, olga, engine, quick, monkeypatch, how, outcome):
    job = factories.job_on(orders, olga)
    came_back(job, outcome)
    versions = []

    def comes_back(*_):
        """After the look that comes before everything."""
        versions.append(commit_of(job))
        if how == "moved":
            return Drift(DriftVerdict.MOVED, 1, "The table has moved.")
        if how == "refused":
            raise CommandRefused(Refusal("not_delta", "This is no Delta table."))
        if how == "failed":
            raise scripted.failure("another transaction was first")
        return Result(None, "WRITE", no_op=True, details={"text": "Nothing."})

    patched, name = (type(registry.handling_of(job.command)), "drift") if how == "moved" else (engine, "run")
    monkeypatch.setattr(patched, name, comes_back)
    ended = run(engine)
    (version,) = versions
    if outcome == "lost" and how != "failed":  # it was proven dead: only a failure of Delta's makes anybody look
        assert ended.version is None
    else:
        assert (ended.state, ended.version, ended.attempt) == (State.SUCCEEDED, version, 2)
        assert bool(ended.result["details"].get("warnings")) is (outcome == "lost"), (
            "Delta’s failure says nothing of another’s commit"
        )
        assert_ended(ended)


def test_an_attempt_that_comes_back_says_so_and_ends_nothing(orders, olga, engine, quick):
    job = factories.job_on(orders, olga)

    def given_up(report):
        Job.objects.filter(pk=job.pk).update(token=999_999)
        Attempt.objects.filter(job=job).update(outcome=Attempt.UNPROVEN, ended_at=Now())
        raise scripted.failure("another attempt was faster")

    engine.before = given_up
    run(engine)
    attempt = Attempt.objects.get(job=job)
    assert attempt.outcome == Attempt.CAME_BACK
    assert Job.objects.get(pk=job.pk).state == State.RUNNING
    note = JobEvent.objects.get(job=job, kind="note")
    assert "came back after Levee had given this attempt up" in note.text
    assert "DELTA_TEST" in note.text


@pytest.mark.parametrize("outcome", [Attempt.UNPROVEN, Attempt.CAME_BACK])
def test_nothing_runs_again_that_an_attempt_which_came_back_has_committed(orders, olga, engine, quick, outcome):
    job = factories.job_on(orders, olga)
    came_back(job, outcome)
    version = commit_of(job)
    engine.before = lambda _: pytest.fail("the engine was asked")
    ended = run(engine)
    assert (ended.state, ended.version, ended.attempt) == (State.SUCCEEDED, version, 2)
    assert fake_table.rows(Path(job.location)) == 1


def test_below_no_root_the_commit_of_one_that_came_back_is_not_looked_for(orders, olga, engine, quick, monkeypatch):
    job = factories.job_on(orders, olga)
    came_back(job)
    commit_of(job)
    Root.objects.filter(pk=orders.root_id).update(uri="/elsewhere")
    monkeypatch.setattr(log_access, "find_mark", lambda *_: pytest.fail("its log was read"))
    ended = run(engine)
    assert (ended.state, ended.error["code"]) == (State.FAILED, "outside_roots")


def test_a_log_that_cannot_be_read_then_is_left_to_the_dispatcher(orders, olga, engine, quick, monkeypatch):
    def unreadable(*_):
        raise StorageError("it is away")

    job = factories.job_on(orders, olga)
    came_back(job)
    commit_of(job)
    monkeypatch.setattr(log_access, "find_mark", unreadable)
    engine.before = lambda _: pytest.fail("the engine was asked")
    with pytest.raises(EngineLost):
        run(engine)
    assert Job.objects.get(pk=job.pk).state == State.RECONCILING
