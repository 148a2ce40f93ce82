"""Signing in: who is let in, how often a password may be tried, and what a stranger learns and can do (nothing)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db import DatabaseError, connection
from django.db.models import F
from django.test import Client

from console.accounts import attempts
from console.accounts.models import PasswordAttempt
from console.audit.models import Event
from console.base.errors import Problem
from tests import factories

pytestmark = pytest.mark.django_db

HERE, ELSEWHERE = "192.0.2.7", "198.51.100.9"


def sign_in(name, password=factories.PASSWORD, address=HERE, client=None):
    client = client or Client()
    return client.post("/sign-in/", {"username": name, "password": password}, REMOTE_ADDR=address)


def wrong(name, times, address=ELSEWHERE):
    return [sign_in(name, "not it", address).status_code for _ in range(times)]


def later(minutes):
    PasswordAttempt.objects.update(at=F("at") - timedelta(minutes=minutes))


def test_the_right_password_opens_a_session():
    person = factories.PersonFactory()
    client = Client()
    assert sign_in(person.name, client=client).status_code == 302
    assert client.get("/account/tokens/").status_code == 200
    assert not PasswordAttempt.objects.exists()


def test_the_sixth_wrong_password_for_a_name_from_an_address_is_429():
    person = factories.PersonFactory()
    assert wrong(person.name, 6) == [200] * 5 + [429]


def test_the_right_password_is_refused_as_well_where_too_many_were_wrong():
    person = factories.PersonFactory()
    wrong(person.name, 5)
    answer = sign_in(person.name, address=ELSEWHERE)
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 900
    assert b"Try again in 15 minutes" in answer.content
    assert "_auth_user_id" not in answer.client.session


def test_a_name_is_one_in_any_case():
    person = factories.PersonFactory(name="eve")
    assert wrong("EVE", 3) + wrong("eve", 3) == [200] * 5 + [429]
    assert person.is_active


def test_a_stranger_who_guesses_elsewhere_locks_nobody_out():
    person = factories.PersonFactory()
    wrong(person.name, 6)
    assert sign_in(person.name).status_code == 302


def test_a_stranger_at_the_same_address_locks_nobody_out_of_a_known_device():
    person = factories.PersonFactory()
    own = Client()
    sign_in(person.name, client=own)
    own.post("/sign-out/")
    wrong(person.name, 6, HERE)
    assert sign_in(person.name, client=own).status_code == 302
    assert sign_in(person.name).status_code == 429


def test_a_known_device_is_limited_too():
    person = factories.PersonFactory()
    own = Client()
    sign_in(person.name, client=own)
    own.post("/sign-out/")
    answers = [sign_in(person.name, "not it", client=own).status_code for _ in range(11)]
    assert answers == [200] * 10 + [429]


def test_a_device_is_known_to_its_own_person_alone():
    person, other = factories.PersonFactory(), factories.PersonFactory()
    own = Client()
    sign_in(person.name, client=own)
    own.post("/sign-out/")
    wrong(other.name, 5, HERE)
    assert sign_in(other.name, client=own).status_code == 429


def test_a_forged_device_is_a_strangers():
    person = factories.PersonFactory()
    forged = Client()
    forged.cookies[settings.DEVICE_COOKIE_NAME] = '{"name": "' + person.name + '"}'
    wrong(person.name, 5, HERE)
    assert sign_in(person.name, client=forged).status_code == 429


def test_the_device_cookie_is_hidden_from_scripts_and_other_sites():
    answer = sign_in(factories.PersonFactory().name)
    cookie = answer.cookies[settings.DEVICE_COOKIE_NAME]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_one_address_tries_thirty_names_at_most():
    answers = [sign_in(f"name{n}", "not it", ELSEWHERE).status_code for n in range(31)]
    assert answers == [200] * 30 + [429]
    assert sign_in("another").status_code == 200


def test_a_network_of_ipv6_counts_as_one_address():
    answers = [sign_in("eve", "not it", f"2001:db8::{n}").status_code for n in range(1, 7)]
    assert answers == [200] * 5 + [429]
    assert sign_in("eve", "not it", "2001:db8:0:1::1").status_code == 200


def test_a_wait_ends_and_its_rows_go():
    person = factories.PersonFactory()
    wrong(person.name, 6)
    later(16)
    assert sign_in(person.name, address=ELSEWHERE).status_code == 302
    assert not PasswordAttempt.objects.exists()


def test_waiting_is_not_made_longer_by_trying():
    person = factories.PersonFactory()
    wrong(person.name, 5)
    later(14)
    wrong(person.name, 6)
    later(2)
    assert sign_in(person.name, address=ELSEWHERE).status_code == 302


def test_a_right_password_forgets_the_wrong_ones_before_it():
    person = factories.PersonFactory()
    wrong(person.name, 4, HERE)
    sign_in(person.name)
    assert wrong(person.name, 5, HERE) == [200] * 5


def test_a_right_password_counts_as_right_while_the_audit_is_down(monkeypatch):
    def broken(*_arguments, **_options):
        raise DatabaseError("the audit is read-only")

    person = factories.PersonFactory()
    monkeypatch.setattr(Event, "save", broken)
    assert [sign_in(person.name).status_code for _ in range(6)] == [503] * 6


def test_a_right_password_forgets_nobody_elses():
    own, other = factories.PersonFactory(), factories.PersonFactory()
    wrong(other.name, 4, HERE)
    sign_in(own.name)
    assert wrong(other.name, 2, HERE) == [200, 429]


@pytest.mark.django_db(transaction=True)
def test_attempts_at_the_same_moment_never_exceed_the_limit():
    """Noted before counted: of many that overlap, at most as many as allowed get to the password."""
    source, start = attempts.PasswordSource("address:x", most=3), Barrier(8)

    def attempt(_):
        start.wait()
        try:
            attempts.admit("eve", source)
        except Problem as problem:
            return problem.status
        finally:
            connection.close()
        return 200

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(attempt, range(8)))
    assert answers.count(200) <= 3
    assert set(answers) <= {200, 429}


@pytest.fixture
def hashings(monkeypatch):
    """How often the slow hash was worked out."""
    done = []
    hash_once = Argon2PasswordHasher.encode

    def encode(self, password, salt):
        done.append("encode")
        return hash_once(self, password, salt)

    verify_once = Argon2PasswordHasher.verify

    def verify(self, password, encoded):
        done.append("verify")
        return verify_once(self, password, encoded)

    monkeypatch.setattr(Argon2PasswordHasher, "encode", encode)
    monkeypatch.setattr(Argon2PasswordHasher, "verify", verify)
    return done


def closed():
    return factories.PersonFactory(is_active=False).name


def without_password():
    return factories.PersonFactory(password="!").name


@pytest.mark.parametrize("name", [lambda: "nobody", closed, without_password, lambda: factories.PersonFactory().name])
def test_a_stranger_learns_from_no_answer_who_exists(name, hashings):
    asked = name()
    hashings.clear()
    answer = sign_in(asked, "not it")
    assert len(hashings) == 1
    assert answer.status_code == 200
    assert answer.context["form"].non_field_errors() == [
        "Please enter a correct name and password. Note that both fields may be case-sensitive."
    ]


def test_nobody_and_somebody_are_closed_alike():
    somebody = factories.PersonFactory().name
    wrong(somebody, 5)
    wrong("nobody", 5)
    words = [sign_in(name, "not it", ELSEWHERE).context["problem"].detail for name in (somebody, "nobody")]
    assert words[0].split(", at")[0] == words[1].split(", at")[0]


def test_a_closed_account_does_not_open_with_its_password():
    assert sign_in(closed()).status_code == 200


def test_each_attempt_is_on_record_with_its_address():
    person = factories.PersonFactory()
    sign_in(person.name, "not it", ELSEWHERE)
    sign_in(person.name)
    events = Event.objects.filter(action="session.sign_in").order_by("at")
    assert [(e.outcome, e.address) for e in events] == [("refused", ELSEWHERE), ("allowed", HERE)]
    assert not any("not it" in str(vars(e)) for e in events)


@pytest.mark.parametrize("name", ["", "a\x00b", "x" * 5000, "<b>"])
def test_an_odd_name_is_no_fault(name):
    assert sign_in(name, "not it").status_code in (200, 400)
