"""Changes of a schema from their request to their result: what makes them stale, what a failure or a death half-way leaves."""

import json
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now

from console.audit.actor import Actor
from jobs.commands.alter_schema.handling import previewed
from jobs.commands.alter_schema.rules import AlterSchema
from jobs.commands.registry import sample_of
from jobs.dispatcher.attribution import judgement
from jobs.dispatcher.reconcile import reconcile
from jobs.domain.engine import Marks
from jobs.domain.errors import EngineFailure
from jobs.domain.measures import Violating
from jobs.domain.results import Result
from jobs.domain.states import State
from jobs.evidence.consistency import differences
from jobs.models import Job, JobEvent
from jobs.requests.asking import request
from jobs.targets.subject import subject_of
from jobs.web.catalog_port import KnownJobs
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Commit, Explanation
from tables.sync import log_access
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.dispatcher.test_reconcile import dead_holder, lapse
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)
CHANGES = (
    {"comment": {"path": "id", "text": "one"}},
    {"table_comment": "two"},
    {"comment": {"path": "p", "text": "three"}},
)


class Altering(SmallEngine):
    """Makes a commit for each change, as many as `most`; the rows that violate each constraint are those told."""

    def __init__(self, most: int = 99, violating: int = 0) -> None:
        super().__init__()
        self.most, self.violating = most, violating

    def preview(self, command: Any, version: int | None, *rest: Any) -> Violating:
        numbers = [str(number) for number, change in enumerate(command.changes, 1) if "add_constraint" in change]
        return Violating(version or 0, dict.fromkeys(numbers, self.violating))

    def run(self, command: Any, preview: Any, checked: Any, marks: Any, *rest: Any) -> Result:
        versions = [committed(Path(command.path), marks) for _ in command.changes[: self.most]]
        listed = [{"version": version, "operation": "CHANGE COLUMN"} for version in versions]
        failure = (
            EngineFailure("DELTA_X", "42000", "Delta says no").as_json() if self.most < len(command.changes) else None
        )
        details = {"text": "done", "commits": listed} | ({"failure": failure} if failure else {})
        return Result(versions[-1], "CHANGE COLUMN", read_version=versions[-1] - 1, details=details)


def committed(path: Path, marks: Any) -> int:
    mark = json.dumps({"job": marks.job, "attempt": marks.attempt, "digest": marks.digest})
    return small_delta.commit(path, "CHANGE COLUMN", [], userMetadata=mark)


@pytest.fixture(autouse=True)
def quick(timing, no_wakes):
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake):
    return lakes.sales_in(lake)


def worked(claiming: Any, engine: SmallEngine | None = None) -> Job:
    engine = engine or Altering()
    claim = claiming(factories.holder())
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.get(pk=claim.job.pk)


def asked(who: Any, table: Any, *changes: Any, engine: SmallEngine | None = None) -> Job:
    request(Actor.acting_for(who), AlterSchema(str(table.pk), changes), "it helps")
    return worked(claim_preview, engine)


def versions_of(job: Job) -> list[int]:
    """The commits that the job's result lists."""
    return [commit["version"] for commit in (job.result or {})["details"]["commits"]]


def verdicts(table: Any) -> set[str]:
    """How the dispatcher judges every commit after the first one."""
    log_access.sync(table.pk)
    commits = Commit.objects.filter(table=table, version__gt=0)
    return {judgement(commit).verdict.value for commit in commits}


def test_what_can_be_taken_back_runs_alone_and_every_commit_is_the_job_s(olga, sales):
    job = asked(olga, sales, *CHANGES)
    assert (job.state, (job.preview or {})["class"], job.policy["required_approvals"]) == (State.QUEUED, "ordinary", 0)
    done = worked(claim_run)
    first = small_delta.head(Path(sales.path)) - 2
    assert (done.state, done.version, versions_of(done)) == (State.SUCCEEDED, first + 2, [first, first + 1, first + 2])
    assert verdicts(sales) == {Explanation.Verdict.NEEDED_NONE.value}


