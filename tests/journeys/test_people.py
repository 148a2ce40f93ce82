"""People in real browsers: added by an admin, signing in for the first time, given a role, asked again, kept out."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect
from pytest_playwright import CreateContextCallback

from console.accounts import services
from console.accounts.authority import EVERYTHING
from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from tests import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NEW_PASSWORD = "a password of her own"


def sign_in(page: Page, server: str, name: str, password: str) -> None:
    page.goto(f"{server}/sign-in/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/sign-in/" not in url)


@pytest.fixture
def manager() -> Person:
    person = factories.PersonFactory(name="ada")
    services.grant(Actor.system("tests"), person, Role.ADMIN, EVERYTHING)
    return person


def add_person(page: Page, server: str, name: str) -> str:
    """Adds somebody on the page; returns the link with which they set their password."""
    page.goto(f"{server}/people/")
    page.get_by_label("Name").fill(name)
    page.keyboard.press("Enter")
    return page.get_by_label("The first link").inner_text()


def type_where_the_focus_is(page: Page, field: Locator, text: str) -> None:
    """A page that has been loaded gives it to the field a moment later."""
    expect(field).to_be_focused()
    page.keyboard.type(text)


def set_password(page: Page, link: str) -> None:
    page.goto(link)
    type_where_the_focus_is(page, page.locator("input[type=password]").first, NEW_PASSWORD)
    page.keyboard.press("Tab")
    page.keyboard.type(NEW_PASSWORD)
    page.keyboard.press("Enter")


def test_a_person_is_added_signs_in_gets_a_role_and_is_kept_out(
    server: str, manager: Person, context: BrowserContext, new_context: CreateContextCallback, faults: list[str]
) -> None:
    admin, hers = context.new_page(), new_context().new_page()
    sign_in(admin, server, manager.name, factories.PASSWORD)
    link = add_person(admin, server, "eve")

    set_password(hers, link)
    hers.wait_for_url(f"{server}/")

    admin.get_by_label("Role", exact=True).select_option("operator")
    admin.get_by_role("button", name="Give the role").click()
    admin.get_by_role("cell", name="operator", exact=True).wait_for()
    hers.goto(f"{server}/tables/")
    assert "/sign-in/" in hers.url, "her session ended with her new role"

    sign_in(hers, server, "eve", NEW_PASSWORD)
    hers.goto(f"{server}/tables/")
    assert hers.url == f"{server}/tables/"
    admin.get_by_role("button", name="Close the account…").click()
    admin.get_by_role("heading", name="Close the account of eve?").wait_for()
    admin.get_by_role("button", name="Close the account", exact=True).click()
    admin.get_by_text("Closed", exact=True).wait_for()
    hers.reload()
    assert "/sign-in/" in hers.url
    assert faults == []


def test_the_password_is_asked_for_again_and_leads_back(
    server: str, manager: Person, context: BrowserContext, faults: list[str]
) -> None:
    page = context.new_page()
    sign_in(page, server, manager.name, factories.PASSWORD)
    page.goto(f"{server}/confirm/?next=/people/")
    type_where_the_focus_is(page, page.get_by_label("Your password"), "not it")
    page.keyboard.press("Enter")
    page.get_by_text("Wrong password").wait_for()
    page.get_by_label("Your password").fill(factories.PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/people/")
    assert faults == []


def test_the_example_rule_is_switched_on(
    server: str, manager: Person, context: BrowserContext, faults: list[str]
) -> None:
    page = context.new_page()
    sign_in(page, server, manager.name, factories.PASSWORD)
    page.goto(f"{server}/policies/")
    page.get_by_role("button", name="Switch on: A whole table is seen by two").click()
    page.get_by_role("button", name="Switch off: A whole table is seen by two").wait_for()
    page.get_by_role("link", name="A whole table is seen by two").click()
    page.get_by_label("Approvals needed").fill("9")
    page.get_by_role("button", name="Save").click()
    assert page.get_by_label("Approvals needed").evaluate("field => field.validity.rangeOverflow")
    assert faults == []
