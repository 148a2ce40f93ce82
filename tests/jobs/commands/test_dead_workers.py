"""A worker dies in the run of a job: one whose commit is in the log has succeeded by it, one without is run again, once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.audit.actor import Actor
from jobs.approvals import decisions
from jobs.commands.base import stored
from jobs.commands.clone.rules import Clone
from jobs.commands.drop_feature.rules import DROPPED, DropFeature
from jobs.commands.optimize.rules import Optimize
from jobs.commands.reorg.rules import Reorg
from jobs.commands.repair.rules import Repair
from jobs.commands.set_properties.rules import SetProperties
from jobs.dispatcher.reconcile import reconcile
from jobs.domain.commands import Command
from jobs.domain.engine import UNCHECKED, Marks
from jobs.domain.states import State
from jobs.models import Job
from jobs.requests.asking import request
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from jobs.worker.spark_engine import Silent
from tables.models import Table
from tables.sync import table as syncing
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.commands.clone.test_flow import Cloning
from tests.jobs.commands.drop_feature.test_flow import UPGRADED, Dropping
from tests.jobs.commands.optimize.test_flow import Compacting
from tests.jobs.commands.repair.asked import Repairing, files_of, hide, take
from tests.jobs.commands.set_properties.test_flow import Setting, configure
from tests.jobs.dispatcher.test_reconcile import dead_holder, lapse
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)
EMPTY, SET, UNSET = "EMPTY COMMIT", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES"
_BY_ENGINE: dict[str, tuple[Any, type[SmallEngine]]] = {"FSCK": (Repair, Repairing), "CLONE": (Clone, Cloning)}


def with_vectors(place: Path) -> None:
    hide(place, files_of(place, "FR")[0])


def with_a_missing_file(place: Path) -> None:
    take(place, "FR")


def with_a_feature(place: Path) -> None:
    small_delta.commit(place, "UPGRADE PROTOCOL", [{"protocol": UPGRADED}])


def with_an_owner(place: Path) -> None:
    configure(place, SET, {"owner": "me"})


def as_it_is(place: Path) -> None:
    """Two files in a partition."""


Case = tuple[Callable[[Path], None], Callable[[Table], Command], type[SmallEngine], tuple[str, ...]]
# How the table is made ready, the command, the engine that runs it, the operations of its commits.
CASES: dict[str, Case] = {
    "optimize": (as_it_is, lambda table: Optimize(str(table.pk)), Compacting, ("OPTIMIZE",)),
    "reorg": (with_vectors, lambda table: Reorg(str(table.pk)), Compacting, ("REORG",)),
    "repair": (with_a_missing_file, lambda table: Repair(str(table.pk)), Repairing, ("FSCK",)),
    "clone": (as_it_is, lambda table: Clone(str(table.pk), f"{table.root.uri}/copy", "shallow"), Cloning, ("CLONE",)),
    "set_properties": (
        with_an_owner,
        lambda table: SetProperties(str(table.pk), set={"team": "finance"}, unset=["owner"]),
        Setting,
        (SET, UNSET),
    ),
    "drop_feature": (
        with_a_feature,
        lambda table: DropFeature(str(table.pk), "deletionVectors", False),
        Dropping,
        (EMPTY, DROPPED),
    ),
}


@pytest.fixture(autouse=True)
def quick(timing: Any, no_wakes: Any) -> Any:
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture(params=sorted(CASES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def approved(lake: Any, olga: Any, kind: str) -> Job:
    """A job whose run comes next."""
    made_ready, command, engine, _ = CASES[kind]
    table = lakes.sales_in(lake)
    small_delta.append(Path(table.path), [{"id": 50, "p": "FR"}, {"id": 51, "p": "DE"}])
    made_ready(Path(table.path))
    request(Actor.acting_for(olga), command(syncing.sync(table.pk)), "as agreed")
    job = worked(claim_preview, engine())
    while job.state == State.AWAITING_APPROVAL:
        decisions.approve(Actor.acting_for(factories.person_with("approver")), job, str(job.digest))
        job = Job.objects.get(pk=job.pk)
    assert job.state == State.QUEUED, job.error
    return job


def worked(claiming: Any, engine: SmallEngine) -> Job:
    claim = claiming(factories.holder())
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.get(pk=claim.job.pk)


def dies_after(job: Job, operations: tuple[str, ...]) -> list[int]:
    """The job's worker dies, and the dispatcher sees it; the versions of the commits that it had made."""
    assert claim_run(dead_holder()) is not None
    marks = Marks(str(job.pk), 1, str(job.digest))
    made = [_committed(job, operation, marks) for operation in operations]
    lapse(job)
    reconcile()
    return made


def _committed(job: Job, operation: str, marks: Marks) -> int:
    if operation in _BY_ENGINE:
        command, engine = _BY_ENGINE[operation]
        version = engine().run(stored(command, job), job.preview or {}, UNCHECKED, marks, Silent()).version
        assert version is not None
        return version
    mark = json.dumps({"job": marks.job, "attempt": marks.attempt, "digest": marks.digest})
    plain = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}] if operation == DROPPED else []
    return small_delta.commit(Path(job.location), operation, plain, userMetadata=mark)


def test_one_whose_last_commit_is_in_the_log_has_succeeded(approved: Job, kind: str) -> None:
    made = dies_after(approved, CASES[kind][3])
    found = Job.objects.get(pk=approved.pk)
    assert (found.state, found.version, found.error) == (State.SUCCEEDED, made[-1], None)
    assert small_delta.head(Path(found.location)) == made[-1]
    assert claim_run(factories.holder()) is None


def test_one_without_a_commit_is_run_again_once(approved: Job, kind: str) -> None:
    assert dies_after(approved, ()) == []
    assert Job.objects.get(pk=approved.pk).state == State.QUEUED
    done = worked(claim_run, CASES[kind][2]())
    assert (done.state, done.attempt) == (State.SUCCEEDED, 2)
    assert done.version == small_delta.head(Path(done.location))


def test_one_whose_second_run_is_lost_too_is_given_up(approved: Job) -> None:
    dies_after(approved, ())
    dies_after(Job.objects.get(pk=approved.pk), ())
    found = Job.objects.get(pk=approved.pk)
    assert (found.state, (found.error or {})["code"]) == (State.FAILED, "attempts_exhausted")
    assert claim_run(factories.holder()) is None


@pytest.mark.parametrize("kind", ["drop_feature", "set_properties"], indirect=True)
def test_one_that_lacks_its_last_commit_says_what_is_missing(approved: Job, kind: str) -> None:
    made = dies_after(approved, CASES[kind][3][:1])
    found = Job.objects.get(pk=approved.pk)
    error = found.error or {}
    assert (found.state, found.version, error["code"]) == (State.FAILED, made[-1], "partly_committed")
    missing = {"drop_feature": "still has the feature in its protocol", "set_properties": UNSET}[kind]
    assert missing in f"{error['message']} {error['table_state']}"
    assert claim_run(factories.holder()) is None
