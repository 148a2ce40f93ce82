"""Signing in a program by a code that a person confirms: what it gives, to whom, and what nobody gets."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from console.accounts import services
from console.accounts.models import Person, SignInRequest, Token
from console.accounts.roles import TokenScope
from console.accounts.sign_in import program_sign_ins
from console.accounts.sign_in.program_sign_ins import LETTERS, MOST_BEGUN, MOST_TRIED
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from tests import factories
from tests.clients import API, browser, confirmed_browser
from tests.hostile_texts import hostile_whole

pytestmark = pytest.mark.django_db

PAGE = "/sign-in/program/"
WRONG = "BBBB-BBBB"


def begin(client: Client | None = None, **body: Any) -> dict[str, Any]:
    answer = (client or Client()).post(
        f"{API}/sign-ins", {"machine": "laptop-3"} | body, content_type="application/json"
    )
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def me(token: str) -> Any:
    return Client().get(f"{API}/me", headers={"authorization": f"Bearer {token}"})


def state(begun: dict[str, Any]) -> str:
    return str(Client().get(f"{API}/sign-ins/{begun['id']}").json()["state"])


def decide(person: Person, code: str, do: str = "confirm") -> Any:
    return confirmed_browser(person).post(PAGE, {"code": code, "do": do}, follow=True)


@pytest.fixture
def ines() -> Person:
    return factories.person_named("ines", "operator")


def test_a_confirmed_code_makes_the_waiting_token_one_of_the_person(ines: Person) -> None:
    begun = begin()
    assert (state(begun), begun["interval_seconds"]) == ("waiting", 2)
    assert begun["confirm_url"] == f"http://testserver{PAGE}"
    assert me(begun["token"]).status_code == 401, "it is nobody's yet"
    looked = confirmed_browser(ines).post(PAGE, {"code": begun["code"].lower().replace("-", " "), "do": "look"})
    text = looked.content.decode()
    assert "Sign in the program on laptop-3?" in text
    assert begun["code"] in text
    assert state(begun) == "waiting", "looking decides nothing"
    done = decide(ines, begun["code"])
    assert "The program on laptop-3 is signed in as ines." in done.content.decode()
    assert state(begun) == "granted"
    mine = me(begun["token"]).json()
    assert (mine["name"], mine["token"]["label"], mine["token"]["scopes"]) == ("ines", "laptop-3", ["read", "request"])
    token = Token.objects.get()
    assert timedelta(days=89) < token.expires_at - timezone.now() <= timedelta(days=90)
    event = Event.objects.get(action="token.add")
    assert (event.actor_name, event.outcome, event.object_id) == ("ines", "allowed", str(token.pk))
    assert (event.after or {})["asked_from"] == "127.0.0.1"
    assert begun["token"] not in str(list(Event.objects.values()))


def test_the_tokens_page_lists_it_and_revokes_it(ines: Person) -> None:
    begun = begin()
    assert "laptop-3" in decide(ines, begun["code"]).content.decode()
    services.revoke_token(Actor.acting_for(ines), Token.objects.get())
    assert me(begun["token"]).status_code == 401
    assert state(begun) == "granted", "what was decided stays"


def test_scopes_are_those_that_were_asked_for(ines: Person) -> None:
    begun = begin(scopes=["read", "approve"])
    text = confirmed_browser(ines).post(PAGE, {"code": begun["code"], "do": "look"}).content.decode()
    assert "approves and rejects other people’s requests" in text
    assert "administers" not in text
    decide(ines, begun["code"])
    assert Token.objects.get().scopes == ["approve", "read"]


def test_a_denied_program_gets_nothing_and_that_is_on_record(ines: Person) -> None:
    begun = begin()
    assert "isn’t signed in" in decide(ines, begun["code"], "deny").content.decode()
    assert (state(begun), me(begun["token"]).status_code) == ("denied", 401)
    assert not Token.objects.exists()
    assert Event.objects.get(action="token.add").outcome == "refused"
    assert decide(ines, begun["code"]).status_code == 404, "the code holds no more"


def test_a_code_holds_once(ines: Person) -> None:
    begun = begin()
    decide(ines, begun["code"])
    again = decide(factories.PersonFactory(), begun["code"])
    assert again.status_code == 404
    assert "No program waits with this code" in again.content.decode()
    assert Token.objects.count() == 1


def test_an_expired_code_is_none(ines: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_sign_ins, "LIFE", timedelta(seconds=-1))
    begun = begin()
    assert decide(ines, begun["code"]).status_code == 404
    assert (state(begun), me(begun["token"]).status_code) == ("expired", 401)
    with pytest.raises(Problem) as refused:
        program_sign_ins.grant(Actor.acting_for(ines), ines, SignInRequest.objects.get())
    assert refused.value.status == 404


def test_codes_of_others_are_not_found_by_guessing(ines: Person) -> None:
    begun = begin()
    client = confirmed_browser(ines)
    for _ in range(MOST_TRIED):
        assert client.post(PAGE, {"code": WRONG, "do": "confirm"}).status_code == 404
    closed = client.post(PAGE, {"code": begun["code"], "do": "confirm"})
    assert closed.status_code == 429, "also for the right one"
    assert "Too many wrong codes from here" in closed.content.decode()
    assert state(begun) == "waiting"
    assert decide(factories.PersonFactory(), begun["code"]).status_code == 200, "nobody else waits for that"


def test_a_right_code_of_one_s_own_forgives_no_wrong_ones(ines: Person) -> None:
    client, begun = confirmed_browser(ines), begin()
    for _ in range(MOST_TRIED - 1):
        client.post(PAGE, {"code": WRONG})
    for _ in range(2):
        assert client.post(PAGE, {"code": begun["code"], "do": "look"}).status_code == 200, (
            "a right one counts for none"
        )
    assert client.post(PAGE, {"code": WRONG}).status_code == 404
    assert client.post(PAGE, {"code": WRONG}).status_code == 429


def test_a_code_is_typed_not_brought_by_a_link(ines: Person) -> None:
    begun = begin()
    page = confirmed_browser(ines).get(PAGE, {"code": begun["code"]}).content.decode()
    assert f'value="{begun["code"]}"' not in page


def test_one_network_begins_so_many_and_no_more() -> None:
    for _ in range(MOST_BEGUN):
        begin()
    answer = Client().post(f"{API}/sign-ins", {"machine": "x"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_attempts")
    assert int(answer["Retry-After"]) > 0
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    assert begin(elsewhere)["state"] == "waiting"


def test_so_many_wait_in_all_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_sign_ins, "MOST_WAITING", 1)
    begin()
    answer = Client().post(f"{API}/sign-ins", {"machine": "x"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")


def test_it_needs_a_recent_password_as_every_new_token(ines: Person) -> None:
    begun = begin()
    client = browser(ines)
    answer = client.post(
        PAGE, {"code": begun["code"], "do": "confirm"}, headers={"referer": f"http://testserver{PAGE}"}
    )
    assert answer.status_code == 302
    assert answer["Location"] == "/confirm/?next=%2Fsign-in%2Fprogram%2F&for=token"
    assert state(begun) == "waiting"
    text = client.get(PAGE).content.decode()
    assert begun["code"] in text, "what was entered is kept"


def test_a_stranger_signs_in_first(ines: Person) -> None:
    begun = begin()
    answer = Client().get(PAGE)
    assert (answer.status_code, answer["Location"]) == (302, f"/sign-in/?next={PAGE}")
    Client().post(PAGE, {"code": begun["code"], "do": "confirm"})
    assert state(begun) == "waiting"


def test_a_first_password_is_changed_before_anything_else() -> None:
    begun = begin()
    answer = confirmed_browser(factories.PersonFactory(must_change_password=True)).post(
        PAGE, {"code": begun["code"], "do": "confirm"}
    )
    assert (answer.status_code, answer["Location"]) == (302, "/account/password/")
    assert state(begun) == "waiting"


def test_a_closed_account_ends_its_programs(ines: Person) -> None:
    begun = begin()
    decide(ines, begun["code"])
    Person.objects.filter(pk=ines.pk).update(is_active=False)
    assert me(begun["token"]).status_code == 401


def test_a_token_confirms_nothing(ines: Person) -> None:
    """The page is for sessions; a program can't sign in another one."""
    begun = begin()
    token = factories.token_text(ines, *TokenScope.values)
    client = Client(headers={"authorization": f"Bearer {token}"})
    assert client.post(PAGE, {"code": begun["code"], "do": "confirm"}).status_code == 302
    assert state(begun) == "waiting"


