"""Search from any page: what it finds, for whom, and what stands there before anything is typed."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from console.accounts import lists
from console.accounts.models import Person
from console.pages.find import places, results
from console.pages.find.places import PLACES, places_for
from jobs.models import Job
from jobs.web.kinds import JOBS
from tables.models import Schema
from tables.record import table_fields
from tables.web.table import acts
from tests import factories
from tests.clients import browser, confirmed_browser

pytestmark = pytest.mark.django_db
PALETTE = {"HX-Request": "true", "HX-Target": "palette-list"}


def table(name, *columns, **where):
    made = factories.TableFactory(name=name, format="delta", version=3, **where)
    if columns:
        made.schema = Schema.objects.create(
            sha256=name.ljust(64, "0"), struct={"type": "struct", "fields": []}, columns=list(columns)
        )
    table_fields.index_words(made)
    made.save()
    return made


def options(client, q="", **more):
    """The palette's options: text, address and what stands beside them."""
    answer = client.get("/find/", {"q": q, **more}, headers=PALETTE)
    assert answer.status_code == 200
    return {option.text: option for group in answer.context["groups"] for option in group.options}


def test_it_finds_tables_columns_jobs_and_pages_with_one_question():
    orders = table("shop.orders", "order_id", "customer")
    other = table("shop.visits", "orders_seen")
    job = factories.job("running", table=orders)
    found = options(browser(factories.person_with("viewer")), "orders")
    assert found["shop.orders"].url == reverse("tables:overview", args=[orders.pk])
    assert found["orders_seen"].url == reverse("tables:schema", args=[other.pk])
    assert found["orders_seen"].second == "column of shop.visits"
    assert reverse("jobs:detail", args=[job.pk]) in {option.url for option in found.values()}
    assert options(browser(factories.person_with("viewer")), "prefer")["Preferences"].url == "/account/preferences/"


def test_it_finds_a_job_by_the_beginning_of_its_id():
    job = factories.job("running")
    found = options(browser(factories.person_with("viewer")), str(job.pk)[:8])
    assert [option.url for option in found.values()] == [f"/jobs/{job.pk}/"]


def test_it_finds_nothing_that_the_person_may_not_see():
    secret = table("secret.orders", "orders_hidden")
    job = factories.job("running", table=secret)
    stream = factories.stream(secret, factories.PersonFactory(name="orders-owner"))
    schedule = factories.schedule(secret, name="orders-at-night")
    person = factories.person_with("viewer", root=factories.RootFactory())
    client = browser(person)
    recent = [f"table:{secret.pk}", f"job:{job.pk}"]
    for asked in ({"q": "orders"}, {"q": stream.name}, {"q": str(job.pk)[:8]}, {"recent": recent}):
        texts = options(client, **{"q": "", **asked})
        assert not {t for t in texts if "orders" in t or t == stream.name}
    for at in (f"/tables/{secret.pk}/", f"/jobs/{job.pk}/"):
        page = client.get("/find/", {"at": at})
        assert "On secret.orders" not in page.content.decode()
    # The same questions of somebody who sees everything: they do find it.
    assert schedule.name in options(browser(factories.person_with("viewer")), "orders")
    assert "secret.orders" in options(browser(factories.person_with("viewer")), "orders")
    assert "orders-owner" in options(browser(factories.person_with("admin")), "orders")


def test_people_are_found_by_those_who_manage_people_alone():
    factories.PersonFactory(name="olga")
    assert "olga" in options(browser(factories.person_with("admin")), "olga")
    assert "olga" not in options(browser(factories.person_with("operator")), "olga")


