"""The short ids that pages show lead to their jobs: in addresses, in the list and in the API's filter."""

import uuid

import pytest

from tests import factories
from tests.clients import Caller, browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer(redis_server):
    return factories.person_with("viewer")


def job(beginning, table=None, **more):
    number = uuid.UUID(f"{beginning}{uuid.uuid4().hex}"[:32])
    return factories.job(pk=number, **({"table": table} if table else {}), **more)


@pytest.mark.parametrize("length", [8, 9, 13, 20, 35])
def test_a_page_is_found_by_the_beginning_of_its_id(viewer, length):
    one = job("3582c178")
    job("3582c177")
    answer = browser(viewer).get(f"/jobs/{str(one.pk)[:length]}/")
    assert (answer.status_code, answer["Location"]) == (302, f"/jobs/{one.pk}/")


def test_where_several_begin_so_they_are_listed(viewer):
    both = [job("3582c178"), job("3582c178")]
    job("4582c178")
    client = browser(viewer)
    answer = client.get("/jobs/3582c178/", follow=True)
    html = answer.content.decode()
    assert answer.redirect_chain == [("/jobs/?id=3582c178", 302)]
    assert [f'/jobs/{each.pk}/"' in html for each in both] == [True, True]
    assert "/jobs/4582c178" not in html


@pytest.mark.parametrize(
    "address", ["/jobs/00000000/", "/jobs/3582c17/", "/jobs/3582c178-zz/", "/jobs/3582C178/", "/jobs/3582c178--/"]
)
def test_what_begins_no_id_is_not_found(viewer, address):
    job("4582c178")
    assert browser(viewer).get(address).status_code == 404


def test_it_leads_nobody_to_what_they_may_not_see(viewer):
    one = job("3582c178")
    stranger = factories.person_with("viewer", root=factories.RootFactory())
    assert browser(stranger).get("/jobs/3582c178/").status_code == 404
    assert Caller(stranger).get("/jobs", id="3582c178").json()["results"] == []
    assert [row["id"] for row in Caller(viewer).get("/jobs", id="3582c178").json()["results"]] == [str(one.pk)]


def test_the_api_lists_by_it(viewer):
    one, program = job("3582c178", folded=True), Caller(viewer)
    for given in ("3582c178", "3582C178", str(one.pk), one.pk.hex, str(one.pk)[:20]):
        assert [row["id"] for row in program.get("/jobs", id=given).json()["results"]] == [str(one.pk)], given
    assert program.get("/jobs", id="00000000").json()["results"] == []
    for wrong in ("3582c17", "orders00", "3582c178%"):
        assert program.get("/jobs", id=wrong).status_code == 400
    assert program.get(f"/jobs/{one.pk}").status_code == 200
