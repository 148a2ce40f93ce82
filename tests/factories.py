"""Rows as tests need them, in states that the database allows. They mirror the models; nothing here is clever."""

from __future__ import annotations

import itertools
import secrets
from datetime import timedelta
from typing import Any

import factory
from django.contrib.auth.hashers import make_password
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts import services
from console.accounts.models import Grant, Person, Token
from console.accounts.roles import Role, TokenScope
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.models import Event
from console.audit.services import record
from jobs.domain.commands import Convert, command_to_json
from jobs.domain.digest import sha256_of
from jobs.domain.policy import Policy
from jobs.domain.results import Inspection, Result
from jobs.domain.states import CLAIMED, ENDED, State
from jobs.models import Attempt, Job, JobEvent, PolicyRule, Read, Worker
from tables.models import Root, Table

PASSWORD = "correct horse battery staple"
_HASHED: list[str] = []
_TOKENS = itertools.count(1)


def hashed_password() -> str:
    """Hashing is slow on purpose: once per test process."""
    if not _HASHED:
        _HASHED.append(make_password(PASSWORD))
    return _HASHED[0]


class PersonFactory(factory.django.DjangoModelFactory):  # type: ignore[misc]  # the package is untyped
    """Somebody with PASSWORD and no role."""

    class Meta:
        model = Person

    name = factory.Sequence(lambda n: f"person{n}")
    password = factory.LazyFunction(hashed_password)


class RootFactory(factory.django.DjangoModelFactory):  # type: ignore[misc]  # the package is untyped
    """A root; give it `uri=str(tmp_path)` where its directory must exist."""

    class Meta:
        model = Root

    name = factory.Sequence(lambda n: f"lake{n}")
    uri = factory.Sequence(lambda n: f"/nowhere/lake{n}")


class TableFactory(factory.django.DjangoModelFactory):  # type: ignore[misc]  # the package is untyped
    """A table of the catalog that has never been synced."""

    class Meta:
        model = Table

    root = factory.SubFactory(RootFactory)
    name = factory.Sequence(lambda n: f"table{n}")
    path = factory.LazyAttribute(lambda o: f"{o.root.uri}/{o.name}")
    format = Table.Format.DELTA


class GrantFactory(factory.django.DjangoModelFactory):  # type: ignore[misc]  # the package is untyped
    """A role, on everything unless `root` or `table` is given."""

    class Meta:
        model = Grant

    person = factory.SubFactory(PersonFactory)
    role = Role.VIEWER
    scope = factory.LazyAttribute(
        lambda o: "root" if getattr(o, "root", None) else "table" if getattr(o, "table", None) else "everything"
    )


class PolicyRuleFactory(factory.django.DjangoModelFactory):  # type: ignore[misc]  # the package is untyped
    """A rule about deletes, on everything unless told, that asks for one approval."""

    class Meta:
        model = PolicyRule

    name = factory.Sequence(lambda n: f"rule {n}")
    command = "delete"
    required_approvals = 1


class WorkerFactory(factory.django.DjangoModelFactory):  # type: ignore[misc]  # the package is untyped
    """A worker that gave a sign just now."""

    class Meta:
        model = Worker

    name = factory.Sequence(lambda n: f"spark@host{n}")
    kind = Worker.Kind.SPARK
    host = "host"
    boot_id = "boot"
    pid = 4242
    start_ticks = 1
    condition = Worker.Condition.READY


def person_with(role: str | None, **where: Any) -> Person:
    """A person with one role, on everything unless told."""
    person = PersonFactory()
    if role:
        GrantFactory(person=person, role=role, **where)
    return Person.objects.get(pk=person.pk)


def token_text(person: Person, *scopes: str) -> str:
    """A fresh token of the person, as it is sent; with every scope unless told."""
    wanted = [TokenScope(scope) for scope in scopes or TokenScope.values]
    return services.add_token(Actor.system("tests"), person, f"token {next(_TOKENS)}", wanted)[1]


def token_row(person: Person, **changes: Any) -> Token:
    """The row of a fresh token."""
    token, _ = services.add_token(Actor.system("tests"), person, "a token", [TokenScope.READ])
    for name, value in changes.items():
        setattr(token, name, value)
    token.save()
    return token


