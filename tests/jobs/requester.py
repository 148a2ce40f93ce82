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
from console.audit.actions import ActorKind
from console.audit.actor import Actor
from console.errors import Problem
from jobs import broker, requests, services
from jobs.domain.commands import Convert
from jobs.models import Job, Worker
from jobs.points import Point, reached
from tables.models import Root, Table
from tests.jobs import append, making
from tests.jobs.append import Append
from tests.jobs.faults import arm_from_environment


def person() -> Person:
    return Person.objects.filter(name="olga").first() or making.person()


def actor() -> Actor:
    return Actor(ActorKind.PERSON, "olga", person=person())


def table(path: str) -> Table:
    """The entry of a directory below a root that is its parent."""
    known = Table.objects.filter(path=path).first()
    if known is not None:
        return known
    above = str(Path(path).parent)
    root = Root.objects.filter(uri=above).first() or making.root(Path(above))
    return making.table(root, Path(path).name)


def do_append(path: str, rows: int = 1, **values: float) -> dict:
    """As a request does it: the row in a transaction, the wake-up after it."""
    at, who = table(path), person()
    with transaction.atomic():
        job = making.job(at, who, Append(path=path, rows=rows, **values))
        broker.wake_after_commit(Worker.Kind.SPARK)
        reached(Point.REQUEST_WRITTEN)
    return {"job": str(job.pk)}


def do_append_many(paths: list[str]) -> dict:
    """One job on each table, queued together; one wake-up."""
    with transaction.atomic():
        for path in paths:
            making.job(table(path), person(), Append(path=path, rows=1))
        broker.wake_after_commit(Worker.Kind.SPARK)
    return {}


def do_convert(path: str) -> dict:
    table(path)
    command = Convert(path=path, name=None, source_format="parquet", partition_schema=None)
    return {"job": str(requests.request_convert(actor(), command, "a test asks").job.pk)}


def do_cancel(job: str) -> dict:
    services.cancel(actor(), Job.objects.get(pk=job))
    return {}


def do_wakes(count: int) -> dict:
    """So many wake-ups at once."""
    start = threading.Barrier(count)

    def one() -> None:
        start.wait()
        broker.wake(Worker.Kind.SPARK)

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
