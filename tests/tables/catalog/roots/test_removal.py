"""A root is taken away: refused while something works there; its tables leave the lists, and come back with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.domain.errors import CommandRefused
from jobs.models import Job
from jobs.targets.places import check_claimed
from tables.catalog import listing, renaming
from tables.catalog.adding import additions
from tables.catalog.roots import entries as roots
from tables.catalog.roots import removal as root_removal
from tables.models import Commit, Root, Table
from tests import factories
from tests.clients import Caller

People = Callable[..., Person]
Write = Callable[..., Path]
pytestmark = pytest.mark.django_db


@pytest.fixture
def ines(admin: Actor) -> Any:
    assert admin.person is not None
    return Caller(admin.person)


@pytest.fixture
def orders(admin: Actor, root: Root, write: Write) -> Table:
    return additions.add_table(admin, str(write())).table


def test_open_jobs_and_rules_stand_against_it_by_number(ines: Any, root: Root, orders: Table) -> None:
    other = factories.TableFactory(root=root)
    jobs = [factories.job("queued", table=each) for each in (orders, other)]
    factories.job("succeeded", table=other)
    factories.PolicyRuleFactory(scope="root", root=root)
    answer = ines.delete(f"/roots/{root.pk}")
    assert answer.status_code == 409
    body = answer.json()
    assert (body["code"], body["jobs"], body["streams"], body["rules"]) == ("in_use", 2, 0, 1)
    assert "2 open jobs and 1 approval rule still use it" in body["detail"]
    assert Root.objects.get().removed_at is None
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(state="cancelled", finished_at=timezone.now())
    body = ines.delete(f"/roots/{root.pk}").json()
    # Else its tables could come back without the rule.
    assert (body["code"], body["jobs"], body["rules"]) == ("in_use", 0, 1)


def test_its_tables_leave_the_lists_and_no_job_begins_there(
    ines: Any, admin: Actor, person: People, root: Root, orders: Table
) -> None:
    renaming.rename_table(admin, orders, "shop.orders")
    vic = person("vic", Role.OPERATOR, table=orders)
    root_removal.remove(admin, root)
    assert ines.get("/tables").json()["results"] == []
    assert ines.get("/roots").json()["results"] == []
    assert ines.delete(f"/roots/{root.pk}").status_code == 404
    assert ines.get(f"/tables/{orders.pk}").status_code == 404
    assert Commit.objects.filter(table=orders).exists()
    assert Event.objects.filter(object_kind="table", object_id=str(orders.pk)).exists()
    event = Event.objects.get(action="root.remove")
    assert event.after == {"tables": 1, "tables_pass_to": None}
    asked = {"command": "convert", "path": orders.path, "source_format": "parquet", "reason": "why"}
    for caller in (ines, Caller(vic)):
        refused = caller.post("/jobs", asked)
        assert (refused.status_code, refused.json()["code"]) == (403, "outside_roots")
        assert "is not below a root" in refused.json()["detail"]
    with pytest.raises(CommandRefused, match="not below a root"):  # one that was queued meanwhile
        check_claimed(orders.path)


def test_the_place_brings_the_same_root_and_histories_back(
    admin: Actor, person: People, root: Root, orders: Table
) -> None:
    vic = person("vic", Role.VIEWER, root=root)
    root_removal.remove(admin, root)
    with pytest.raises(Problem, match="which was removed"):
        roots.add_root(admin, "lake", str(Path(root.uri).parent))
    again = roots.add_root(admin, "lake2", root.uri)
    assert (again.pk, Root.ever.count()) == (root.pk, 1)
    assert Root.objects.get().name == "lake2"
    added = additions.add_table(admin, orders.path)
    assert (added.table.pk, added.is_new) == (orders.pk, True)
    assert Commit.objects.filter(table=orders).exists()
    assert listing.visible_to(Person.objects.get(pk=vic.pk)).count() == 1


def test_tables_pass_to_the_root_around_it(admin: Actor, root: Root, orders: Table, lake: Path) -> None:
    outer = roots.add_root(admin, "all", str(lake.parent))
    assert root_removal.consequences_of(root).passes_to == outer
    root_removal.remove(admin, root)
    table = Table.objects.get(pk=orders.pk)
    assert (table.root_id, table.hidden_at) == (outer.pk, None)


def test_a_sample_that_was_removed_stays_so(db: None, tmp_path: Path) -> None:
    system = Actor.system("up")
    sample, made = roots.ensure_sample(tmp_path)
    assert made
    root_removal.remove(system, sample)
    assert roots.ensure_sample(tmp_path) == (sample, False)
    assert not Root.objects.exists()
