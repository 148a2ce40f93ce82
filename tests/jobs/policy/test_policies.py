"""Rules of policy: who makes them, what is kept of each change, and what pages and API say."""

import pytest
from django.http import Http404

from console.accounts.authority import EVERYTHING, GrantScope
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.domain.policy import Case, TableClass, decide
from jobs.models import PolicyRule
from jobs.policy import changes as policy_changes
from jobs.policy import services
from jobs.policy.evaluate import rules_now
from jobs.policy.services import Terms
from tests import factories
from tests.clients import SURE, caller
from tests.clients import confirmed_browser as browser

pytestmark = pytest.mark.django_db

SYSTEM = Actor.system("tests")
NEW = {"name": "Large deletes", "command": "delete", "required_approvals": 2, "class": "ordinary", "min_share": 0.1}


def shipped(command="delete"):
    return PolicyRule.objects.get(command=command, enabled=True, changed_by=None)


def example():
    return PolicyRule.objects.get(enabled=False)


def needed(command="delete", **case):
    return decide(
        rules_now(command), Case(**{"command": command, "root": "r", "table": "t", **case})
    ).required_approvals


def test_levee_ships_one_approval_for_what_destroys_and_none_for_a_convert():
    assert [needed(c) for c in ("convert", "delete", "restore")] == [0, 1, 1]


def test_the_example_asks_for_two_once_it_is_switched_on():
    assert needed(table_class=TableClass.WHOLE_TABLE) == 1
    services.change(SYSTEM, example(), enabled=True)
    assert needed(table_class=TableClass.WHOLE_TABLE) == 2
    assert needed() == 1


def test_an_admin_adds_a_rule():
    admin = caller("admin")
    answer = admin.post("/policies", NEW)
    made = answer.json()
    assert answer.status_code == 201
    assert {name: made[name] for name in NEW} == NEW
    assert (made["on"], made["role"], made["version"], made["enabled"], made["changed_by"]) == (
        "everything", "approver", 1, True, admin.person.name,
    )  # fmt: skip
    assert needed(share=0.2) == 2
    assert admin.get(f"/policies/{made['id']}").json() == made


def test_each_change_is_a_version_with_before_and_after_on_record():
    admin, rule = caller("admin"), shipped()
    answer = admin.patch(f"/policies/{rule.pk}", {"required_approvals": 3, "refuses_tokens": True})
    assert (answer.status_code, answer.json()["version"], answer.json()["required_approvals"]) == (200, 2, 3)
    event = Event.objects.get(action="policy.change", object_id=str(rule.pk))
    before, after = event.before or {}, event.after or {}
    assert event.actor_name == admin.person.name
    assert (before["required_approvals"], after["required_approvals"]) == (1, 3)
    assert (before["version"], after["version"]) == (1, 2)


def test_a_change_that_changes_nothing_is_none():
    admin, rule = caller("admin"), shipped()
    assert admin.patch(f"/policies/{rule.pk}", {"enabled": True, "required_approvals": 1}).json()["version"] == 1
    assert not Event.objects.filter(action="policy.change").exists()


def test_a_removed_rule_counts_no_more_and_its_row_stays():
    admin, rule = caller("admin"), shipped()
    assert admin.delete(f"/policies/{shipped('convert').pk}").status_code == 204  # it asks for nothing
    services.remove(SYSTEM, rule)
    assert needed() == 0
    assert admin.get(f"/policies/{rule.pk}").status_code == 404
    assert PolicyRule.objects.filter(pk=rule.pk, removed_at__isnull=False, version=2).exists()
    assert (Event.objects.get(action="policy.remove", object_id=str(rule.pk)).before or {})["name"] == rule.name


def test_a_removed_rule_is_changed_no_more():
    rule = shipped()
    services.remove(SYSTEM, rule)
    with pytest.raises(Http404):
        services.change(SYSTEM, rule, enabled=False)


@pytest.mark.parametrize("role", ["viewer", "operator", "approver", "auditor"])
def test_nobody_but_an_admin_changes_a_rule(role):
    other, rule = caller(role), shipped()
    assert other.post("/policies", NEW).status_code == 403
    assert other.patch(f"/policies/{rule.pk}", {"enabled": False}).status_code == 403
    assert other.delete(f"/policies/{rule.pk}").status_code == 403
    assert needed() == 1


def test_a_token_without_the_scope_changes_no_rule():
    admin = caller("admin", "read", "request", "approve")
    assert admin.patch(f"/policies/{shipped().pk}", {"enabled": False}).status_code == 403


def test_the_service_is_the_door_that_checks():
    viewer = Actor.acting_for(factories.person_with("operator"))
    with pytest.raises(Problem) as refused:
        services.add(viewer, "delete", EVERYTHING, Terms("mine", 0))
    assert refused.value.code == "forbidden"
    assert Event.objects.get(action="policy.add").outcome == "refused"


def test_an_admin_of_one_root_makes_rules_there_alone():
    root, other = factories.RootFactory(name="lake"), factories.RootFactory(name="other")
    table = factories.TableFactory(root=root)
    admin = caller("admin", root=root)

    def add(on):
        return admin.post("/policies", NEW | {"on": on}).status_code

    assert [add("root:lake"), add(f"table:{table.path}")] == [201, 201]
    assert [add("everything"), add("root:other")] == [403, 403]
    assert admin.patch(f"/policies/{shipped().pk}", {"enabled": False}).status_code == 403
    foreign = services.add(SYSTEM, "delete", GrantScope(root_id=other.pk), Terms("foreign", 1))
    assert admin.patch(f"/policies/{foreign.pk}", {"enabled": False}).status_code == 404
    names = {rule["on"] for rule in admin.get("/policies").json()["results"]}
    assert names == {"everything", "root:lake", f"table:{table.path}"}


