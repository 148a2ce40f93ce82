"""`/tokens`, `/people`, `/grants`."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event as Signal
from time import sleep

import pytest
from django.db import connection, transaction

from console.accounts import services
from console.accounts.models import Grant, Person, Token
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from tests import factories
from tests.clients import Caller, browser, caller

pytestmark = pytest.mark.django_db


def test_a_new_token_is_shown_once_and_works():
    viewer = caller("viewer")
    answer = viewer.post("/tokens", {"label": "ci", "scopes": ["read"]})
    made = answer.json()
    assert answer.status_code == 201
    fresh = {"authorization": f"Bearer {made['token']}"}
    assert viewer.client.get("/api/v1/jobs", headers=fresh).status_code == 200
    listed = viewer.get("/tokens").json()["results"]
    assert listed[0]["label"] == "ci"
    assert all("token" not in t for t in listed)


def test_a_token_reads_and_requests_unless_told():
    made = caller("viewer").post("/tokens", {"label": "ci"}).json()
    assert made["scopes"] == ["read", "request"]
    assert made["last_used_at"] is made["revoked_at"] is None


def test_approving_is_not_given_here():
    answer = browser(factories.person_with("approver")).post(
        "/api/v1/tokens", {"label": "x", "scopes": ["approve"]}, content_type="application/json"
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "step_up_required")
    assert not Token.objects.exists()


def test_a_token_makes_no_stronger_token():
    person = factories.person_with("viewer")
    assert Caller(person, "admin").post("/tokens", {"label": "x", "scopes": ["read"]}).status_code == 403
    assert Caller(person, "read").post("/tokens", {"label": "x", "scopes": ["read"]}).status_code == 403
    assert Caller(person, "admin", "read").post("/tokens", {"label": "x", "scopes": ["read"]}).status_code == 201


@pytest.mark.parametrize("body", [{}, {"label": ""}, {"label": "x", "scopes": ["all"]}, {"label": "x", "life": 9}])
def test_an_odd_token_is_400(body):
    answer = caller("viewer").post("/tokens", body)
    assert answer.status_code == 400
    assert answer.json()["fields"]


def test_one_revokes_ones_own_token_only():
    viewer, other = caller("viewer"), caller("viewer")
    own, others = viewer.person.tokens.get(), other.person.tokens.get()
    assert viewer.delete(f"/tokens/{others.pk}").status_code == 404
    assert viewer.delete(f"/tokens/{own.pk}").status_code == 204
    assert viewer.get("/tokens").status_code == 401
    assert Event.objects.filter(action="token.revoke", object_id=str(own.pk)).count() == 1


def test_an_admin_adds_somebody_and_gives_a_role():
    admin = caller("admin")
    root = factories.RootFactory(name="lake")
    made = admin.post("/people", {"name": "eve", "password": "a fine long one"})
    assert (made.status_code, made.json()["must_change_password"], made.json()["grants"]) == (201, True, [])
    assert (made.json()["live_tokens"], admin.get(f"/people/{admin.person.pk}").json()["live_tokens"]) == (0, 1)
    held = admin.post("/grants", {"person": "Eve", "role": "operator", "on": "root:lake"})
    assert (held.status_code, held.json()["on"], held.json()["granted_by"]) == (201, "root:lake", admin.person.name)
    assert admin.post("/grants", {"person": "eve", "role": "operator", "on": "root:lake"}).status_code == 200
    eve = Person.objects.get(name="eve")
    assert eve.grants.get().root == root
    assert admin.get(f"/people/{eve.pk}").json()["grants"][0]["role"] == "operator"
    assert [g["person"] for g in admin.get("/grants", person="EVE").json()["results"]] == ["eve"]
    assert set(Event.objects.filter(actor_name=admin.person.name).values_list("action", flat=True)) == {
        "person.add", "grant.add",
    }  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [{"name": "a b"}, {"name": "x" * 65}, {"name": "eve", "password": "short"}, {"name": "eve", "admin": True}, {}],
)
def test_an_odd_person_is_400(body):
    assert caller("admin").post("/people", body).status_code == 400
    assert not Person.objects.filter(name="eve").exists()


def test_a_name_that_is_taken_is_400():
    factories.PersonFactory(name="eve")
    assert caller("admin").post("/people", {"name": "EVE"}).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {"person": "nobody", "role": "viewer", "on": "everything"},
        {"person": "eve", "role": "king", "on": "everything"},
        {"person": "eve", "role": "viewer", "on": "root:none"},
        {"person": "eve", "role": "viewer", "on": "everywhere"},
        {"person": "eve", "role": "viewer"},
    ],
)
def test_an_odd_grant_is_400(body):
    factories.PersonFactory(name="eve")
    answer = caller("admin").post("/grants", body)
    assert answer.status_code == 400
    assert answer.json()["fields"]


def test_a_role_that_is_taken_away_is_gone_at_once():
    viewer, admin = caller("viewer"), caller("admin")
    held = viewer.person.grants.get()
    assert viewer.get("/jobs").status_code == 200
    assert admin.delete(f"/grants/{held.pk}").status_code == 204
    assert viewer.get("/jobs").status_code == 403
    assert admin.delete(f"/grants/{held.pk}").status_code == 404
    assert Event.objects.get(action="grant.remove").before == {"role": "viewer", "scope": "everything"}


def test_somebody_kept_out_is_out_at_once():
    viewer, admin = caller("viewer"), caller("admin")
    session = browser(viewer.person)
    assert admin.patch(f"/people/{viewer.person.pk}", {"is_active": False}).json()["is_active"] is False
    assert viewer.get("/jobs").status_code == 401
    assert session.get("/api/v1/jobs").status_code == 401
    assert admin.patch(f"/people/{viewer.person.pk}", {"is_active": True}).status_code == 200
    assert viewer.get("/jobs").status_code == 200


def test_the_last_admin_stays():
    admin = caller("admin")
    held = admin.person.grants.get()
    for answer in (admin.delete(f"/grants/{held.pk}"), admin.patch(f"/people/{admin.person.pk}", {"is_active": False})):
        assert (answer.status_code, answer.json()["code"]) == (409, "last_admin")
    factories.GrantFactory(role="admin")
    assert admin.delete(f"/grants/{held.pk}").status_code == 204


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_close_each_other_at_once_leave_one():
    one, two = factories.person_with("admin"), factories.person_with("admin")
    second_one = Actor.acting_for(Person.objects.get(pk=two.pk))
    closed = Signal()

    def slowly():
        with transaction.atomic():
            services.set_active(Actor.acting_for(one), two, False)
            closed.set()
            sleep(0.5)  # not committed yet: the other one still reads two active admins
        connection.close()

    def meanwhile():
        closed.wait(60)
        try:
            services.set_active(second_one, one, False)
        except Problem as problem:
            return problem.code
        finally:
            connection.close()
        return None

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.submit(slowly), threads.submit(meanwhile)
        first.result()
        assert second.result() == "last_admin"
    assert Person.objects.filter(is_active=True).get() == one


def test_a_refusal_to_manage_people_is_on_record():
    admin = caller("admin", root=factories.RootFactory(name="lake"))
    assert admin.post("/people", {"name": "mallory"}).status_code == 403
    event = Event.objects.get(action="person.add", object_name="mallory")
    assert (event.outcome, event.reason.split(":")[0]) == ("refused", "forbidden")


def test_an_admin_of_one_root_gives_roles_there_only():
    root, other = factories.RootFactory(name="lake"), factories.RootFactory(name="other")
    table = factories.TableFactory(root=root)
    admin = caller("admin", root=root)
    factories.PersonFactory(name="eve")

    def give(on):
        return admin.post("/grants", {"person": "eve", "role": "viewer", "on": on}).status_code

    assert [give("root:lake"), give(f"table:{table.path}")] == [201, 201]
    assert [give("everything"), give("root:other"), give(f"table:{factories.TableFactory(root=other).path}")] == [
        403
    ] * 3
    assert admin.post("/people", {"name": "mallory"}).status_code == 403
    foreign = factories.GrantFactory(role="viewer")
    assert admin.delete(f"/grants/{foreign.pk}").status_code == 403
    assert admin.delete(f"/grants/{Grant.objects.get(root=root, role='viewer').pk}").status_code == 204
