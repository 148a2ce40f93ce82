"""Who can approve is said before there is a request: to who asks, to who would decide, and on the page of either."""

import html
import re

import pytest
from django.conf import settings

from console.accounts import services
from console.accounts.authority import EVERYTHING, GrantScope
from console.accounts.models import Person
from console.audit.actor import Actor
from jobs.policy.candidates import approvers_of, candidates_for, uncounted_among, uncounted_for
from tests import factories
from tests.clients import confirmed_browser
from tests.factories import lakes
from tests.jobs import small_delta

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]


def text_of(answer) -> str:
    assert answer.status_code == 200, answer.content[-2000:]
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())))


@pytest.fixture
def bea():
    return factories.person_named("bea", "operator")


@pytest.fixture
def puppet(bea):
    made = factories.PersonFactory(name="puppet", created_by=bea)
    factories.GrantFactory(person=made, role="approver")
    return made


def test_nobody_has_the_role(bea):
    found = candidates_for([bea], "approver", EVERYTHING, 1)
    assert (
        found.text
        == "Nobody can approve it yet: no other person has the role approver here. An admin gives it under People."
    )
    assert found.doubts == []


def test_those_who_have_it_and_do_not_count_are_named_with_what_ends_it(bea, puppet):
    found = candidates_for([bea], "approver", EVERYTHING, 1)
    assert (
        found.text
        == "Nobody can approve it yet: 1 other person has the role approver here, but no such approval would count."
    )
    [(name, doubt)] = found.doubts
    assert (name, doubt.why) == ("puppet", "bea added puppet.")
    services.vouch(Actor.system("machine"), puppet)
    assert candidates_for([bea], "approver", EVERYTHING, 1).text == "It can be approved by puppet."


def test_too_few_for_what_the_rules_ask_are_said_as_that(bea):
    factories.person_named("anna", "approver")
    found = candidates_for([bea], "approver", EVERYTHING, 2)
    assert found.text == "It needs 2 approvals, and can be approved only by anna."
    factories.person_named("marc", "approver")
    assert candidates_for([bea], "approver", EVERYTHING, 2).text == "It can be approved by anna, marc."


def test_closed_accounts_and_roles_elsewhere_do_not_count(bea):
    root, other = factories.RootFactory(), factories.RootFactory()
    factories.person_with("approver", root=other)
    closed = factories.person_named("eve", "approver")
    closed.is_active = False
    closed.save()
    here = factories.person_named("here", "approver", root=root)
    assert list(candidates_for([bea], "approver", GrantScope(root_id=root.pk), 1).able) == [here.name]


def test_all_who_shaped_it_count_as_its_author(bea):
    anna = factories.person_named("anna", "approver")
    assert candidates_for([bea, anna], "approver", EVERYTHING, 1).able == []


def test_the_approver_reads_whose_requests_would_not_count(bea, puppet):
    factories.person_named("ines", "operator")
    [place] = uncounted_for(puppet)
    assert (place.who, place.doubt.why) == ("bea", "bea added puppet.")
    text = text_of(confirmed_browser(puppet).get("/approvals/"))
    assert "Your approval doesn’t count for requests of bea" in text
    assert "manage.py person vouch puppet" in text


def test_a_list_leaves_out_the_requesters_that_the_page_names(bea, puppet):
    admin = factories.person_named("ada", "admin")
    ines, marc = factories.person_named("ines", "operator"), factories.person_named("marc", "approver")
    factories.GrantFactory(person=marc, role="operator")  # asks and approves
    hired = factories.PersonFactory(name="hired", created_by=admin)
    factories.GrantFactory(person=hired, role="approver", granted_by=admin)
    everybody = Person.objects.filter(pk__in=[bea.pk, ines.pk, marc.pk])
    left_out = {
        judge.name: {each.name for each in uncounted_among(judge, everybody)} for judge in (puppet, marc, hired)
    }
    named = {
        judge.name: {name for place in uncounted_for(judge) for name in place.names} for judge in (puppet, marc, hired)
    }
    assert left_out == {**named, "marc": {"marc"}}  # nobody approves an own request, and no page has to say so
    assert left_out["puppet"] == {"bea"}
    assert left_out["hired"] == set()


def test_the_page_of_either_person_says_it(bea, puppet):
    admin = confirmed_browser(factories.person_with("admin"))
    assert next(place.candidates.text for place in approvers_of(bea)).startswith("Nobody can approve it yet")
    text = text_of(admin.get(f"/people/{bea.pk}/"))
    assert "Nobody can approve it yet" in text
    assert "puppet’s approval wouldn’t count: bea added puppet." in text
    assert "the approval of puppet doesn’t count for requests of bea" in text_of(admin.get(f"/people/{puppet.pk}/"))


@pytest.mark.parametrize("command", ["delete", "restore"])
def test_the_form_of_a_request_says_it_before_it_is_sent(bea, puppet, tmp_path, command):
    sales = lakes.sales_in(factories.RootFactory(uri=str(tmp_path)))
    small_delta.append(tmp_path / "sales", [{"id": 50, "p": "FR"}])
    query = {"delete": "predicate=id+%3D+1", "restore": "version=0"}[command]
    text = text_of(confirmed_browser(bea).get(f"/tables/{sales.pk}/{command}/?{query}"))
    assert "Nobody can approve it yet" in text
    assert "manage.py person vouch puppet" in text
    factories.person_named("anna", "approver")
    text = text_of(confirmed_browser(bea).get(f"/tables/{sales.pk}/{command}/?{query}"))
    assert "It can be approved by anna." in text
    assert "vouch" not in text


def test_a_command_is_copied_with_its_directory(bea, puppet):
    [(_, doubt)] = candidates_for([bea], "approver", EVERYTHING, 1).doubts
    assert doubt.command.startswith(f"cd {settings.BASE_DIR} && ")
    assert doubt.command.endswith(" manage.py person vouch puppet")
    page = confirmed_browser(puppet).get("/approvals/").content.decode()
    assert f">{html.escape(doubt.command)}</pre>" in page


def test_what_would_not_count_does_not_wait_for_that_approver(bea, puppet, tmp_path):
    table = factories.TableFactory(name="orders", version=3)
    factories.job(
        "awaiting_approval", table=table, requested_by=bea, policy={"required_approvals": 1, "role": "approver"}
    )
    page = confirmed_browser(puppet)
    assert "No requests are waiting for you" in text_of(page.get("/approvals/"))
    assert "wouldn’t count: bea added puppet. You can still reject it." in text_of(page.get("/approvals/"))
    assert "waits for you" not in text_of(page.get("/"))
    assert "One decision waits for you" in text_of(
        confirmed_browser(factories.person_named("anna", "approver")).get("/")
    )
