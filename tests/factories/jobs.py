"""Jobs and what stands around them: rules, workers, claims and reads."""

from __future__ import annotations

import secrets
import uuid
from datetime import timedelta
from typing import Any

import factory
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actor import Actor
from console.base.processes import boot_id
from jobs.commands.convert.rules import Convert
from jobs.domain.commands import command_to_json
from jobs.domain.digest import sha256_of
from jobs.domain.policy import Policy
from jobs.domain.results import Inspection, Result
from jobs.domain.states import CLAIMED, ENDED, State
from jobs.lifecycle.cancelling import digest_of
from jobs.models import Attempt, Job, JobEvent, PolicyRule, Read, Schedule, Stream, Worker
from jobs.policy import services as policy_services
from jobs.worker.claims import ClaimHolder
from tables.models import Root, Table
from tests.factories.catalog import TableFactory
from tests.factories.people import PersonFactory
from tests.jobs import append


class PolicyRuleFactory(factory.django.DjangoModelFactory):  # type: ignore[misc]  # the package is untyped
    """A rule about deletes, on everything unless told, that asks for one approval."""

    class Meta:
        model = PolicyRule

    name = factory.Sequence(lambda n: f"rule {n}")
    command = "delete"
    required_approvals = 1


def change_rules(command: str = "delete", **changes: Any) -> None:
    """Changes every rule about a command that is switched on, as a command on the machine does: it may lower them."""
    for rule in PolicyRule.objects.filter(command=command, enabled=True, removed_at=None):
        policy_services.change(Actor.system("tests"), rule, **changes)


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
            "table_state": "Nothing was committed.", "what_to_do": "Request it again.",
        }  # fmt: skip
    return values


def _asked(command: Any, at: Table, who: Person) -> dict[str, Any]:
    """What every job holds from the request on."""
    parameters = command_to_json(command)
    return {
        "command": command.kind,
        "schema_version": command.schema_version,
        "parameters": parameters,
        "parameters_sha256": sha256_of([parameters, str(uuid.uuid4())]),
        "table": at,
        "location": at.path,
        "requested_by": who,
        "reason": "a test asks",
        "expires_at": timezone.now() + timedelta(days=7),
        "request_sha256": "0" * 64,
    }