def test_the_history_lists_a_persons_commits_without_one_that_copies_their_mark_between_them(olga, sales):
    asked(olga, sales, *CHANGES)
    job = worked(claim_run)
    made = versions_of(job)
    forged = made[1]
    result = job.result or {}
    result["details"]["commits"] = [commit for commit in result["details"]["commits"] if commit["version"] != forged]
    Job.objects.filter(pk=job.pk).update(result=result)
    log_access.sync(sales.pk)
    by = Commit.objects.filter(KnownJobs().asked_by(olga.name), table=sales)
    assert set(by.values_list("version", flat=True)) == {made[0], made[2]}
    assert judgement(Commit.objects.get(table=sales, version=forged)).verdict == Explanation.Verdict.FORGED


def test_the_history_lists_the_commits_of_a_run_that_was_found_late(olga, sales):
    job = asked(olga, sales, *CHANGES)
    assert claim_run(factories.holder()) is not None
    made = [committed(Path(sales.path), Marks(str(job.pk), 1, str(job.digest))) for _ in CHANGES]
    ended = {"state": State.FAILED, "error": {"code": "lost"}, "finished_at": Now(), "lease_until": None}
    Job.objects.filter(pk=job.pk).update(version=made[-1], **ended)
    log_access.sync(sales.pk)
    by = Commit.objects.filter(KnownJobs().asked_by(olga.name), table=sales)
    assert set(by.values_list("version", flat=True)) == set(made)


def test_commits_between_the_first_and_the_last_are_no_discrepancy(olga, sales):
    asked(olga, sales, *CHANGES)
    done = worked(claim_run)
    Job.objects.filter(pk=done.pk).update(finished_at=Now() - timedelta(days=1))
    Commit.objects.filter(table=sales).update(committed_at=Now() - timedelta(days=1, hours=1))
    assert [each for each in differences() if each.kind == "strange_stamp"] == []


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({"add": {"path": "more", "type": "int"}}, {"may_fail_stream"}),
        ({"add_constraint": {"name": "c", "expression": "id > 0"}}, {"stream_must_fit"}),
        ({"table_comment": "x"}, set()),
    ],
)
def test_the_streams_that_a_change_may_fail_are_named(sales, change, codes):
    other = factories.TableFactory(root=sales.root, name="other")
    factories.stream(other, name="copy", source_table=sales, query_id="q1", reads_from=2)
    factories.stream(sales, name="fill")
    _, preview = previewed(subject_of(sales.pk), AlterSchema(str(sales.pk), [change]))
    found = {each["code"] for each in preview["consequences"]}
    assert found & {"may_fail_stream", "stream_must_fit"} == codes


def test_of_many_streams_the_rest_is_a_number(sales, monkeypatch):
    monkeypatch.setattr("jobs.targets.readers.MOST", 1)
    for name in ("a", "b", "c"):
        factories.stream(sales, name=name)
    change = {"add_constraint": {"name": "c", "expression": "id > 0"}}
    _, preview = previewed(subject_of(sales.pk), AlterSchema(str(sales.pk), [change]))
    texts = [each["text"] for each in preview["consequences"] if each["code"] == "stream_must_fit"]
    assert [text.split(" to this table")[0] for text in texts] == ["The stream a writes", "2 more streams write"]


def test_what_raises_the_protocol_waits_for_a_second_person(olga, sales):
    job = asked(olga, sales, {"add_constraint": {"name": "c", "expression": "id > 0"}})
    assert (job.state, job.policy["required_approvals"]) == (State.AWAITING_APPROVAL, 1)
    assert (job.preview or {})["violating_rows"] == 0


def test_rows_that_violate_a_constraint_refuse_it_before_the_run(olga, sales):
    job = asked(olga, sales, {"add_constraint": {"name": "c", "expression": "id > 0"}}, engine=Altering(violating=7))
    error = job.error or {}
    assert (job.state, error["code"], error["engine"]["condition"]) == (
        State.FAILED, "constraint_violated", "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION",
    )  # fmt: skip
    assert error["message"].startswith("7 rows in ")
    assert (job.preview or {})["violating_rows"] == 7


def test_the_rows_that_violate_a_constraint_are_its_sample(olga, sales):
    changes = [
        {"add_constraint": {"name": name, "expression": text}} for name, text in (("c", "id > 0"), ("d", "id > 9"))
    ]
    job = asked(olga, sales, *changes, engine=Altering(violating=7))
    version = small_delta.head(Path(sales.path))
    assert sample_of(job) == {"predicate": "NOT ((id > 0) <=> TRUE)", "version": version}
    kept = asked(olga, sales, changes[1], engine=Altering(violating=0))
    assert sample_of(kept) is None


