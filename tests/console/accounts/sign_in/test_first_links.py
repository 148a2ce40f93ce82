"""A person who was added sets their first password by a link: once, in time, and nobody else makes one for them."""

from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, transaction
from django.test import Client
from django.utils import timezone

from console.accounts import services
from console.accounts.authority import EVERYTHING, GrantScope
from console.accounts.models import FirstLink, Person
from console.accounts.roles import Role
from console.accounts.sign_in import first_links
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from tests import factories
from tests.clients import browser, confirmed_browser
from tests.factories import PASSWORD
from tests.factories.people import hashed_password

pytestmark = pytest.mark.django_db
MACHINE = Actor.system("tests")


def added(name="eve", **more):
    """An admin adds somebody on the page: (the admin, the link's secret, the page's answer)."""
    manager = factories.person_with("admin")
    answer = confirmed_browser(manager).post("/people/add/", {"name": name, **more})
    assert answer.status_code == 200, answer.content
    return manager, urlsplit(answer.context["first_link"]).query.removeprefix("link="), answer


def use(secret, password=PASSWORD, again=None, client=None):
    given = {"link": secret, "new_password": password, "new_password_again": again or password}
    return (client or Client()).post("/first-sign-in/", given)


def test_a_link_is_shown_once_sets_a_password_and_signs_in():
    manager, secret, answer = added(role="operator")
    eve = Person.objects.get(name="eve")
    assert answer.context["first_link"].startswith("http://testserver/first-sign-in/?link=")
    assert "no-store" in answer["Cache-Control"]
    assert secret not in confirmed_browser(manager).get(f"/people/{eve.pk}/").content.decode()
    assert [(g.role, g.scope_text, g.granted_by) for g in eve.granted] == [("operator", "everything", manager)]
    assert not any(secret in str(vars(row)) for row in [*Event.objects.all(), *FirstLink.objects.all()])

    own = Client()
    assert b"Welcome, eve" in own.get(f"/first-sign-in/?link={secret}").content
    assert use(secret, client=own)["Location"] == "/"
    assert own.get("/tables/").status_code == 200
    assert Client().post("/sign-in/", {"username": "eve", "password": PASSWORD}).status_code == 302
    acts = Event.objects.filter(object_id=str(eve.pk)).order_by("at").values_list("action", "actor_name")
    assert list(acts)[-3:-1] == [("person.password_change", "eve"), ("session.sign_in", "eve")]


def test_a_link_works_once():
    _, secret, _ = added()
    assert use(secret).status_code == 302
    assert use(secret, "quite another passphrase").status_code == 404
    assert Person.objects.get(name="eve").check_password(PASSWORD)


def test_a_link_lasts_48_hours(monkeypatch):
    began = timezone.now()
    added("tom")
    assert timedelta(hours=48) <= FirstLink.objects.get().expires_at - began < timedelta(hours=49)
    monkeypatch.setattr(first_links, "LIFE", -timedelta(seconds=1))
    _, secret, _ = added()
    assert Client().get(f"/first-sign-in/?link={secret}").status_code == 404
    assert use(secret).status_code == 404


def test_a_weak_or_mistyped_password_leaves_the_link_open():
    _, secret, _ = added()
    assert use(secret, "short").status_code == 400
    assert use(secret, PASSWORD, "another passphrase").status_code == 400
    assert not Person.objects.get(name="eve").has_usable_password()
    assert use(secret).status_code == 302


def test_a_new_link_ends_the_earlier_one():
    manager, secret, _ = added()
    eve = Person.objects.get(name="eve")
    answer = confirmed_browser(manager).post(f"/people/{eve.pk}/first-link/")
    assert use(secret).status_code == 404
    assert use(urlsplit(answer.context["first_link"]).query.removeprefix("link=")).status_code == 302
    assert confirmed_browser(manager).post(f"/people/{eve.pk}/first-link/").status_code == 409


def test_making_one_takes_the_password_again():
    manager, secret, _ = added()
    eve = Person.objects.get(name="eve")
    assert browser(manager).post(f"/people/{eve.pk}/first-link/")["Location"].startswith("/confirm/")
    assert use(secret).status_code == 302, "the first link is still the one"


