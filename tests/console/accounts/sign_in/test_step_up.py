"""The password again before what counts, and sessions that end the moment their person's access changes."""

import json
import time

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from console.accounts import services
from console.accounts.authority import EVERYTHING
from console.accounts.models import Person, Token
from console.accounts.roles import Role
from console.accounts.sign_in import step_up
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem, ProblemMiddleware
from tests import factories
from tests.clients import Caller, browser, confirmed_browser

pytestmark = pytest.mark.django_db

SYSTEM = Actor.system("tests")


def request_with(**session):
    request = RequestFactory().get("/")
    request.session = session  # type: ignore[assignment]  # a dictionary will do
    return request


@pytest.mark.parametrize(("minutes", "recent"), [(0, True), (14.9, True), (15.1, False), (-1, False)])
def test_a_password_counts_for_fifteen_minutes(minutes, recent):
    assert step_up.is_recent(request_with(confirmed_at=time.time() - minutes * 60)) is recent


def test_a_session_without_one_is_refused_with_the_way_on():
    with pytest.raises(Problem) as refused:
        step_up.require_recent(request_with(), step_up.Purpose.DECISION)
    assert (refused.value.status, refused.value.code) == (403, "step_up_required")
    told = refused.value.as_json()
    assert (told["confirm_url"], told["purpose"]) == ("/confirm/", "decision")


def test_signing_in_counts():
    person = factories.PersonFactory()
    client = Client()
    client.post("/sign-in/", {"username": person.name, "password": factories.PASSWORD})
    assert abs(client.session["confirmed_at"] - time.time()) < 60


def test_giving_the_password_again_leads_back():
    client = browser(factories.PersonFactory())
    assert client.get("/confirm/").status_code == 200
    answer = client.post("/confirm/", {"password": factories.PASSWORD, "next": "/jobs/?state=open"})
    assert (answer.status_code, answer["Location"]) == (302, "/jobs/?state=open")
    assert "confirmed_at" in client.session
    assert Event.objects.get(action="session.confirm").outcome == "allowed"


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"]
)
def test_it_leads_nowhere_else(elsewhere):
    client = browser(factories.PersonFactory())
    assert client.post("/confirm/", {"password": factories.PASSWORD, "next": elsewhere})["Location"] == "/"


def test_a_wrong_password_counts_for_nothing_and_is_on_record():
    client = browser(factories.PersonFactory())
    answer = client.post("/confirm/", {"password": "not it", "next": "/jobs/"})
    assert answer.status_code == 403
    assert b"Wrong password" in answer.content
    assert "confirmed_at" not in client.session
    event = Event.objects.get(action="session.confirm")
    assert (event.outcome, event.reason.split(":")[0]) == ("refused", "wrong_password")


def test_the_session_has_another_key_afterwards():
    client = browser(factories.PersonFactory())
    before = client.session.session_key
    client.post("/confirm/", {"password": factories.PASSWORD})
    assert client.session.session_key != before
    assert client.get("/account/tokens/").status_code == 200


def test_a_password_is_taken_as_it_is_with_its_blanks():
    person, new = factories.PersonFactory(), "  a password with blanks  "
    client = browser(person)
    given = {"old_password": factories.PASSWORD, "new_password": new, "new_password_again": new}
    assert client.post("/account/password/", given).status_code == 302
    assert client.post("/confirm/", {"password": new}).status_code == 302
    assert client.post("/confirm/", {"password": new.strip()}).status_code == 403
    assert Client().post("/sign-in/", {"username": person.name, "password": new}).status_code == 302


@pytest.mark.parametrize(
    ("referer", "back"),
    [
        ("http://testserver/jobs/?state=open", "%2Fjobs%2F%3Fstate%3Dopen"),
        ("https://evil.example/x", "%2F"),
        ("", "%2F"),
    ],
)
def test_a_page_that_needs_it_leads_there_and_back(referer, back):
    request = RequestFactory().post("/jobs/x/approve/", headers={"referer": referer})
    problem = Problem(403, "step_up_required", "Again.", confirm_url="/confirm/")
    answer = ProblemMiddleware(lambda _: HttpResponse()).process_exception(request, problem)
    assert answer is not None
    assert (answer.status_code, answer["Location"]) == (302, f"/confirm/?next={back}")


