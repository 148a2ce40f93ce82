"""The reference of the API: every operation has its page, for everybody; whoever is signed in can try it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from html import unescape

import pytest
from django.test import Client
from django.urls import set_script_prefix

from console.accounts.roles import SCOPE_MEANS
from console.base.openapi import document
from console.pages.reference.curl import curl
from console.pages.reference.operations import by_slug, subjects
from tests.clients import Caller, browser
from tests.factories import PersonFactory, person_with
from tests.guards.routes import routes

HTML = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}  # as browsers ask
LINK = re.compile(r'href="([^"#]*)(#[^"]*)?"')


def page(client: Client, address: str) -> str:
    answer = client.get(address, headers=HTML)
    assert answer.status_code == 200, address
    assert answer["Content-Type"] == "text/html; charset=utf-8"
    return answer.content.decode()


def test_a_browser_gets_a_page_and_a_program_json(client: Client) -> None:
    assert "<h1>REST API</h1>" in page(client, "/api/v1/")
    for accept in ("*/*", "application/json"):
        answer = client.get("/api/v1/", headers={"accept": accept})
        assert answer.json() == {
            "name": "Levee",
            "version": "1",
            "documentation_url": "http://testserver/api/v1/",
            "schema_url": "http://testserver/api/v1/schema/",
            "me_url": "http://testserver/api/v1/me",
        }
        assert "Accept" in answer["Vary"]


def test_every_operation_has_its_page_without_a_session(client: Client) -> None:
    """Without the database, too."""
    listed = page(client, "/api/v1/")
    paths = {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}
    assert {(each.method, each.path) for each in by_slug().values()} == paths
    for slug, operation in by_slug().items():
        assert f'href="/help/api/{slug}/"' in listed
        text = page(client, f"/help/api/{slug}/")
        assert operation.address in unescape(text)
        assert "Sign in</a> to try it here" in text
        assert "<lv-try" not in text


def test_every_link_of_the_reference_leads_somewhere(client: Client) -> None:
    known: dict[str, str] = {}

    def text_of(address: str) -> str:
        if address not in known:
            known[address] = page(client, address) if not address.startswith("/static") else ""
        return known[address]

    for address in ["/api/v1/", *(f"/help/api/{slug}/" for slug in by_slug())]:
        for target, anchor in LINK.findall(text_of(address)):
            if target.startswith(("/static", "/sign-in", "/api/v1/schema")) or (target == "/" and not anchor):
                continue
            assert not anchor or f'id="{anchor[1:]}"' in text_of(target or address), (address, target, anchor)
            text_of(target or address)


def test_it_says_what_the_routes_ask_for() -> None:
    declared = {
        (route.method, re.sub(r"<\w+:(\w+)>", r"{\1}", route.address)): route for route in routes() if route.is_api
    }
    for operation in by_slug().values():
        route = declared[operation.method, operation.path]
        assert operation.is_public == route.is_public
        if operation.permissions:
            assert set(operation.permissions) == {asked.value for asked in route.requires}
            assert list(operation.roles) == [role.value for role in route.roles()]
        else:
            assert {asked.value for asked in route.requires} <= {"public", "signed_in", "any_token"}


def test_what_changes_nothing_is_told_from_what_does() -> None:
    questions = {each.slug for each in by_slug().values() if each.method != "GET" and not each.changes}
    assert questions == {
        *("conversions-inspect", "previews", "tables-rows", "tables-changes", "tables-check-files"),
        *("tables-profile", "tables-row-diff"),
    }
    assert not [each.slug for each in by_slug().values() if each.method == "GET" and each.changes]


@pytest.mark.django_db
def test_whoever_is_signed_in_can_try_it_and_a_change_asks_once_more() -> None:
    client = browser(PersonFactory(name="ines"))
    reading = page(client, "/help/api/jobs-list/")
    assert 'data-method="GET" data-address="/api/v1/jobs" data-changes="no"' in reading
    assert "data-yes" not in reading
    changing = page(client, "/help/api/jobs-approve/")
    assert 'data-address="/api/v1/jobs/{job_id}/approve" data-changes="yes"' in changing
    assert "it changes things in Levee, as ines" in changing
    assert "data-yes" in changing


def test_each_scope_is_explained(client: Client) -> None:
    text = page(client, "/api/v1/")
    for scope, meaning in SCOPE_MEANS.items():
        assert f"<dt><code>{scope.value}</code></dt><dd>{meaning}</dd>" in unescape(text)


@pytest.mark.django_db
def test_the_page_of_tokens_explains_scopes_and_leads_here() -> None:
    text = unescape(browser(PersonFactory()).get("/account/tokens/").content.decode())
    assert 'href="/api/v1/"' in text
    for scope, meaning in SCOPE_MEANS.items():
        assert f"{scope.value}: {meaning}" in text


@pytest.mark.django_db
def test_the_palette_finds_it() -> None:
    answer = browser(person_with(None)).get(
        "/find/", {"q": "swagger"}, headers={"HX-Request": "true", "HX-Target": "palette-list"}
    )
    assert 'href="/api/v1/"' in answer.content.decode()


def test_an_operation_that_is_none_is_404(client: Client, db: object) -> None:
    assert client.get("/help/api/no-such/").status_code == 404


def test_a_method_that_it_lacks_is_a_problem_for_a_browser_too(client: Client, db: object) -> None:
    answer = Caller(PersonFactory()).client.post("/api/v1/", headers=HTML)
    assert answer.status_code == 405
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "method_not_allowed"


@pytest.fixture
def below_a_path() -> Iterator[None]:
    set_script_prefix("/levee/")
    yield
    set_script_prefix("/")


def test_below_a_path_addresses_have_it(client: Client, below_a_path: None) -> None:
    text = page(client, "/help/api/me/")
    assert "http://testserver/levee/api/v1/me" in text
    assert 'href="/levee/api/v1/"' in text


@pytest.mark.parametrize(
    "slug", ["jobs-request", "streams-create", "roots-destroy", "tables-compare-retrieve", "jobs-withdraw"]
)
def test_a_shell_reads_the_command_as_it_is_meant(slug: str) -> None:
    """A program in curl's place prints what it got."""
    operation = by_slug()[slug]
    for body in [each.sample for each in operation.bodies] or [""]:
        script = 'curl() { for each in "$@"; do echo "$each"; done; case "$*" in *@-*) cat;; esac; }\n'
        ran = subprocess.run(
            ["sh", "-c", script + curl(operation, "https://levee.example.org/api/v1", body)],
            capture_output=True, text=True, check=True, env={"LEVEE_TOKEN": "lv_x"},
        )  # fmt: skip
        assert "Authorization: Bearer lv_x" in ran.stdout
        assert f"https://levee.example.org/api/v1{operation.address.partition('{')[0]}" in ran.stdout
        assert ran.stdout.endswith(f"{body}\n" if body else "") or not body
        assert ("-X" in ran.stdout.splitlines()) == (
            operation.method not in ("GET", "POST") or (operation.method == "POST" and not body)
        )


def test_subjects_are_in_reading_order() -> None:
    names = [subject.name for subject in subjects()]
    assert names[:2] == ["tables", "conversions"]
    assert names[-1] == "api"
