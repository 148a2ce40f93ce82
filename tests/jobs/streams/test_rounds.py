"""Rounds: opened when they are due, run as jobs of their own queue, booked in the stream's rows."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.accounts.authority import GrantScope
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from console.base.timeouts import timing
from jobs.approvals import decisions
from jobs.dispatcher import streams
from jobs.dispatcher.attribution import judgement
from jobs.evidence.consistency import differences
from jobs.models import Job, PolicyRule, Stream, StreamBatch, StreamRound
from jobs.policy import services as policy_services
from jobs.policy.services import Terms
from jobs.streams import acts, booking, lag, rounds, runs
from jobs.streams.looks import NoAnswer, NoPlace
from jobs.web.catalog_port import KnownJobs
from tables.models import Commit, Explanation, SyncTimes
from tables.sync import log_access
from tests import factories
from tests.jobs import small_delta
from tests.jobs.streams.small_stream import SmallStream, approve, book_ended, fresh, make_due, open_due, run_round

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
ROW = {"id": 1, "p": "a"}


def test_a_start_opens_a_round_at_once_as_a_job_of_the_streams_queue(actor, stream):
    job: Any = runs.start(actor, stream)
    assert (job.command, job.state, job.requested_by) == ("stream_round", "queued", actor.person)
    assert job.parameters["definition"]["path"] == stream.table.path
    assert fresh(stream).state == "running"
    assert StreamRound.objects.get(job=job).number == 1


def test_a_round_is_booked_with_its_batches_as_the_log_tells_them(actor, stream):
    runs.start(actor, stream)
    job: Any = run_round(SmallStream([ROW], [ROW, {"id": 2, "p": "a"}]))
    assert (job.state, job.version) == ("succeeded", 2)
    assert book_ended() == 1
    newest, first = StreamBatch.objects.filter(stream=stream)
    assert (first.batch_id, first.version, first.input_rows, first.rows_out) == (0, 1, 1, 1)
    assert (newest.version, newest.rows_out, newest.took_ms, newest.durations["addBatch"]) == (2, 2, 1500, 900)
    assert (first.damaged_lines, newest.damaged_lines) == (0, 1)
    now = fresh(stream)
    assert now.state == "running"
    assert now.target_table_id == now.table.table_id
    assert now.next_round_at is not None
    assert book_ended() == 0


def test_batches_of_a_worker_that_died_after_its_commits_are_told_by_the_log_alone(actor, stream):
    runs.start(actor, stream)
    job: Any = run_round(SmallStream([ROW], [ROW]))
    Job.objects.filter(pk=job.pk).update(result={**job.result, "details": {}})
    SyncTimes.objects.filter(table=stream.table).update(synced_at=job.finished_at - timedelta(seconds=1))
    assert book_ended() == 0  # a page may have synced before the last of its commits
    log_access.sync(stream.table_id)
    assert book_ended() == 1
    assert fresh(stream).next_round_at <= timezone.now()  # it was cut short: the next one goes on at once
    batches = StreamBatch.objects.filter(stream=stream).order_by("batch_id")
    assert [(b.batch_id, b.version, b.rows_out, b.took_ms) for b in batches] == [(0, 1, 1, None), (1, 2, 1, None)]
    assert [b.damaged_lines for b in batches] == [None, None]  # which is unknown, not none


def test_every_commit_of_a_round_is_its_jobs(actor, stream):
    """A round commits once for each batch: neither the audit's check nor the attribution takes the others for strangers."""
    runs.start(actor, stream)
    job: Any = run_round(SmallStream([ROW], [ROW]))
    first = Commit.objects.get(table=stream.table, version=1)
    assert judgement(first).verdict == Explanation.Verdict.WAITING
    book_ended()
    assert judgement(first).verdict == Explanation.Verdict.NEEDED_NONE
    Job.objects.filter(pk=job.pk).update(finished_at=timezone.now() - timedelta(days=9))
    assert [finding.kind for finding in differences() if finding.kind == "strange_stamp"] == []
    StreamBatch.objects.all().delete()  # thinned by age
    assert [finding.kind for finding in differences() if finding.kind == "strange_stamp"] == []
    Commit.objects.filter(pk=first.pk).update(operation="DELETE")
    assert [finding.kind for finding in differences() if finding.kind == "strange_stamp"] == ["strange_stamp"]


