"""A result that isn't what was predicted is an alarm on job, table, home page and in the audit, until somebody looks."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit import presenters
from console.audit.actions import Action
from console.audit.actor import Actor
from console.audit.models import Event
from jobs.approvals import decisions
from jobs.commands.optimize.rules import Optimize
from jobs.commands.registry import compared, contradicted
from jobs.commands.reorg.rules import Reorg
from jobs.dispatcher.attribution import explain_commits
from jobs.dispatcher.reconcile import reconcile
from jobs.domain.comparison import ROWS_CHANGED, Expected, Line, Unit, Verdict, contradictions, in_words, line
from jobs.domain.errors import EngineFailure, EngineLost
from jobs.domain.results import Result
from jobs.domain.states import State
from jobs.models import Job
from jobs.requests.asking import request
from jobs.targets.rewritten_rows import with_rows_changed
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.catalog import attributions
from tables.models import Commit, Explanation, Table
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser, caller
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.asking import request_delete
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)
PREDICATE = "p = 'FR' AND id < 5"  # two of the five rows of one file


class Recording(SmallEngine):
    """Deletes as it should, and records what it is told to."""

    def __init__(self, **metrics: str) -> None:
        super().__init__()
        self.metrics = metrics

    def run(self, command: Any, *rest: Any) -> Result:
        place = Path(command.path)
        result = super().run(command, *rest)
        log = place / "_delta_log" / f"{result.version:020d}.json"
        info, *actions = log.read_text().splitlines()
        commit = json.loads(info)
        written = commit["commitInfo"]["operationMetrics"] | self.metrics
        commit["commitInfo"]["operationMetrics"] = written
        log.write_text("\n".join([json.dumps(commit), *actions]))
        rows = int(written["numDeletedRows"])
        return replace(result, operation_metrics=written, num_affected_rows=rows)


@pytest.fixture(autouse=True)
def quick(timing: Callable[..., Any], no_wakes: Any) -> None:
    timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake: Any) -> Table:
    return lakes.sales_in(lake)


@pytest.fixture
def anna(db: None) -> Person:
    return factories.appointed("anna", Role.APPROVER)


def worked(claiming: Callable[..., Any], engine: SmallEngine) -> Job:
    claim = claiming(factories.holder())
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, engine, threading.Event(), engine.ended_hard.set))
    return Job.objects.select_related("table").get(pk=claim.job.pk)


def approved(olga: Person, anna: Person, sales: Table) -> Job:
    request_delete(Actor.acting_for(olga), sales.pk, PREDICATE, "too old")
    job = worked(claim_preview, SmallEngine())
    assert (job.preview or {})["rows_copied"] == 3
    decisions.approve(Actor.acting_for(anna), job, job.digest or "", "go")
    return job


def judged(job: Job) -> Explanation:
    syncing.sync(job.table_id)
    explain_commits()
    return Explanation.objects.get(table=job.table_id, version=job.version or 0)


def test_a_result_as_predicted_is_none(olga: Person, anna: Person, sales: Table) -> None:
    approved(olga, anna, sales)
    job = worked(claim_run, Recording(numCopiedRows="3"))
    assert judged(job).verdict == Explanation.Verdict.APPROVED
    assert 'id="contradicted"' not in browser(olga).get(f"/jobs/{job.pk}/").content.decode()


def test_rows_that_were_not_copied_are_said_wherever_people_look(olga: Person, anna: Person, sales: Table) -> None:
    approved(olga, anna, sales)
    job = worked(claim_run, Recording(numCopiedRows="1"))
    assert job.state == State.SUCCEEDED  # the commit stands
    found = judged(job)
    assert found.verdict == Explanation.Verdict.CONTRADICTS
    assert "predicted 3, recorded 1." in found.why
    event = Event.objects.get(action=Action.COMMIT_UNEXPLAINED)
    assert (event.outcome, event.job, event.table_version) == ("failed", job.pk, job.version)
    assert "predicted 3, recorded 1." in event.reason
    events = caller("operator").get(f"/jobs/{job.pk}/events").json()["results"]
    assert "predicted 3, recorded 1." in events[-1]["text"]
    page = browser(olga).get(f"/jobs/{job.pk}/").content.decode()
    assert 'id="contradicted"' in page
    assert f"/jobs/{job.pk}/undo/" in page
    for who in (olga, anna):
        home = browser(who).get("/").content.decode()
        assert "1 commit to acknowledge" in home
        assert "not as predicted" in home
    overview = browser(olga).get(f"/tables/{sales.pk}/").content.decode()
    assert "1 commit to acknowledge." in overview
    commit = browser(olga).get(f"/tables/{sales.pk}/commits/{job.version}/").content.decode()
    assert "Not as predicted" in commit
    assert f'id="see-contradicted" href="/jobs/{job.pk}/"' in commit
    history = browser(olga).get(f"/tables/{sales.pk}/history/").content.decode()
    assert "not as predicted" in history
    assert "v1 DELETE, no approved job" not in history
    line = presenters.line(event)
    assert (line.phrase, line.look.label) == ("found a commit unlike its prediction", "not as predicted")


def test_it_stays_until_somebody_says_what_it_was(olga: Person, anna: Person, sales: Table) -> None:
    approved(olga, anna, sales)
    job = worked(claim_run, Recording(numDeletedRows="4"))
    assert judged(job).is_open
    answer = caller("auditor").get(f"/tables/{sales.pk}/commits/{job.version}")
    assert answer.json()["explanation"]["verdict"] == "contradicts"
    attributions.acknowledge(Actor.acting_for(olga), sales, int(job.version or 0), "The file was damaged.")
    assert not Explanation.objects.get(table=sales, version=job.version or 0).is_open
    assert "to acknowledge" not in browser(anna).get("/").content.decode()


def test_on_a_newer_version_with_the_same_rows_only_their_number_stands(
    olga: Person, anna: Person, sales: Table
) -> None:
    approved(olga, anna, sales)
    small_delta.compact(Path(sales.path))
    job = worked(claim_run, Recording(numCopiedRows="1"))
    assert (job.drift or {})["verdict"] == "same_rows"
    assert judged(job).verdict == Explanation.Verdict.APPROVED
    wrong = replace(Result.from_json(job.result or {}), num_affected_rows=3)
    assert [each.name for each in contradicted(job, wrong)] == ["num_affected_rows"]
    assert contradicted(job, replace(wrong, drifted=True)) == []


class Losing(SmallEngine):
    """Joins files and leaves `lost` rows out, as Spark does where the log says that a file is smaller than it is."""

    lost = 1
    removed = "2"

    def run(self, command: Any, preview: Any, checked: Any, marks: Any, *rest: Any) -> Result:
        path = Path(command.path)
        version = small_delta.compact(path)
        log, job = path / "_delta_log" / f"{version:020d}.json", Job.objects.get(pk=marks.job)
        info, *actions = map(json.loads, log.read_text().splitlines())
        info["commitInfo"]["userMetadata"] = json.dumps({"job": str(marks.job), "attempt": 1, "digest": job.digest})
        add = next(action["add"] for action in actions if "add" in action)
        stats = json.loads(add["stats"])
        add["stats"] = json.dumps(stats | {"numRecords": stats["numRecords"] - self.lost})
        log.write_text("\n".join(map(json.dumps, [info, *actions])))
        return Result(version, "OPTIMIZE", {}, {"numRemovedFiles": self.removed}, read_version=version - 1)


class Keeping(Losing):
    lost = 0


class Miscounting(Keeping):
    removed = "9"


@pytest.mark.parametrize("command", [Optimize, Reorg])
@pytest.mark.parametrize("moved", [False, True], ids=["on the previewed version", "on a newer one"])
def test_a_command_that_changes_no_row_and_loses_one_is_an_alarm(
    olga: Person, sales: Table, command: Any, moved: bool
) -> None:
    job = rewritten(olga, sales, command, Losing(), moved=moved)
    found = judged(job)
    assert (found.verdict, "Rows gained or lost: predicted 0, recorded -1." in found.why) == ("contradicts", True)
    page = browser(olga).get(f"/jobs/{job.pk}/").content.decode()
    assert f'id="before-contradicted" href="/tables/{sales.pk}/commits/{int(job.version or 0) - 1}/"' in page
    assert "1 commit to acknowledge" in browser(olga).get("/").content.decode()


@pytest.mark.parametrize("command", [Optimize, Reorg])
def test_one_that_keeps_them_all_says_so(olga: Person, sales: Table, command: Any) -> None:
    job = rewritten(olga, sales, command, Keeping())
    assert judged(job).verdict == Explanation.Verdict.NEEDED_NONE
    [line] = [line for line in compared(job, Result.from_json(job.result or {})) if line.name == ROWS_CHANGED]
    assert (line.verdict, line.actual) == (Verdict.SAME, 0)


def test_where_no_row_was_lost_nobody_is_told_to_go_back(olga: Person, sales: Table) -> None:
    job = rewritten(olga, sales, Optimize, Miscounting())
    found = judged(job)
    assert (found.verdict, "recorded 9" in found.why) == ("contradicts", True)
    page = browser(olga).get(f"/jobs/{job.pk}/").content.decode()
    assert 'id="contradicted"' in page
    assert "before-contradicted" not in page


def test_commits_that_the_catalog_has_not_read_yet_say_nothing(olga: Person, sales: Table) -> None:
    job = rewritten(olga, sales, Optimize, Losing())
    result = Result.from_json(job.result or {})
    assert with_rows_changed(job, result).details[ROWS_CHANGED] == -1
    Commit.objects.filter(table=sales).delete()
    bare = replace(result, details={})
    assert with_rows_changed(job, bare) == bare


class Lost(Losing):
    """Its JVM dies after the commit."""

    def run(self, *args: Any) -> Result:
        super().run(*args)
        raise EngineLost(EngineFailure(None, None, "the JVM is gone"))


class Breaking(Losing):
    def run(self, *args: Any) -> Result:
        super().run(*args)
        raise KeyError("nobody thought of it")


@pytest.mark.parametrize("command", [Optimize, Reorg])
def test_rows_that_a_lost_run_has_lost_are_seen_by_the_dispatcher(
    olga: Person, sales: Table, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.dispatcher.reconcile.proven_dead", lambda attempt: True)
    job = waiting(olga, sales, command, Lost())
    with pytest.raises(EngineLost):
        worked(claim_run, Lost())
    assert reconcile() == 1
    assert_alarmed(job)


def test_rows_that_a_run_has_lost_are_seen_when_levee_itself_breaks_after_it(olga: Person, sales: Table) -> None:
    job = waiting(olga, sales, Optimize, Breaking())
    worked(claim_run, Breaking())
    assert_alarmed(job)


def assert_alarmed(job: Job) -> None:
    """Once the catalog has read the commit, whoever looks: no sync stands in the dispatcher's way."""
    done = Job.objects.get(pk=job.pk)
    assert done.state == State.SUCCEEDED
    assert judged(done).verdict == Explanation.Verdict.CONTRADICTS
    [line] = [each for each in compared(done, Result.from_json(done.result or {})) if each.name == ROWS_CHANGED]
    assert line.actual == -1
    viewer = factories.person_with("viewer")
    assert 'id="contradicted"' in browser(viewer).get(f"/jobs/{done.pk}/").content.decode()


