"""A repair from its request to its result: two approvals, what makes it stale, and a run that fails after its commit."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.approvals import decisions
from jobs.commands.registry import drift_by_log, not_undone
from jobs.commands.repair.rules import Repair
from jobs.domain.states import State
from jobs.models import Job
from jobs.requests.asking import request
from jobs.targets.subject import subject_of
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.deltalog.read.data_files import Unlike
from tables.models import Commit, Table
from tables.record import file_check
from tables.storage.local.files import LocalStorage
from tables.sync import file_checks
from tables.sync import table as syncing
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.commands.repair.asked import Repairing, files_of, take

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quick(timing: Any, no_wakes: Any) -> Any:
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake: Any) -> Table:
    """Two files in each partition, and one of them gone."""
    table = lakes.sales_in(lake)
    small_delta.append(Path(table.path), [{"id": 50, "p": "FR"}, {"id": 51, "p": "DE"}])
    take(Path(table.path), "FR")
    return syncing.sync(table.pk)


def worked(claiming: Any, engine: Repairing | None = None) -> Job:
    made: Any = engine or Repairing()
    claim = claiming(factories.holder())
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, made, threading.Event(), made.end_hard))
    return Job.objects.get(pk=claim.job.pk)


def requested(who: Any, table: Table) -> Job:
    request(Actor.acting_for(who), Repair(str(table.pk)), "the disk is lost")
    return worked(claim_preview)


def approve(job: Job) -> None:
    decisions.approve(Actor.acting_for(factories.person_with("approver")), job, str(job.digest))


def approved(who: Any, table: Table) -> Job:
    job = requested(who, table)
    approve(job)
    approve(Job.objects.get(pk=job.pk))
    return Job.objects.get(pk=job.pk)


def test_two_people_approve_what_storage_lacks_and_the_run_takes_it_out(olga: Any, sales: Table) -> None:
    place = Path(sales.path)
    job = requested(olga, sales)
    assert (job.state, (job.policy or {})["required_approvals"]) == (State.AWAITING_APPROVAL, 2)
    assert (job.preview or {})["files"] == 1
    approve(job)
    assert claim_run(factories.holder()) is None, "one approval isn't enough"
    approve(Job.objects.get(pk=job.pk))
    done = worked(claim_run)
    assert (done.state, done.version) == (State.SUCCEEDED, small_delta.head(place))
    result = done.result or {}
    assert (result["operation"], result["details"]["files"], result["num_affected_rows"]) == ("FSCK", 1, 5)
    assert [row["id"] for row in small_delta.rows_of(place)] == [0, 2, 4, 6, 8, 50, 51]


def test_its_request_and_its_end_are_on_record_with_the_commit_as_its_own(olga: Any, sales: Table) -> None:
    job = approved(olga, sales)
    worked(claim_run)
    actions = set(Event.objects.filter(object_id=str(job.pk)).values_list("action", flat=True))
    assert {"job.request", "job.approve"} <= actions
    syncing.sync(sales.pk)
    commit = Commit.objects.get(table=sales, version=2)
    assert (commit.operation, commit.job) == ("FSCK", job.pk)


def test_what_was_known_of_the_missing_file_ends_with_it(olga: Any, sales: Table) -> None:
    [gone] = [name for name in files_of(Path(sales.path), "FR") if not (Path(sales.path) / name).exists()]
    check = file_check.of_look(1, timezone.now(), 4, 4, [Unlike(gone, 9, None)])
    file_checks.keep(sales.pk, None, check)
    assert "files_missing" in Table.objects.get(pk=sales.pk).health_codes
    approved(olga, sales)
    worked(claim_run)
    assert "files_missing" not in syncing.sync(sales.pk).health_codes


def test_a_table_that_is_whole_ends_at_once(olga: Any, lake: Any) -> None:
    job = requested(olga, lakes.sales_in(lake))
    assert (job.state, job.no_op) == (State.SUCCEEDED, True)
    assert "there is nothing to repair" in (job.result or {})["details"]["text"]


def test_storage_that_does_not_tell_fails_the_preview(olga: Any, sales: Table) -> None:
    place = Path(sales.path)
    [gone] = [name for name in files_of(place, "FR") if not (place / name).exists()]
    (place / gone).mkdir()
    job = requested(olga, sales)
    assert (job.state, (job.error or {})["code"]) == (State.FAILED, "unreadable")


def test_storage_is_not_asked_at_the_request(olga: Any, sales: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStorage, "lacks", None)
    made = request(Actor.acting_for(olga), Repair(str(sales.pk)), "the disk is lost")
    assert (made.job.preview or {})["files"] is None


def test_an_append_only_table_is_refused_at_the_request(olga: Any, lake: Any) -> None:
    small_delta.create(Path(lake.uri) / "log", [{"id": 1, "p": "FR"}], {"delta.appendOnly": "true"})
    table = factories.TableFactory(root=lake, name="log")
    with pytest.raises(Problem) as refused:
        request(Actor.acting_for(olga), Repair(str(table.pk)), "the disk is lost")
    assert refused.value.engine is not None
    assert refused.value.engine["condition"] == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    assert not Job.objects.exists()


# What has changed since the preview


def test_newer_rows_do_not_make_it_stale(olga: Any, sales: Table) -> None:
    job = approved(olga, sales)
    small_delta.append(Path(sales.path), [{"id": 60, "p": "DE"}])
    look = drift_by_log(job)
    assert look is not None
    assert (look.verdict, "has moved to version 2" in look.why) == ("same_files", True)
    done = worked(claim_run)
    assert (done.state, (done.drift or {})["verdict"]) == (State.SUCCEEDED, "same_files")


def test_a_file_that_came_back_makes_it_stale_before_spark_is_asked(olga: Any, sales: Table) -> None:
    place = Path(sales.path)
    job = approved(olga, sales)
    [name] = (job.preview or {})["sample"]
    (place / name).write_text("[]")
    done = worked(claim_run)
    assert (done.state, small_delta.head(place)) == (State.STALE, 1)
    assert f"Storage holds {name} again" in (done.error or {})["message"]


def test_a_file_that_another_program_took_out_makes_it_stale(olga: Any, sales: Table) -> None:
    place = Path(sales.path)
    job = approved(olga, sales)
    [name] = (job.preview or {})["sample"]
    small_delta.commit(place, "DELETE", [{"remove": {"path": name, "deletionTimestamp": 0, "dataChange": True}}])
    look = drift_by_log(job)
    assert look is not None
    assert (look.moved, f"no longer has {name}" in look.why) == (True, True)
    assert worked(claim_run).state == State.STALE


def test_another_table_at_the_path_makes_it_stale(olga: Any, sales: Table) -> None:
    approved(olga, sales)
    Job.objects.all().update(preview={**(Job.objects.get().preview or {}), "table_id": "another"})
    look = drift_by_log(Job.objects.get())
    assert look is not None
    assert (look.moved, "isn’t the one that was previewed" in look.why) == (True, True)


# How it ends


def test_a_run_that_fails_after_its_commit_has_succeeded_with_its_numbers(olga: Any, sales: Table) -> None:
    approved(olga, sales)
    done = worked(claim_run, Repairing(fails=True))
    details = (done.result or {})["details"]
    assert (done.state, done.version) == (State.SUCCEEDED, 2)
    assert (details["files"], details["rows"], len(details["named"])) == (1, 5, 1)


def test_a_restore_is_no_undo_of_it(olga: Any, sales: Table) -> None:
    approved(olga, sales)
    done = worked(claim_run)
    assert "storage lacks the files" in not_undone(done)


def test_streams_that_read_the_table_are_named(olga: Any, sales: Table) -> None:
    other = factories.TableFactory(root=sales.root, name="other")
    factories.stream(other, name="copy", source_table=sales, query_id="q1", reads_from=1)
    job = requested(olga, sales)
    [said] = [each["text"] for each in (job.preview or {})["consequences"] if each["code"] == "fails_stream"]
    assert said.startswith("The stream copy into other")
    assert subject_of(sales.pk).version == 1
