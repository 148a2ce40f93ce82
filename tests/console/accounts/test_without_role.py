"""A person without a role is told so on every page, and whom to ask; nobody is told to do what they may not do."""

import pytest

from console.accounts.admins import NAMED, admin_names
from tests import factories
from tests.clients import browser

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _redis(redis_server):
    pass


@pytest.mark.parametrize("address", ["/", "/tables/", "/jobs/", "/streams/", "/account/tokens/", "/help/"])
def test_who_has_no_role_is_told_whom_to_ask_by_name(address):
    for name in ("bea", "ada"):
        factories.person_named(name, "admin")
    factories.person_named("olga", "operator")
    factories.GrantFactory(person=factories.person_named("rita"), role="admin", root=factories.RootFactory())
    page = browser(factories.person_with(None)).get(address)
    html = page.content.decode()
    if page.status_code == 200:
        assert (
            "You have no role yet.</strong> Ask an admin for one: ada, bea. Until then you see no tables and no jobs."
            in html
        )
    assert "Add one by its path" not in html
    assert "/tables/add/" not in html.partition("<main")[2].partition("</main>")[0]


@pytest.mark.parametrize("role", ["viewer", "operator", "approver", "auditor", "admin"])
def test_who_has_one_is_not(role):
    html = browser(factories.person_with(role)).get("/").content.decode()
    assert "You have no role yet" not in html
    assert ("Add one by its path" in html) is (role == "operator")


def test_a_few_admins_are_named_and_no_closed_account():
    for number in range(NAMED + 3):
        factories.person_named(f"admin{number}", "admin")
    closed = factories.person_named("aaa", "admin")
    closed.is_active = False
    closed.save()
    assert admin_names() == [f"admin{number}" for number in range(NAMED)]


def test_without_any_admin_the_sentence_names_nobody():
    html = browser(factories.person_with(None)).get("/").content.decode()
    assert "Ask an admin for one. Until then" in html
