"""What was entered when a session or a password's 15 minutes had run out comes back: to its person alone, never sent by itself."""

import json
import time
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.core import signing
from django.test import Client

from console.accounts import services
from console.accounts.authority import EVERYTHING
from console.accounts.models import Person, Token
from console.accounts.roles import Role
from console.accounts.sign_in import drafts
from console.audit.actor import Actor
from jobs.models import PolicyRule
from tables.models import Root
from tests import factories
from tests.clients import browser, confirmed_browser
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db
RULE = {"name": "my rule", "command": "delete", "on": "everything", "required_approvals": "3"}
FORMS = [
    ("/account/tokens/", "/account/tokens/", {"label": "for the nightly run", "scopes": ["read", "approve"]}),
    ("/policies/add/", "/policies/add/", RULE),
    ("/people/", "/people/add/", {"name": "hanna.new", "role": "viewer"}),
    ("/roots/add/", "/roots/add/", {"name": "landing", "uri": "/lake/landing", "do": "add"}),
]


@pytest.fixture
def admin():
    return factories.person_with("admin")


def signed_in(person):
    client = Client()
    client.post("/sign-in/", {"username": person.name, "password": PASSWORD})
    return client


def send(client, page, form, fields, **headers):
    return client.post(form, fields, headers={"referer": f"http://testserver{page}", **headers})


def sign_in_again(client, answer, person, password=PASSWORD):
    return client.post(
        "/sign-in/",
        {"username": person.name, "password": password, "next": answer.context["next"], "draft": answer.context["draft"]},
    )  # fmt: skip


def ended(client):
    del client.cookies[settings.SESSION_COOKIE_NAME]
    return client


def texts(fields):
    return [text for value in fields.values() for text in (value if isinstance(value, list) else [value])]


def is_filled_in(html, fields):
    return all(f'value="{text}"' in html or f">{text}<" in html for text in texts(fields) if text not in {"add"})


@pytest.mark.parametrize(("page", "form", "fields"), FORMS)
def test_after_a_new_sign_in_the_form_is_filled_in_and_nothing_was_sent(admin, page, form, fields):
    client = ended(signed_in(admin))
    answer = send(client, page, form, fields)
    assert answer.status_code == 403
    assert b"Your session has ended." in answer.content
    back = sign_in_again(client, answer, admin)
    assert (back.status_code, back["Location"]) == (302, page)
    shown = client.get(page).content.decode()
    assert "What you entered is still here." in shown
    assert "The form on this page is filled in with it" in shown
    assert is_filled_in(shown, fields)
    assert [Token.objects.count(), Root.objects.count(), Person.objects.filter(name="hanna.new").count()] == [0, 0, 0]
    assert not PolicyRule.objects.filter(name="my rule").exists()


@pytest.mark.parametrize(("page", "form", "fields"), FORMS)
def test_after_the_password_too(admin, page, form, fields):
    client = browser(admin)
    answer = send(client, page, form, fields)
    assert answer.status_code == 302
    confirm = urlsplit(answer["Location"])
    asked = parse_qs(confirm.query)
    assert (confirm.path, asked["next"]) == ("/confirm/", [page])
    assert not any(text in answer["Location"] for text in texts(fields) if len(text) > 6), "it is never in an address"
    assert "What you entered is kept" in client.get(answer["Location"]).content.decode()
    assert client.post("/confirm/", {"password": PASSWORD, "next": page})["Location"] == page
    assert is_filled_in(client.get(page).content.decode(), fields)


@pytest.mark.parametrize(
    ("page", "form", "fields", "why"),
    [
        (*FORMS[0], "A new API token needs your password"),
        (*FORMS[1], "Changes to people, roles, policies and roots need your password"),
        (*FORMS[2], "Changes to people, roles, policies and roots need your password"),
    ],
)
def test_the_password_is_asked_for_with_its_own_reason(admin, page, form, fields, why):
    client = browser(admin)
    shown = client.get(send(client, page, form, fields)["Location"]).content.decode()
    assert why in shown
    assert "Decisions about requests" not in shown


def test_asked_for_nothing_in_particular_it_names_all_that_may_need_it(admin):
    for query in ("", "?for=", "?for=nonsense"):
        page = browser(admin).get(f"/confirm/{query}").content.decode()
        assert "Decisions, new API tokens and changes to people, roles, policies and roots need" in page
    assert "Decisions about requests need" in browser(admin).get("/confirm/?for=decision").content.decode()


