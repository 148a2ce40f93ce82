"""What touches who guards what stays on home until one of the others has acknowledged it."""

import pytest
from django.db import IntegrityError, ProgrammingError, transaction

from console.accounts import notices, services
from console.accounts.authority import EVERYTHING, GrantScope
from console.accounts.models import Notice, Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from jobs.models import PolicyChange, PolicyRule
from jobs.policy import services as policy_services
from tests import factories
from tests.clients import Caller, caller
from tests.clients import confirmed_browser as browser

pytestmark = pytest.mark.django_db
MACHINE = Actor.system("command line")


@pytest.fixture(autouse=True)
def redis(redis_server):
    return redis_server


def home(person: Person) -> str:
    return browser(Person.objects.get(pk=person.pk)).get("/").content.decode()


@pytest.fixture
def olga():
    return factories.person_with("admin")


def give(by: Person, role: Role, scope: GrantScope = EVERYTHING) -> Person:
    to = factories.PersonFactory()
    services.grant(Actor.acting_for(by), to, role, scope)
    return to


@pytest.mark.parametrize("role", [Role.APPROVER, Role.ADMIN])
def test_an_appointment_is_shown_to_admins_and_auditors(olga, role):
    anna = give(olga, role)
    text = f"{olga.name} gave {anna.name} the role {role} on everything."
    for who in ("admin", "auditor"):
        assert text in home(factories.person_with(who))
    for who in ("operator", "approver", "viewer"):
        assert text not in home(factories.person_with(who))
    assert "You did this, so another admin or auditor has to acknowledge it." in home(olga)


def test_other_roles_and_the_machine_appoint_without_a_notice(olga):
    give(olga, Role.OPERATOR)
    services.grant(MACHINE, factories.PersonFactory(), Role.APPROVER, EVERYTHING)
    assert not Notice.objects.exists()


def test_one_of_the_others_acknowledges_it(olga):
    give(olga, Role.APPROVER)
    notice, auditor = Notice.objects.get(), factories.person_with("auditor")
    assert browser(auditor).post(f"/notices/{notice.pk}/acknowledge/").status_code == 302
    assert "h-notices" not in home(auditor)
    assert Notice.objects.get().acknowledged_by == auditor
    event = Event.objects.get(action="notice.acknowledge")
    assert (event.actor_name, event.object_id, event.reason) == (auditor.name, str(notice.event), notice.text)


def test_it_leads_the_page_of_who_may_acknowledge_it(olga):
    anna, viewer = factories.person_with("admin"), factories.person_with("viewer")
    assert (notices.count_for(anna), notices.count_for(viewer)) == (0, 0)
    about = give(olga, Role.ADMIN)
    factories.TableFactory(name="orders", version=3)
    for person, count in ((olga, 0), (about, 0), (anna, 1), (viewer, 0)):
        may = [row for row in notices.rows_for(person) if not row["why_not"]]
        assert notices.count_for(person) == len(may) == count
        assert ("<h1>One change of roles and rules to acknowledge</h1>" in home(person)) is bool(count)


def test_nobody_else_counts_as_one_of_the_others(olga):
    ben = give(olga, Role.ADMIN)
    notice = Notice.objects.get(about=ben)
    puppet = factories.PersonFactory(created_by=olga)
    factories.GrantFactory(person=puppet, role="auditor")
    for who in (olga, ben, puppet):
        own = Person.objects.get(pk=who.pk)
        answer = Caller(own).post(f"/notices/{notice.pk}/acknowledge")
        assert (answer.status_code, answer.json()["code"]) == (403, "not_independent")
        with pytest.raises(IntegrityError), transaction.atomic():
            Notice.objects.filter(pk=notice.pk).update(acknowledged_by=own)
    assert Event.objects.filter(action="notice.acknowledge", outcome="refused").count() == 3
    assert caller("operator").post(f"/notices/{notice.pk}/acknowledge").status_code == 403
    with pytest.raises(ProgrammingError), transaction.atomic():
        notice.delete()


def test_a_token_needs_the_scope_admin(olga):
    give(olga, Role.APPROVER)
    reader = Caller(factories.person_with("auditor"), "read")
    [shown] = reader.get("/notices").json()["results"]
    assert shown["by"] == olga.name
    assert reader.post(f"/notices/{shown['id']}/acknowledge").status_code == 403
    assert Caller(reader.person).post(f"/notices/{shown['id']}/acknowledge").status_code == 204
    assert reader.get("/notices").json()["results"] == []


def test_an_admin_of_another_place_reads_nothing_of_it(olga):
    root = factories.RootFactory(name="secret-lake")
    give(olga, Role.APPROVER, GrantScope(root_id=root.pk))
    assert "secret-lake" in home(factories.person_with("admin", root=root))
    assert "secret-lake" not in home(factories.person_with("admin", root=factories.RootFactory()))


def test_rules_that_are_lowered_and_words_on_the_machine_are_shown(olga):
    ben, other = factories.person_with("admin"), factories.person_with("auditor")
    rule = PolicyRule.objects.get(command="delete", enabled=True)
    policy_services.change(Actor.acting_for(olga), rule, enabled=False)
    assert f"{olga.name} asked to lower the rule" in home(other)
    policy_services.confirm(Actor.acting_for(ben), rule, rule.changes.get().pk)
    assert f"{ben.name}, asked by {olga.name}, lowered the rule" in home(other)
    assert "This is about you" in home(olga)
    services.vouch(MACHINE, factories.PersonFactory(created_by=olga))
    policy_services.remove(MACHINE, PolicyRule.objects.get(command="restore"))
    page = home(other)
    assert "A command on the machine vouched for" in page
    assert "A command on the machine lowered the rule" in page


def test_a_request_to_lower_a_rule_tells_what_has_become_of_it(olga):
    ben, other = factories.person_with("admin"), factories.person_with("auditor")
    rule = PolicyRule.objects.get(command="delete", enabled=True)

    def ask() -> PolicyChange:
        policy_services.change(Actor.acting_for(olga), rule, enabled=False)
        rule.refresh_from_db()
        return rule.changes.get(applied_at=None, dropped_at=None)

    change = ask()
    assert "It waits for a second admin under Policies." in home(other)
    policy_services.decline(Actor.acting_for(olga), rule, change.pk)
    assert "waits for a second admin" not in home(other)
    assert f"It no longer waits: {olga.name} took it back." in home(other)
    policy_services.decline(Actor.acting_for(ben), rule, ask().pk)
    assert f"It no longer waits: {ben.name} declined it." in home(other)
    ask()
    policy_services.change(Actor.acting_for(ben), rule, required_approvals=5)
    assert "It no longer waits: another change of the rule has overtaken it." in home(other)
    rule.refresh_from_db()
    policy_services.confirm(Actor.acting_for(ben), rule, ask().pk)
    assert f"It is in force: {ben.name} confirmed it." in home(other)


def test_why_another_one_has_to_acknowledge_it_names_the_appointments_that_are_on_record(olga):
    anna = factories.PersonFactory(name="anna", created_by=olga)
    factories.GrantFactory(person=anna, role="auditor")
    give(olga, Role.APPROVER)
    assert f"{olga.name} added anna. So another admin or auditor has to acknowledge it." in home(anna)
    assert "The same person appointed" not in home(anna)
    ben = factories.PersonFactory(name="ben", created_by=olga)
    factories.GrantFactory(person=ben, role="admin")
    give(ben, Role.APPROVER)
    assert f"{olga.name} added ben, and {olga.name} added anna. So another admin or auditor" in home(anna)
