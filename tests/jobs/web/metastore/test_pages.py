"""The metastore's pages: databases, the tables of one to select, and what became of them."""

import pytest

from jobs.models import Read
from tests import factories
from tests.clients import browser
from tests.factories import person_with
from tests.jobs.web.metastore.conftest import ADDRESS, entry, page

pytestmark = pytest.mark.django_db


@pytest.fixture
def lake():
    return factories.RootFactory(name="lake", uri="/lake")


@pytest.fixture
def operator(lake):
    return person_with("operator")


def now_answered(read, **changes):
    Read.objects.filter(pk=read.pk).update(**{"state": "answered", **changes})


def text(answer):
    return " ".join(answer.content.decode().split())


def test_adding_leads_to_the_metastore_only_where_there_is_one(operator, configured):
    assert "/tables/metastore/" in text(browser(operator).get("/tables/add/"))


def test_without_one_nothing_leads_there(operator):
    assert "/tables/metastore/" not in text(browser(operator).get("/tables/add/"))


def test_the_page_polls_until_spark_has_answered(operator, configured):
    client = browser(operator)
    shown = text(client.get("/tables/metastore/"))
    assert f'hx-get="/tables/metastore/answers/{Read.objects.get().pk}/"' in shown
    now_answered(Read.objects.get(), answer={"databases": ["default", "shop"]})
    part = text(client.get(f"/tables/metastore/answers/{Read.objects.get().pk}/"))
    assert 'href="/tables/metastore/shop/"' in part
    assert "hx-get" not in part


def test_tables_to_add_have_a_box_and_the_others_a_reason(operator, configured):
    client = browser(operator)
    client.get("/tables/metastore/shop/")
    now_answered(Read.objects.get(), answer=page(entry("orders", "/lake/orders"), entry("seen", None, None, "view")))
    part = text(client.get(f"/tables/metastore/answers/{Read.objects.get().pk}/"))
    assert part.count('type="checkbox"') == 1
    assert "A view has no files." in part
    assert "Add all 1" in part


def test_a_metastore_that_is_away_is_said_on_the_page(operator, configured):
    client = browser(operator)
    client.get("/tables/metastore/")
    line = f"LEVEE_METASTORE: the metastore at {ADDRESS} doesn’t answer: Connection refused"
    problem = {"status": 503, "code": "metastore_away", "detail": line, "engine": None}
    now_answered(Read.objects.get(), state="failed", problem=problem)
    part = text(client.get(f"/tables/metastore/answers/{Read.objects.get().pk}/"))
    assert line in part
    assert "nothing else waits for the metastore" in part


def test_selected_tables_are_added_by_the_light_worker(operator, configured, with_spark):
    client = browser(operator)
    answer = client.post("/tables/metastore/shop/", {"name": ["orders", "raw"]})
    read = Read.objects.get()
    assert (read.kind, read.question) == ("metastore_add", {"database": "shop", "names": ["orders", "raw"]})
    assert answer["Location"] == f"/tables/metastore/added/{read.pk}/"
    assert "Adding" in text(client.get(answer["Location"]))
    found = {"database": "shop", "tables": 2, "added": 1, "named": 0, "known": 0, "refusals": 1}
    now_answered(
        read, answer={**found, "refused": [{"name": "raw", "code": "no_table", "detail": "There is nothing."}]}
    )
    assert "There is nothing." in text(client.get(answer["Location"]))


def test_nothing_selected_adds_nothing(operator, configured):
    assert browser(operator).post("/tables/metastore/shop/", {}).status_code == 302
    assert not Read.objects.exists()


def test_who_may_add_no_more_gets_a_part_that_stops_polling(operator, configured):
    client = browser(operator)
    client.get("/tables/metastore/")
    polled = f"/tables/metastore/answers/{Read.objects.get().pk}/"
    operator.grants.all().delete()
    answer = client.get(polled, HTTP_HX_REQUEST="true")
    assert answer.status_code == 200
    assert "you no longer have access" in text(answer)
    assert "hx-get" not in text(answer)
    assert client.get(polled).status_code == 403


def test_another_persons_answer_is_not_shown(operator, configured):
    browser(operator).get("/tables/metastore/")
    other = browser(person_with("operator"))
    assert other.get(f"/tables/metastore/answers/{Read.objects.get().pk}/").status_code == 404


@pytest.mark.parametrize("cursor", ["%00", "a" * 257])
def test_a_cursor_that_no_answer_names_is_refused(operator, configured, cursor):
    assert browser(operator).get(f"/tables/metastore/shop/?cursor={cursor}").status_code == 400
    assert not Read.objects.exists()
