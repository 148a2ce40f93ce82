"""Favourites: one's own marks on tables, shown on home, in the palette and as a filter; nobody else's business."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from console.accounts.models import Grant, Person
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from tables.catalog import entries
from tables.catalog.own import favourites
from tables.catalog.roots import removal as root_removal
from tables.models import Favourite, Table
from tables.record import table_fields
from tests import factories
from tests.clients import Caller, browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> Person:
    return factories.person_with("viewer")


@pytest.fixture
def orders() -> Table:
    return found_by_name("orders")


def found_by_name(name: str) -> Table:
    made = factories.TableFactory(name=name)
    table_fields.index_words(made)
    made.save()
    return made


def post(person: Person, table: Table, do: str, **more: str) -> Any:
    return browser(person).post(f"/tables/{table.pk}/favourite/", {"do": do, **more})


def test_a_table_is_marked_and_unmarked_on_its_page_without_a_script(person, orders):
    answer = post(person, orders, "mark", next=f"/tables/{orders.pk}/history/")
    assert (answer.status_code, answer.url) == (302, f"/tables/{orders.pk}/history/")
    page = browser(person).get(f"/tables/{orders.pk}/").content.decode()
    assert re.search(r'name="do" value="unmark" aria-pressed="true"', page)
    assert post(person, orders, "unmark", next="//elsewhere.invalid/").url == f"/tables/{orders.pk}/"
    page = browser(person).get(f"/tables/{orders.pk}/").content.decode()
    assert re.search(r'name="do" value="mark" aria-pressed="false"', page)
    assert not Favourite.objects.exists()


def test_a_mark_is_one_per_person_and_table(person, orders):
    for _ in range(2):
        post(person, orders, "mark")
    assert Favourite.objects.count() == 1
    with pytest.raises(IntegrityError, match="favourite_once"), transaction.atomic():
        Favourite.objects.create(person=person, table=orders)


def test_a_mark_is_private_to_its_person(person, orders):
    other = factories.person_with("admin")
    favourites.mark(other, orders)
    client = browser(person)
    for address in ("/", "/tables/", "/find/", f"/tables/{orders.pk}/"):
        page = client.get(address).content.decode()
        assert "star-filled" not in page, address
    assert client.get("/tables/?favourite=true").context["rows"] == []
    post(person, orders, "unmark")
    assert favourites.of(other) == [orders]


def test_favourites_stand_on_home_by_name(person):
    for name in ("b", "a"):
        favourites.mark(person, factories.TableFactory(name=name))
    factories.TableFactory(name="neither")
    page = browser(person).get("/")
    assert [row["table"].name for row in page.context["favourites"]] == ["a", "b"]
    assert 'id="h-favourites"' in page.content.decode()
    assert 'id="h-favourites"' not in browser(factories.person_with("viewer")).get("/").content.decode()


def test_favourites_come_first_in_the_palette_and_once(person, orders):
    for name in ("orders_2025", "orders_2024"):
        found_by_name(name)
    favourites.mark(person, orders)
    groups = browser(person).get("/find/", {"q": "orders"}).context["groups"]
    assert (groups[0].heading, [option.text for option in groups[0].options]) == ("Favourites", ["orders"])
    (tables,) = [group for group in groups if group.heading == "Tables"]
    assert [option.text for option in tables.options] == ["orders_2024", "orders_2025"]
    unasked = browser(person).get("/find/").context["groups"]
    assert (unasked[0].heading, [option.text for option in unasked[0].options]) == ("Favourites", ["orders"])
    assert browser(person).get("/find/", {"q": "2025"}).context["groups"][0].heading == "Tables"


def test_a_favourite_is_found_by_the_name_that_is_shown(person):
    table = factories.TableFactory(name="sales", catalog_name="shop.sales")
    table_fields.index_words(table)
    table.save()
    favourites.mark(person, table)
    groups = browser(person).get("/find/", {"q": "shop"}).context["groups"]
    assert (groups[0].heading, [option.text for option in groups[0].options]) == ("Favourites", ["shop.sales"])


def test_the_list_is_narrowed_to_favourites_with_other_filters_and_says_which_are(person, orders):
    other = factories.TableFactory(name="customers")
    for table in (orders, other, factories.TableFactory(name="gone", hidden_at="2026-01-01T00:00:00Z")):
        favourites.mark(person, table)
    found_by_name("orders_2024")
    client = browser(person)
    page = client.get("/tables/?favourite=true")
    assert [row.name for row in page.context["rows"]] == ["customers", "orders"]
    assert page.context["facets"][0]["options"] == [
        {"value": "true", "text": "Favourites", "count": 2, "checked": True}
    ]
    assert [row.name for row in client.get("/tables/?favourite=true&q=ord").context["rows"]] == ["orders"]
    whole = client.get("/tables/")
    assert {row.name: row.is_favourite for row in whole.context["rows"]} == {
        "customers": True, "orders": True, "orders_2024": False,
    }  # fmt: skip
    assert whole.content.decode().count('aria-label="Favourite"') == 2
    others = browser(factories.person_with("viewer")).get("/tables/")
    assert "favourite" not in {facet["name"] for facet in others.context["facets"]}


def test_a_favourite_that_the_person_may_no_longer_see_is_shown_nowhere(person, orders):
    favourites.mark(person, orders)
    Grant.objects.filter(person=person).delete()
    factories.GrantFactory(person=person, role="viewer", scope="root", root=factories.RootFactory())
    client = browser(Person.objects.get(pk=person.pk))
    assert client.get("/").context["favourites"] == []
    assert client.get("/tables/?favourite=true").context["rows"] == []
    assert not any(group.heading == "Favourites" for group in client.get("/find/").context["groups"])
    assert post(person, orders, "unmark").status_code == 404


@pytest.mark.parametrize("do", ["", "delete"])
def test_what_is_no_act_is_not_there(person, orders, do):
    assert post(person, orders, do).status_code == 404


def test_marks_go_when_the_table_is_hidden_or_its_root_removed(person, orders):
    admin = factories.person_with("admin")
    favourites.mark(person, orders)
    entries.hide_table(Actor.acting_for(admin), orders)
    assert not Favourite.objects.exists()
    other = factories.TableFactory()
    favourites.mark(person, other)
    root_removal.remove(Actor.acting_for(admin), other.root)
    assert not Favourite.objects.exists()


def test_a_person_has_at_most_so_many(person, orders, monkeypatch):
    monkeypatch.setattr(favourites, "MOST", 1)
    favourites.mark(person, orders)
    favourites.mark(person, orders)
    with pytest.raises(Problem, match="You have 1 favourites"):
        favourites.mark(person, factories.TableFactory())
    answer = browser(person).post(f"/tables/{factories.TableFactory().pk}/favourite/", {"do": "mark"}, follow=True)
    assert "Remove one of them first." in answer.content.decode()


def test_marks_that_a_person_may_no_longer_see_and_remove_leave_room_for_others(person, orders, monkeypatch):
    monkeypatch.setattr(favourites, "MOST", 1)
    favourites.mark(person, orders)
    Grant.objects.filter(person=person).delete()
    mine = factories.RootFactory()
    factories.GrantFactory(person=person, role="viewer", scope="root", root=mine)
    person = Person.objects.get(pk=person.pk)
    seen = [factories.TableFactory(root=mine) for _ in range(2)]
    favourites.mark(person, seen[0])
    assert favourites.of(person) == seen[:1]
    with pytest.raises(Problem, match="You have 1 favourites"):
        favourites.mark(person, seen[1])


def test_a_mark_is_no_event_of_the_audit(person, orders):
    before = Event.objects.count()
    for do in ("mark", "unmark"):
        post(person, orders, do)
    assert Event.objects.count() == before


def test_the_api_marks_filters_and_unmarks_for_the_token_s_person_alone(person, orders):
    factories.TableFactory(name="customers")
    caller, other = Caller(person, "read", "request"), Caller(factories.person_with("viewer"), "read")
    address = f"/api/v1/tables/{orders.pk}/favourite"
    for _ in range(2):
        assert caller.client.put(address).status_code == 204
    assert [row["name"] for row in caller.get("/tables", favourite="true").json()["results"]] == ["orders"]
    assert other.get("/tables", favourite="true").json()["results"] == []
    assert len(caller.get("/tables", favourite="false").json()["results"]) == 2
    for _ in range(2):
        assert caller.client.delete(address).status_code == 204
    assert caller.get("/tables", favourite="true").json()["results"] == []
    assert Caller(person, "read").client.put(address).status_code == 403
    assert caller.client.put(f"/api/v1/tables/{uuid.uuid4()}/favourite").status_code == 404
