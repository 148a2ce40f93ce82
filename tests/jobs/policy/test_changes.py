"""A rule is lowered by two independent admins or on the machine, and never for those who did it."""

import io
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actor import Actor
from console.audit.models import Event
from jobs.domain.policy import Case, decide
from jobs.models import PolicyChange, PolicyRule
from jobs.policy import changes as policy_changes
from jobs.policy import services
from jobs.policy.evaluate import rules_for
from tests import factories
from tests.clients import SURE, Caller, caller
from tests.clients import confirmed_browser as browser

pytestmark = pytest.mark.django_db
MILDER = [
    {"enabled": False}, {"required_approvals": 0}, {"class": "whole_table"}, {"min_share": 0.5}, {"refuses_tokens": False},
]  # fmt: skip


@pytest.fixture
def rule():
    """A shipped rule that also refuses tokens."""
    found = PolicyRule.objects.get(command="delete", enabled=True)
    return services.change(Actor.system("tests"), found, refuses_tokens=True)


def needed(person: Person) -> int:
    return decide(rules_for("delete", person.pk), Case("delete", "r", "t")).required_approvals


@pytest.mark.parametrize("changes", MILDER)
def test_one_admin_lowers_nothing_alone(rule, changes):
    admin = caller("admin")
    answer = admin.patch(f"/policies/{rule.pk}", changes)
    waiting = answer.json()["waiting_change"]
    assert (answer.status_code, answer.json()["version"]) == (202, rule.version)
    assert {name: waiting[name] for name in changes} == changes
    assert waiting["asked_by"] == admin.person.name
    same = admin.post(f"/policies/{rule.pk}/confirm", {"change": waiting["id"]})
    assert (same.status_code, same.json()["code"]) == (403, "not_your_own")
    second = caller("admin").post(f"/policies/{rule.pk}/confirm", {"change": waiting["id"]})
    assert (second.status_code, second.json()["waiting_change"]) == (200, None)
    assert {name: second.json()[name] for name in changes} == changes
    assert Event.objects.get(action="policy.ask").actor_name == admin.person.name
    assert Event.objects.filter(action="policy.confirm", outcome="allowed").count() == 1


def test_a_removal_waits_as_well(rule):
    admin = caller("admin")
    answer = admin.delete(f"/policies/{rule.pk}")
    assert (answer.status_code, answer.json()["waiting_change"]["removes"]) == (202, True)
    change = answer.json()["waiting_change"]["id"]
    assert needed(admin.person) == 1
    assert caller("admin").post(f"/policies/{rule.pk}/confirm", {"change": change}).status_code == 204
    assert needed(factories.PersonFactory()) == 0


@pytest.mark.parametrize("changes", [{"required_approvals": 2}, {"name": "other"}, {"enabled": True}])
def test_what_lowers_nothing_holds_at_once(rule, changes):
    answer = caller("admin").patch(f"/policies/{rule.pk}", changes)
    assert (answer.status_code, answer.json()["waiting_change"]) == (200, None)


def test_a_second_admin_whom_the_first_one_made_is_none(rule):
    admin = caller("admin")
    puppet = factories.PersonFactory(created_by=admin.person)
    factories.GrantFactory(person=puppet, role="admin")
    friend = factories.PersonFactory()
    factories.GrantFactory(person=friend, role="admin", granted_by=admin.person)
    change = admin.patch(f"/policies/{rule.pk}", {"enabled": False}).json()["waiting_change"]["id"]
    for who in (puppet, friend):
        refused = Caller(Person.objects.get(pk=who.pk)).post(f"/policies/{rule.pk}/confirm", {"change": change})
        assert (refused.status_code, refused.json()["code"]) == (403, "not_independent")
        assert f"manage.py person vouch {who.name}" in refused.json()["detail"]
    assert Event.objects.filter(action="policy.confirm", outcome="refused").count() == 2
    rule.refresh_from_db()
    assert rule.enabled


def test_whoever_confirms_confirms_what_they_looked_at(rule):
    admin, second = caller("admin"), caller("admin")
    seen = admin.patch(f"/policies/{rule.pk}", {"min_share": 0.1}).json()["waiting_change"]["id"]
    admin.patch(f"/policies/{rule.pk}", {"enabled": False})
    refused = second.post(f"/policies/{rule.pk}/confirm", {"change": seen})
    assert (refused.status_code, refused.json()["code"]) == (409, "wrong_state")
    assert policy_changes.waiting().get().after["enabled"] is False


def test_a_stricter_rule_overtakes_what_waits(rule):
    admin = caller("admin")
    admin.patch(f"/policies/{rule.pk}", {"enabled": False})
    assert admin.patch(f"/policies/{rule.pk}", {"required_approvals": 3}).json()["waiting_change"] is None


def test_a_change_is_declined_or_taken_back(rule):
    admin = caller("admin")
    change = admin.patch(f"/policies/{rule.pk}", {"enabled": False}).json()["waiting_change"]["id"]
    answer = admin.post(f"/policies/{rule.pk}/decline", {"change": change})
    assert (answer.status_code, answer.json()["waiting_change"], answer.json()["enabled"]) == (200, None, True)
    assert Event.objects.filter(action="policy.decline").exists()