def job(state: str | State = State.QUEUED, *, table: Table | None = None, **changes: Any) -> Job:
    """A convert in any state, with the row that its attempt and its first event leave."""
    table = table or TableFactory(format=Table.Format.PARQUET)
    requester = changes.pop("requested_by", None) or PersonFactory()
    asked = _asked(
        Convert(path=table.path, name=None, source_format="parquet", partition_schema=None), table, requester
    )
    parameters = changes.pop("parameters", None) or asked["parameters"]
    made = Job.objects.create(
        **{
            **asked,
            "parameters": parameters,
            "parameters_sha256": sha256_of(parameters),
            "state": State(state),
            "reason": "tests",
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


def job_on(at: Table, who: Person, asked: object | None = None, state: State = State.QUEUED, **values: object) -> Job:
    """A job, an append unless told, as its preview would have left it: with policy and digest, and no other row."""
    made = _unsaved(at, who, asked, state, values)
    made.save(force_insert=True)
    return made


def queued_on(at: Table, who: Person, asked: object | None = None) -> Job:
    """The same where the database's own rules hold: the job is entered by its preview."""
    made = _unsaved(at, who, asked, State.QUEUED, {})
    made.state = State.PREVIEWING
    made.save(force_insert=True)
    made.state = State.QUEUED
    made.save(update_fields=["state"])
    return made


def _unsaved(at: Table, who: Person, asked: object | None, state: State, values: dict[str, object]) -> Job:
    made = Job(**_asked(asked or append.Append(path=at.path, rows=1), at, who), state=state)
    if state is not State.PREVIEWING:
        made.preview, made.queued_at = append.inspection(at.path).as_json(), Now()
        made.policy = {"required_approvals": 0, "role": "approver", "reasons": []}
        made.digest = digest_of(made)
    for name, value in values.items():
        setattr(made, name, value)
    return made


def attempt(of: Job, **changes: Any) -> Attempt:
    """A worker's claim on the job."""
    values: dict[str, Any] = {
        "job": of, "kind": Attempt.Kind.RUN, "number": of.attempt or 1, "token": of.token or secrets.randbelow(2**60),
        "worker": "spark@host", "host": "host", "boot_id": "boot", "pid": 4242, "start_ticks": 1,
    }  # fmt: skip
    return Attempt.objects.create(**{**values, **changes})


def holder(name: str = "spark@here", host: str = "gone.example", pid: int = 4_000_000) -> ClaimHolder:
    """A claimant that isn't this process (nothing may end the test's own)."""
    return ClaimHolder(name, host, boot_id(), pid, 1)


def stream(table: Table, who: Person | None = None, **changes: Any) -> Stream:
    """A stream of JSON files into a table, stopped."""
    name = changes.pop("name", f"ingest-{uuid.uuid4().hex[:8]}")
    source = {
        "path": f"{table.root.uri}/landing",
        "format": "json",
        "schema": {"type": "struct", "fields": []},
        "options": {},
    }
    steps: dict[str, Any] = {
        "rename": {},
        "cast": {},
        "filter": None,
        "filter_text": "",
        "select": [],
        "group_by": [],
        "count_as": None,
    }
    checkpoint = f"/nowhere/{name}"
    definition = {
        "source": source, "path": table.path, "checkpoint": checkpoint, "output_mode": "append", "partition_by": [],
        "options": {}, "steps": steps,
    }  # fmt: skip
    asked = {
        "source": {"path": source["path"], "format": "json", "schema": "id BIGINT"}, "target": {"path": table.path},
        "output_mode": "append",
    }  # fmt: skip
    values = {
        "name": name, "reason": "clicks of the shop", "asked": asked, "definition": definition, "checkpoint": checkpoint,
        "definition_sha256": sha256_of(definition), "created_by": who or PersonFactory(), "interval_seconds": 30,
    }  # fmt: skip
    return Stream.objects.create(table=table, **values | changes)


def schedule(table: Table | None, who: Person | None = None, **changes: Any) -> Schedule:
    """A schedule of an optimize, active, due each night; without a table for many, with `root` or `tag`."""
    who = who or PersonFactory()
    asked = {"table": "" if table is None else str(table.pk), "predicate": None, "zorder_by": None, "full": False}
    values = {
        "name": f"nightly-{uuid.uuid4().hex[:8]}", "reason": "small files", "command": "optimize", "schema_version": 1,
        "parameters": {**asked, "tree": None, "path": ""}, "asked": asked, "cron": "30 3 * * *", "time_zone": "Europe/Berlin",
        "window_minutes": 120, "shape": {}, "table_class": "ordinary", "digest": sha256_of(asked), "created_by": who, "run_by": who,
        "edited_by": [str(who.pk)], "state": "active", "next_due_at": timezone.now() + timedelta(hours=5),
    }  # fmt: skip
    return Schedule.objects.create(table=table, **values | changes)


def read(person: Person, **changes: Any) -> Read:
    """An unanswered inspection, of a place below a root."""
    Root.objects.get_or_create(uri="/nowhere", defaults={"name": "nowhere"})
    values: dict[str, Any] = {
        "kind": "inspect", "queue": "interactive", "person": person, "question": {"path": "/nowhere/orders"},
        "question_sha256": secrets.token_hex(32), "expires_at": timezone.now() + timedelta(minutes=10),
    }  # fmt: skip
    made = Read.objects.create(**{**values, **changes})
    if made.state in {"answered", "failed"}:
        Read.objects.filter(pk=made.pk).update(answered_at=Now())
    return Read.objects.get(pk=made.pk)