@pytest.mark.parametrize("case", ["another admin", "vouched for", "has a password", "added on the machine", "closed"])
def test_nobody_opens_an_account_that_others_rely_on(case):
    manager, secret, _ = added()
    eve = Person.objects.get(name="eve")
    if case == "another admin":
        manager = factories.person_with("admin")
    elif case == "vouched for":
        use(secret)
        services.vouch(MACHINE, eve)
        Person.objects.filter(pk=eve.pk).update(password="!")
    elif case == "has a password":
        use(secret)
    elif case == "added on the machine":
        eve = services.add_person(MACHINE, "marc", None)
    else:
        Person.objects.filter(pk=eve.pk).update(is_active=False)
    with pytest.raises(Problem) as refused:
        first_links.make(Actor.acting_for(Person.objects.get(pk=manager.pk)), Person.objects.get(pk=eve.pk))
    assert (refused.value.status, refused.value.code) == (409, "wrong_state")
    assert Event.objects.filter(outcome="refused", action="person.change", object_id=str(eve.pk)).count() == 1
    if case not in ("closed",):  # a closed account opens nothing: the database needn't care
        FirstLink.objects.filter(person=eve, ended_at=None).update(ended_at=timezone.now())
        row = {"person": eve, "secret_sha256": "0" * 64, "expires_at": timezone.now()}
        for maker in (manager, None):  # nobody made the machine's people: that is no maker whom a link could name
            with pytest.raises(DatabaseError, match="before they have a password"), transaction.atomic():
                FirstLink.objects.create(**row, made_by=maker)  # type: ignore[misc]  # as a program could ask
        with pytest.raises(Problem, match="Nothing was changed"):
            first_links.make(MACHINE, Person.objects.get(pk=eve.pk))


def closed(eve, secret):
    services.set_active(MACHINE, eve, False)


def reopened(eve, secret):
    services.set_active(MACHINE, eve, False)
    services.set_active(MACHINE, eve, True)


def given_a_password(eve, secret):
    services.change_password(MACHINE, eve, "a word of the machine")


def given_a_password_by_another_program(eve, secret):
    Person.objects.filter(pk=eve.pk).update(password=hashed_password())


@pytest.mark.parametrize("event", [closed, reopened, given_a_password, given_a_password_by_another_program])
def test_the_link_that_was_kept_opens_nothing_after(event):
    """Who kept it would have set the person's password, signed in as them, and approved their own request."""
    _, secret, _ = added()
    eve = Person.objects.get(name="eve")
    event(eve, secret)
    before = Person.objects.get(pk=eve.pk).password
    assert use(secret, "the keeper's own passphrase").status_code == 404
    with pytest.raises(Problem, match="doesn’t work any more"):
        first_links.use(MACHINE, secret, "the keeper's own passphrase")
    assert Person.objects.get(pk=eve.pk).password == before


def test_nobody_is_vouched_for_while_a_link_of_theirs_is_open():
    """Whoever holds the link is the person: with the word, the maker would be independent of themself."""
    _, secret, _ = added(role="approver")
    eve = Person.objects.get(name="eve")
    for _ in range(2):
        with pytest.raises(CommandError, match="eve has to set a password first"):
            call_command("person", "vouch", "eve")
        with pytest.raises(DatabaseError, match="has to set a password first"), transaction.atomic():
            eve.appointments.update(vouched_at=timezone.now())
    assert use(secret).status_code == 302
    call_command("person", "vouch", "eve")
    assert not eve.appointments.filter(vouched_at=None).exists()
    assert use(secret, "the keeper's own passphrase").status_code == 404