@pytest.mark.parametrize("version", [1, 2], ids=["found late by its first commit", "thinned"])
def test_commits_of_a_round_whose_batches_have_no_rows_are_its_jobs(actor, stream, version):
    runs.start(actor, stream)
    job: Any = run_round(SmallStream([ROW], [ROW]))
    book_ended()
    StreamBatch.objects.all().delete()
    Job.objects.filter(pk=job.pk).update(version=version, result={**job.result, "version": version})
    first, second = Commit.objects.filter(table=stream.table, version__gte=1).order_by("version")
    assert [judgement(commit).verdict for commit in (first, second)] == [Explanation.Verdict.NEEDED_NONE] * 2
    other = second if version == 1 else first
    kept = other.operation, other.committed_at, other.user_metadata
    assert other.committed_at is not None
    late = other.committed_at + timedelta(seconds=timing().late_commit) + timedelta(hours=1)
    for changes in ({"operation": "DELETE"}, {"committed_at": late}, {"user_metadata": "{}"}):
        other.operation, other.committed_at, other.user_metadata = kept
        for name, value in changes.items():
            setattr(other, name, value)
        assert judgement(other).verdict == Explanation.Verdict.FORGED
    other.operation, other.committed_at, other.user_metadata = kept
    Job.objects.filter(pk=job.pk).update(base_version=other.version)
    assert judgement(other).verdict == Explanation.Verdict.FORGED


def test_a_history_by_person_has_every_commit_of_a_round(actor, stream):
    runs.start(actor, stream)
    run_round(SmallStream([ROW], [ROW]))
    known = KnownJobs()
    by = Commit.objects.filter(known.asked_by(actor.person.name), table=stream.table)
    assert sorted(by.values_list("version", flat=True)) == [1, 2]
    described = known.of_commits(actor.person, list(Commit.objects.filter(table=stream.table)))
    assert {version: job.made_it for version, job in described.items()} == {1: True, 2: True}
    Commit.objects.filter(table=stream.table, version=1).update(operation="DELETE")
    assert list(by.values_list("version", flat=True)) == [2]
    assert not known.of_commits(actor.person, list(Commit.objects.filter(table=stream.table)))[1].made_it


def test_a_due_stream_gets_its_next_round_and_one_at_a_time(actor, stream):
    runs.start(actor, stream)
    make_due(stream)
    assert open_due() == 0  # one is open
    run_round(SmallStream([ROW]))
    book_ended()
    assert open_due() == 0  # not due before its interval
    make_due(stream)
    assert open_due() == 1
    assert fresh(stream).rounds == 2
    job = Job.objects.get(state="queued")
    assert job.requested_by == actor.person
    assert Event.objects.get(job=job.pk, action="job.request").actor_name == "dispatcher"


def test_a_stream_whose_source_holds_nothing_new_opens_no_round(actor, stream, landing):
    runs.start(actor, stream)
    run_round(SmallStream([ROW]))
    book_ended()
    taken(stream, landing)
    make_due(stream)
    assert open_due() == 0
    assert waiting(stream) == 0
    (landing / "new.json").write_text("{}")
    make_due(stream)
    assert open_due() == 1
    assert waiting(stream) == 1


def test_after_ten_minutes_a_round_looks_whatever_the_count_says(actor, stream, landing):
    runs.start(actor, stream)
    run_round(SmallStream([ROW]))
    book_ended()
    taken(stream, landing)
    StreamRound.objects.update(opened_at=timezone.now() - timedelta(minutes=11))
    make_due(stream)
    assert open_due() == 1


def waiting(stream: Stream) -> Any:
    return (fresh(stream).lag or {})["waiting"]


def taken(stream: Stream, landing: Path) -> None:
    """A checkpoint whose source's log names every file that is there."""
    place = Path(stream.checkpoint) / "sources" / "0"
    place.mkdir(parents=True)
    lines = [json.dumps({"path": f"file://{file}", "timestamp": 1, "batchId": 0}) for file in landing.iterdir()]
    (place / "0").write_text("\n".join(["v1", *lines]))
    for name in ("offsets", "commits"):
        (Path(stream.checkpoint) / name).mkdir()
    (Path(stream.checkpoint) / "commits" / "0").write_text("v1\n{}")
    (Path(stream.checkpoint) / "offsets" / "0").write_text('v1\n{}\n{"logOffset":0}')