def test_a_swap_that_needs_it_goes_there_as_a_whole():
    request = RequestFactory().post("/jobs/x/approve/", headers={"hx-request": "true"})
    problem = Problem(403, "step_up_required", "Again.", confirm_url="/confirm/")
    answer = ProblemMiddleware(lambda _: HttpResponse()).process_exception(request, problem)
    assert answer is not None
    assert (answer.status_code, answer["HX-Redirect"]) == (200, "/confirm/?next=%2F")


def test_a_swap_without_a_session_leaves_the_page_and_says_where_to_sign_in_and_come_back():
    asks = {"HX-Request": "true", "Referer": "http://testserver/jobs/?state=open"}
    answer = Client().get("/home/now/?seen=x", headers=asks)
    assert (answer.status_code, answer["HX-Retarget"], answer["HX-Reswap"]) == (200, "#banners", "outerHTML")
    assert (
        answer["HX-Reselect"] == "unset"
    )  # a swap that selects a part of its page would find none, and empty the banners
    html = answer.content.decode()
    assert 'href="/sign-in/?next=/jobs/%3Fstate%3Dopen"' in html
    assert 'hx-get="/banners/"' in html  # it asks on, so that the page goes on once there is a session again
    assert Client().post("/home/now/", headers=asks)["HX-Retarget"] == "#banners"
    assert Client().get("/jobs/?state=open")["Location"] == "/sign-in/?next=/jobs/%3Fstate%3Dopen"


def test_who_took_a_session_over_guesses_five_times():
    client = browser(factories.PersonFactory())
    answers = [client.post("/confirm/", {"password": "not it"}).status_code for _ in range(6)]
    assert answers == [403] * 5 + [429]
    assert "Retry-After" in client.post("/confirm/", {"password": factories.PASSWORD})


def test_guessing_in_a_session_closes_no_other():
    person = factories.PersonFactory()
    thief, own = browser(person), browser(person)
    for _ in range(6):
        thief.post("/confirm/", {"password": "not it"})
    assert own.post("/confirm/", {"password": factories.PASSWORD}).status_code == 302


def test_the_old_password_is_guessed_five_times_at_most():
    client = browser(factories.PersonFactory())
    given = {"old_password": "not it", "new_password": "another fine one", "new_password_again": "another fine one"}
    assert [client.post("/account/password/", given).status_code for _ in range(6)] == [403] * 5 + [429]
    assert client.post("/account/password/", given | {"old_password": factories.PASSWORD}).status_code == 429


def make_token(client, *scopes):
    return client.post("/account/tokens/", {"label": "ci", "scopes": scopes})


def test_a_token_that_approves_is_made_after_the_password_alone():
    person = factories.person_with("approver")
    answer = make_token(browser(person), "read", "approve")
    assert (answer.status_code, Token.objects.count()) == (302, 0)
    assert answer["Location"] == "/confirm/?next=%2F&for=token"
    assert make_token(confirmed_browser(person), "read", "approve").status_code == 200
    token = Token.objects.get()
    assert (token.expires_at - token.created_at).days <= 90


def test_a_token_that_approves_is_made_by_a_confirmed_session_of_the_api():
    person = factories.person_with("approver")
    body = {"label": "x", "scopes": ["approve"]}
    answer = confirmed_browser(person).post("/api/v1/tokens", body, content_type="application/json")
    assert answer.status_code == 201
    assert Caller(person).post("/tokens", body).json()["code"] == "step_up_required"


def test_a_new_role_ends_every_session_of_its_person_and_no_other():
    person, other = factories.person_with("viewer"), browser(factories.person_with("viewer"))
    clients = [browser(person), browser(person)]
    services.grant(SYSTEM, person, Role.APPROVER, EVERYTHING)
    assert [c.get("/api/v1/jobs").status_code for c in clients] == [401, 401]
    assert other.get("/api/v1/jobs").status_code == 200


def test_the_same_role_again_ends_no_session():
    person = factories.person_with("viewer")
    client = browser(person)
    services.grant(SYSTEM, person, Role.VIEWER, EVERYTHING)
    assert client.get("/api/v1/jobs").status_code == 200