def test_nobody_is_vouched_for_with_a_password_that_somebody_gave_them_or_without_any():
    manager = factories.person_with("admin")
    given = confirmed_browser(manager).post("/api/v1/people", {"name": "eve", "password": PASSWORD}, "application/json")
    assert given.status_code == 201
    eve = Person.objects.get(name="eve")
    with pytest.raises(Problem, match="eve has to set a password first"):
        services.vouch(MACHINE, eve)
    with pytest.raises(DatabaseError, match="has to set a password first"), transaction.atomic():
        eve.appointments.update(vouched_at=timezone.now())
    services.change_password(Actor.acting_for(eve), eve, "a passphrase of her own")
    assert services.vouch(MACHINE, Person.objects.get(name="eve")) == 1

    program = factories.PersonFactory(created_by=manager, password="!")
    with pytest.raises(Problem, match="has to set a password first"):
        services.vouch(MACHINE, program)
    factories.token_row(program)  # the machine made it
    assert services.vouch(MACHINE, program) == 1


def test_a_link_is_never_rewritten():
    added()
    link = FirstLink.objects.get()
    for change in ({"expires_at": timezone.now() + timedelta(days=9)}, {"secret_sha256": "1" * 64}):
        with pytest.raises(DatabaseError, match="never rewritten"), transaction.atomic():
            FirstLink.objects.filter(pk=link.pk).update(**change)
    with pytest.raises(DatabaseError, match="never rewritten"), transaction.atomic():
        link.delete()


def test_an_admin_of_one_root_makes_no_link():
    eve = services.add_person(Actor.system("tests"), "eve", None)
    manager = factories.person_with(Role.ADMIN, root=factories.RootFactory())
    assert confirmed_browser(manager).post(f"/people/{eve.pk}/first-link/").status_code == 403


def test_of_several_people_all_are_added_or_nobody_and_the_refused_one_is_named():
    actor = Actor.acting_for(factories.person_with("admin"))
    factories.PersonFactory(name="tom")
    before = Event.objects.count()
    with pytest.raises(Problem) as refused:
        first_links.add_people(actor, {"eve": Role.OPERATOR, "TOM": Role.APPROVER}, EVERYTHING)
    assert (refused.value.status, refused.value.extra) == (400, {"person": "TOM"})
    assert refused.value.detail == "There is already a person with this name."
    assert not Person.objects.filter(name="eve").exists()
    assert Event.objects.count() == before
    root = factories.RootFactory()
    made = first_links.add_people(actor, {"eve": Role.OPERATOR, "ida": None}, GrantScope(root_id=root.pk))
    assert [(person.name, [(g.role, g.root) for g in person.grants.all()]) for person, _ in made] == [
        ("eve", [("operator", root)]),
        ("ida", []),
    ]
    assert [first_links.holder(secret) for _, secret in made] == [person for person, _ in made]


@pytest.mark.parametrize("who", ["an admin of one root", "the machine"])
def test_that_several_people_are_refused_is_recorded_once(who, caplog):
    """Nothing is recorded inside the transaction, only for it to be rolled back."""
    root = factories.RootFactory()
    actor = MACHINE if who == "the machine" else Actor.acting_for(factories.person_with("admin", root=root))
    with pytest.raises(Problem) as refused:
        first_links.add_people(actor, {"eve": Role.OPERATOR, "ida": None}, GrantScope(root_id=root.pk))
    assert refused.value.status == (409 if who == "the machine" else 403)
    [event] = Event.objects.filter(outcome="refused")
    assert (event.action, event.object_id, event.object_name) == ("person.add", "unknown", "eve, ida")
    logged = [
        line.msg for line in caplog.records if isinstance(line.msg, dict) and line.msg.get("outcome") == "refused"
    ]
    assert [line["action"] for line in logged] == ["person.add"]
    assert not Person.objects.filter(name__in=["eve", "ida"]).exists()


def test_a_name_that_somebody_else_takes_meanwhile_is_refused_as_taken(monkeypatch):
    factories.PersonFactory(name="tom")
    monkeypatch.setattr(Person, "full_clean", lambda *_, **__: None)  # it looked before the other one was there
    with pytest.raises(Problem) as refused:
        services.add_person(MACHINE, "tom", None)
    assert refused.value.detail == "There is already a person with this name."
    with pytest.raises(Problem) as odd:
        services.add_person(MACHINE, "a b", None)
    assert "only letters, digits" in odd.value.detail