def test_a_failed_round_fails_its_stream_and_says_why(actor, stream):
    runs.start(actor, stream)
    job: Any = run_round(SmallStream(fails="DELTA_METADATA_MISMATCH"))
    book_ended()
    now = fresh(stream)
    assert now.state == "failed"
    assert now.error["engine"]["condition"] == "DELTA_METADATA_MISMATCH"
    assert now.error["table_state"] == "Nothing was committed."
    assert Event.objects.get(action="stream.fail").job == job.pk
    make_due(stream)
    assert open_due() == 0
    runs.start(actor, now)
    assert fresh(stream).state == "running"


def test_an_available_now_stream_stops_when_it_has_read_all(actor, asked):
    stream = acts.create(actor, "once", "a load", {**asked, "trigger": "available_now"})
    runs.start(actor, stream)
    run_round(SmallStream([ROW]))
    book_ended()
    assert fresh(stream).state == "stopped"
    assert fresh(stream).state_text == "It has read all that was there."


def test_a_stop_lets_the_round_that_runs_end(actor, stream):
    job: Any = runs.start(actor, stream)
    Job.objects.filter(pk=job.pk).update(state="running", attempt=1, token=1)
    runs.stop(actor, fresh(stream))
    assert fresh(stream).state == "stopping"
    Job.objects.filter(pk=job.pk).update(
        state="succeeded",
        finished_at=timezone.now(),
        result={"version": None, "no_op": True, "details": {}},
        no_op=True,
    )
    assert timing().wake <= 5  # seconds until the dispatcher looks
    streams.look()
    assert fresh(stream).state == "stopped"


def test_a_stop_ends_a_round_that_no_worker_has(actor, stream):
    job: Any = runs.start(actor, stream)
    runs.stop(actor, fresh(stream))
    job.refresh_from_db()
    assert (job.state, fresh(stream).state) == ("cancelled", "stopped")
    assert StreamRound.objects.get(job=job).booked_at is not None


def test_a_stop_ends_a_round_whose_worker_was_lost_and_leaves_its_booking(actor, stream):
    """Its first attempt may have committed batches."""
    job: Any = runs.start(actor, stream)
    Job.objects.filter(pk=job.pk).update(attempt=1)
    runs.stop(actor, fresh(stream))
    job.refresh_from_db()
    assert (job.state, fresh(stream).state) == ("cancelled", "stopped")
    assert StreamRound.objects.get(job=job).booked_at is None
    assert booking.book(StreamRound.objects.get(job=job).pk)
    assert fresh(stream).state == "stopped"


def test_a_stop_between_two_rounds_takes_effect_at_once(actor, stream):
    runs.start(actor, stream)
    run_round(SmallStream([ROW]))
    streams.look()
    make_due(stream)
    stopped = runs.stop(actor, fresh(stream))
    assert (stopped.state, stopped.next_round_at) == ("stopped", None)
    assert streams.look() == 0
    assert not Job.objects.filter(state="queued").exists()


def test_a_stop_while_the_source_is_measured_opens_no_round(actor, stream, monkeypatch: pytest.MonkeyPatch):
    runs.start(actor, stream)
    run_round(SmallStream([ROW]))
    book_ended()
    make_due(stream)

    def measure(_stream: Stream) -> None:
        runs.stop(actor, fresh(stream))

    monkeypatch.setattr(lag, "measure", measure)
    assert streams.look() == 0
    assert (fresh(stream).state, fresh(stream).rounds) == ("stopped", 1)


def test_it_stops_once_its_person_may_no_longer_run_it(actor, stream, olga):
    runs.start(actor, stream)
    run_round(SmallStream([ROW]))
    book_ended()
    olga.grants.all().delete()
    make_due(stream)
    assert open_due() == 0
    now = fresh(stream)
    assert now.state == "stopped"
    assert olga.name in now.state_text