def test_a_change_that_fails_ends_the_job_as_failed_with_what_is_committed(olga, sales):
    asked(olga, sales, *CHANGES)
    done = worked(claim_run, Altering(most=2))
    error = done.error or {}
    assert (done.state, done.version, error["code"]) == (
        State.FAILED,
        small_delta.head(Path(sales.path)),
        "partly_committed",
    )
    assert error["message"] == "Change 3 failed: Delta says no"
    assert error["engine"]["condition"] == "DELTA_X"
    assert "2 of 3 changes are committed" in error["table_state"]
    assert "Not made: Comment p with “three”." in error["table_state"]
    assert verdicts(sales) == {Explanation.Verdict.NEEDED_NONE.value}


@pytest.mark.parametrize(("made", "state"), [(2, State.FAILED), (3, State.SUCCEEDED)])
def test_a_worker_that_dies_half_way_is_found_out_by_the_log(olga, sales, made, state):
    job = asked(olga, sales, *CHANGES)
    claim = claim_run(dead_holder())
    assert claim is not None
    mark = json.dumps({"job": str(job.pk), "attempt": 1, "digest": job.digest})
    versions = [small_delta.commit(Path(sales.path), "CHANGE COLUMN", [], userMetadata=mark) for _ in range(made)]
    lapse(job)
    reconcile()
    found = Job.objects.get(pk=job.pk)
    assert (found.state, found.version) == (state, versions[-1])
    assert versions_of(found) == versions
    if state is State.FAILED:
        assert f"{made} of 3 changes are committed" in (found.error or {})["table_state"]


def test_one_that_may_still_run_on_another_host_is_not_ended_between_two_changes(olga, sales, monkeypatch, timing):
    """Nothing proves there that the run is over: it may be making the next commit now."""
    timing(unproven=60)
    monkeypatch.setattr("jobs.dispatcher.reconcile.proven_dead", lambda attempt: None)
    job = asked(olga, sales, *CHANGES)
    assert claim_run(factories.holder()) is not None
    mark = json.dumps({"job": str(job.pk), "attempt": 1, "digest": job.digest})
    small_delta.commit(Path(sales.path), "CHANGE COLUMN", [], userMetadata=mark)
    lapse(job)
    for _ in range(2):
        reconcile()
        assert Job.objects.get(pk=job.pk).state == State.RECONCILING
    for _ in range(2):
        small_delta.commit(Path(sales.path), "CHANGE COLUMN", [], userMetadata=mark)
    reconcile()
    assert Job.objects.get(pk=job.pk).state == State.SUCCEEDED


def test_it_ends_as_incomplete_once_it_has_been_silent_for_long(olga, sales, monkeypatch, timing):
    timing(unproven=0.001)
    monkeypatch.setattr("jobs.dispatcher.reconcile.proven_dead", lambda attempt: None)
    job = asked(olga, sales, *CHANGES)
    assert claim_run(factories.holder()) is not None
    mark = json.dumps({"job": str(job.pk), "attempt": 1, "digest": job.digest})
    small_delta.commit(Path(sales.path), "CHANGE COLUMN", [], userMetadata=mark)
    lapse(job)
    reconcile()
    JobEvent.objects.filter(job=job).update(at=F("at") - timedelta(seconds=1))
    reconcile()
    found = Job.objects.get(pk=job.pk)
    assert (found.state, (found.error or {})["code"]) == (State.FAILED, "partly_committed")


def test_newer_rows_do_not_make_it_stale_and_another_property_does(olga, sales):
    path = Path(sales.path)
    asked(olga, sales, CHANGES[0])
    small_delta.append(path, [{"id": 60, "p": "DE"}])
    done = worked(claim_run)
    assert (done.state, (done.drift or {})["verdict"]) == (State.SUCCEEDED, "same_rows")
    asked(olga, sales, CHANGES[1])
    wider = {"name": "more", "type": "string", "nullable": True, "metadata": {}}
    small_delta.reshape(path, {"type": "struct", "fields": [*small_delta.FIELDS, wider]})
    assert worked(claim_run).state == State.STALE
