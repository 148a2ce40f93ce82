"""The guided first story on home: each step follows from what has happened, for whom it concerns, under the rule of independence."""

import re
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.accounts import services
from console.accounts.authority import EVERYTHING
from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from jobs.models import Job
from tables.models import Table
from tests import factories
from tests.clients import browser, confirmed_browser
from tests.factories.people import PASSWORD, hashed_password

pytestmark = pytest.mark.django_db
NEEDS_ONE = {"required_approvals": 1, "role": "approver"}


@pytest.fixture
def admin():
    """The first person, as the first start makes them."""
    services.first_person()
    first = Person.objects.get()
    Person.objects.filter(pk=first.pk).update(password=hashed_password(), must_change_password=False)
    return Person.objects.get()


@pytest.fixture
def root():
    return factories.RootFactory(name="sample")


@pytest.fixture
def orders(root):
    """Converted already."""
    factories.TableFactory(root=root, name="orders", version=0, path=f"{root.uri}/orders")
    return Table.objects.get()


def story(client):
    """The steps as the page has them, by state, and the page's text."""
    page = client.get("/").content.decode()
    found = page.partition('id="story"')[2].partition("</section>")[0]
    steps = re.findall(r'<li class="lv-tone[^>]*>.*?</li>', found, re.S)
    return [re.sub(r"<[^>]+>", "", re.findall(r"<h3.*?</h3>", s, re.S)[0]) for s in steps if "aria-current" in s], found


def step(client):
    return story(client)[0]


def add(client, name, role):
    """Adds somebody on the page: the link to hand over."""
    return client.post("/people/add/", {"name": name, "role": role}).context["first_link"]


def opened(link):
    """The browser of who opened the link and set the password."""
    client = Client()
    given = {"link": urlsplit(link).query[5:], "new_password": PASSWORD, "new_password_again": PASSWORD}
    assert client.post("/first-sign-in/", given).status_code == 302
    return client


def request_delete(orders, by, state="awaiting_approval", **more):
    return factories.job(state, table=orders, requested_by=by, command="delete", policy=NEEDS_ONE, **more)


def approve(client, job):
    return client.post(f"/jobs/{job.pk}/review/", {"act": "approve", "digest": job.digest})


def test_it_is_played_from_the_conversion_to_the_undo(admin, root, redis_server):
    mine = confirmed_browser(admin)
    assert step(mine) == ["Convert orders to a Delta table"]
    assert f"/convert/?path={root.uri.replace('/', '%2F')}%2Forders" in story(mine)[1]

    orders = factories.TableFactory(root=root, name="orders", version=0, path=f"{root.uri}/orders")
    assert step(mine) == ["Look at its history"]
    assert mine.get("/home/story/history/")["Location"] == f"/tables/{orders.pk}/history/"

    assert step(mine) == ["Preview a delete, and request it"]
    assert f"/tables/{orders.pk}/delete/?predicate=country+%3D+%27DE%27" in story(mine)[1]
    job = request_delete(orders, admin)

    assert step(mine) == ["Have it approved by a second person"]
    assert "Nobody can approve yet" in story(mine)[1]
    link = add(mine, "marc", "approver")
    assert "marc opens the link and sets a password" in story(mine)[1]
    assert "person vouch" not in story(mine)[1], "whoever has the link is marc until then"

    his = opened(link)
    assert "manage.py person vouch marc" in story(mine)[1], "the admin who asks has added him"
    assert approve(his, job).status_code == 403
    assert Job.objects.get(pk=job.pk).state == "awaiting_approval"

    call_command("person", "vouch", "marc")
    assert "marc can approve it" in story(mine)[1]
    assert step(his) == ["Approve a colleague’s request"]
    assert f"/jobs/{job.pk}/review/" in story(his)[1]
    assert approve(his, job).status_code == 302

    assert step(mine) == ["Undo it"]
    assert "hx-get" in story(mine)[1], "it goes on by itself"
    Job.objects.filter(pk=job.pk).update(table=factories.TableFactory())  # makes room: one open job for a table
    done = request_delete(orders, admin, "succeeded", version=1, parameters={"n": 1})
    assert f"/jobs/{done.pk}/undo/" in story(mine)[1]
    factories.job("succeeded", table=orders, requested_by=admin, command="restore", version=2, parameters={"n": 2})
    assert story(mine) == ([], "")
    request_delete(orders, admin, parameters={"n": 3})
    request_delete(orders, admin, "succeeded", version=3, parameters={"n": 4})
    assert story(mine) == ([], ""), "what was done once isn't begun again"


