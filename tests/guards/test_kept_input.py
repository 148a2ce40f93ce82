"""What was entered in a form outlives the session that ended meanwhile: every form of every page, or the page says it above the form."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory

from console.accounts import devices
from console.accounts.models import Person
from console.accounts.sign_in import drafts
from tests import factories
from tests.clients import confirmed_browser
from tests.factories import hostile as hostile_things
from tests.guards.test_hostile_texts import pages
from tests.guards.test_routes import filled

TYPED = {"text", "search", "number", "url", ""}
FOLLOWS = {
    ("/tables/<uuid:table_id>/delete/", "value")
}  # a condition's rows follow its text, where both were typed at once


@dataclass
class Form:
    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)


class Forms(HTMLParser):
    """The forms of a page that are posted and hold something to type, filled in."""

    def __init__(self, html: str, page: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._form: Form | None = None
        self._page = page
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = Form(given.get("action") or self._page) if given.get("method") == "post" else None
            self.found += [self._form] if self._form else []
        elif self._form and given.get("name") and "disabled" not in given and "⟨" not in given["name"]:
            self._field(self._form, tag, given)

    def _field(self, form: Form, tag: str, given: dict[str, str]) -> None:
        kind = given.get("type", "")
        if tag == "textarea" or (tag == "input" and kind in TYPED):
            form.typed.append(f"entered{len(form.typed)}in")
            form.fields.append((given["name"], form.typed[-1]))
        elif tag == "input" and (kind == "hidden" or "checked" in given):
            form.fields.append((given["name"], given.get("value", "on")))
        elif tag == "button" and given.get("value"):
            form.fields.append((given["name"], given["value"]))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None


@pytest.fixture
def person(db: None) -> Person:
    """Somebody who may see and do everything."""
    return factories.person_named("ada", "admin", "operator", "auditor", "approver")


@pytest.fixture
def things(tmp_path: Path, person: Person, redis_server: object) -> dict[str, Any]:
    return hostile_things.everything(tmp_path, person)


@pytest.fixture
def device(person: Person) -> str:
    """The cookie of a browser in which the person has signed in before."""
    response = HttpResponse()
    devices.remember(RequestFactory().get("/"), response, person)
    return response.cookies[settings.DEVICE_COOKIE_NAME].value


def test_every_form_s_input_comes_back(person: Person, things: dict[str, Any], device: str) -> None:
    client, lost, checked = confirmed_browser(person), [], 0
    for address in pages():
        page = quote(filled(address, things))
        answer = client.get(page)
        if answer.status_code != 200 or not answer.headers["Content-Type"].startswith("text/html"):
            continue
        for form in Forms(answer.content.decode(), page).found:
            if not form.typed:
                continue
            checked += 1
            sealed = sent_without_a_session(form, page, device)
            shown = comes_back(client, person, sealed, page) if sealed else ""
            lost += [(address, name) for name, text in form.fields if text in form.typed and text not in shown]
    assert set(lost) == FOLLOWS
    assert checked > 30


def sent_without_a_session(form: Form, page: str, device: str) -> str:
    stranger = Client()
    stranger.cookies[settings.DEVICE_COOKIE_NAME] = device
    data: dict[str, list[str]] = {}
    for name, value in form.fields:
        data.setdefault(name, []).append(value)
    answer = stranger.post(form.action, data, headers={"referer": f"http://testserver{page}"})
    assert answer.status_code in {302, 403}, form.action
    return answer.context["draft"] if answer.status_code == 403 else ""


def comes_back(client: Client, person: Person, sealed: str, page: str) -> str:
    draft = drafts.unseal(sealed, person)
    assert draft
    assert urlsplit(draft.page).path == page
    session = client.session
    session["draft"] = draft.as_json() | {"at": time.time()}
    session.save()
    answer = client.get(page)
    assert answer.status_code == 200, page
    session = client.session
    del session["draft"]
    session.save()
    return answer.content.decode()