def test_a_role_that_is_taken_ends_the_sessions():
    person = factories.person_with("viewer")
    client = browser(person)
    services.remove_grant(SYSTEM, person.grants.get())
    assert client.get("/account/tokens/").status_code == 302


def test_a_session_from_before_somebody_was_kept_out_stays_ended():
    person = factories.person_with("viewer")
    client, program = browser(person), Caller(person)
    services.set_active(SYSTEM, person, False)
    assert client.get("/api/v1/jobs").status_code == program.get("/jobs").status_code == 401
    services.set_active(SYSTEM, person, True)
    assert client.get("/api/v1/jobs").status_code == 401
    assert program.get("/jobs").status_code == 200


def test_ones_own_new_password_ends_the_other_sessions_alone():
    person = factories.PersonFactory()
    here, there = browser(person), browser(person)
    new = "another fine password"
    given = {"old_password": factories.PASSWORD, "new_password": new, "new_password_again": new}
    assert here.post("/account/password/", given).status_code == 302
    assert here.get("/account/tokens/").status_code == 200
    assert there.get("/account/tokens/").status_code == 302
    assert Person.objects.get(pk=person.pk).check_password(new)


GUARDED = [
    ("/people/add/", "POST", "/people", {"name": "eve"}),
    ("/people/{person}/access/", "PATCH", "/people/{person}", {"active": "false", "is_active": False}),
    ("/people/{person}/grants/", "POST", "/grants", {"person": "eve", "role": "viewer", "on": "everything"}),
    ("/people/{person}/grants/{grant}/remove/", "DELETE", "/grants/{grant}", {}),
    (
        "/policies/add/",
        "POST",
        "/policies",
        {"name": "x", "command": "delete", "on": "everything", "required_approvals": 2},
    ),
    ("/policies/{rule}/switch/", "PATCH", "/policies/{rule}", {"enabled": False}),
    ("/policies/{rule}/remove/", "DELETE", "/policies/{rule}", {}),
    ("/policies/{rule}/", "PATCH", "/policies/{rule}", {"required_approvals": 2}),
    ("/account/tokens/", "POST", "/tokens", {"label": "x", "scopes": ["read"]}),
    (None, "POST", "/roots", {"name": "x", "uri": "/nowhere"}),
    ("/roots/{root}/edit/", "PATCH", "/roots/{root}", {"sync_seconds": 60}),
]


@pytest.mark.parametrize(("page", "method", "route", "body"), GUARDED)
def test_what_says_who_may_do_what_takes_the_password(page, method, route, body):
    admin, eve = factories.person_with("admin"), factories.person_with("viewer")
    given = {
        "person": eve.pk, "grant": eve.grants.get().pk, "rule": factories.PolicyRuleFactory().pk, "root": factories.RootFactory().pk,
    }  # fmt: skip
    client, events = browser(admin), Event.objects.filter(outcome="allowed")
    before = events.count()
    if page is not None:
        answer = client.post(page.format(**given), body)
        assert (answer.status_code, "/confirm/" in (answer.headers.get("Location") or answer.content.decode())) in {
            (302, True), (403, True),
        }  # fmt: skip
    refused = client.generic(
        method, f"/api/v1{route.format(**given)}", json.dumps(body), content_type="application/json"
    )
    assert (refused.status_code, refused.json()["code"]) == (403, "step_up_required")
    assert events.count() == before
    again = confirmed_browser(admin).generic(
        method, f"/api/v1{route.format(**given)}", json.dumps(body), content_type="application/json"
    )
    assert again.status_code != 403
    by_token = Caller(admin).client.generic(
        method, f"/api/v1{route.format(**given)}", json.dumps(body), content_type="application/json"
    )
    assert "step_up_required" not in by_token.content.decode()


def test_a_page_of_such_changes_says_so_before_anything_is_typed(redis_server):
    admin = factories.person_with("admin")
    assert b"Changes here need your password" in browser(admin).get("/policies/add/").content
    assert b"Changes here need your password" not in confirmed_browser(admin).get("/policies/add/").content
    assert b"Changes here need your password" not in browser(admin).get("/").content