def test_it_stops_once_a_rule_protects_its_table_and_does_not_start_again(actor, stream):
    runs.start(actor, stream)
    run_round(SmallStream([ROW]))
    book_ended()
    here = GrantScope(table_id=stream.table_id)
    policy_services.add(Actor.system("tests"), "any", here, Terms("Ledger", 0), forbids=True)
    make_due(stream)
    assert open_due() == 0
    now = fresh(stream)
    assert (now.state, "the rule “Ledger” protects it" in now.state_text) == ("stopped", True)
    with pytest.raises(Problem) as refused:
        runs.start(actor, now)
    assert refused.value.code == "protected"
    assert fresh(stream).state == "stopped"


# --- streams that replace rows ----------------------------------------------------------------------------------------


def test_complete_into_a_table_that_it_did_not_make_is_approved_once_per_definition(actor, counted):
    stream = acts.create(actor, "count", "sums", counted)
    job: Any = runs.start(actor, stream)
    assert (job.state, job.preview["class"]) == ("awaiting_approval", "whole_table")
    assert {c["code"] for c in job.preview["consequences"]} == {"replaces_rows", "standing"}
    approve(job)
    run_round(SmallStream([ROW]))
    book_ended()
    make_due(stream)
    open_due()
    second: Any = Job.objects.exclude(pk=job.pk).get()
    assert (second.state, second.preview["approved_by_job"]) == ("queued", str(job.pk))
    log_access.sync(stream.table_id)
    run_round(SmallStream([ROW]))
    commit = Commit.objects.filter(table=stream.table).latest("version")
    assert judgement(commit).verdict == Explanation.Verdict.APPROVED
    book_ended()
    runs.stop(actor, fresh(stream))
    changed = acts.change(actor, fresh(stream), {"filter": "id > 0", "reason": "less"})
    assert runs.start(actor, changed).state == "awaiting_approval"


def test_nobody_approves_a_definition_that_they_shaped(actor, counted):
    """Whoever created or changed it is as one who has edited the request, though another person starts it."""
    stream = acts.create(actor, "count", "sums", counted)
    bob = factories.person_with("operator")
    factories.GrantFactory(person=bob, role="approver")
    acts.change(Actor.acting_for(bob), stream, {"filter": "id > 0"})
    eve = factories.person_with("operator")
    job: Any = runs.start(Actor.acting_for(eve), fresh(stream))
    assert (job.state, job.requested_by) == ("awaiting_approval", eve)
    assert set(job.edits.values_list("person", flat=True)) == {actor.person.pk, bob.pk}
    with pytest.raises(Problem) as refused:
        decisions.approve(Actor.acting_for(bob), job, job.digest)
    assert refused.value.status == 403


def test_a_change_of_a_running_stream_has_it_run_for_who_changed_it_and_goes_on(actor, stream):
    job: Any = runs.start(actor, stream)
    bob = factories.person_with("operator")
    acts.change(Actor.acting_for(bob), fresh(stream), {"filter": "id > 0"})
    job.refresh_from_db()
    assert job.state == "cancelled"
    now = fresh(stream)
    assert (now.state, now.run_by) == ("running", bob)
    assert open_due() == 1
    assert Job.objects.get(state="queued").parameters["definition"]["steps"]["filter_text"] == "id > 0"


def test_a_standing_approval_is_for_the_table_that_its_approvers_saw(actor, counted, sales):
    stream = acts.create(actor, "count", "sums", counted)
    job: Any = runs.start(actor, stream)
    sales.refresh_from_db()
    assert job.preview["table_id"] == sales.table_id == job.parameters["table_id"]
    approve(job)
    run_round(SmallStream([ROW]))
    book_ended()
    stored = fresh(stream)
    assert rounds.is_approved(stored)
    stored.table.table_id = "made-anew"
    assert not rounds.is_approved(stored)


def test_a_reset_ends_the_approval_and_keeps_the_table_that_the_stream_made(actor, counted):
    stream = acts.create(actor, "count", "sums", counted)
    first: Any = runs.start(actor, stream)
    approve(first)
    run_round(SmallStream([ROW]))
    book_ended()
    runs.stop(actor, fresh(stream))
    Stream.objects.update(query_id="q", made_table_id="mine")
    job: Any = runs.reset(actor, fresh(stream), "anew")
    approve(job)
    run_round(SmallStream())
    book_ended()
    now = fresh(stream)
    assert (now.approved_by_job, now.approved_sha256, now.target_table_id, now.query_id) == (None, "", None, None)
    now.table.table_id = "mine"
    preview = rounds.preview_of(now, reset=False)
    assert (preview["table_id"], preview["replaces"]) == ("mine", False)


