"""The sample lake is removed for good: its streams, its entries, and the files that Levee wrote; what others wrote stays."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from console.management.commands import prepare
from jobs.models import Job, Stream
from jobs.sample import files, removal
from jobs.sample.growth import grow
from jobs.sample.place import sample_root
from tables.catalog.roots import entries as roots
from tables.deltalog.read.vector_files import vector_file
from tables.models import Commit, Root, Table
from tables.rules import sample_lake
from tables.rules.sample_tables import features, sales
from tables.sync import table as syncing
from tests import factories
from tests.clients import confirmed_browser
from tests.factories import lakes
from tests.jobs.engine.foreign_logs import z85
from tests.jobs.policy.test_protection import lift, protect

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a lake of three directories and one table: the rest of it is written the same way."""
    home = tmp_path_factory.mktemp("home")
    every = sample_lake._directories
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            sample_lake, "_directories", lambda: {name: every()[name] for name in ("orders", "page_views", "returns")}
        )
        patched.setattr(sales, "write", lambda *_: None)
        patched.setattr(features, "TABLES", (features.contacts,))
        sample_lake.write_lake(home)
    return home


@pytest.fixture
def home(written: Path, tmp_path: Path, settings: Any) -> Path:
    """A copy of it, as an instance's own; times of files are kept."""
    place = tmp_path / "home"
    shutil.copytree(written, place)
    settings.ENV = replace(settings.ENV, home=place)
    return place


@pytest.fixture
def ines(db: None) -> Person:
    return factories.person_named("ines", "admin")


@pytest.fixture
def sample(home: Path, ines: Person) -> Root:
    root, _ = roots.ensure_sample(home, ines)
    return root


@pytest.fixture
def admin(ines: Person) -> Client:
    return confirmed_browser(ines)


URL = "/roots/sample-lake/remove/"


def files_in(lake: Path) -> set[str]:
    return {str(file.relative_to(lake)) for file in lake.rglob("*") if file.is_file()}


def written_by(table: Path, version: int) -> set[str]:
    """The files that a commit made: its own in the log, and all that it adds but the one that was there before."""
    log = table / "_delta_log" / f"{version:020}.json"
    added = {json.loads(line)["add"]["path"] for line in log.read_text().splitlines() if '"add"' in line}
    assert len(added) == 2
    return {str(log.relative_to(table)), *added, vector_file(OURS)} - {"theirs.parquet"}


THEIRS, OURS = (z85(uuid.UUID(int=number).bytes) for number in (1, 2))


def vectored(vector: str) -> dict[str, Any]:
    """What a file is added with that has a deletion vector."""
    return {"storageType": "u", "pathOrInlineDv": vector, "offset": 1, "sizeInBytes": 6, "cardinality": 1}


def changed_by_a_job(sample: Root) -> Table:
    """A table of somebody else's in the lake with a commit of a job of Levee's: it names files that were there before, and made some."""
    place = lakes.delta(Path(sample.uri) / "bought", {"id": [1]})
    (place / "theirs.parquet").write_bytes(b"theirs")
    (place / vector_file(THEIRS)).write_bytes(b"theirs")
    for old in ("theirs.parquet", vector_file(THEIRS)):
        os.utime(place / old, (1, 1))
    table = factories.table_in(sample, "bought")
    job = factories.job("succeeded", table=table, version=1, claimed_at=timezone.now() - timedelta(seconds=1))
    os.utime(next(place.glob("*-c000.*.parquet")), (2, 2))  # written before the job began
    lakes.delta(place, {"id": [2]}, mode="append")
    (place / vector_file(OURS)).write_bytes(b"ours")
    add = {"path": "theirs.parquet", "partitionValues": {}, "size": 6, "modificationTime": 1000, "dataChange": True}
    adds = [{"add": add | {"deletionVector": vectored(vector)}} for vector in (THEIRS, OURS)]
    log = place / "_delta_log" / f"{1:020}.json"
    log.write_text("\n".join([log.read_text().strip(), *map(json.dumps, adds), ""]))
    syncing.sync(table.pk)
    Commit.objects.filter(table=table, version=1).update(job=job.pk)
    return table


