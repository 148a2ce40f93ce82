"""Storage is asked for the files that a job reads or writes again, before Spark opens them: what isn't as the log says refuses it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from jobs.approvals import decisions
from jobs.commands.alter_schema.rules import AlterSchema
from jobs.commands.delete.rules import Delete
from jobs.commands.drop_feature.rules import DropFeature
from jobs.commands.optimize.rules import Optimize
from jobs.commands.registry import handling_of
from jobs.commands.reorg.rules import Reorg
from jobs.domain.commands import Command
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.stored import to_json
from jobs.domain.states import State
from jobs.models import Job
from jobs.requests.asking import request
from jobs.targets import stored_files
from jobs.targets.stored_files import FilesRead, refuse_unlike
from jobs.targets.subject import subject_of
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Table
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)
LATE = "p = 'FR' AND id < 5"
VECTORS: dict[str, Any] = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors"],
}


@pytest.fixture(autouse=True)
def quick(timing: Callable[..., Any], no_wakes: Any) -> None:
    timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake: Any) -> Table:
    table = lakes.sales_in(lake)
    small_delta.append(Path(table.path), [{"id": 50, "p": "FR"}])
    return table


def file_of(table: Table, country: str) -> Path:
    place = Path(table.path)
    return place / next(name for name in small_delta.live(place) if name.startswith(f"p={country}/"))


def longer(file: Path) -> None:
    """Somebody replaces the file by a longer one, which reads the same."""
    file.write_text(file.read_text() + "  ")


def worked(claiming: Callable[..., Any], engine: SmallEngine) -> Job:
    claim = claiming(factories.holder())
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, engine, threading.Event(), engine.ended_hard.set))
    return Job.objects.get(pk=claim.job.pk)


def asked(who: Person, command: Command, engine: SmallEngine) -> Job:
    request(Actor.acting_for(who), command, "it has to be")
    return worked(claim_preview, engine)


def error_of(job: Job) -> dict[str, Any]:
    assert job.state == State.FAILED
    return dict(job.error or {})


def test_a_file_that_is_longer_than_the_log_says_refuses_a_delete_before_spark_counts(
    olga: Person, sales: Table
) -> None:
    file, engine = file_of(sales, "FR"), SmallEngine()
    logged = file.stat().st_size
    longer(file)
    error = error_of(asked(olga, Delete(str(sales.pk), LATE), engine))
    assert (error["code"], error["place"]) == ("file_sizes_differ", str(file))
    assert f"{file.name} has {logged + 2:,} bytes, and the log says {logged:,}." in error["message"]
    assert "lost" in error["message"]
    assert error["table_state"] == "Nothing was committed."
    assert engine.measured == 0


def test_one_that_was_replaced_after_its_approval_is_refused_before_the_run(olga: Person, sales: Table) -> None:
    engine, anna = SmallEngine(), factories.appointed("anna", Role.APPROVER)
    job = asked(olga, Delete(str(sales.pk), LATE), engine)
    decisions.approve(Actor.acting_for(anna), job, job.digest or "", "go")
    longer(file_of(sales, "FR"))
    before = small_delta.head(Path(sales.path))
    assert error_of(worked(claim_run, engine))["code"] == "file_sizes_differ"
    assert small_delta.head(Path(sales.path)) == before


def test_files_that_a_job_leaves_alone_do_not_stand_in_its_way(olga: Person, sales: Table) -> None:
    longer(file_of(sales, "DE"))
    assert asked(olga, Delete(str(sales.pk), LATE), SmallEngine()).state == State.AWAITING_APPROVAL


def test_rows_of_missing_files_can_be_deleted_by_their_partition(sales: Table) -> None:
    """Delta removes whole files by the log alone: that mends the table."""
    job = Job(table=sales, location=sales.path, command="delete", schema_version=1)
    subject = subject_of(sales.pk)
    for predicate, is_read in (("p = 'FR'", False), (LATE, True)):
        command = Delete(str(sales.pk), predicate, sales.path, to_json(subject.read(predicate)))
        job.parameters = {"table": command.table, "predicate": predicate, "path": command.path, "tree": command.tree}
        assert (handling_of("delete").files_read(job) is not None) is is_read


@pytest.mark.parametrize(
    "spoil",
    [None, os.mkfifo, Path.mkdir],
    ids=["gone", "a pipe", "a directory"],
)
def test_what_is_no_regular_file_refuses_it_by_name(
    olga: Person, sales: Table, spoil: Callable[[Path], Any] | None
) -> None:
    file = file_of(sales, "FR")
    file.unlink()
    if spoil:
        spoil(file)
    error = error_of(asked(olga, Delete(str(sales.pk), LATE), SmallEngine()))
    assert (error["code"], error["place"]) == ("files_missing", str(file))
    assert f"no regular file p=FR/{file.name}" in error["message"]


@pytest.mark.parametrize(
    "command",
    [
        Optimize(""),
        Optimize("", zorder_by=["id"]),
        AlterSchema("", [{"add_constraint": {"name": "small", "expression": "id < 100"}}]),
    ],
    ids=["optimize", "zorder", "a constraint"],
)
def test_whatever_reads_or_writes_the_rows_again_is_refused(olga: Person, sales: Table, command: Any) -> None:
    longer(file_of(sales, "FR"))
    engine = SmallEngine()
    assert error_of(asked(olga, replace(command, table=str(sales.pk)), engine))["code"] == "file_sizes_differ"
    assert engine.measured == 0


def test_a_schema_that_changes_without_reading_rows_is_not(olga: Person, sales: Table) -> None:
    longer(file_of(sales, "FR"))
    change = AlterSchema(str(sales.pk), [{"comment": {"path": "id", "text": "the number"}}])
    assert asked(olga, change, SmallEngine()).state != State.FAILED


@pytest.mark.parametrize("command", [Reorg(""), DropFeature("", "deletionVectors")], ids=["reorg", "drop_feature"])
def test_files_with_deletion_vectors_are_looked_at_before_they_are_purged(
    olga: Person, sales: Table, command: Any
) -> None:
    place, file = Path(sales.path), file_of(sales, "DE")
    [add] = [
        action["add"]
        for action in map(json.loads, (place / "_delta_log" / f"{0:020d}.json").read_text().splitlines())
        if action.get("add", {}).get("path", "").endswith(file.name)
    ]
    vector = {
        "storageType": "i",
        "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        "sizeInBytes": 40,
        "cardinality": 1,
    }
    remove = {"path": add["path"], "deletionTimestamp": 0, "dataChange": True}
    small_delta.commit(
        place, "DELETE", [{"protocol": VECTORS}, {"remove": remove}, {"add": add | {"deletionVector": vector}}]
    )
    longer(file)
    job = asked(olga, replace(command, table=str(sales.pk)), SmallEngine())
    assert error_of(job)["code"] == "file_sizes_differ"


def test_many_odd_files_are_counted_and_a_few_named(sales: Table) -> None:
    place = Path(sales.path)
    for number in range(60, 66):
        small_delta.append(place, [{"id": number, "p": "IT"}])
    for name in small_delta.live(place):
        if name.startswith("p=IT/"):
            longer(place / name)
    with pytest.raises(CommandRefused) as refused:
        refuse_unlike(FilesRead(sales.path, subject_of(sales.pk).snapshot.files()))
    [refusal] = refused.value.refusals
    assert refusal.message.count("the log says") == stored_files.NAMED
    assert "(3 more files likewise.)" in refusal.message


def test_of_more_files_than_are_asked_for_every_nth_is_looked_at(sales: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    files = subject_of(sales.pk).snapshot.files()
    assert refuse_unlike(FilesRead(sales.path, files)) == 3
    monkeypatch.setattr(stored_files, "MOST", 2)
    assert refuse_unlike(FilesRead(sales.path, files)) == 2
