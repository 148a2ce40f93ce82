"""Rows for tests of jobs: a person who may, a root, tables, and jobs in the state a test begins with."""

import uuid
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.authority import EVERYTHING
from console.accounts.models import Person
from console.accounts.roles import Role
from console.accounts.services import grant
from console.audit.actor import Actor
from console.supervisor.pids import boot_id
from jobs.claims import Holder
from jobs.domain.digest import sha256_of
from jobs.domain.states import State
from jobs.models import Job
from jobs.services import digest_of
from tables.models import Root, Table
from tests.jobs.append import Append, inspection


def person(name: str = "olga") -> Person:
    """Somebody who may ask for jobs everywhere."""
    made = Person.objects.create(name=name)
    grant(Actor.system("tests"), made, Role.OPERATOR, EVERYTHING)
    return made


def root(path: Path) -> Root:
    return Root.objects.create(name=path.name, uri=str(path))


def table(place: Root, name: str) -> Table:
    """A directory below the root, and its entry."""
    path = Path(place.uri) / name
    path.mkdir(parents=True, exist_ok=True)
    return Table.objects.create(root=place, path=str(path), name=name, format=Table.Format.PARQUET)


def job(at: Table, who: Person, asked: object | None = None, state: State = State.QUEUED, **values: object) -> Job:
    """A job as its preview would have left it: queued, with preview, policy and digest."""
    command = asked or Append(path=at.path, rows=1)
    parameters = asdict(command)  # type: ignore[call-overload]
    made = Job(
        command=command.kind,  # type: ignore[attr-defined]
        schema_version=1,
        parameters=parameters,
        parameters_sha256=sha256_of([parameters, str(uuid.uuid4())]),
        table=at,
        location=at.path,
        state=state,
        requested_by=who,
        reason="a test asks",
        expires_at=timezone.now() + timedelta(days=7),
        request_sha256="0" * 64,
    )
    if state is not State.PREVIEWING:
        made.preview, made.queued_at = inspection(at.path).as_json(), Now()
        made.policy = {"required_approvals": 0, "role": "approver", "reasons": []}
        made.digest = digest_of(made)
    for name, value in values.items():
        setattr(made, name, value)
    made.save(force_insert=True)
    return made


def holder(name: str = "spark@here", host: str = "gone.example", pid: int = 4_000_000) -> Holder:
    """A claimant that isn't this process (nothing may end the test's own)."""
    return Holder(name, host, boot_id(), pid, 1)