def test_it_deletes_what_levee_wrote_and_nothing_else(sample: Root, admin: Client, ines: Person) -> None:
    lake = Path(sample.uri)
    table = changed_by_a_job(sample)
    theirs = files_in(lake / "bought") - written_by(lake / "bought", 1)
    stream = factories.stream(table, ines, name="views", state="stopped")
    (lake / "returns" / "mine.parquet").write_bytes(b"mine")
    changed = lake / "page_views" / "hour=2026-10-01 05%3A00%3A00" / "part-00000.snappy.parquet"
    changed.write_bytes(b"changed by hand")
    (lake / "elsewhere").symlink_to(lake.parent.parent)
    shown = admin.get(URL).content.decode()
    assert "views" in shown
    assert "can’t undo" in shown
    assert admin.post(URL, {"name": "another"}).status_code == 400
    answer = admin.post(URL, {"name": sample.name}, follow=True)
    assert answer.status_code == 200, answer.content
    left = files_in(lake)
    assert left == {
        "returns/mine.parquet",
        str(changed.relative_to(lake)),
        *(f"bought/{name}" for name in theirs),
    }
    assert f"{len(left)} that Levee didn’t write stay" in answer.content.decode()
    assert not (lake / "contacts").exists()
    assert Stream.objects.get(pk=stream.pk).removed_at is not None
    assert not Root.objects.exists()
    assert Job.objects.exists()
    first, *others = (
        Event.objects.filter(outcome="allowed")
        .order_by("at", "id")
        .values_list("action", flat=True)
        .filter(action__in=["root.delete_sample", "stream.delete", "root.remove"])
    )
    assert (first, sorted(others)) == ("root.delete_sample", ["root.remove", "stream.delete"])


@pytest.mark.parametrize("renamed", [False, True])
def test_no_later_start_writes_it_again(sample: Root, home: Path, ines: Person, renamed: bool) -> None:
    if renamed:
        Root.objects.filter(pk=sample.pk).update(name="shop")
    removal.remove(Actor.acting_for(ines))
    assert not (home / "lake").exists()
    prepare._sample()
    assert not (home / "lake").exists()
    assert sample_root() is None
    assert confirmed_browser(ines).get(URL).status_code == 404


def test_a_root_in_the_lake_stands_against_it(sample: Root, admin: Client, ines: Person) -> None:
    before = files_in(Path(sample.uri))
    inner = roots.add_root(Actor.acting_for(ines), "contacts-only", f"{sample.uri}/contacts")
    shown = admin.get(URL).content.decode()
    assert "1 root in it must go first" in shown
    assert f'href="/roots/{inner.pk}/"' in shown
    answer = admin.post(URL, {"name": sample.name})
    assert answer.status_code == 409
    assert "contacts-only is a root in it" in answer.content.decode()
    assert files_in(Path(sample.uri)) == before
    assert Root.objects.filter(pk=sample.pk).exists()


def test_an_open_job_stands_against_it(sample: Root, admin: Client) -> None:
    table = factories.table_in(sample, "out")
    factories.job("queued", table=table)
    before = files_in(Path(sample.uri))
    answer = admin.post(URL, {"name": sample.name})
    assert answer.status_code == 409
    assert "Cancel it or wait for the end" in answer.content.decode()
    assert files_in(Path(sample.uri)) == before
    assert Root.objects.filter(pk=sample.pk).exists()


@pytest.mark.parametrize("on", ["table", "everything", "root"])
def test_what_a_rule_protects_is_not_deleted(sample: Root, admin: Client, on: str) -> None:
    table = factories.table_in(sample, "ledger")
    protect({"table": table, "root": sample, "everything": None}[on])
    before = files_in(Path(sample.uri))
    warned = admin.get(URL).content.decode()
    assert "Not possible now" in warned
    assert ("the rule “Ledger” protects it" if on == "everything" else "1 approval rule on it") in warned
    answer = admin.post(URL, {"name": sample.name})
    assert answer.status_code == 409
    assert ("“Ledger”" if on == "everything" else "1 approval rule is on it") in answer.content.decode()
    assert files_in(Path(sample.uri)) == before
    assert Root.objects.filter(pk=sample.pk).exists()


def test_a_rule_on_one_of_its_tables_stands_against_it_and_one_about_vacuums_everywhere_does_not(
    sample: Root, admin: Client
) -> None:
    protect(None, "vacuum")
    rule = factories.PolicyRuleFactory(scope="table", table=factories.table_in(sample, "ledger"))
    assert admin.post(URL, {"name": sample.name}).status_code == 409
    lift(rule)
    assert admin.post(URL, {"name": sample.name}).status_code == 302
    assert not Root.objects.filter(pk=sample.pk).exists()


