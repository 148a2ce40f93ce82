"""Who is refused is on record, wherever it was refused, and once."""

import pytest
from django.test import Client

from console.audit.actions import Action
from console.audit.models import Event
from console.supervisor.servers import postgres
from tests import factories
from tests.clients import API, browser, caller

pytestmark = pytest.mark.django_db


def refused():
    return list(Event.objects.filter(outcome="refused").order_by("at"))


def test_a_token_without_the_role_is_on_record():
    viewer = caller("viewer")
    assert viewer.get("/people").status_code == 403
    (event,) = refused()
    assert (event.action, event.actor_id, event.actor_kind) == (Action.ADDRESS_CALL, viewer.person.pk, "token")
    assert event.object_name == f"GET {API}/people"


def test_a_browser_without_the_role_is_on_record():
    person = factories.person_with("viewer")
    assert browser(person).get("/people/").status_code == 403
    (event,) = refused()
    assert (event.object_name, event.actor_id) == ("GET /people/", person.pk)


def test_what_a_service_has_recorded_is_not_recorded_twice():
    job = factories.job("awaiting_approval")
    assert caller("operator", "read", "request").post(f"/jobs/{job.pk}/withdraw").status_code == 403
    assert [event.action for event in refused()] == [Action.JOB_WITHDRAW]


def test_strangers_and_things_that_are_not_there_leave_nothing():
    Client().get(f"{API}/people")
    caller("viewer").get(f"/tables/{factories.TableFactory.build().pk}")
    assert refused() == []


def test_without_the_audit_it_stays_refused(levee_home):
    viewer = caller("viewer")
    with postgres.connect(levee_home) as connection:
        connection.execute("revoke insert on audit.event from levee_app")
        try:
            assert viewer.get("/people").status_code == 403
        finally:
            connection.execute("grant insert on audit.event to levee_app")