@pytest.mark.parametrize(
    ("role", "acts"),
    [
        (
            "operator",
            {
                "Delete rows…",
                "Change the schema…",
                "Restore…",
                "Optimize…",
                "Purge…",
                "Vacuum…",
                "Repair…",
                "Clone…",
                "Properties…",
                "Drop a feature…",
                "New schedule…",
                "Describe…",
            },
        ),
        ("viewer", set()),
        ("admin", {"Describe…"}),
    ],
)
def test_acts_on_the_page_s_table_are_those_that_its_header_offers(role, acts):
    orders = table("shop.orders", "id")
    client = browser(factories.person_with(role))
    for at in (f"/tables/{orders.pk}/history/", f"/jobs/{factories.job('running', table=orders).pk}/"):
        found = options(client, "", at=at)
        assert {text for text in found if text.endswith("…")} == acts
        assert ("Rows" in found) == (role != "admin")
        header = client.get(f"/tables/{orders.pk}/").content.decode()
        for text in acts:
            assert found[text].url in header


@pytest.mark.parametrize("role", ["viewer", "admin"])
def test_a_page_is_offered_to_those_whom_it_lets_in(role):
    person = factories.person_with(role)
    client = confirmed_browser(person)
    offered = {place.address for place in places_for(person)}
    for place in PLACES:
        allowed = client.get(place.url).status_code != 403
        assert (place.address in offered) == (allowed and (place.needs is None or person.may(place.needs))), place.text


def test_before_a_question_stands_what_was_last_opened_in_that_order():
    first, second = table("a.first"), table("b.second")
    job = factories.job("running", table=first)
    recent = [f"table:{second.pk}", f"job:{job.pk}", "table:nothing", f"table:{first.pk}", "x"]
    answer = browser(factories.person_with("viewer")).get("/find/", {"recent": recent}, headers=PALETTE)
    group = answer.context["groups"][0]
    assert group.heading == "Last opened"
    assert [option.url for option in group.options] == [
        f"/tables/{second.pk}/",
        f"/jobs/{job.pk}/",
        f"/tables/{first.pk}/",
    ]


def test_saved_filters_are_found_by_their_owner_alone():
    person, other = factories.person_with("viewer"), factories.person_with("viewer")
    lists.save_filter(person, JOBS, "Failed lately", "state=failed", pinned=True)
    assert options(browser(person), "failed")["Failed lately"].url == "/jobs/?state=failed"
    assert "Failed lately" in options(browser(person))
    assert "Failed lately" not in options(browser(other), "failed")


def test_without_a_script_the_top_bar_leads_to_a_page_of_the_same_results():
    orders = table("shop.orders", "id")
    client = browser(factories.person_with("viewer"))
    top = client.get("/").content.decode()
    assert re.search(r'<form class="lv-find"[^>]*action="/find/"', top)
    page = client.get("/find/", {"q": "orders"}).content.decode()
    assert f'href="/tables/{orders.pk}/">shop.orders</a>' in page
    assert "1 result for “orders”" in page
    assert 'role="option"' not in page
    nothing = client.get("/find/", {"q": "nosuchthing"})
    assert "No results" in nothing.content.decode()


@pytest.mark.parametrize("q", ["\x00", "%", "' or 1=1", "a" * 5000, "ffff-", "----", "\\", "(", "é", " ", "0" * 40])
def test_odd_questions_are_answered(q):
    table("shop.orders", "id")
    assert browser(factories.person_with("admin")).get("/find/", {"q": q, "at": q}, headers=PALETTE).status_code == 200


def test_it_asks_the_database_as_often_for_many_as_for_few():
    client = browser(factories.person_with("admin"))
    counts = []
    for number in range(2):
        for place in range(9):
            made = table(f"shop.orders{number}{place}", f"orders_{place}")
            factories.job("running", table=made)
        Person.objects.create(name=f"orders-{number}")
        with CaptureQueriesContext(connection) as asked:
            answer = client.get("/find/", {"q": "orders", "at": f"/tables/{made.pk}/"}, headers=PALETTE)
        assert "orders_0" in answer.content.decode()  # a column of one of many tables that are named so
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 20


