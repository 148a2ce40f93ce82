"""A lake, its jobs and people with hostile texts wherever the database takes a text from outside."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from console.accounts.kept_lists import SavedFilter
from console.accounts.models import Person
from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from jobs.domain.errors import EngineFailure, Refusal
from jobs.domain.policy import Policy
from jobs.domain.results import Note, PartitionProposal, Result, SchemaConflict
from jobs.models import Decision, DispatcherRound, Job, LogLine, Read, ScheduleRun
from tables.models import Explanation, Favourite, Finding, Root, Table
from tables.sync import table as syncing
from tests import factories
from tests.factories import jobs
from tests.hostile_texts import hostile, hostile_whole
from tests.tables.deltalog import writing

ENGINE = EngineFailure("DELTA_MADE_UP", "22005", hostile_whole("engine's words"))
ROW_COUNT = 7
MOST_TAG = 50  # characters


def everything(directory: Path, person: Person) -> dict[str, Any]:
    """One of everything, the person's own where a thing has an owner; ids by the names of the addresses' parts."""
    root = factories.RootFactory(name=hostile("root"), uri=str(directory))
    table = _table(root, directory)
    place = directory / hostile("raw")
    place.mkdir()
    raw = factories.TableFactory(
        root=root,
        path=str(place),
        name=hostile_whole("raw"),
        format=Table.Format.PARQUET,
        sync_error=hostile_whole("sync error"),
    )
    Favourite.objects.create(person=person, table=table)
    found = _jobs(raw, table, person) | _standing(table, person) | _accounts(root, person)
    Finding.objects.create(
        root=root, path=f"{directory}/{hostile('finding')}", kind="parquet", seen_at=timezone.now(), refusal=hostile_whole("refusal")
    )  # fmt: skip
    Root.objects.filter(pk=root.pk).update(scanned_at=timezone.now(), scan_stopped=hostile_whole("scan"))
    read = factories.read(person, question={"path": raw.path}, state=Read.State.ANSWERED, answer=_inspection(raw.path))
    event = record(
        Actor.system("tests"), Action.TABLE_CHANGE, ObjectKind.TABLE, table.pk, hostile_whole("object"), outcome=EventOutcome.REFUSED,
        reason=hostile_whole("event's reason"), before={hostile("key"): hostile_whole("before")}, after={"x": [hostile_whole("after")]},
    )  # fmt: skip
    return {
        "root_id": root.pk, "table_id": table.pk, "read_id": read.pk, "event_id": event.pk, "version": 1, "person_id": person.pk,
        "database": hostile("database"), "name": "concepts", "kind": "csv", "operation": "jobs-list",
        **found, "short": str(found["job_id"])[:8], "act": "events",
    }  # fmt: skip


def _field(name: str, kind: Any = "string") -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {"comment": hostile_whole("comment")}}


def _table(root: Root, directory: Path) -> Table:
    """A Delta table that another engine has written so, a delete of which nobody has approved, synced."""
    place = directory / hostile("table")
    partition = hostile("partition")
    inner = {"type": "struct", "fields": [_field(hostile("inner"))]}
    struct = {
        "type": "struct",
        "fields": [_field("id", "long"), _field(hostile("column")), _field("s", inner), _field(partition)],
    }
    writer = writing.LogWriter(place)
    metadata = writing.metadata(schema=json.dumps(struct), partition=[partition])
    metadata["metaData"] |= {
        "description": hostile_whole("table's comment"),
        "configuration": {
            hostile("property"): hostile_whole("value"),
            "delta.constraints.c": hostile_whole("constraint"),
        },
    }
    files = [
        writing.add(
            f"{hostile('file')}-{number}",
            size=1 << 20,
            partition={partition: hostile_whole(f"partition value {number}")},
        )
        for number in range(ROW_COUNT)
    ]
    writer.commit(0, writing.info("CREATE TABLE"), writing.PROTOCOL, metadata, *files)
    names = {
        "userName": hostile_whole("user"),
        "engineInfo": hostile_whole("engine"),
        "userMetadata": f"{hostile_whole('user metadata')}\0",  # the database takes no NUL: a sync replaces it
    }
    txn = {"txn": {"appId": hostile_whole("application"), "version": 1, "lastUpdated": 1}}
    writer.commit(
        1,
        writing.info(hostile_whole("operation"), operationParameters={hostile("parameter"): hostile_whole("parameter")}, **names),
        writing.add("more", partition={partition: "x"}), txn,
    )  # fmt: skip
    writer.commit(
        2,
        writing.info("DELETE", operationParameters={"predicate": hostile_whole("predicate")}, **names),
        writing.remove("more"),
    )
    made = factories.TableFactory(
        root=root, path=str(place), name=hostile_whole("table"), owner=hostile("owner"), tags=[hostile("tag")[:MOST_TAG]],
        description=hostile_whole("description"),
    )  # fmt: skip
    table = syncing.sync(made.pk)
    Explanation.objects.create(
        table=table, incarnation=0, version=2, effects=["delete"], verdict="forged", judged_at=timezone.now(), why=hostile_whole("why")
    )  # fmt: skip
    return table


def _inspection(path: str) -> dict[str, Any]:
    refusal = Refusal("stray_files", hostile_whole("refused"), hostile_whole("place"), hostile_whole("remedy"), ENGINE)
    proposal = PartitionProposal(
        hostile("proposed"), "string", hostile_whole("evidence"), 2, 0, (hostile_whole("example"),)
    )
    conflict = SchemaConflict(
        hostile("conflict"), {hostile("type"): 1}, (hostile("conflict file"),), True, hostile_whole("conflict text")
    )
    return jobs.inspection(
        path, partition_columns=(proposal,), conflicts=(conflict,), stray_files=(hostile_whole("stray"),), refusals=(refusal,),
        nested_tables=(hostile_whole("nested"),), notes=(Note("x", hostile_whole("note")),),
        schema={"type": "struct", "fields": [_field(hostile("seen column"))]}, layout=(hostile("proposed"),),
    )  # fmt: skip


def _jobs(raw: Table, table: Table, person: Person) -> dict[str, Any]:
    """A job in each way to end or not, with its events, its log and a decision."""
    error = {
        "code": "engine_failed", "message": hostile_whole("message"), "engine": ENGINE.as_json(), "place": hostile_whole("place"),
        "table_state": hostile_whole("table state"), "what_to_do": hostile_whole("what to do"),
    }  # fmt: skip
    result = Result(version=0, operation=hostile_whole("result"), details={"text": hostile_whole("details")})
    policy = Policy(1, "approver", (hostile_whole("rule's reason"),)).as_json()
    common = {
        "requested_by": person,
        "reason": hostile_whole("job's reason"),
        "preview": _inspection(raw.path),
        "policy": policy,
    }
    waiting = factories.job("awaiting_approval", table=raw, **common, parameters=_asked(raw, 1))
    failed = factories.job("failed", table=raw, error=error, **common, parameters=_asked(raw, 2))
    succeeded = factories.job("succeeded", table=raw, result=result.as_json(), **common, parameters=_asked(raw, 3))
    running = factories.job(
        "running",
        table=table,
        progress={"stage": hostile_whole("stage"), "done": 1, "total": 2},
        **common,
        parameters=_asked(table, 4),
    )
    LogLine.objects.create(attempt=running.attempts.get(), at=timezone.now(), text=hostile_whole("log"))
    for job in Job.objects.all():
        job.events.create(
            kind="note", who=hostile("host"), text=hostile_whole("event"), table_text=hostile_whole("event's table")
        )
    approver = factories.person_with("approver")
    Decision.objects.create(
        job=waiting, person=approver, decision="approve", digest=waiting.digest or "", comment=hostile_whole("decision")
    )
    return {"job_id": waiting.pk, "failed_id": failed.pk, "succeeded_id": succeeded.pk, "running_id": running.pk}


def _asked(table: Table, number: int) -> dict[str, Any]:
    return {
        "path": table.path,
        "name": None,
        "source_format": "parquet",
        "partition_schema": f"`p{number}` string",
        "collect_stats": True,
    }


def _standing(table: Table, person: Person) -> dict[str, Any]:
    """A stream that has failed, a schedule that has stopped, a worker and a round of the dispatcher that has failed."""
    error = {
        "code": "engine_failed", "message": hostile_whole("stream's message"), "engine": ENGINE.as_json(),
        "table_state": "Nothing was committed.", "what_to_do": hostile_whole("stream's remedy"),
    }  # fmt: skip
    stream = factories.stream(
        table, person, name=hostile("stream"), reason=hostile_whole("stream's reason"), state="failed", error=error,
        state_text=hostile_whole("stream's state"), lag_text=hostile_whole("lag"),
    )  # fmt: skip
    schedule = factories.schedule(
        table, person, name=hostile("schedule"), reason=hostile_whole("schedule's reason"), state="stopped", next_due_at=None,
        state_text=hostile_whole("schedule's state"),
    )  # fmt: skip
    ScheduleRun.objects.create(
        schedule=schedule, table=table, due_at=timezone.now() - timedelta(hours=1), digest=schedule.digest, outcome="skipped",
        text=hostile_whole("run"), ended_at=timezone.now(),
    )  # fmt: skip
    waiting = {"state": "awaiting_approval", "next_due_at": None, "reason": hostile_whole("reason for many")}
    factories.schedule(None, person, name=hostile("tagged"), tag=hostile("tag")[:MOST_TAG], **waiting)
    factories.schedule(None, person, name=hostile("rooted"), root=table.root, **waiting)
    worker = factories.WorkerFactory(name=hostile("worker"), host=hostile("machine"), text=hostile("work"))
    DispatcherRound.objects.create(kind="sync", failures=2, error=hostile("round"))
    return {"stream_id": stream.pk, "schedule_id": schedule.pk, "worker_id": worker.pk}


def _accounts(root: Root, person: Person) -> dict[str, Any]:
    """What people have: their names alone are of plain letters."""
    token = factories.token_row(person, label=hostile("token"))
    asked, _ = factories.sign_in(hostile("machine"))
    SavedFilter.objects.create(person=person, list="jobs", name=hostile("filter")[:60], query="by=x", pinned=True)
    rule = factories.PolicyRuleFactory(name=hostile("rule"), scope="root", root=root)
    other = factories.person_with("viewer", root=root)
    notice = factories.notice(text=hostile_whole("notice"))
    grant = factories.GrantFactory(person=other, role="approver", root=root)
    return {
        "token_id": token.pk,
        "sign_in_id": asked.pk,
        "policy_id": rule.pk,
        "notice_id": notice.pk,
        "grant_id": grant.pk,
        "person_id": other.pk,
    }