def test_many_other_jobs_push_no_step_out(admin, orders):
    """As do the rounds of a stream; and the page reads no preview."""
    request_delete(orders, admin)
    for number in range(101):
        factories.job("succeeded", table=orders, requested_by=admin, command="optimize", parameters={"n": number})
    with CaptureQueriesContext(connection) as asked:
        assert step(browser(admin)) == ["Have it approved by a second person"]
    of_the_story = [q["sql"] for q in asked if '"jobs_job"."command" = ' in q["sql"]]
    assert of_the_story
    assert not any('"jobs_job"."preview"' in sql for sql in of_the_story)


def test_a_second_account_of_the_same_admin_approves_nothing(admin, orders, redis_server):
    """Two colleagues whom one admin added aren't independent of each other either: the story names the same command."""
    mine = confirmed_browser(admin)
    for name, role in (("ana", "operator"), ("marc", "approver")):
        opened(add(mine, name, role))
    ana, marc = (Person.objects.get(name=name) for name in ("ana", "marc"))
    job = request_delete(orders, ana)
    assert "manage.py person vouch marc" in story(browser(ana))[1]
    assert approve(confirmed_browser(marc), job).status_code == 403
    call_command("person", "vouch", "marc")
    assert "person vouch" not in story(browser(ana))[1]
    assert approve(confirmed_browser(Person.objects.get(name="marc")), job).status_code == 302


def test_an_approver_whom_a_command_added_needs_no_word(admin, orders):
    request_delete(orders, admin)
    person = services.add_person(Actor.system("cli"), "marc", None)
    services.grant(Actor.system("cli"), person, Role.APPROVER, EVERYTHING)
    assert "marc can approve it" in story(browser(admin))[1]


@pytest.mark.parametrize("state", ["rejected", "withdrawn", "failed", "expired"])
def test_a_request_that_came_to_nothing_is_asked_again(state, admin, orders):
    request_delete(orders, admin, state)
    client = browser(admin)
    client.get("/home/story/history/")
    assert step(client) == ["Preview a delete, and request it"]


def test_it_is_dismissed_by_each_person_for_themselves(admin, orders):
    other = factories.person_with("operator")
    assert browser(admin).get("/home/story/dismiss/").status_code == 405
    assert browser(admin).post("/home/story/dismiss/")["Location"] == "/"
    assert story(browser(admin)) == ([], "")
    assert step(browser(other)) != []


@pytest.mark.parametrize("role", ["viewer", "auditor", None])
def test_who_takes_no_part_sees_none(role, orders):
    assert story(browser(factories.person_with(role))) == ([], "")


def test_without_the_sample_there_is_none(admin):
    factories.RootFactory(name="lake")
    assert story(browser(admin)) == ([], "")
    assert browser(admin).get("/home/story/history/").status_code == 404


def test_an_operator_of_another_root_sees_none(orders):
    assert story(browser(factories.person_with("operator", root=factories.RootFactory()))) == ([], "")


def test_only_an_admin_is_offered_to_add_people(orders):
    operator = factories.person_with("operator")
    request_delete(orders, operator)
    text = story(browser(operator))[1]
    assert "An admin adds a colleague" in text
    assert "person_add" not in text
    assert "/people/add/" not in text


def test_the_first_person_is_admin_operator_and_auditor(admin):
    assert {grant.role for grant in admin.granted} == {"admin", "operator", "auditor"}
    assert {grant.scope_text for grant in admin.granted} == {"everything"}