def drop_a_column(path: Path) -> None:
    """As column mapping leaves the table: a column's number has been given that no column has."""
    lines = (path / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    [metadata] = [action["metaData"] for action in map(json.loads, lines) if "metaData" in action]
    mapped = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    small_delta.commit(path, "DROP COLUMNS", [protocol, {"metaData": metadata | {"configuration": mapped}}])


def waiting(olga: Person, sales: Table, command: Any, engine: SmallEngine) -> Job:
    """A job that a worker may run."""
    small_delta.append(Path(sales.path), [{"id": 50, "p": "FR"}])
    if command is Reorg:
        drop_a_column(Path(sales.path))
    request(Actor.acting_for(olga), command(str(sales.pk)), "many small files")
    job = worked(claim_preview, engine)
    assert job.state == State.QUEUED
    return job


def rewritten(olga: Person, sales: Table, command: Any, engine: SmallEngine, *, moved: bool = False) -> Job:
    waiting(olga, sales, command, engine)
    if moved:
        small_delta.append(Path(sales.path), [{"id": 60, "p": "FR"}])
    job = worked(claim_run, engine)
    assert job.state == State.SUCCEEDED, job.error
    return job


def made(expected: Expected, actual: int | str | None, unit: Unit = Unit.COUNT) -> Line:
    return line("rows", "Rows", unit, expected, actual, moved=False)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (made(Expected(1), 2_000), "Rows: predicted 1, recorded 2,000."),
        (made(Expected(most=5), 6), "Rows: predicted at most 5, recorded 6."),
        (made(Expected(least=2, most=5), 1), "Rows: predicted at least 2 and at most 5, recorded 1."),
        (made(Expected(most=5), 5), None),
        (made(Expected(1), None), None),
        (made(Expected(), 7), None),
        (made(Expected("log only"), "rewrite files", Unit.WORD), None),
    ],
)
def test_a_number_contradicts_what_was_predicted_exactly_or_as_a_bound(found: Line, sentence: str | None) -> None:
    assert [in_words(each) for each in contradictions([found])] == ([] if sentence is None else [sentence])