def test_a_wrong_password_keeps_the_reason_and_the_way_back(admin):
    client = browser(admin)
    send(client, *FORMS[0])
    answer = client.post("/confirm/", {"password": "not it", "next": "/account/tokens/", "for": "token"})
    assert b"A new API token needs your password" in answer.content
    assert is_filled_in(client.get("/account/tokens/").content.decode(), FORMS[0][2]), "by the link back, too"


def test_a_mistyped_password_at_the_sign_in_loses_nothing(admin):
    client = ended(signed_in(admin))
    answer = send(client, *FORMS[1])
    again = sign_in_again(client, answer, admin, password="not it")
    assert again.context["draft"] == answer.context["draft"]
    assert sign_in_again(client, again, admin)["Location"] == "/policies/add/"
    assert is_filled_in(client.get("/policies/add/").content.decode(), RULE)


def test_a_session_that_a_new_role_ended_loses_nothing_either(admin):
    client = signed_in(admin)
    services.grant(Actor.system("tests"), admin, Role.AUDITOR, EVERYTHING)
    answer = send(client, *FORMS[1])
    assert answer.status_code == 403
    sign_in_again(client, answer, admin)
    assert is_filled_in(client.get("/policies/add/").content.decode(), RULE)


def test_it_is_the_person_s_own(admin):
    other = factories.person_with("admin")
    client = ended(signed_in(admin))
    answer = send(client, *FORMS[1])
    assert sign_in_again(client, answer, other)["Location"] == "/policies/add/"
    assert "draft" not in client.session
    assert "my rule" not in client.get("/policies/add/").content.decode()
    assert drafts.unseal(answer.context["draft"], other) is None


@pytest.mark.parametrize(
    "sealed",
    ["", "x", signing.dumps(["ada", {}]), signing.dumps([], salt="levee.device")],
    ids=["none", "bare", "unsalted", "of another"],
)
def test_a_forged_one_is_none(admin, sealed):
    client = Client()
    given = {"username": admin.name, "password": PASSWORD, "draft": sealed}
    assert client.post("/sign-in/", given).status_code == 302
    assert "draft" not in client.session


def test_a_sign_in_page_that_stood_open_too_long_keeps_none(admin, monkeypatch):
    client = ended(signed_in(admin))
    answer = send(client, *FORMS[1])
    monkeypatch.setattr(drafts, "SEALED_LIFE", timedelta(seconds=-1))
    sign_in_again(client, answer, admin)
    assert "draft" not in client.session


def test_a_stranger_s_request_is_kept_by_nobody(admin):
    answer = send(Client(), *FORMS[1])
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in/?next=/policies/add/")


SECRETS = {
    "name": "landing",
    "uri": "s3://bucket/landing",
    "secret": "wJalrXUtnFEMI",
    "session_token": "wJalrXUtnFEMI2",
}


def test_passwords_and_keys_are_never_kept(admin):
    client = ended(signed_in(admin))
    answer = send(client, "/roots/add/", "/roots/add/", SECRETS)
    draft = drafts.unseal(answer.context["draft"], admin)
    assert draft
    held = json.dumps(draft.as_json())
    assert "landing" in held
    assert "wJalrXUtnFEMI" not in held
    assert draft.secrets == ["secret", "session_token"]
    sign_in_again(client, answer, admin)
    shown = client.get("/roots/add/").content.decode()
    assert "Passwords and keys aren’t kept: enter them again." in shown
    assert "wJalrXUtnFEMI" not in shown + json.dumps(dict(client.session))
    assert "Send it now" not in shown


@pytest.mark.parametrize(
    "fields", [{"old_password": "x", "new_password": "y"}, {"uri": "s3://key:hidden@bucket/x"}, {}, {"name": ""}]
)
def test_a_form_of_nothing_else_is_not_kept(admin, fields):
    client = ended(signed_in(admin))
    assert send(client, "/account/password/", "/account/password/", fields).status_code == 302


def test_what_is_very_long_is_not_kept(admin):
    client = ended(signed_in(admin))
    assert send(client, "/people/", "/people/add/", {"name": "x" * (drafts.LONGEST + 1)}).status_code == 302
    assert send(client, "/people/", "/people/add/", {"name": "x" * 1000}).status_code == 403


def test_every_field_that_hides_what_is_typed_has_a_name_that_is_kept_secret():
    from django import forms

    import console.urls  # noqa: F401  # so that all forms are there
    from console.base.text.masking import is_secret_name

    def kinds(base):
        return [each for child in base.__subclasses__() for each in (child, *kinds(child))]

    hidden = {
        name
        for form in kinds(forms.BaseForm)
        if form.__module__.split(".")[0] in {"console", "jobs", "tables"}
        for name, field in getattr(form, "base_fields", {}).items()
        if isinstance(field.widget, forms.PasswordInput)
    }
    assert len(hidden) > 3
    assert [name for name in hidden if not is_secret_name(name)] == []


