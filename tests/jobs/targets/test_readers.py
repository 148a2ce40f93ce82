"""The streams that read a table, as the preview of a change names them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actor import Actor
from jobs.commands.delete.rules import Delete
from jobs.commands.registry import handling_of
from jobs.domain.measures import Restorable
from jobs.models import Stream
from jobs.streams import acts
from jobs.targets import readers
from jobs.targets.readers import CommitChange, with_readers
from jobs.targets.subject import Subject, subject_of
from tables.models import Commit, Root, Table
from tables.sync import log_access
from tests import factories
from tests.factories import lakes
from tests.jobs import asking, small_delta

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return factories.root_at(tmp_path)


@pytest.fixture
def sales(root: Root) -> Table:
    return lakes.sales_in(root)


@pytest.fixture
def olga(db: None) -> Person:
    return factories.person_with("operator")


def reader(olga: Person, root: Root, sales: Table, name: str = "copy", *, begun: bool = True, **source: Any) -> Stream:
    """A stream from the table; `begun`: its query has an id."""
    asked = {
        "source": {"table": str(sales.pk), **source},
        "target": {"path": f"{root.uri}/{name}"},
        "output_mode": "append",
    }
    stream = acts.create(Actor.acting_for(olga), name, "a copy", asked)
    if begun:
        Stream.objects.filter(pk=stream.pk).update(query_id="q")
    return stream


def codes(subject: Subject, change: CommitChange) -> list[str]:
    return [c["code"] for c in with_readers({"consequences": []}, subject, change)["consequences"]]


REMOVES, REWRITES, UNSURE = CommitChange(True, False), CommitChange(True, True), CommitChange(True, None)
DELETES: dict[str, Any] = {"options": {"ignoreDeletes": True}}


@pytest.mark.parametrize(
    ("source", "change", "named"),
    [
        ({}, REMOVES, ["fails_stream"]),
        ({}, REWRITES, ["fails_stream"]),
        ({}, CommitChange(removes=False, adds=True), []),
        (DELETES, REMOVES, []),
        (DELETES, REWRITES, ["fails_stream"]),
        (DELETES, UNSURE, ["may_fail_stream"]),
        ({"options": {"ignoreDeletes": False}}, REMOVES, ["fails_stream"]),
        ({"skip_change_commits": True}, REWRITES, []),
        ({"skip_change_commits": True, **DELETES}, UNSURE, []),
    ],
)
def test_a_stream_is_named_if_delta_would_fail_it(olga, root, sales, source, change, named):
    reader(olga, root, sales, **source)
    assert codes(subject_of(sales.pk), change) == named


def test_more_streams_than_are_named_are_counted(olga, root, sales, monkeypatch):
    monkeypatch.setattr(readers, "MOST", 1)
    for name in "abc":
        reader(olga, root, sales, name)
    texts = [c["text"] for c in with_readers({"consequences": []}, subject_of(sales.pk), REMOVES)["consequences"]]
    assert len(texts) == 2
    assert "stream a into" in texts[0]
    assert texts[1].startswith("2 more streams")


# What a delete's preview knows


def asked(olga: Person, sales: Table, predicate: str | None) -> list[str]:
    command = Delete(table=str(sales.pk), predicate=predicate)
    prepared = handling_of("delete").prepare(Actor.acting_for(olga), command, None)
    assert prepared.preview is not None
    return [c["code"] for c in prepared.preview["consequences"]]


def test_a_delete_of_whole_partitions_passes_a_stream_that_ignores_deletes(olga, root, sales):
    reader(olga, root, sales, **DELETES)
    assert "fails_stream" not in asked(olga, sales, "p = 'FR'")
    assert "may_fail_stream" not in asked(olga, sales, None)
    assert "may_fail_stream" in asked(olga, sales, "id > 4")


# What a restore's preview knows


def restored(olga: Person, sales: Table, version: int) -> list[str]:
    job = asking.request_restore(Actor.acting_for(olga), sales.pk, version, "a wrong load").job
    found = handling_of("restore").preview(job, lambda at: Restorable(version, (), 0, None, None))
    return [c["code"] for c in found.preview["consequences"] if c["code"].endswith("stream")]


def test_a_restore_that_removes_files_names_the_streams_that_it_fails(olga, root, sales):
    small_delta.append(Path(sales.path), [{"id": 77, "p": "FR"}])
    log_access.sync(sales.pk)
    reader(olga, root, sales)
    reader(olga, root, sales, "patient", skip_change_commits=True)
    assert restored(olga, sales, 0) == ["fails_stream"]


@pytest.mark.parametrize(
    ("begun", "source", "named"),
    [
        (True, {}, ["may_fail_stream"]),
        (True, {"skip_change_commits": True}, ["may_fail_stream"]),
        (False, {}, []),  # reads the table as it is by then
        (False, {"starting_version": 1}, ["may_fail_stream"]),
    ],
)
def test_a_restore_to_another_schema_names_every_stream_that_reads_its_commits(olga, root, sales, begun, source, named):
    """Without any file removed: Delta fails a stream that has read columns which the table no longer has."""
    wider = {"name": "more", "type": "long", "nullable": True, "metadata": {}}
    small_delta.reshape(Path(sales.path), {"type": "struct", "fields": [*small_delta.FIELDS, wider]})
    log_access.sync(sales.pk)
    reader(olga, root, sales, begun=begun, **source)
    assert restored(olga, sales, 0) == named


def test_a_change_of_a_comment_fails_no_stream(olga, root, sales):
    named = [field | {"metadata": {"comment": "c"}} for field in small_delta.FIELDS]
    small_delta.reshape(Path(sales.path), {"type": "struct", "fields": named})
    log_access.sync(sales.pk)
    reader(olga, root, sales)
    assert restored(olga, sales, 0) == []


def test_a_stream_that_fails_for_sure_is_named_once(olga, root, sales):
    reader(olga, root, sales)
    assert codes(subject_of(sales.pk), CommitChange(True, True, reshapes=True)) == ["fails_stream"]


# Streams far behind


@pytest.fixture
def old(sales: Table) -> Table:
    """A table whose versions 0 and 1 were committed 40 and 20 days ago."""
    small_delta.append(Path(sales.path), [{"id": 77, "p": "FR"}])
    log_access.sync(sales.pk)
    for version, days in ((0, 40), (1, 20)):
        Commit.objects.filter(table=sales, version=version).update(committed_at=timezone.now() - timedelta(days=days))
    return sales


NOTHING = CommitChange(removes=False, adds=True)


@pytest.mark.parametrize(
    ("begun", "reads_from", "source", "named"),
    [
        (True, 0, {}, ["outdates_stream"]),
        (True, 0, {"skip_change_commits": True}, ["outdates_stream"]),
        (True, 1, {}, []),  # young enough
        (True, 2, {}, []),  # has read all
        (True, None, {}, []),  # its first batch hasn't ended
        (False, None, {"starting_version": 0}, ["outdates_stream"]),
        (False, None, {"starting_version": 1}, []),
        (False, None, {}, []),  # takes the table as it will be
    ],
)
def test_a_stream_whose_next_version_may_be_cleaned_up_is_named(olga, root, old, begun, reads_from, source, named):
    reader(olga, root, old, begun=begun, **source)
    Stream.objects.update(reads_from=reads_from)
    assert codes(subject_of(old.pk), NOTHING) == named


@pytest.mark.parametrize(
    "properties",
    [{"delta.enableExpiredLogCleanup": "false"}, {"delta.logRetentionDuration": "interval 50 days"}],
    ids=["no cleanup", "kept longer"],
)
def test_a_table_that_keeps_its_log_outdates_no_stream(olga, root, old, properties):
    reader(olga, root, old)
    Stream.objects.update(reads_from=0)
    subject = subject_of(old.pk)
    subject.metadata.configuration.update(properties)
    assert codes(subject, NOTHING) == []


def test_a_version_that_is_gone_already_is_not_this_changes_doing(olga, root, old):
    reader(olga, root, old)
    Stream.objects.update(reads_from=0)
    subject = subject_of(old.pk)
    subject.table.first_version = 1
    assert codes(subject, NOTHING) == []


def test_it_says_which_version_and_what_to_do(olga, root, old):
    reader(olga, root, old)
    Stream.objects.update(reads_from=0)
    (said,) = with_readers({"consequences": []}, subject_of(old.pk), NOTHING)["consequences"]
    day = timezone.now() - timedelta(days=40)
    assert f"version 0 of this table yet, which was committed on {day:%Y-%m-%d}" in said["text"]
    assert "30 days" in said["text"]
    assert said["text"].endswith("run the stream first.")
