"""All that scans found is added by one request, in batches that a crash doesn't lose, and by a root's option."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.accounts.models import Grant, Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from tables.catalog import entries
from tables.catalog.adding import bulk as bulk_additions
from tables.catalog.roots import changes as root_changes
from tables.catalog.roots import scans
from tables.models import Addition, Finding, Root, Table
from tests.clients import Caller, browser

People = Callable[..., Person]
Write = Callable[..., Path]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_additions, "BATCH", 2)


@pytest.fixture
def scanned(root: Root, lake: Path) -> Root:
    """A root of five directories of parquet files, all of them found."""
    for name in "abcde":
        (lake / name).mkdir()
        (lake / name / "x.parquet").touch()
    scans.scan_root(root.pk)
    return root


@pytest.fixture
def ines(admin: Actor) -> Caller:
    assert admin.person is not None
    return Caller(admin.person)


def finish() -> int:
    """Works all of it off; the number of batches."""
    batches = 0
    while bulk_additions.work_next():
        batches += 1
    return batches


def test_one_request_adds_all_in_batches_and_tells_how_far_it_is(ines: Caller, scanned: Root) -> None:
    answer = ines.post(f"/roots/{scanned.pk}/additions")
    assert answer.status_code == 202
    assert (answer.json()["total"], answer.json()["done"]) == (5, 0)
    assert ines.post(f"/roots/{scanned.pk}/additions").json()["id"] == answer.json()["id"]
    assert bulk_additions.work_next()
    (row,) = ines.get(f"/roots/{scanned.pk}/additions").json()["results"]
    assert (row["total"], row["done"], row["added"], row["ended_at"]) == (5, 2, 2, None)
    html = browser(ines.person).get(f"/tables/roots/{scanned.pk}/").content.decode()
    assert "2 of 5" in " ".join(html.split())
    assert "hx-trigger" in html
    assert finish() == 2
    (row,) = ines.get(f"/roots/{scanned.pk}/additions").json()["results"]
    assert (row["done"], row["added"], row["stopped"], row["automatic"]) == (5, 5, None, False)
    assert row["ended_at"] is not None
    assert {table.next_sync_at is not None for table in Table.objects.select_related("times")} == {True}
    event = Event.objects.get(action="root.add_found")
    assert (event.actor_name, (event.after or {})["tables"]) == ("ines", 5)
    added = Event.objects.filter(action="table.add")
    assert {(each.actor_name, (each.after or {})["addition"]) for each in added} == {("ines", row["id"])}
    assert added.count() == 5
    refused = ines.post(f"/roots/{scanned.pk}/additions")
    assert (refused.status_code, refused.json()["code"]) == (409, "nothing_new")


def test_a_batch_that_dies_is_done_again(admin: Actor, scanned: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    bulk_additions.request(admin, scanned)
    create = Table.objects.bulk_create

    def dies(tables: Any) -> Any:
        create(tables)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("tables.catalog.adding.bulk.Table.objects.bulk_create", dies)
        with pytest.raises(KeyboardInterrupt):
            bulk_additions.work_next()
    assert (Table.objects.count(), Finding.objects.exclude(addition=None).count()) == (0, 5)
    assert (finish(), Table.objects.count()) == (3, 5)


def test_what_is_gone_is_refused_and_what_is_known_is_left(admin: Actor, scanned: Root, lake: Path) -> None:
    bulk_additions.request(admin, scanned)
    shutil.rmtree(lake / "a")
    shutil.rmtree(lake / "b")
    (lake / "b").mkdir()
    Table.objects.create(root=scanned, path=f"{lake}/c", name="c", format="parquet")
    Table.objects.create(root=scanned, path=f"{lake}/d", name="d", format="parquet", hidden_at=timezone.now())
    finish()
    addition = Addition.objects.get()
    assert (addition.added, addition.refused, addition.stopped) == (2, 2, "")
    assert bulk_additions.done_of(bulk_additions.of_root(scanned).get()) == 5
    refusals = dict(Finding.objects.exclude(refusal="").values_list("path", "refusal"))
    assert sorted(refusals) == [f"{lake}/a", f"{lake}/b"]
    assert "There is no directory" in refusals[f"{lake}/a"]
    assert Table.objects.get(name="d").hidden_at is None


def test_it_ends_when_its_person_may_no_longer_add(admin: Actor, person: People, scanned: Root) -> None:
    olga = person("olga", Role.OPERATOR)
    bulk_additions.request(Actor.acting_for(olga), scanned)
    Grant.objects.filter(person=olga).delete()
    assert bulk_additions.work_next()
    assert not bulk_additions.work_next()
    assert "olga may no longer add" in Addition.objects.get().stopped
    assert not Table.objects.exists()


def test_a_paused_root_waits(admin: Actor, scanned: Root) -> None:
    bulk_additions.request(admin, scanned)
    root_changes.pause(admin, scanned)
    assert not bulk_additions.work_next()
    root_changes.resume(admin, scanned)
    assert finish() == 3


def test_what_appears_is_added_in_the_name_of_who_switched_it_on(
    admin: Actor, person: People, scanned: Root, lake: Path
) -> None:
    rita = person("rita", Role.ADMIN)  # who by that role alone may not add a table herself
    root_changes.change(Actor.acting_for(rita), scanned, {"adds_found": True})
    (lake / "f").mkdir()
    (lake / "f" / "x.parquet").touch()
    scans.scan_root(scanned.pk)
    finish()
    assert Table.objects.count() == 6
    entries.hide_table(admin, Table.objects.get(name="f"))
    scans.scan_root(scanned.pk)
    assert finish() == 0  # what a person has hidden stays so
    for action in ("root.add_found", "table.add"):
        event = Event.objects.filter(action=action).latest("at")
        assert (event.actor_kind, (event.after or {})["switched_on_by"]) == ("system", "rita")
    root_changes.change(admin, scanned, {"adds_found": False})
    (lake / "g").mkdir()
    (lake / "g" / "x.parquet").touch()
    scans.scan_root(scanned.pk)
    assert finish() == 0