def test_the_keys_are_a_page_that_names_only_pages_for_the_person():
    page = browser(factories.person_with("viewer")).get("/keys/").content.decode()
    assert "<kbd>g</kbd> <kbd>t</kbd>" in page
    assert "Workers" not in page
    assert "Workers" in browser(factories.person_with("admin")).get("/keys/").content.decode()


def test_no_two_pages_have_one_key():
    keys = [place.key for place in PLACES if place.key]
    assert len(keys) == len(set(keys))


def first_of(client, q, **more):
    answer = client.get("/find/", {"q": q, **more}, headers=PALETTE)
    return answer.context["groups"][0].options[0]


@pytest.mark.parametrize(
    ("q", "text", "form"),
    [
        ("optimize", "Optimize: shop.sales", "optimize"),
        ("delete rows sales", "Delete rows: shop.sales", "delete"),
        ("sales delete", "Delete rows: shop.sales", "delete"),
        ("compact sales", "Optimize: shop.sales", "optimize"),
        ("undo sales", "Restore: shop.sales", "restore"),
    ],
)
def test_an_act_is_found_from_any_page_with_the_table_that_the_other_words_name(q, text, form):
    sales, _ = table("shop.sales", "id"), table("shop.visits", "id")
    client = browser(factories.person_with("operator"))
    assert options(client, q)[text].url == f"/tables/{sales.pk}/{form}/"
    if "sales" in q:
        assert first_of(client, q).text == text
        assert not {found for found in options(client, q) if found.endswith(": shop.visits")}
    assert client.get(options(client, q)[text].url).status_code not in (403, 404)


@pytest.mark.parametrize("role", ["viewer", "admin", "approver", "auditor"])
def test_an_act_is_found_by_those_alone_who_may_do_it(role):
    table("shop.sales", "id")
    found = options(browser(factories.person_with(role)), "optimize sales")
    assert not {text for text in found if text.startswith("Optimize: ")}


def test_an_operator_of_one_root_finds_acts_on_its_tables_alone():
    mine, other = factories.RootFactory(), factories.RootFactory()
    person = factories.person_with("operator", root=mine)
    factories.GrantFactory(person=person, role="viewer", root=other)
    table("a.sales", "id", root=mine)
    table("b.sales", "id", root=other)
    found = {text for text in options(browser(person), "vacuum sales") if ": " in text}
    assert found == {"Vacuum: a.sales"}


def test_each_act_is_offered_on_some_table_and_has_words_that_find_it():
    delta, parquet = table("shop.sales", "id"), factories.TableFactory(format="parquet")
    person = factories.person_with("operator")
    offered = {kind for each in (delta, parquet) for kind in acts.acts_on(person, each, "")}
    assert offered == {offer.kind for offer in acts.known()}
    assert all(offer.words for offer in acts.known())


@pytest.mark.parametrize("q", ["sales", "shop.sales", "delete sales", "sales opt"])
def test_on_a_table_s_page_the_first_hit_is_not_that_table(q):
    sales = table("shop.sales", "id")
    table("shop.sales_old", "id")
    client = browser(factories.person_with("operator"))
    at = f"/tables/{sales.pk}/"
    assert first_of(client, q, at=at).url.startswith(f"/tables/{sales.pk}/")
    assert first_of(client, q, at=at).url != at
    assert first_of(client, q, at=at).second == "on this table"


def test_sign_out_settings_and_policy_are_found():
    client = browser(factories.person_with("admin"))
    assert first_of(client, "sign out").url == "/sign-out/"
    assert first_of(client, "settings").url == "/account/preferences/"
    assert first_of(client, "policy").url == "/policies/"


def test_jobs_are_found_by_their_reason():
    job = factories.job("running", reason="GDPR request 4711 of a customer")
    hidden = factories.job("running", reason="GDPR request 4711, another one")
    person = factories.person_with("viewer", root=job.table.root)
    urls = {option.url for option in options(browser(person), "customer gdpr 4711").values()}
    assert urls == {f"/jobs/{job.pk}/"}
    assert f"/jobs/{hidden.pk}/" not in {option.url for option in options(browser(person), "4711").values()}