def test_an_auditor_reads_the_rules():
    assert len(caller("auditor").get("/policies").json()["results"]) == PolicyRule.objects.count()
    assert caller("operator").get("/policies").status_code == 403


@pytest.mark.parametrize(
    "changes",
    [
        {"required_approvals": 6}, {"required_approvals": -1}, {"required_approvals": "1"}, {"required_approvals": True},
        {"min_share": 1.5}, {"min_share": "0.5"}, {"min_share": True}, {"class": "half"}, {"class": ""}, {"name": ""},
        {"name": "a\nb"}, {"command": "drop"}, {"on": "nowhere"}, {"role": "admin"}, {"version": 9},
    ],
)  # fmt: skip
def test_an_odd_rule_is_400_and_names_the_field(changes):
    answer = caller("admin").post("/policies", NEW | changes)
    assert answer.status_code == 400
    assert set(answer.json()["fields"]) == set(changes)
    assert not PolicyRule.objects.filter(command="delete", required_approvals=2, enabled=True).exists()


def test_command_and_place_never_change():
    answer = caller("admin").patch(f"/policies/{shipped().pk}", {"command": "convert", "on": "root:x"})
    assert set(answer.json()["fields"]) == {"command", "on"}


def test_the_page_says_the_rules_as_sentences():
    page = browser(factories.person_with("admin")).get("/policies/").content.decode()
    assert "A delete job needs 1 approver." in page
    assert "A delete job on a whole table needs 2 approvers." in page
    assert "A convert job needs no approval." in page


def test_the_page_switches_the_example_on_and_off():
    client, rule = browser(factories.person_with("admin")), example()
    for wanted in ("true", "false"):
        assert client.post(f"/policies/{rule.pk}/switch/", {"enabled": wanted}).status_code == 302
        rule.refresh_from_db()
        assert rule.enabled
    assert "Waits for a second admin" in client.get("/policies/").content.decode()
    own = client.get(f"/policies/{rule.pk}/").content.decode()
    assert "A change of this rule waits" in own
    assert "the rule is switched off." in own
    assert "Take back…" in own
    other = browser(factories.person_with("admin")).get(f"/policies/{rule.pk}/").content.decode()
    assert f'action="/policies/{rule.pk}/confirm/"' in other
    services.confirm(SYSTEM, rule, policy_changes.waiting().get().pk)
    rule.refresh_from_db()
    assert not rule.enabled
    assert "A change of this rule waits" not in client.get(f"/policies/{rule.pk}/").content.decode()


def test_the_page_adds_changes_and_removes_a_rule():
    client = browser(factories.person_with("admin"))
    given = {
        "name": "Large deletes", "command": "delete", "on": "everything", "required_approvals": "2", "table_class": "",
        "min_percent": "12.5", "refuses_tokens": "on",
    }  # fmt: skip
    assert client.post("/policies/add/", given).status_code == 302
    assert "“Large deletes” is added" in client.get("/policies/").content.decode()
    rule = PolicyRule.objects.get(name="Large deletes")
    assert (rule.min_share, rule.refuses_tokens, rule.table_class, rule.enabled) == (0.125, True, "", True)
    page = client.get(f"/policies/{rule.pk}/").content.decode()
    assert 'value="12.5"' in page
    changed = {"name": "Large", "required_approvals": "3", "table_class": "", "min_percent": "", "refuses_tokens": "on"}
    assert client.post(f"/policies/{rule.pk}/", changed).status_code == 302
    rule.refresh_from_db()
    assert (rule.name, rule.min_share, rule.refuses_tokens, rule.version) == ("Large", None, True, 2)
    client.post(f"/policies/{rule.pk}/remove/", SURE)
    second = browser(factories.person_with("admin"))
    second.post(f"/policies/{rule.pk}/confirm/", {"change": policy_changes.waiting().get().pk, **SURE})
    assert b"Large" not in second.get("/policies/").content


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"on": "root:none"}, "no root is named none"), ({"name": "a\tb"}, "printable"), ({"min_percent": "101"}, "100")],
)
def test_the_form_says_in_place_what_is_wrong(changes, words):
    given = {"name": "x", "command": "delete", "on": "everything", "required_approvals": "1", "table_class": ""}
    answer = browser(factories.person_with("admin")).post("/policies/add/", given | changes)
    assert answer.status_code == 400
    assert words in answer.content.decode()


def test_the_form_says_that_an_admin_of_a_root_makes_no_rule_for_everything():
    admin = browser(factories.person_with("admin", root=factories.RootFactory()))
    given = {"name": "x", "command": "delete", "on": "everything", "required_approvals": "1", "table_class": ""}
    answer = admin.post("/policies/add/", given)
    assert answer.status_code == 403
    assert b"Only an admin of this scope" in answer.content


def test_other_places_answer_an_admin_of_one_as_if_they_were_not_there():
    factories.RootFactory(name="secret")
    admin = caller("admin", root=factories.RootFactory(name="lake"))
    for route, body in (("/policies", NEW), ("/grants", {"person": admin.person.name, "role": "viewer"})):
        known, unknown = (admin.post(route, body | {"on": on}) for on in ("root:secret", "root:none"))
        assert (known.status_code, known.json()["detail"]) == (unknown.status_code, unknown.json()["detail"])
        assert known.status_code == 403
        assert admin.post(route, body | {"on": "root:lake"}).status_code == 201