def test_a_request_that_is_shown_again_runs_only_when_it_is_sent(admin):
    client = signed_in(admin)
    session = client.session
    draft = drafts.Draft("/policies/add/", "/policies/add/", [[n, v] for n, v in RULE.items()] + [["do", "x"]], [])
    session["draft"] = draft.as_json() | {"at": time.time()}
    session.save()
    for _ in range(2):
        assert is_filled_in(client.get("/policies/add/").content.decode(), RULE), "it stays over a reload"
    assert not PolicyRule.objects.filter(name="my rule").exists()
    assert "What you entered" not in client.get("/policies/").content.decode(), "nor on other pages"
    assert client.post("/policies/add/", RULE, follow=True).status_code == 200
    assert PolicyRule.objects.filter(name="my rule").exists()
    assert "my rule" not in client.get("/policies/add/").content.decode()


def test_an_address_that_asks_for_something_else_gets_a_fresh_form_below_the_draft(admin):
    """A restore to another version, a schedule of another table: a draft must not stand in its place."""
    fields = [["name", "nightly"], ["command", "optimize"], ["table", "orders"]]
    client = kept_in(confirmed_browser(admin), drafts.Draft("/policies/add/", "/policies/add/?for=a%20b", fields, []))
    same = client.get("/policies/add/?for=a%20b").content.decode()
    assert "is filled in with it" in same
    other = client.get("/policies/add/?for=c").content.decode()
    assert "What you entered is still here." in other
    assert "is filled in with it" not in other
    assert 'name="name" value="nightly"' not in other.partition("<form")[2].partition('id="draft-discard"')[2]
    part = client.get("/policies/add/", headers={"HX-Current-URL": "http://testserver/policies/add/?for=a%20b"})
    assert 'value="nightly"' in part.content.decode(), "a part of the page knows where it stands"


def kept_in(client, draft, at=None):
    session = client.session
    session["draft"] = draft.as_json() | {"at": at or time.time()}
    session.save()
    return client


def test_a_form_that_its_page_can_t_fill_in_is_shown_whole_to_be_sent_or_discarded(admin):
    eve = factories.PersonFactory(name="eve")
    page = f"/people/{eve.pk}/"
    draft = drafts.Draft(f"{page}access/", page, [["active", "false"]], [])
    client = kept_in(confirmed_browser(admin), draft)
    shown = client.get(page).content.decode()
    assert "<dt>Active</dt>" in shown
    assert f'<form method="post" action="{page}access/">' in shown
    assert client.post("/account/draft/discard/", {"next": page})["Location"] == page
    assert "What you entered" not in client.get(page).content.decode()
    client = kept_in(client, draft, at=time.time() - 3700)
    assert "What you entered" not in client.get(page).content.decode(), "after an hour"


def test_a_form_takes_nothing_that_was_sent_to_another(admin):
    """The page of a person has several: a refused act of one leaves the others fresh."""
    answer = confirmed_browser(admin).post(f"/people/{admin.pk}/access/", {"active": "false", "sure": "yes"})
    assert answer.status_code == 409
    assert "lv-field-error" not in answer.content.decode()


def test_what_a_question_sends_on_is_no_draft(admin):
    answer = confirmed_browser(admin).post(f"/people/{admin.pk}/access/", {"active": "false"})
    assert answer.context["sent_on"] == [("active", "false")]
    assert "What you entered" not in answer.content.decode()


def test_a_swap_keeps_the_page_and_needs_no_draft(admin):
    client = ended(signed_in(admin))
    answer = send(client, *FORMS[1], **{"hx-request": "true"})
    assert answer["HX-Retarget"] == "#banners"
    assert "name=" not in answer.content.decode()


def strict(person):
    client = Client(enforce_csrf_checks=True)
    client.force_login(person)
    return client


@pytest.mark.parametrize(
    ("origin", "is_shown"), [("http://testserver", True), ("https://evil.example", False), ("", False)]
)
def test_a_form_from_before_the_new_sign_in_shows_what_was_entered_and_keeps_nothing(admin, origin, is_shown):
    client = strict(admin)
    answer = client.post(
        "/roots/add/", {**SECRETS, "csrfmiddlewaretoken": "x" * 64}, headers={"origin": origin} if origin else {}
    )
    assert answer.status_code == 403
    assert ("s3://bucket/landing" in answer.content.decode()) is is_shown
    assert "wJalrXUtnFEMI" not in answer.content.decode()
    assert "draft" not in client.session
