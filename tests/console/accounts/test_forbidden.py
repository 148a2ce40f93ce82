"""A refusal for want of a role names the role, on what, and who can give it: never a permission of the code."""

import re

import pytest

from console.accounts.admins import either, role_needed
from console.accounts.roles import Permission
from tests import factories
from tests.clients import Caller, browser, caller

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
INSIDE = re.compile("|".join(re.escape(permission.value) for permission in Permission))


@pytest.fixture(autouse=True)
def ada():
    return factories.person_named("ada", "admin")


@pytest.mark.parametrize(
    ("address", "role", "says"),
    [
        ("/people/", "viewer", "You need the role admin for this. ada can give it to you."),
        ("/tables/add/", "viewer", "You need the role operator or admin for this."),
        ("/workers/", "viewer", "You need the role"),
    ],
)
def test_a_page_says_the_role_and_who_gives_it(address, role, says):
    answer = browser(factories.person_with(role)).get(address)
    page = answer.content.decode()
    assert answer.status_code == 403
    assert says in page
    assert not INSIDE.search(page.partition("<main")[2])


@pytest.mark.parametrize(
    ("method", "path", "says"),
    [
        ("get", "/people", "You need the role admin for this. ada can give it to you."),
        ("post", "/tables/{table}/sync", "You need the role operator for this."),
        ("post", "/roots/{root}/scan", "You need the role operator for this."),
    ],
)
def test_the_api_says_so_in_its_detail_and_keeps_its_code(method, path, says):
    table = factories.TableFactory()
    answer = getattr(caller("viewer"), method)(path.format(table=table.pk, root=table.root_id))
    assert answer.status_code == 403
    assert answer.json()["code"] == "forbidden"
    assert says in answer.json()["detail"]


def test_who_has_the_role_elsewhere_is_told_where_it_is_needed():
    table = factories.TableFactory(name="sales")
    person = factories.person_with("operator", root=factories.RootFactory())
    factories.GrantFactory(person=person, role="viewer", root=table.root)
    answer = Caller(person, "read", "request").post(f"/tables/{table.pk}/sync")
    assert answer.json()["detail"] == "You need the role operator on sales for this. ada can give it to you."


def test_the_sentence():
    assert role_needed(Permission.TABLE_READ) == "You need a role for this. ada can give it to you."
    factories.person_named("bea", "admin")
    assert role_needed(Permission.JOB_DECIDE, where="sales") == (
        "You need the role approver on sales for this. ada or bea can give it to you."
    )
    assert either(["a", "b", "c"]) == "a, b or c"


def test_without_any_admin_it_names_nobody(ada):
    ada.grants.all().delete()
    assert role_needed(Permission.PEOPLE_MANAGE) == "You need the role admin for this. An admin can give it to you."
