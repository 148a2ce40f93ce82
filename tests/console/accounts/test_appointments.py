"""Who stands behind whom: what the database keeps of it, whom it holds for independent, and the words for why not."""

import io
import runpy
import uuid
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connections, transaction

from console.accounts import services
from console.accounts.appointments import doubt_about, may_judge
from console.accounts.authority import EVERYTHING, GrantScope
from console.accounts.models import Appointment, Grant, Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from tests import factories
from tests.factories.people import hashed_password

pytestmark = pytest.mark.django_db
MACHINE = Actor.system("command line")


def add(name: str, by: Person | None = None, *roles: Role) -> Person:
    """Somebody who is added and given roles by an admin of everything, or on the machine, and who has a password."""
    actor = Actor.acting_for(Person.objects.get(pk=by.pk)) if by else MACHINE
    made = services.add_person(actor, name, None)
    Person.objects.filter(pk=made.pk).update(password=hashed_password())
    for role in roles:
        services.grant(actor, made, role, EVERYTHING)
    return Person.objects.get(pk=made.pk)


@pytest.fixture
def olga():
    return add("olga", None, Role.ADMIN, Role.OPERATOR)


def judges(judge: Person, author: Person) -> bool:
    return may_judge(judge, author, Role.APPROVER, EVERYTHING)


def why(judge: Person, author: Person) -> str:
    doubt = doubt_about(judge, author, Role.APPROVER, EVERYTHING)
    return doubt.why if doubt else ""


def test_two_people_of_the_machine_are_independent(olga):
    anna = add("anna", None, Role.APPROVER)
    assert judges(anna, olga)
    assert why(anna, olga) == ""


def test_nobody_judges_themself(olga):
    services.grant(MACHINE, olga, Role.APPROVER, EVERYTHING)
    assert not judges(olga, olga)


def test_who_was_added_beforehand_does_not_count(olga):
    puppet = add("puppet", olga, Role.APPROVER)
    assert not judges(puppet, olga)
    assert why(puppet, olga) == "olga added puppet."


def test_an_admin_between_hides_nothing(olga):
    second = add("second", olga, Role.ADMIN)
    puppet = add("puppet", second, Role.APPROVER)
    assert not judges(puppet, olga)
    assert why(puppet, olga) == "olga added second, and second added puppet."


def test_who_made_the_requester_does_not_count_either(olga):
    """The other way round it is the same person at both keyboards."""
    services.grant(MACHINE, olga, Role.APPROVER, EVERYTHING)
    puppet = add("puppet", olga, Role.OPERATOR)
    assert not judges(olga, puppet)
    doubt = doubt_about(olga, puppet, Role.APPROVER, EVERYTHING)
    assert doubt is not None
    assert doubt.command.endswith(" manage.py person vouch puppet")


def test_two_whom_one_admin_added_are_not_independent(olga):
    one, other = add("one", olga, Role.OPERATOR), add("other", olga, Role.APPROVER)
    assert not judges(other, one)
    assert "olga added one" in why(other, one)
    assert "olga added other" in why(other, one)


def test_a_role_from_the_requester_does_not_count(olga):
    friend = add("friend")
    services.grant(Actor.acting_for(olga), friend, Role.APPROVER, EVERYTHING)
    assert not judges(friend, olga)
    assert why(friend, olga) == "olga gave friend the role approver."
    services.grant(MACHINE, friend, Role.APPROVER, GrantScope(root_id=factories.RootFactory().pk))
    assert not judges(friend, olga)  # that one is of another place


def test_a_role_on_a_root_counts_on_its_tables_alone(olga):
    table = factories.TableFactory()
    anna = add("anna")
    services.grant(MACHINE, anna, Role.APPROVER, GrantScope(root_id=table.root_id))
    assert may_judge(anna, olga, Role.APPROVER, GrantScope(table_id=table.pk))
    assert not may_judge(anna, olga, Role.APPROVER, GrantScope(table_id=factories.TableFactory().pk))
    services.grant(Actor.acting_for(olga), anna, Role.APPROVER, GrantScope(table_id=table.pk))
    assert may_judge(anna, olga, Role.APPROVER, GrantScope(table_id=table.pk))


