"""The pages of people: adding somebody, roles and access, and what is refused in place."""

import re

import pytest

from console.accounts import services
from console.accounts.authority import GrantScope
from console.accounts.models import Grant, Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from tests import factories
from tests.clients import SURE, Caller
from tests.clients import confirmed_browser as browser

pytestmark = pytest.mark.django_db


def admin(**where):
    person = factories.person_with("admin", **where)
    return person, browser(person)


def test_everybody_is_listed_with_roles_tokens_and_account():
    _, client = admin()
    eve = factories.person_with("viewer", root=factories.RootFactory(name="lake"))
    factories.token_row(eve)
    factories.token_row(eve, revoked_at="2020-01-01T00:00:00Z")
    factories.PersonFactory(name="tom", is_active=False)
    page = client.get("/people/").content.decode()
    assert "root:lake" in page
    assert "Closed" in page
    row = re.search(rf">{eve.name}</a>.*?</tr>", page, re.S)
    assert row
    assert 'data-label="Tokens">1<' in row[0]


@pytest.mark.parametrize("name", ["a b", "<b>", "", "x" * 65])
def test_an_odd_name_is_refused_in_place(name):
    _, client = admin()
    answer = client.post("/people/add/", {"name": name})
    assert answer.status_code == 400
    assert b"lv-field-error" in answer.content


def test_a_role_is_given_and_taken():
    manager, client = admin()
    factories.RootFactory(name="lake")
    eve = factories.PersonFactory(name="eve")
    given = client.post(f"/people/{eve.pk}/grants/", {"role": "approver", "on": "root:lake"})
    assert given["Location"] == f"/people/{eve.pk}/"
    held = eve.grants.get()
    assert (held.role, held.scope_text, held.granted_by) == ("approver", "root:lake", manager)
    assert client.post(f"/people/{eve.pk}/grants/{held.pk}/remove/", SURE).status_code == 302
    assert not eve.grants.exists()


def test_a_place_that_is_not_known_is_said_at_the_field():
    _, client = admin()
    eve = factories.PersonFactory()
    answer = client.post(f"/people/{eve.pk}/grants/", {"role": "viewer", "on": "root:none"})
    assert answer.status_code == 400
    assert b"no root is named none" in answer.content


def test_a_grant_is_taken_from_its_own_person_alone():
    _, client = admin()
    held, other = factories.GrantFactory(role="viewer"), factories.PersonFactory()
    assert client.post(f"/people/{other.pk}/grants/{held.pk}/remove/").status_code == 404
    assert Grant.objects.filter(pk=held.pk).exists()


def test_an_account_is_closed_and_opened():
    _, client = admin()
    eve = factories.person_with("viewer")
    own = browser(eve)
    assert client.post(f"/people/{eve.pk}/access/", {"active": "false"} | SURE).status_code == 302
    assert own.get("/tables/").status_code == 302
    client.post(f"/people/{eve.pk}/access/", {"active": "true"})
    assert Person.objects.get(pk=eve.pk).is_active


def test_the_last_admin_stays_and_the_page_says_why():
    manager, client = admin()
    held = manager.grants.get()
    for address, given in ((f"grants/{held.pk}/remove/", {}), ("access/", {"active": "false"})):
        answer = client.post(f"/people/{manager.pk}/{address}", given | SURE)
        assert answer.status_code == 409
        assert b"last admin of everything" in answer.content
    assert Event.objects.filter(outcome="refused", reason__startswith="last_admin").count() == 2


def test_ones_own_new_role_keeps_ones_own_session():
    manager, client = admin()
    other = browser(manager)
    assert client.post(f"/people/{manager.pk}/grants/", {"role": "viewer", "on": "everything"}).status_code == 302
    assert client.get("/people/").status_code == 200
    assert other.get("/people/").status_code == 302


