"""A clone from its request to its result: the job is of the new table, and the source's commits don't make it stale."""

import json
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now

from console.audit.actor import Actor
from jobs.commands.clone import cleanup
from jobs.commands.clone.handling import CloneHandling
from jobs.commands.clone.rules import Clone
from jobs.commands.vacuum.rules import Vacuum
from jobs.domain.engine import Marks
from jobs.domain.measures import Restorable
from jobs.domain.results import Result
from jobs.domain.states import State
from jobs.models import Job
from jobs.requests.asking import request
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Root
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)


class Cloning(SmallEngine):
    """Clones small tables shallow; `missing` are files that an older version lacks."""

    missing: tuple[str, ...] = ()

    def preview(self, command: Any, *rest: Any) -> Any:
        return Restorable(command.version, self.missing, len(self.missing), None, None)

    def run(self, command: Any, preview: Any, checked: Any, marks: Marks, report: Any) -> Result:
        source, target = Path(command.source), Path(command.path)
        (target / "_delta_log").mkdir()
        first = (source / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
        carried = [action for action in map(json.loads, first) if action.keys() & {"metaData", "protocol"}]
        same = {"partitionValues": {"p": "FR"}, "size": 1, "modificationTime": 0, "dataChange": True}
        named = small_delta.live(source, command.version)
        files = [{"add": same | {"path": f"file:{source}/{name}"}} for name in named]
        mark = json.dumps({"job": marks.job, "attempt": 1, "digest": marks.digest})
        metrics = {"sourceNumOfFiles": str(len(files)), "numCopiedFiles": "0"}
        version = small_delta.commit(
            target, "CLONE", [*carried, *files], version=0, userMetadata=mark, operationMetrics=metrics
        )
        return Result(version, "CLONE", {}, metrics, details={"text": "Names files."})


@pytest.fixture(autouse=True)
def quick(timing, no_wakes):
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake):
    table = lakes.sales_in(lake)
    small_delta.append(Path(table.path), [{"id": 50, "p": "FR"}])
    return table


def worked(claiming, **more: Any) -> Job:
    engine, claim = Cloning(), claiming(factories.holder())
    for name, value in more.items():
        setattr(engine, name, value)
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.select_related("table").get(pk=claim.job.pk)


def asked(who, table, name: str = "copy", **more: Any) -> None:
    command = Clone(str(table.pk), f"{table.root.uri}/{name}", **{"depth": "shallow"} | more)
    request(Actor.acting_for(who), command, "to try something")


def test_it_runs_without_approval_and_the_new_table_is_catalogued_with_its_outside_files(olga, sales):
    asked(olga, sales)
    assert not list(Path(sales.root.uri, "copy").iterdir())
    job = worked(claim_preview)
    assert (job.state, job.policy["required_approvals"], job.base_version) == (State.QUEUED, 0, None)
    done = worked(claim_run)
    assert (done.state, done.version, (done.drift or {})["verdict"]) == (State.SUCCEEDED, 0, "unmoved")
    assert (done.table.name, done.table.format, done.table.version) == ("copy", "delta", 0)
    assert "outside_files" in done.table.health_codes


def test_newer_commits_of_the_source_leave_it_as_it_was_approved(olga, sales):
    asked(olga, sales)
    worked(claim_preview)
    small_delta.append(Path(sales.path), [{"id": 60, "p": "DE"}])
    done = worked(claim_run)
    assert (done.state, (done.drift or {})["verdict"]) == (State.SUCCEEDED, "same_rows")
    assert len(small_delta.live(Path(done.location))) == len(small_delta.live(Path(sales.path), 1))


def vacuum_of(sales, state: State) -> None:
    claimed: dict[str, Any] = {} if state is State.QUEUED else {"attempt": 1, "token": 1}
    factories.job_on(sales, factories.person_named("vera", "operator"), Vacuum(str(sales.pk)), state, **claimed)


@pytest.mark.parametrize("state", [State.RUNNING, State.CANCELLING, State.RECONCILING])
@pytest.mark.parametrize("depth", ["shallow", "deep"])
def test_an_older_version_is_not_cloned_while_a_vacuum_of_the_source_runs(olga, sales, state, depth):
    asked(olga, sales, version=0, depth=depth)
    worked(claim_preview)
    vacuum_of(sales, state)
    done = worked(claim_run)
    assert done.state == State.STALE
    assert str((done.error or {})["message"]).startswith(
        "The vacuum of sales that vera requested is running now. Version 0"
    )
    assert not list(Path(done.location).iterdir())