def test_a_running_stream_is_stopped_and_its_round_awaited(sample: Root, admin: Client, ines: Person) -> None:
    table = factories.table_in(sample, "out")
    stream = factories.stream(table, ines, state="running", run_by=ines)
    job = factories.job("running", table=table)
    opened = stream.round_set.create(job=job, number=1, revision=1)
    answer = admin.post(URL, {"name": sample.name})
    assert (answer.status_code, "still ending a round" in answer.content.decode()) == (409, True)
    assert Stream.objects.get(pk=stream.pk).state == "stopping"
    assert (Path(sample.uri) / "returns").exists()
    Job.objects.filter(pk=job.pk).update(state="cancelling")
    Job.objects.filter(pk=job.pk).update(state="cancelled", finished_at=timezone.now(), lease_until=None)
    stream.round_set.filter(pk=opened.pk).update(booked_at=timezone.now())
    Stream.objects.filter(pk=stream.pk).update(state="stopped")
    assert admin.post(URL, {"name": sample.name}).status_code == 302
    assert not Path(sample.uri).exists()


def test_the_page_of_its_root_leads_to_the_removal_and_that_of_another_to_its_own(
    sample: Root, admin: Client, tmp_path: Path
) -> None:
    other: Any = factories.RootFactory(uri=str(tmp_path / "other"))
    own, others = (admin.get(f"/roots/{root.pk}/").content.decode() for root in (sample, other))
    assert f'href="{URL}">Remove the sample lake…<' in own
    assert f'href="/roots/{sample.pk}/remove/"' not in own
    assert "Remove the sample lake" not in others
    assert f'href="/roots/{other.pk}/remove/"' in others


def test_only_an_admin_of_everything_removes_it(sample: Root) -> None:
    olga = factories.person_named("olga", "operator")
    with pytest.raises(Problem, match="You need the role admin on everything for this"):
        removal.remove(Actor.acting_for(olga))
    assert confirmed_browser(olga).get(URL).status_code == 403


def test_views_arrive_while_a_stream_reads_them(sample: Root, home: Path, ines: Person) -> None:
    views = Path(sample.uri) / "page_views"
    for newest in views.glob("hour=*"):
        os.utime(newest, (1, 1))
    assert grow() == 0  # nobody reads them
    stream = factories.stream(factories.table_in(sample, "out"), ines, state="running", run_by=ines)
    stream.definition["source"]["path"] = str(views)
    stream.save()
    with (home / sample_lake.WRITTEN).open("a", encoding="utf-8") as record:
        record.write('["page_views/hour=2026-10-02 00%3A00%3A00/part-000')  # the disk was full
    assert (grow(), grow()) == (1, 0)  # one a minute
    assert len(list(views.rglob("*.parquet"))) == 25
    assert pq.read_table(views / "hour=2026-10-02 00%3A00%3A00" / "part-00000.snappy.parquet").num_rows >= 50
    assert "page_views/hour=2026-10-02 00%3A00%3A00/part-00000.snappy.parquet" in {
        f.path for f in sample_lake.written(home)
    }


@pytest.mark.django_db(transaction=True)
def test_it_does_not_grow_while_it_is_removed(
    sample: Root, home: Path, ines: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = Path(sample.uri) / "page_views"
    for newest in views.glob("hour=*"):
        os.utime(newest, (1, 1))
    stream = factories.stream(factories.table_in(sample, "out"), ines, state="running", run_by=ines)
    stream.definition["source"]["path"] = str(views)
    stream.save()
    deletes, grown = files.delete, list[int]()
    grows = sample_lake.grow

    def looking(act):
        def do(*given):
            grown.append(held_by_nobody(sample))
            return act(*given)

        return do

    monkeypatch.setattr(files, "delete", looking(deletes))
    monkeypatch.setattr(sample_lake, "grow", looking(grows))
    assert grow() == 1
    Stream.objects.filter(pk=stream.pk).update(state="stopped")
    removal.remove(Actor.acting_for(ines))
    assert grown == [False, False]
    assert not Path(sample.uri).exists()


def held_by_nobody(root: Root) -> bool:
    """Whether another process would get the root's row now."""
    with psycopg.connect(**connection.get_connection_params()) as other:
        asked = f"select 1 from {Root._meta.db_table} where id = %s for no key update skip locked"
        return other.execute(asked, [root.pk]).fetchone() is not None


def test_the_views_are_enough_at_some_time(home: Path) -> None:
    (home / "lake" / "page_views" / "hour=2026-10-21 19%3A00%3A00").mkdir()
    later = timezone.now() + timedelta(hours=1)
    assert not sample_lake.grow(home, later)
    (home / "lake" / "page_views" / "hour=2026-10-21 19%3A00%3A00").rmdir()
    assert sample_lake.grow(home, later)
