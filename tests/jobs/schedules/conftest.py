"""A table with something to optimize, a schedule on it, and a worker that needs no Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from jobs.commands.optimize.rules import Optimize
from jobs.dispatcher import schedules
from jobs.domain.errors import EngineFailed, EngineFailure
from jobs.domain.results import Result
from jobs.domain.states import State
from jobs.models import Job, Schedule
from jobs.schedules import acts
from jobs.schedules.definition import WantedSchedule
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Root, Table
from tables.sync import table as syncing
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.small_delta import SmallEngine

YEARLY = "0 3 1 1 *"
SECONDS = schedules.SECONDS  # of a look, as it is


class Compacting(SmallEngine):
    """Joins the files of a small table, unless it `fails`."""

    fails = False

    def run(self, command: Any, *rest: Any) -> Result:
        if self.fails:
            raise EngineFailed(EngineFailure("DELTA_CONCURRENT_APPEND", "2D521", "Files were added."))
        self.before_commit()
        version = small_delta.compact(Path(command.path))
        return Result(version, "OPTIMIZE", {}, {"numRemovedFiles": "3", "numAddedFiles": "2"}, read_version=version - 1)


@pytest.fixture(autouse=True)
def quick(timing: Any, no_wakes: Any) -> Any:
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look comes to all that is due, however busy the machine is."""
    monkeypatch.setattr(schedules, "SECONDS", 60.0)


@pytest.fixture
def sales(lake: Root) -> Table:
    """Two files in one partition."""
    table = lakes.sales_in(lake)
    small_delta.append(Path(table.path), [{"id": 50, "p": "FR"}])
    return table


@pytest.fixture
def actor(olga: Person) -> Actor:
    return Actor.acting_for(olga)


@pytest.fixture
def wanted(sales: Table) -> WantedSchedule:
    return WantedSchedule(Optimize(str(sales.pk)), YEARLY, "Europe/Berlin", window_minutes=60)


Make = Callable[..., Schedule]


@pytest.fixture
def make(actor: Actor, wanted: WantedSchedule) -> Make:
    """A schedule, with changes of what it says."""

    def made(name: str = "nightly", **changes: Any) -> Schedule:
        return acts.create(actor, name, "many small files", replace(wanted, **changes)).schedule

    return made


def table_of(root: Root, name: str, *tags: str) -> Table:
    """Two files in one partition."""
    place = Path(root.uri) / name
    small_delta.create(place, [{"id": 1, "p": "FR"}])
    small_delta.append(place, [{"id": 2, "p": "FR"}])
    made = factories.TableFactory(root=root, name=name, path=str(place), tags=list(tags))
    return syncing.sync(made.pk)


@pytest.fixture
def two(lake: Root) -> list[Table]:
    return [table_of(lake, "a", "gold"), table_of(lake, "b")]


@pytest.fixture
def many(actor: Actor, lake: Root, two: list[Table]) -> Any:
    """A schedule on all of the lake, or with a tag."""

    def made(name: str = "nightly", *, tag: str = "", command: Any = None, **more: Any) -> Schedule:
        where = {"tag": tag} if tag else {"root": lake.pk}
        wanted = WantedSchedule(command or Optimize(""), YEARLY, "Europe/Berlin", 60, **where, **more)
        return acts.create(actor, name, "many small files", wanted).schedule

    return made


@pytest.fixture
def reviewed(db: None) -> None:
    """The team wants an optimize to be seen by a second person."""
    factories.PolicyRuleFactory(name="optimizing", command="optimize")


@pytest.fixture
def anna(olga: Person) -> Actor:
    return Actor.acting_for(factories.appointed("anna", Role.APPROVER))


def make_due(schedule: Schedule, minutes_ago: float = 0.1) -> datetime:
    """Its next run was due so long ago."""
    due_at = timezone.now() - timedelta(minutes=minutes_ago)
    Schedule.objects.filter(pk=schedule.pk).update(next_due_at=due_at)
    return due_at


def look() -> int:
    return schedules.look()


def fresh(schedule: Schedule) -> Schedule:
    return Schedule.objects.select_related("table", "run_by").get(pk=schedule.pk)


def job_of(schedule: Schedule) -> Job:
    """Its newest job."""
    return Job.objects.select_related("table").filter(schedule=schedule).latest("requested_at")


def outcomes(schedule: Schedule) -> list[str]:
    """Of its runs, oldest first."""
    return list(schedule.runs.order_by("id").values_list("outcome", flat=True))


def previewed(engine: SmallEngine | None = None) -> Job:
    return _worked(claim_preview, engine)


def ran(engine: SmallEngine | None = None) -> Job:
    return _worked(claim_run, engine)


def _worked(claiming: Any, engine: SmallEngine | None) -> Job:
    engine, claim = engine or Compacting(), claiming(factories.holder())
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, engine, threading.Event(), engine.ended_hard.set))
    return Job.objects.get(pk=claim.job.pk)


def on(schedule: Schedule) -> dict[str, str]:
    """The outcome of its newest run on each table."""
    runs = schedule.runs.select_related("table").order_by("id")
    return {run.table.name: run.outcome for run in runs}


def texts(schedule: Schedule) -> dict[str, str]:
    return {run.table.name: run.text for run in schedule.runs.select_related("table").order_by("id")}


def run_all(engine: Compacting | None = None) -> None:
    """Previews and runs what is open, and books it."""
    while Job.objects.filter(state=State.PREVIEWING).exists():
        previewed(engine)
    look()
    while Job.objects.filter(state=State.QUEUED).exists():
        ran(engine)
    look()