@pytest.mark.parametrize(("version", "state"), [(1, State.RUNNING), (0, State.QUEUED)])
def test_the_newest_version_is_cloned_beside_a_vacuum_and_any_while_it_only_waits(olga, sales, version, state):
    asked(olga, sales, version=version)
    worked(claim_preview)
    clone = Job.objects.get(state=State.QUEUED)
    vacuum_of(sales, state)
    done = worked(claim_run)
    assert (done.pk, done.state) == (clone.pk, State.SUCCEEDED)


def test_a_vacuum_of_another_table_does_not_matter(olga, sales):
    asked(olga, sales, version=0)
    worked(claim_preview)
    vacuum_of(factories.TableFactory(root=sales.root, path=f"{sales.root.uri}/other"), State.RUNNING)
    assert worked(claim_run).state == State.SUCCEEDED


def test_another_table_in_the_source_s_place_makes_it_stale(olga, sales):
    asked(olga, sales)
    worked(claim_preview)
    path = Path(sales.path)
    path.rename(path.with_name("away"))
    small_delta.create(path, [{"id": 1, "p": "FR"}])
    assert worked(claim_run).state == State.STALE


def test_a_source_that_no_root_holds_any_more_is_not_read(olga, sales):
    Path(sales.root.uri, "there").mkdir()
    asked(olga, sales, name="there/copy")
    worked(claim_preview)
    Root.objects.create(name="there", uri=f"{sales.root.uri}/there")
    Root.objects.filter(pk=sales.root_id).update(removed_at=Now())
    done = worked(claim_run)
    assert (done.state, (done.error or {})["code"]) == (State.FAILED, "outside_roots")
    assert str(sales.path) in (done.error or {})["message"]
    assert not list(Path(done.location).iterdir())


def test_an_older_version_is_refused_whose_files_are_gone(olga, sales):
    asked(olga, sales, version=0)
    job = worked(claim_preview, missing=("/lake/x.parquet",))
    assert (job.state, (job.error or {})["code"]) == (State.FAILED, "version_gone")


def test_two_clones_into_one_place_never_run_at_once(olga, sales):
    asked(olga, sales)
    asked(olga, sales, depth="deep")
    worked(claim_preview), worked(claim_preview)
    assert claim_run(factories.holder()) is not None
    assert claim_run(factories.holder()) is None


def test_the_time_to_copy_is_told_by_earlier_deep_clones(olga, sales):
    result = Result(0, "CLONE", details={"bytes_copied": 1000, "copy_seconds": 10.0}).as_json()
    factories.job("succeeded", table=sales, command="clone", parameters={"depth": "deep"}, result=result, version=0)
    asked(olga, sales, depth="deep")
    preview = Job.objects.get(state=State.PREVIEWING).preview or {}
    assert preview["seconds"] == pytest.approx(preview["bytes_to_copy"] / 100, abs=0.1)


def test_what_a_dead_worker_left_is_removed_and_nothing_else(olga, sales):
    asked(olga, sales)
    job = Job.objects.get()
    target = Path(job.location)
    own = [target / "p=FR" / f"part-0-{job.pk}-c000.parquet", target / f"levee{job.pk.hex}" / "deletion_vector_x.bin"]
    other = [target / "p=DE" / "part-0.parquet", target / "_delta_log" / "notes.json"]
    for file in (*own, *other):
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
    CloneHandling().clean_up(job)
    assert [file for file in (*own, *other) if file.exists()] == other
    for file in other:
        file.unlink()
    CloneHandling().clean_up(job)
    assert not list(target.iterdir())


def test_a_late_clean_up_removes_nothing_of_a_newer_attempt(olga, sales):
    """A dispatcher has decided about a lost claim and hangs; another one decides as well, and a newer attempt writes."""
    asked(olga, sales)
    worked(claim_preview)
    claim = claim_run(factories.holder())
    assert claim is not None
    Job.objects.filter(pk=claim.job.pk).update(token=claim.token + 1)
    late = Job.objects.get(pk=claim.job.pk)
    Job.objects.filter(pk=claim.job.pk).update(token=claim.token + 2)
    newer = cleanup.CloneClaim(str(late.pk), claim.token + 2)
    target = Path(late.location)
    older = target / f"part-0{cleanup.CloneClaim(newer.job, claim.token).file_mark}.parquet"
    own = [target / f"part-0{newer.file_mark}.parquet", target / "_delta_log" / f".{0:020d}.json.{uuid.uuid4()}.tmp"]
    for file in (older, *own):
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
    CloneHandling().clean_up(late)
    assert all(file.exists() for file in (older, *own))
    CloneHandling().clean_up(Job(pk=late.pk, table=late.table, location=late.location, token=claim.token + 2))
    assert not list(target.iterdir())