def test_a_source_that_was_made_anew_is_read_after_a_reset(actor, asked, sales):
    stream = acts.create(actor, "copy", "rows", {**asked, "source": {"table": str(sales.pk)}})
    before = stream.definition["source"]["table_id"]
    shutil.rmtree(Path(sales.path))
    small_delta.create(Path(sales.path), [ROW])
    job: Any = runs.start(actor, fresh(stream))
    assert job.parameters["definition"]["source"]["table_id"] not in {before, None}
    assert fresh(stream).revision == 2


def test_it_stops_once_its_person_may_no_longer_read_the_files(actor, stream, olga, sales):
    runs.start(actor, stream)
    run_round(SmallStream([ROW]))
    book_ended()
    olga.grants.all().delete()
    factories.GrantFactory(person=olga, role="operator", scope="table", table=stream.table)
    make_due(stream)
    assert open_due() == 0
    assert fresh(stream).state == "stopped"


def test_a_success_after_a_failure_ends_the_failure(actor, stream):
    runs.start(actor, stream)
    run_round(SmallStream(fails="DELTA_METADATA_MISMATCH"))
    book_ended()
    runs.run_once(actor, fresh(stream))
    run_round(SmallStream([ROW]))
    book_ended()
    assert (fresh(stream).state, fresh(stream).error) == ("stopped", None)


def test_a_source_with_more_entries_than_are_counted_is_looked_at_each_time(
    actor, stream, monkeypatch: pytest.MonkeyPatch
):
    runs.start(actor, stream)
    run_round(SmallStream([ROW]))
    book_ended()
    make_due(stream)
    monkeypatch.setattr(lag, "measure", lambda _stream: lag.Lag(0, "file", None, exact=False))
    assert open_due() == 1


def test_a_stricter_rule_ends_a_standing_approval(actor, counted):
    stream = acts.create(actor, "count", "sums", counted)
    job: Any = runs.start(actor, stream)
    approve(job)
    run_round(SmallStream([ROW]))
    book_ended()
    PolicyRule.objects.filter(command="stream_round").update(required_approvals=2)
    make_due(stream)
    open_due()
    assert Job.objects.exclude(pk=job.pk).get().state == "awaiting_approval"


def test_a_stream_whose_round_was_rejected_stops(actor, counted):
    stream = acts.create(actor, "count", "sums", counted)
    job: Any = runs.start(actor, stream)
    Job.objects.filter(pk=job.pk).update(state="rejected", finished_at=timezone.now())
    book_ended()
    assert (fresh(stream).state, fresh(stream).state_text) == ("stopped", "Its round was rejected.")


def test_complete_into_the_table_that_it_made_needs_no_approval(actor, asked):
    body = {**asked, "aggregate": {"group_by": ["p"], "count_as": "id"}, "output_mode": "complete"}
    stream = acts.create(actor, "count", "sums", body)
    assert runs.start(actor, stream).state == "queued"
    run_round(SmallStream([ROW]))
    batch_zero(stream)
    book_ended()
    assert fresh(stream).made_table_id == fresh(stream).table.table_id
    make_due(stream)
    open_due()
    assert Job.objects.get(stream_round__number=2).state == "queued"


def batch_zero(stream: Stream) -> None:
    """The small engine makes the table by a commit of its own: here the stream's first batch is taken to be that one."""
    job = Job.objects.get(stream_round__stream=stream)
    commit = Commit.objects.get(table=stream.table, version=1)
    Commit.objects.filter(table=stream.table, version=0).update(
        job=job.pk, operation=commit.operation, operation_parameters={**commit.operation_parameters, "epochId": "7"}
    )