def test_an_admin_of_one_root_gives_roles_there_and_manages_nobody():
    root = factories.RootFactory(name="lake")
    _, client = admin(root=root)
    eve = factories.person_with("viewer")
    assert client.post(f"/people/{eve.pk}/grants/", {"role": "viewer", "on": "root:lake"}).status_code == 302
    refusals = [
        client.post(f"/people/{eve.pk}/grants/", {"role": "viewer", "on": "everything"}),
        client.post(f"/people/{eve.pk}/grants/{eve.grants.get(scope='everything').pk}/remove/", SURE),
        client.post(f"/people/{eve.pk}/access/", {"active": "false"} | SURE),
        client.post("/people/add/", {"name": "mallory"}),
    ]
    assert [answer.status_code for answer in refusals] == [403] * 4
    page = client.get(f"/people/{eve.pk}/").content.decode()
    assert page.count('aria-label="Remove ') == 1
    assert "Close the account" not in page
    assert "Add a person" not in client.get("/people/").content.decode()


def test_a_path_on_the_page_is_no_markup():
    _, client = admin()
    table = factories.TableFactory(path="/lake/<b>x</b>")
    held = factories.GrantFactory(role="viewer", table=table)
    assert b"<b>x</b>" not in client.get(f"/people/{held.person.pk}/").content


@pytest.mark.parametrize(
    "weak",
    [
        "123456789012",
        "98765432109876",
        "aaaaaaaaaaaa",
        "abababababab",
        "abc123abc123",
        "abcdefghijkl",
        "Ab1Ab1Ab1Ab1Ab1",
    ],
)
def test_a_long_password_may_still_be_weak(weak):
    with pytest.raises(Problem) as refused:
        services.add_person(Actor.system("tests"), "eve", weak)
    assert (refused.value.status, refused.value.code) == (400, "invalid")


@pytest.mark.parametrize(
    "fine", ["correct horse battery staple", "pX3-9vQm_1aZk0Lw", "a fine long one", "hunter2 hunter2 x"]
)
def test_others_are_taken(fine):
    assert services.add_person(Actor.system("tests"), "eve", fine).check_password(fine)


def test_an_admin_of_one_place_reads_no_grant_of_another():
    mine, other = factories.RootFactory(name="lake"), factories.RootFactory(name="secret")
    eve = factories.person_with("viewer", root=other)
    factories.GrantFactory(person=eve, role="operator", root=mine)
    factories.GrantFactory(person=eve, role="auditor")
    manager, client = admin(root=mine)
    program = Caller(manager)
    pages = [client.get("/people/"), client.get(f"/people/{eve.pk}/")]
    answers = [program.get(path) for path in ("/people", f"/people/{eve.pk}", "/grants", f"/grants?person={eve.name}")]
    for answer in [*pages, *answers]:
        assert answer.status_code == 200
        text = answer.content.decode()
        assert "root:secret" not in text
        assert "root:lake" in text
    foreign = eve.grants.get(root=other)
    assert program.delete(f"/grants/{foreign.pk}").status_code == 404
    assert client.post(f"/people/{eve.pk}/grants/{foreign.pk}/remove/").status_code == 404


def told(client, address, given):
    """What the page that follows says."""
    page = client.post(address, given, follow=True)
    return [str(message) for message in page.context["messages"]]


def test_what_closing_and_opening_means_is_said_of_this_very_account():
    _, client = admin()
    eve = factories.PersonFactory(name="eve")
    eve.set_password("a long enough one")
    eve.save()
    tom = services.add_person(Actor.system("cli"), "tom", None)
    for person, follows in ((eve, "They sign in with their earlier password."), (tom, "Nobody can sign in yet")):
        address = f"/people/{person.pk}/access/"
        assert told(client, address, {"active": "false"} | SURE) == [
            f"The account of {person.name} is closed. All sessions have ended."
        ]
        [said] = told(client, address, {"active": "true"})
        assert said.startswith(f"The account of {person.name} is open again. {follows}")


def test_who_gives_up_a_role_is_told_that_this_session_stays():
    own, _ = admin()
    root = factories.RootFactory(name="lake")
    held = services.grant(Actor.system("cli"), own, Role.VIEWER, GrantScope(root_id=root.pk))
    client = browser(own)  # a new role ends sessions
    assert told(client, f"/people/{own.pk}/grants/{held.pk}/remove/", SURE) == [
        f"{own.name} no longer has the role viewer on root:lake. Your other sessions have ended."
    ]