def test_that_somebody_was_made_an_admin_once_is_never_forgotten(olga):
    ben = add("ben")
    given = services.grant(Actor.acting_for(olga), ben, Role.ADMIN, EVERYTHING)
    puppet = add("puppet", ben, Role.APPROVER)
    services.remove_grant(MACHINE, given)
    assert not judges(puppet, olga)
    assert why(puppet, olga) == "olga gave ben the role admin, and ben added puppet."


def test_a_word_on_the_machine_ends_the_chain(olga):
    anna = add("anna", olga, Role.APPROVER)
    otto = add("otto", olga, Role.OPERATOR)
    out = io.StringIO()
    call_command("person", "vouch", "Anna", stdout=out)
    assert "anna is vouched for" in out.getvalue()
    assert "You say by this that anna set the account's password" in out.getvalue(), "Levee can't know"
    assert judges(anna, olga)
    assert judges(anna, otto)
    event = Event.objects.get(action="person.vouch")
    assert (event.object_name, event.actor_kind, event.before) == ("anna", "system", {"appointed_by": ["olga"]})


def test_a_role_that_is_given_after_the_word_is_not_covered_by_it(olga):
    anna = add("anna", olga)
    services.vouch(MACHINE, anna)
    services.grant(Actor.acting_for(olga), anna, Role.APPROVER, EVERYTHING)
    assert not judges(anna, olga)


def test_a_word_for_nobody_vouches_for_nobody(olga):
    add("anna", olga, Role.APPROVER)
    with pytest.raises(CommandError, match="no person is named who"):
        call_command("person", "vouch", "anna", "who", stdout=io.StringIO())
    assert not Appointment.objects.exclude(vouched_at=None).exists()


def test_nobody_vouches_from_a_browser(olga):
    anna = add("anna", olga, Role.APPROVER)
    with pytest.raises(Problem, match="on the machine"):
        services.vouch(Actor.acting_for(olga), anna)
    assert Event.objects.filter(action="person.vouch", outcome="refused").exists()


@pytest.mark.parametrize(
    "act",
    [
        lambda: Person.objects.filter(name="anna").update(created_by=None),
        lambda: Grant.objects.filter(person__name="anna").update(granted_by=None),
        lambda: Appointment.objects.filter(person__name="anna").update(by=None),
        lambda: Appointment.objects.filter(person__name="anna").delete(),
        lambda: Appointment.objects.create(person=Person.objects.get(name="anna"), role="admin"),
    ],
)
def test_the_database_keeps_what_was_done(olga, act):
    add("anna", olga, Role.APPROVER)
    with pytest.raises(ProgrammingError), transaction.atomic():
        act()
    assert Appointment.objects.filter(person__name="anna", by=olga).count() == 2


@pytest.mark.django_db(databases=["admin"], transaction=True)
def test_an_upgrade_knows_who_made_whom_and_who_was_an_admin_once():
    """The migration's own statements, over rows as an earlier version has left them."""
    text = runpy.run_path(str(Path(services.__file__).parent / "migrations" / "0004_appointments.py"))["PAST"]
    with transaction.atomic("admin"), connections["admin"].cursor() as cursor:
        people = Person.objects.using("admin")
        boss = people.create(name="boss")
        anna, ben = people.create(name="anna", created_by=boss), people.create(name="ben")
        given = Grant.objects.using("admin").create(person=anna, role="approver", scope="everything", granted_by=boss)
        cursor.execute("set constraints all immediate")
        cursor.execute("alter table accounts_appointment disable trigger user")
        cursor.execute("delete from accounts_appointment")
        cursor.execute("set local role levee_audit")
        cursor.execute(
            "insert into audit.event (id, actor_kind, actor_id, actor_name, action, object_kind, object_id, object_name, outcome, after)"
            " values (%s, 'person', %s, 'boss', 'grant.add', 'person', %s, 'ben', 'allowed', %s)",
            [uuid.uuid4(), boss.pk, str(ben.pk), '{"role": "admin", "scope": "everything"}'],
        )
        cursor.execute("reset role")
        cursor.execute(text)
        cursor.execute("alter table accounts_appointment enable trigger user")
        found = set(Appointment.objects.using("admin").values_list("person__name", "by__name", "role", "grant_id"))
        transaction.set_rollback(True, "admin")
    assert found == {
        ("boss", None, "", None),
        ("anna", "boss", "", None),
        ("ben", None, "", None),
        ("anna", "boss", "approver", given.pk),
        ("ben", "boss", "admin", None),
    }