def test_a_reset_is_reviewed_and_starts_over(actor, stream):
    runs.start(actor, stream)
    run_round(SmallStream([ROW]))
    book_ended()
    runs.stop(actor, fresh(stream))
    Stream.objects.filter(pk=stream.pk).update(query_id="q")
    job: Any = runs.reset(actor, fresh(stream), "the source was made anew")
    assert (job.state, job.reason) == ("awaiting_approval", "the source was made anew")
    assert "loads_again" in {c["code"] for c in job.preview["consequences"]}
    approve(job)
    engine = SmallStream()
    run_round(engine)
    assert engine.ran[0].reset
    book_ended()
    assert (fresh(stream).query_id, fresh(stream).state) == (None, "stopped")


# --- the past ---------------------------------------------------------------------------------------------------------


def test_lists_fold_the_rounds_of_the_past(actor, stream):
    for _ in range(3):
        if fresh(stream).state == "running":
            make_due(stream)
            open_due()
        else:
            runs.start(actor, stream)
        run_round(SmallStream([ROW]))
        book_ended()
    assert Job.objects.filter(folded=False).count() == 1
    assert Job.objects.count() == 3


def test_one_streams_trouble_holds_up_no_other(actor, stream, asked, root, monkeypatch: pytest.MonkeyPatch):
    other = acts.create(actor, "second", "more", {**asked, "target": {"path": f"{root.uri}/second"}})
    for each in (stream, other):
        runs.start(actor, each)
        run_round(SmallStream([ROW]))
    book_ended()
    for each in (stream, other):
        make_due(each)

    measured: Any = lag.measure

    def measure(each: Stream) -> Any:
        if each.pk == stream.pk:
            raise RuntimeError("a fault")
        return measured(each)

    monkeypatch.setattr(lag, "measure", measure)
    streams.look()
    assert fresh(other).rounds == 2
    troubled = fresh(stream)
    assert (troubled.rounds, troubled.state, troubled.lag, troubled.lag_text) == (1, "running", None, rounds.FAULT)
    assert troubled.next_round_at > timezone.now() + timedelta(seconds=20)  # it is looked at again
    monkeypatch.setattr(lag, "measure", measured)
    make_due(stream)
    streams.look()
    assert (fresh(stream).rounds, fresh(stream).lag_text) == (2, "")


# --- the lag after a round --------------------------------------------------------------------------------------------


@pytest.fixture
def measured_before(actor, stream):
    """A stream whose round has ended, with the lag that was measured before it."""
    runs.start(actor, stream)
    run_round(SmallStream([ROW]))
    told = {"waiting": 3, "unit": "file", "oldest": None, "exact": True, "too_old": 0}
    Stream.objects.filter(pk=stream.pk).update(lag=told, lag_at=timezone.now(), lag_text="")
    return stream


def test_a_file_never_waits_beside_the_batch_that_has_it(measured_before, monkeypatch):
    monkeypatch.setattr(lag, "measure", lambda stream: lag.Lag(1, "file", None))
    assert book_ended() == 1
    assert fresh(measured_before).lag["waiting"] == 1  # one that came while the round ran


@pytest.mark.parametrize("silence", [NoAnswer, NoPlace])
def test_while_the_source_does_not_answer_its_lag_is_unknown_and_said_so(measured_before, monkeypatch, silence):
    def silent(stream):
        raise silence

    monkeypatch.setattr(lag, "measured", silent)
    assert book_ended() == 1
    now = fresh(measured_before)
    assert (now.lag, now.lag_text) == (None, booking.OUTDATED)


def test_a_person_who_acts_waits_for_no_source(actor, measured_before, monkeypatch):
    def never(stream):
        raise AssertionError("the source was looked at")

    monkeypatch.setattr(lag, "measured", never)
    runs.stop(actor, measured_before)
    booking.booked(fresh(measured_before))
    assert fresh(measured_before).lag is None


def test_a_failed_round_has_read_nothing_and_leaves_its_lag(actor, stream):
    runs.start(actor, stream)
    run_round(SmallStream(fails="DELTA_FAILED_TO_MERGE_FIELDS"))
    told = {"waiting": 3, "unit": "file", "oldest": None, "exact": True, "too_old": 0}
    Stream.objects.filter(pk=stream.pk).update(lag=told, lag_at=timezone.now())
    assert book_ended() == 1
    assert fresh(stream).lag == told