def test_of_many_jobs_the_newest_alone_are_looked_through_for_a_reason(monkeypatch):
    monkeypatch.setattr(results, "REASONS_OF", 2)
    root = factories.RootFactory()

    def requested(hours):
        table, at = factories.TableFactory(root=root), timezone.now() - timedelta(hours=hours)
        return factories.job("succeeded", table=table, reason="GDPR request", requested_at=at)

    old, middle, folded, new = map(requested, (4, 3, 2, 1))
    Job.objects.filter(pk=folded.pk).update(folded=True)  # it takes the place of none
    person = factories.person_with("viewer", root=root)
    urls = {option.url for option in options(browser(person), "gdpr").values()}
    assert urls == {f"/jobs/{middle.pk}/", f"/jobs/{new.pk}/"}
    assert f"/jobs/{old.pk}/" not in urls


def test_the_help_is_found_by_its_headings():
    found = options(browser(factories.person_with("viewer")), "digest")
    assert {option.url.partition("#")[0] for option in found.values()} == {"/help/concepts/"}


def test_signing_out_by_its_address_asks_first():
    person = factories.person_with("viewer")
    client = browser(person)
    page = client.get("/sign-out/")
    assert "Sign out of Levee?" in page.content.decode()
    assert client.get("/account/preferences/").status_code == 200
    assert client.post("/sign-out/").status_code == 302
    assert client.get("/account/preferences/").status_code == 302


def test_a_page_of_the_one_list_is_in_the_navigation_the_menus_the_keys_and_the_palette(monkeypatch):
    """What is offered is said once: a place that is added there stands everywhere, for those alone whom its view lets in."""
    added = [
        replace(place, text=f"Also {place.text}", key=place.key and "x")
        for place in places.PLACES
        if place.address in ("jobs:list", "jobs:workers", "accounts:tokens", "accounts:sign_out")
    ]
    monkeypatch.setattr(places, "PLACES", (*places.PLACES, *added))
    admin, viewer = (browser(factories.person_with(role)) for role in ("admin", "viewer"))
    html = admin.get("/workers/").content.decode()
    main, tabs = (html.split(f'<nav aria-label="{name}"')[1].split("</nav>")[0] for name in ("Main", "Administration"))
    assert "Also Jobs" in main
    assert "Also Workers" in tabs
    assert html.count("Also API tokens") == 2, "the account's menu and the phone's"
    assert html.count('<button class="lv-menu-button"') == 4, "a change takes a button"
    assert 'data-goes="x">Also Jobs' in html
    assert "Also Workers" in options(admin, "also workers")
    assert "Also Workers" not in options(viewer, "also")
    assert (
        "Administration" not in viewer.get("/").content.decode().split('<nav aria-label="Main"')[1].split("</nav>")[0]
    )


@pytest.mark.parametrize(
    ("at", "current"),
    [
        ("/", "Home"),
        ("/tables/", "Tables"),
        ("/tables/{table}/", "Tables"),
        ("/tables/{table}/vacuum/", "Tables"),
        ("/tables/{table}/rows/", "Tables"),
        ("/convert/", "Tables"),
        ("/schedules/new/", "Schedules"),
        ("/audit/verification/", "Audit"),
        ("/people/", "Administration"),
    ],
)
def test_a_page_marks_the_place_that_it_belongs_to(at, current):
    client = browser(factories.person_named("ada", "admin", "operator", "auditor"))
    html = client.get(at.format(table=table("shop.sales", "id").pk)).content.decode()
    main = html.split('<nav aria-label="Main"')[1].split("</nav>")[0]
    marked = [entry for entry in main.split("<li>") if 'aria-current="page"' in entry]
    assert [re.sub(r"<[^>]+>", "", entry).strip().split()[0] for entry in marked] == [current.split()[0]]