def inspection(path: str = "/nowhere/orders", **changes: Any) -> dict[str, Any]:
    """The stored answer of an inspection that found nothing wrong."""
    values: dict[str, Any] = {
        "path": path,
        "num_files": 2,
        "size_bytes": 2048,
        "num_records": 20,
        "partition_columns": (),
        "conflicts": (),
        "stray_files": (),
        "nested_tables": (),
        "hidden_files": 0,
        "schema": {"type": "struct", "fields": []},
        "refusals": (),
        "manifest": "bm90aGluZw==",
    }
    return Inspection(**{**values, **changes}).as_json()


def _state_values(state: State) -> dict[str, Any]:
    """What the database demands of a job in this state."""
    values: dict[str, Any] = {}
    if state is not State.PREVIEWING:
        values |= {
            "preview": inspection(),
            "policy": Policy(0, "approver", ("No rule asks for an approval.",)).as_json(),
            "digest": "d" * 64,
        }
    if state in CLAIMED:
        values |= {"attempt": 1, "token": secrets.randbelow(2**60), "lease_until": timezone.now() + timedelta(hours=1)}
    if state in ENDED:
        values["finished_at"] = timezone.now()
    if state is State.SUCCEEDED:
        values |= {"version": 0, "result": Result(version=0, operation="CONVERT").as_json()}
    if state in {State.FAILED, State.STALE}:
        values["error"] = {
            "code": "engine_failed", "message": "it broke", "engine": None,
            "table_state": "Nothing was committed.", "what_to_do": "Ask again.",
        }  # fmt: skip
    return values


def job(state: str | State = State.QUEUED, *, table: Table | None = None, **changes: Any) -> Job:
    """A convert in any state, with the row that its attempt and its first event leave."""
    table = table or TableFactory(format=Table.Format.PARQUET)
    requester = changes.pop("requested_by", None) or PersonFactory()
    command = Convert(path=table.path, name=None, source_format="parquet", partition_schema=None)
    parameters = changes.pop("parameters", None) or command_to_json(command)
    made = Job.objects.create(
        **{
            "command": command.kind,
            "schema_version": command.schema_version,
            "parameters": parameters,
            "parameters_sha256": sha256_of(parameters),
            "table": table,
            "location": table.path,
            "state": State(state),
            "requested_by": requester,
            "reason": "tests",
            "expires_at": timezone.now() + timedelta(days=7),
            "request_sha256": sha256_of(parameters),
            "queued_at": timezone.now(),
            **_state_values(State(state)),
            **changes,
        }
    )
    JobEvent.objects.create(job=made, kind="requested", who=requester.name, target=made.state, text="asked")
    if made.attempt:
        attempt(made)
    return Job.objects.select_related("table", "requested_by").get(pk=made.pk)


def attempt(of: Job, **changes: Any) -> Attempt:
    """A worker's claim on the job."""
    values: dict[str, Any] = {
        "job": of, "kind": Attempt.Kind.RUN, "number": of.attempt or 1, "token": of.token or secrets.randbelow(2**60),
        "worker": "spark@host", "host": "host", "boot_id": "boot", "pid": 4242, "start_ticks": 1,
    }  # fmt: skip
    return Attempt.objects.create(**{**values, **changes})


def event(table: Table) -> Event:
    """An audit event about the table."""
    return record(Actor.system("tests"), Action.TABLE_SYNC, ObjectKind.TABLE, table.pk, table.name)


def read(person: Person, **changes: Any) -> Read:
    """An unanswered inspection."""
    values: dict[str, Any] = {
        "kind": "inspect", "queue": "interactive", "person": person, "question": {"path": "/nowhere/orders"},
        "question_sha256": secrets.token_hex(32), "expires_at": timezone.now() + timedelta(minutes=10),
    }  # fmt: skip
    made = Read.objects.create(**{**values, **changes})
    if made.state in {"answered", "failed"}:
        Read.objects.filter(pk=made.pk).update(answered_at=Now())
    return Read.objects.get(pk=made.pk)
