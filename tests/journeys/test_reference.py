"""Trying the API on its own pages: a read at once, a change on a second word, what goes on from an answer, and nothing that runs."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from console.accounts.models import Person, Token
from tests import factories
from tests.journeys.test_people import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ines() -> Person:
    person = factories.PersonFactory(name="ines")
    factories.GrantFactory(person=person, role="operator")
    return person


@pytest.fixture
def page(server: str, ines: Person, context: BrowserContext, faults: list[str]) -> Page:
    """A page of hers, signed in."""
    page = context.new_page()
    sign_in(page, server, ines.name, factories.PASSWORD)
    return page


def test_a_read_is_sent_at_once_and_its_answer_is_text(
    server: str, page: Page, faults: list[str], axe_findings: Callable[[Page], list[str]]
) -> None:
    table = factories.TableFactory(name="<img src=x onerror=alert(1)>")
    page.goto(f"{server}/help/api/tables-retrieve/")
    page.get_by_role("button", name="Send as ines").click()
    expect(page.get_by_label("table_id")).to_be_focused()  # the browser asks for what is required
    page.get_by_label("table_id").fill(str(table.pk))
    page.keyboard.press("Enter")
    expect(page.get_by_text("200 OK after")).to_be_visible()
    assert json.loads(page.get_by_role("region", name="The answer").inner_text())["name"] == table.name
    assert axe_findings(page) == []
    assert faults == []


@pytest.mark.parametrize(
    ("content_type", "body", "shown"),
    [
        (
            "application/json",
            '{"rows":[[9007199254740993,1.0]]}',
            '"rows": [\n    [\n      9007199254740993,\n      1.0\n    ]',
        ),
        ("application/x-ndjson", '{"sequence":1}\n{"sequence":2}\n', '{"sequence":1}\n{"sequence":2}'),
    ],
    ids=["a long number", "lines of JSON"],
)
def test_an_answer_is_shown_as_it_came(server: str, page: Page, content_type: str, body: str, shown: str) -> None:
    page.goto(f"{server}/help/api/jobs-list/")
    page.route("**/api/v1/jobs*", lambda route: route.fulfill(status=200, content_type=content_type, body=body))
    page.get_by_role("button", name="Send as ines").click()
    expect(page.get_by_text("200 OK after")).to_be_visible()
    assert shown in page.get_by_role("region", name="The answer").inner_text()


def test_a_choice_and_a_list_go_into_the_query(server: str, page: Page) -> None:
    page.goto(f"{server}/help/api/jobs-list/")
    page.get_by_label("state").select_option("queued")
    page.get_by_label("limit").fill("7")
    with page.expect_request("**/api/v1/jobs?**") as sent:
        page.get_by_role("button", name="Send as ines").click()
    assert sent.value.url == f"{server}/api/v1/jobs?limit=7&state=queued"
    page.goto(f"{server}/help/api/tables-list/")
    page.get_by_label("tag").fill("a, b")
    with page.expect_request("**/api/v1/tables?**") as sent:
        page.get_by_role("button", name="Send as ines").click()
    assert sent.value.url == f"{server}/api/v1/tables?tag=a&tag=b"


def test_a_change_is_shown_first_and_sent_on_a_second_word(
    server: str, page: Page, faults: list[str], axe_findings: Callable[[Page], list[str]]
) -> None:
    page.goto(f"{server}/help/api/tokens-add/")
    send, body = page.get_by_role("button", name="Send as ines…"), page.get_by_label("Body", exact=True)
    question = page.get_by_role("group", name="Before it is sent")
    send.click()
    expect(question).to_be_focused()
    expect(question).to_contain_text("POST /api/v1/tokens")
    assert axe_findings(page) == []
    question.get_by_role("button", name="Don’t send").click()
    expect(question).to_be_hidden()
    expect(send).to_be_focused()
    send.click()
    body.fill('{"label": "another"}')
    expect(question).to_be_hidden()  # it was about the other body
    send.click()
    assert not Token.objects.exists()
    question.get_by_role("button", name="Send it").click()
    expect(page.get_by_text("201 Created after")).to_be_visible()
    assert Token.objects.get().label == "another"
    assert faults == []


def test_a_refusal_says_why_and_leads_to_the_password(server: str, page: Page, context: BrowserContext) -> None:
    page.goto(f"{server}/help/api/tokens-add/")
    page.route(
        "**/api/v1/tokens",
        lambda route: route.fulfill(
            status=403,
            content_type="application/problem+json",
            body='{"code": "step_up_required", "confirm_url": "/confirm/", "purpose": "token"}',
        ),
    )
    page.get_by_role("button", name="Send as ines…").click()
    page.get_by_role("button", name="Send it").click()
    page.get_by_role("link", name="Enter your password again, and come back").click()
    page.wait_for_url("**/confirm/?next=%2Fhelp%2Fapi%2Ftokens-add%2F&for=token")


def test_an_answer_that_is_on_its_way_is_asked_for(server: str, page: Page) -> None:
    page.goto(f"{server}/help/api/conversions-inspect/")
    page.route(
        "**/api/v1/conversions/inspect*",
        lambda route: route.fulfill(
            status=202, json={"id": "x", "state": "waiting", "result_url": f"{server}/api/v1/reads/x"}
        ),
    )
    page.route("**/api/v1/reads/x", lambda route: route.fulfill(json={"num_files": 3}))
    page.get_by_role("button", name="Send as ines").click()
    page.get_by_role("link", name="Get the result").click()
    expect(page.get_by_role("region", name="The answer")).to_contain_text('"num_files": 3')
