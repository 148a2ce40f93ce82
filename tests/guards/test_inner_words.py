"""No page says a word of the inside: of the database, of Python, of the code's permissions, or of the engine alone.

All pages are asked for as they are, with wrong ids, and as forms: sent empty, and with values that nobody would send.
"""

from __future__ import annotations

import html
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.apps import apps
from django.conf import settings
from django.db import transaction
from django.test import Client

from console.accounts.roles import Permission
from console.audit.actions import Action
from tests import factories
from tests.factories import hostile as things_of
from tests.guards.routes import routes
from tests.guards.test_generated_page_requests import FORM, Asked, client_of, encoded
from tests.guards.test_hostile_texts import pages
from tests.guards.test_python_values import OPTION, PYTHON
from tests.guards.test_routes import filled
from tests.journeys.sample_server import rendered
from tests.journeys.samples import PAGES

ROOT = Path(__file__).parents[2]
OURS = ("console", "jobs", "tables")
SQL = "".join(path.read_text() for app in OURS for path in (ROOT / app).rglob("migrations/0*.py"))
CONSTRAINTS = {
    *(each.name for model in apps.get_models() for each in model._meta.constraints),
    *re.findall(r"\bconstraint (\w+_\w+)", SQL, re.IGNORECASE),
    *re.findall(r"\bunique index (?:if not exists )?(\w+_\w+)", SQL, re.IGNORECASE),
}
DATABASE = re.compile(
    rf"\b(?:{'|'.join(sorted(map(re.escape, CONSTRAINTS)))})\b|\b\w+_(?:fkey|pkey|uniq)\b|violates \w+(?: \w+)? constraint"
)
CODES = sorted({str(code.value) for code in Permission} - {str(action.value) for action in Action})
CODE = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, CODES))})(?![\w.])")
MORE_PYTHON = re.compile(
    r"\{'|<QuerySet|\bdatetime\.(?:date|time|datetime|timedelta)|=\"None\"|[?&;]\w+=None\b|\bErrorDict\b"
)
ENGINE = re.compile(r"(?<![\w$.])(?!LEVEE_)[A-Z]{3,}(?:_[A-Z]+)+(?![\w=])")
SENTENCE = re.compile(r"\w[\w’'“”,;:/() -]{12,}[.!?](?:\s|$)")
AROUND = 400  # characters beside an engine's condition in which its sentence stands
# What forms are sent with, in every field at once.
VALUES = ("'; drop table x; --", "9" * 30)
ODD_BODY = '{"name": "\'", "path": ["x"], "reason": {"a": null}, "version": "x", "command": "y"}'
DOCUMENTS_CODES = "/help/"


def inner_words(page: str) -> Iterator[str]:
    """What a page says that it should keep for itself."""
    source = html.unescape(OPTION.sub("", page))
    said = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^<>]+>", " ", OPTION.sub("", page))))
    for pattern, text in ((DATABASE, source), (PYTHON, source), (MORE_PYTHON, source), (CODE, said)):
        if found := pattern.search(text):
            yield text[max(found.start() - 60, 0) : found.end() + 60]
    for found in ENGINE.finditer(said):
        around = said[max(found.start() - AROUND, 0) : found.start()], said[found.end() : found.end() + AROUND]
        if not any(map(SENTENCE.search, around)):
            yield f"{found[0]} without a sentence"


@pytest.mark.parametrize(
    "page",
    [
        "<p>duplicate key: table_format_known</p>",
        '<p>violates foreign key constraint "x"</p>',
        "<td>jobs_job_table_id_fkey</td>",
        "<p>You need people.manage here.</p>",
        "<p>{'a': 1}</p>",
        "<p>{&#x27;a&#x27;: 1}</p>",
        "<dd>&lt;QuerySet [1]&gt;</dd>",
        "<dd> None </dd>",
        '<a href="?order=None">x</a>',
        "<p>datetime.datetime(2026, 1, 1)</p>",
        "<p>DELTA_TABLE_NOT_FOUND</p>",
        "<p>STREAM_FAILED</p>",
        "<dd>CAST_INVALID_INPUT</dd> <p>22018</p>",
    ],
)
def test_the_check_sees_such_a_word(page: str) -> None:
    assert list(inner_words(page))