def test_it_holds_as_it_was_for_those_who_lowered_it_for_a_week(rule):
    admin, second, stranger = caller("admin"), caller("admin"), factories.PersonFactory()
    puppet = factories.PersonFactory(created_by=second.person)
    change = admin.patch(f"/policies/{rule.pk}", {"enabled": False}).json()["waiting_change"]["id"]
    second.post(f"/policies/{rule.pk}/confirm", {"change": change})
    assert [needed(who) for who in (stranger, admin.person, second.person, puppet)] == [0, 1, 1, 1]
    asked = decide(rules_for("delete", puppet.pk), Case("delete", "r", "t"))
    assert "lowered since; for who did it, it holds until" in asked.reasons[0]
    _age(change, timedelta(days=7, minutes=1))
    assert [needed(who) for who in (admin.person, second.person, puppet)] == [0, 0, 0]


def _age(change: str, by: timedelta) -> None:
    """Only the database's owner can: the change must be visible to it, so the clock is what is moved."""
    from jobs.policy import evaluate

    evaluate.LOWERED_FOR -= by


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    from jobs.policy import evaluate

    monkeypatch.setattr(evaluate, "LOWERED_FOR", evaluate.LOWERED_FOR)


def test_the_machine_lowers_a_rule_at_once_and_confirms_what_waits(rule):
    admin, out = caller("admin"), io.StringIO()
    admin.patch(f"/policies/{rule.pk}", {"enabled": False})
    call_command("policy", "list", stdout=out)
    assert f"manage.py policy confirm {rule.pk}" in out.getvalue()
    call_command("policy", "confirm", str(rule.pk), stdout=out)
    assert needed(factories.PersonFactory()) == 0
    assert needed(admin.person) == 1
    call_command("policy", "change", rule.name, "--on", "--approvals", "2", stdout=out)
    assert needed(factories.PersonFactory()) == 2
    call_command("policy", "change", rule.name, "--approvals", "1", stdout=out)
    assert needed(factories.PersonFactory()) == 1
    call_command("policy", "remove", rule.name, stdout=out)
    assert needed(factories.PersonFactory()) == 0
    for wrong in (("confirm", rule.name), ("change", "A convert writes only _delta_log")):
        with pytest.raises(CommandError):
            call_command("policy", *wrong, stdout=out)


@pytest.mark.parametrize(
    "changes",
    [{"enabled": False}, {"required_approvals": 0}, {"removed_at": datetime(2026, 1, 1, tzinfo=UTC)}, {"min_share": 0.5},
     {"table_class": "ordinary"}, {"refuses_tokens": False}],
)  # fmt: skip
def test_the_database_lowers_no_rule_without_a_change_on_record(rule, changes):
    with pytest.raises(IntegrityError), transaction.atomic():
        PolicyRule.objects.filter(pk=rule.pk).update(**changes, version=rule.version + 1)
    with pytest.raises(ProgrammingError), transaction.atomic():
        PolicyRule.objects.filter(pk=rule.pk).delete()


def test_the_database_lets_nobody_confirm_their_own_change(rule):
    admin = caller("admin")
    change = admin.patch(f"/policies/{rule.pk}", {"enabled": False}).json()["waiting_change"]["id"]
    with pytest.raises(IntegrityError), transaction.atomic():
        PolicyChange.objects.filter(pk=change).update(applied_at=timezone.now(), confirmed_by=admin.person)
    with pytest.raises(ProgrammingError), transaction.atomic():
        PolicyChange.objects.filter(pk=change).update(asked_by=None)
    values = {"rule": rule, "rule_version": rule.version, "before": {}, "after": {}}
    with pytest.raises(IntegrityError), transaction.atomic():
        PolicyChange.objects.create(**values, applied_at=timezone.now())


def test_the_page_says_what_waits_and_who_can_be_the_second(rule):
    admin, second = factories.person_with("admin"), factories.person_with("admin")
    puppet = factories.PersonFactory(created_by=admin)
    factories.GrantFactory(person=puppet, role="admin")
    answer = browser(admin).post(f"/policies/{rule.pk}/switch/", {"enabled": "false"}, follow=True)
    shown = answer.content.decode()
    assert "it waits for a second admin" in shown
    assert "Take back" in shown
    assert "/confirm/" not in shown.partition("Waits for a second admin")[2].partition("</tr>")[0]
    assert "Your confirmation doesn’t count here" in browser(puppet).get("/policies/").content.decode()
    client = browser(second)
    assert f"{admin.name}</span> asked" in client.get("/policies/").content.decode()
    change = policy_changes.waiting_of(rule)
    assert change is not None
    refused = browser(puppet).post(f"/policies/{rule.pk}/confirm/", {"change": change.pk}, follow=True)
    assert "Your confirmation doesn’t count here" in refused.content.decode()
    asked = client.post(f"/policies/{rule.pk}/confirm/", {"change": change.pk}).content.decode()
    assert f"{admin.name} asks: the rule is switched off." in asked
    client.post(f"/policies/{rule.pk}/confirm/", {"change": change.pk, **SURE})
    rule.refresh_from_db()
    assert not rule.enabled


def test_why_a_word_does_not_count_is_not_asked_rule_by_rule(rule):
    admin = factories.person_with("admin")
    puppet = factories.PersonFactory(created_by=admin)
    factories.GrantFactory(person=puppet, role="admin")
    author, client = browser(admin), browser(puppet)

    def queries_with(added: int) -> int:
        for lowered in [factories.PolicyRuleFactory() for _ in range(added)]:
            author.post(f"/policies/{lowered.pk}/switch/", {"enabled": "false"})
        with CaptureQueriesContext(connection) as seen:
            shown = client.get("/policies/").content.decode()
        assert shown.count("Your confirmation doesn’t count here") == PolicyChange.objects.count()
        return len(seen)

    assert queries_with(1) == queries_with(3)