def test_neither_code_nor_token_is_stored() -> None:
    begun = begin()
    stored = str(SignInRequest.objects.values().get())
    assert begun["code"].replace("-", "") not in stored
    assert begun["token"].split("_", 2)[2] not in stored


def test_what_a_program_says_of_itself_is_text(ines: Person) -> None:
    name = hostile_whole("machine")[:100]
    begun = begin(machine=name)
    text = confirmed_browser(ines).post(PAGE, {"code": begun["code"], "do": "look"}).content.decode()
    assert "<script" not in text.replace('<script src="/static/', "")
    decide(ines, begun["code"])
    assert Token.objects.get().label == name


@pytest.mark.parametrize(
    "body",
    [{}, {"machine": ""}, {"machine": "x" * 101}, {"machine": "x", "scopes": ["all"]}, {"machine": "x", "life": 9}],
)
def test_a_wrong_body_is_refused(body: dict[str, Any]) -> None:
    answer = Client().post(f"{API}/sign-ins", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert not SignInRequest.objects.exists()


@pytest.mark.parametrize("code", ["", "B", "aeiou", "BBBBBBBBB", "\0BBBBBBBB", "Б" * 8, "<b>", "0" * 40])
def test_what_is_no_code_is_not_found(ines: Person, code: str) -> None:
    begin()
    assert confirmed_browser(ines).post(PAGE, {"code": code, "do": "look"}).status_code in (400, 404)


def test_old_ones_are_cleaned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(program_sign_ins, "LIFE", -timedelta(days=2))
        begun = begin()
    other = begin()
    assert str(SignInRequest.objects.get().pk) == other["id"]
    assert Client().get(f"{API}/sign-ins/{begun['id']}").status_code == 404


def test_codes_are_of_letters_that_nobody_mistakes() -> None:
    assert len(set(LETTERS)) == 20
    assert not set(LETTERS) & set("AEIOUY0123456789")
    code = begin()["code"]
    assert (len(code), code[4]) == (9, "-")
    assert set(code) <= {*LETTERS, "-"}


class TestTheDatabase:
    """Whatever program writes the rows."""

    def test_it_takes_one_decision(self, ines: Person) -> None:
        begun = begin()
        decide(ines, begun["code"], "deny")
        self.refused(decided_at=timezone.now())
        self.refused(decided_by=None, decided_at=None)

    def test_it_takes_no_other_change(self) -> None:
        begin()
        self.refused(expires_at=timezone.now() + timedelta(minutes=5))
        self.refused(scopes=["admin"])

    def test_it_takes_no_token_of_another_secret_or_person(self, ines: Person) -> None:
        begin()
        now = timezone.now()
        self.refused(decided_at=now, decided_by=ines, token=factories.token_row(ines))
        row = SignInRequest.objects.get()
        facts = {"prefix": row.prefix, "secret_sha256": row.secret_sha256}
        theirs = Token.objects.create(person=ines, label="x", scopes=["read"], expires_at=now + timedelta(1), **facts)
        self.refused(decided_at=now, decided_by=factories.PersonFactory(), token=theirs)
        Token.objects.filter(pk=theirs.pk).update(scopes=["read", "admin"])
        self.refused(decided_at=now, decided_by=ines, token=theirs)

    def test_it_takes_none_that_waits_for_long_and_keeps_what_waits(self) -> None:
        begin()
        with pytest.raises(DatabaseError), transaction.atomic():
            SignInRequest.objects.all().delete()
        facts = {"code_hmac": "c", "machine": "m", "address": "a", "scopes": [], "prefix": "p", "secret_sha256": "s"}
        with pytest.raises(IntegrityError), transaction.atomic():
            SignInRequest.objects.create(**facts, expires_at=timezone.now() + timedelta(hours=1))

    def refused(self, **change: Any) -> None:
        with pytest.raises(DatabaseError), transaction.atomic():
            SignInRequest.objects.update(**change)


class TestOwnToken:
    """`DELETE /me/token`, by which a program signs itself out."""

    @pytest.mark.parametrize("scope", TokenScope.values)
    def test_any_token_ends_itself(self, ines: Person, scope: str) -> None:
        text = factories.token_text(ines, scope)
        answer = Client().delete(f"{API}/me/token", headers={"authorization": f"Bearer {text}"})
        assert answer.status_code == 204
        assert me(text).status_code == 401
        assert Event.objects.get(action="token.revoke").actor_name == "ines"

    def test_a_session_has_none(self, ines: Person) -> None:
        answer = browser(ines).delete(f"{API}/me/token")
        assert (answer.status_code, answer.json()["code"]) == (409, "wrong_state")

    def test_a_stranger_has_none(self) -> None:
        assert Client().delete(f"{API}/me/token").status_code == 401