@pytest.mark.parametrize(
    "page",
    [
        "<select><option>None</option></select>",
        "<p>Levee keeps the history of the table. None is lost.</p>",
        "<p>The table is no Delta table. <code>DELTA_MISSING_DELTA_TABLE</code></p>",
        "<p>people.managers and jobs</p>",
        "<p>LEVEE_HOME</p>",
    ],
)
def test_the_check_lets_plain_words_be(page: str) -> None:
    assert list(inner_words(page)) == []


class Crawl:
    """A browser of somebody who may do everything, and what its pages said; what a form does is taken back."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.session = client.cookies[settings.SESSION_COOKIE_NAME].value
        self.asked = 0
        self.found: dict[str, list[str]] = {}

    def get(self, address: str) -> str:
        return self._read("GET", address, lambda: self.client.get(address))

    def post(self, address: str, text: str = "") -> None:
        self._read("POST", f"{address} {text[:40]}", lambda: self.client.post(address, text, content_type=FORM))

    def _read(self, method: str, what: str, ask: Callable[[], Any]) -> str:
        self.client.cookies.clear()  # the same session each time: what a form did to it is taken back
        self.client.cookies[settings.SESSION_COOKIE_NAME] = self.session
        with transaction.atomic():
            answer = ask()
            transaction.set_rollback(True)
        if not answer.headers.get("Content-Type", "").startswith("text/html"):
            return ""
        self.asked += 1
        page: str = answer.content.decode()
        words = list(inner_words(page)) if DOCUMENTS_CODES not in what else []
        if words or answer.status_code >= 500:
            self.found[f"{method} {what} {answer.status_code}"] = words
        return page


@pytest.fixture
def things(db: None, tmp_path: Path, redis_server: object, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """One of everything, with plain texts: what a page makes of hostile ones is another guard's."""
    for name in ("hostile", "hostile_whole"):
        monkeypatch.setattr(things_of, name, lambda what: f"some {what}")
    person = factories.person_named("ada", "admin", "operator", "auditor", "approver")
    return {"person": person, **things_of.everything(tmp_path, person)}


def wrong(address: str) -> str:
    """The address with ids that nothing has."""
    nothing = {"uuid": str(uuid.UUID(int=7)), "int": "999999", "short_id": "ffffffff"}
    return re.sub(r"<(\w+):\w+>", lambda part: nothing.get(part[1], "nothing"), address)


def test_no_page_says_a_word_of_the_inside(things: dict[str, Any]) -> None:
    crawl = Crawl(client_of(things.pop("person")))
    fields = {}
    for address in pages():
        whole = quote(filled(address, things))
        fields[whole] = Asked(crawl.get(whole)).names - {"csrfmiddlewaretoken"}
        if "<" in address:
            crawl.get(wrong(address))
            crawl.post(wrong(address))
    every = set().union(*fields.values())
    forms = [whole for whole in fields if "POST" in crawl.client.put(whole).headers.get("Allow", "")]
    for whole in forms:
        crawl.post(whole)
        for value in VALUES:
            crawl.post(whole, encoded({name: [value] for name in sorted(fields[whole] or every)}))
    assert crawl.found == {}
    assert (len(forms) > 60, crawl.asked > 250) == (True, True)


def test_no_sample_says_one() -> None:
    documented = {name for name in PAGES if name.startswith("reference")}  # which permission an operation asks for
    said = {name: list(inner_words(rendered(name, "light"))) for name in sorted(set(PAGES) - documented)}
    assert {name: words for name, words in said.items() if words} == {}


def test_no_refusal_of_the_api_says_one(things: dict[str, Any]) -> None:
    client = client_of(things.pop("person"))
    found = {}
    for route in routes():
        if not route.is_api or route.method is None or "/schema/" in route.address:
            continue
        bodies = ["{}"] if route.method == "GET" else ["{}", ODD_BODY]
        asked = [(quote(filled(route.address, things)), body) for body in bodies] + [(wrong(route.address), "{}")]
        for address, body in asked:
            with transaction.atomic():
                answer = client.generic(route.method, address, body, content_type="application/json")
                transaction.set_rollback(True)
            if answer.status_code >= 400 and (words := list(inner_words(answer.content.decode()))):
                found[f"{route.method} {address} {answer.status_code}"] = words
    assert found == {}
