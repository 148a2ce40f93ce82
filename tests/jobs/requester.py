# ruff: noqa: E402 (Django is set up before its models are imported)
"""Plays the web process: acts on jobs when it is told to, by lines of JSON. A process of its own, so that it can be killed too."""

import json
import sys
import threading
from pathlib import Path

import django

django.setup()

from django.db import InterfaceError, OperationalError, close_old_connections, connection, transaction

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actions import ActorKind
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.approvals import decisions
from jobs.commands.convert.rules import Convert
from jobs.domain.states import Cause, State
from jobs.lifecycle import cancelling, wakeups
from jobs.lifecycle.cancelling import digest_of
from jobs.lifecycle.fault_points import FaultPoint, reached
from jobs.lifecycle.transitions import move
from jobs.models import Job, Stream, Worker
from jobs.policy.evaluate import policy_of
from jobs.requests import asking
from jobs.streams import acts as stream_acts
from jobs.streams import runs as stream_runs
from tables.catalog.roots import entries as roots
from tables.catalog.roots import object_stores
from tables.catalog.roots.object_stores import description_of
from tables.models import Root, Table
from tests import factories
from tests.jobs import append
from tests.jobs.append import Append
from tests.jobs.asking import request_delete
from tests.jobs.faults import arm_from_environment


def person() -> Person:
    return Person.objects.filter(name="olga").first() or factories.appointed()


def actor() -> Actor:
    return Actor(ActorKind.PERSON, "olga", person=person())


def table(path: str) -> Table:
    """The entry of a directory below a root that is its parent."""
    known = Table.objects.filter(path=path).first()
    if known is not None:
        return known
    above = str(Path(path).parent)
    root = Root.objects.filter(uri=above).first() or factories.root_at(Path(above))
    return factories.table_in(root, Path(path).name)


def do_append(path: str, rows: int = 1, **values: float) -> dict:
    """As a request does it: the row in a transaction, the wake-up after it."""
    at, who = table(path), person()
    with transaction.atomic():
        job = factories.queued_on(at, who, Append(path=path, rows=rows, **values))
        wakeups.wake_after_commit(Worker.Kind.SPARK)
        reached(FaultPoint.REQUEST_WRITTEN)
    return {"job": str(job.pk)}


def do_append_many(paths: list[str]) -> dict:
    """One job on each table, queued together; one wake-up."""
    with transaction.atomic():
        for path in paths:
            factories.queued_on(table(path), person(), Append(path=path, rows=1))
        wakeups.wake_after_commit(Worker.Kind.SPARK)
    return {}


def do_deletes(path: str, predicates: list[str]) -> dict:
    """Deletes of one table, each previewed from the log and approved by a second person, queued together; one wake-up."""
    at = table(path)
    with transaction.atomic():
        asked = [approved(request_delete(actor(), at.pk, text, "a test asks").job) for text in predicates]
        wakeups.wake_after_commit(Worker.Kind.SPARK)
    return {"jobs": [str(job.pk) for job in asked]}


def approved(job: Job) -> Job:
    """As the interactive worker and an approver leave it, without a hash of its rows: only the same files may run."""
    job.preview = {**(job.preview or {}), "rows_matched_exact": True, "speed": "spark"}
    job.policy, job.base_version = policy_of(job, job.preview).as_json(), job.preview["measured_at_version"]
    job.digest = digest_of(job)
    values = {"preview": job.preview, "policy": job.policy, "base_version": job.base_version, "digest": job.digest}
    move(job, State.AWAITING_APPROVAL, Cause.WORKER, "interactive", **values)
    decisions.approve(Actor.acting_for(factories.appointed("anna", Role.APPROVER)), job, job.digest)
    return job


def do_vacuum(path: str, hours: int) -> dict:
    """A vacuum of one table, planned as the interactive worker does and approved by two people."""
    from tests.jobs.commands.vacuum.asked import approved_vacuum  # with pyarrow and PySpark, which no other act needs

    with transaction.atomic():
        job = approved_vacuum(actor(), table(path), hours)
        wakeups.wake_after_commit(Worker.Kind.SPARK)
    return {"job": str(job.pk)}


def do_stream(name: str, source: str, target: str, interval: str) -> dict:
    """A stream of JSON files of one column, started."""
    asked = {
        "source": {"path": source, "format": "json", "schema": "id BIGINT"},
        "target": {"path": target},
        "output_mode": "append",
        "options": {"maxFilesPerTrigger": "2"},
        "trigger": {"interval": interval},
    }
    if not Root.objects.filter(uri=str(Path(source).parent)).exists():
        factories.root_at(Path(source).parent)
    person()
    stream = stream_acts.create(actor(), name, "a test asks", asked)
    return {"stream": str(stream.pk), "job": str(stream_runs.start(actor(), stream).pk)}


def do_start_stream(stream: str) -> dict:
    """Starts it again."""
    return {"job": str(stream_runs.start(actor(), Stream.objects.select_related("table").get(pk=stream)).pk)}


def do_stored_table(bucket: str, path: str, storage: dict) -> dict:
    """The entry of a table in an object store, below a root that is its bucket."""
    ines = Actor.acting_for(factories.appointed("ines", Role.ADMIN))
    root = Root.objects.filter(uri=bucket).first() or roots.add_root(
        ines, bucket.removeprefix("s3://"), bucket, storage=description_of(storage)
    )
    factories.TableFactory(root=root, name=path.removeprefix(f"{bucket}/"), path=path)
    return {}


def do_change_storage(bucket: str, storage: dict) -> dict:
    """Another credential for the bucket of a root."""
    ines = Actor.acting_for(Person.objects.get(name="ines"))
    object_stores.change(ines, Root.objects.get(uri=bucket), description_of(storage))
    return {}


def do_convert(path: str) -> dict:
    table(path)
    command = Convert(path=path, name=None, source_format="parquet", partition_schema=None)
    return {"job": str(asking.request(actor(), command, "a test asks").job.pk)}


def do_cancel(job: str) -> dict:
    cancelling.cancel(actor(), Job.objects.get(pk=job))
    return {}


def do_wakes(count: int) -> dict:
    """So many wake-ups at once."""
    start = threading.Barrier(count)

    def one() -> None:
        start.wait()
        wakeups.wake(Worker.Kind.SPARK)

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {}


def main() -> None:
    append.register()
    arm_from_environment()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        close_old_connections()
        try:
            answer = globals()[f"do_{order.pop('do')}"](**order)
        except (OperationalError, InterfaceError, Problem) as error:
            connection.close()
            answer = {"refused": str(error)}  # as a page says 503: nothing was acknowledged
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
