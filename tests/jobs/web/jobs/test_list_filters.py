"""The list of jobs is narrowed by table, command, person, day and reason; a table's own list stands under its header."""

import html
import re
from datetime import UTC, datetime

import pytest

from jobs.models import Job
from tests import factories
from tests.clients import browser, caller

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]


@pytest.fixture
def orders():
    return factories.TableFactory(name="orders", version=7, first_version=0)


@pytest.fixture
def jobs(orders):
    """Three jobs by what sets each apart: its table, its person, its command, its day and its reason."""
    sales = factories.TableFactory(name="sales", catalog_name="shop.sales", version=3)
    ines, ben = factories.person_named("ines", "operator"), factories.person_named("ben", "operator")
    return {
        "erasure": job(orders, ines, "delete", "Erase what request 4711 asks for", 1),
        "upkeep": job(orders, ben, "optimize", "Small files after the import", 2),
        "copy": job(sales, ines, "clone", "A copy for the audit", 3),
    }


def job(table, person, command, reason, day):
    made = factories.job("succeeded", table=table, requested_by=person, command=command, reason=reason)
    Job.objects.filter(pk=made.pk).update(requested_at=datetime(2026, 11, day, 23, 59, tzinfo=UTC))
    return made


def listed(answer) -> set[str]:
    return {row["reason"].split()[0] for row in answer.context["page"]["jobs"]}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"Erase", "Small", "A"}),
        ("command=optimize", {"Small"}),
        ("by=INES", {"Erase", "A"}),
        ("on=ORD", {"Erase", "Small"}),
        ("on=shop.", {"A"}),
        ("reason=request+4711", {"Erase"}),
        ("reason=100%25", set()),
        ("since=2026-11-02", {"Small", "A"}),
        ("until=2026-11-02", {"Erase", "Small"}),
        ("since=2026-11-02&until=2026-11-02&by=ben", {"Small"}),
        ("until=9999-12-31", {"Erase", "Small", "A"}),
    ],
)
def test_each_filter_narrows_the_list(jobs, query, found):
    answer = browser(factories.person_with("viewer")).get(f"/jobs/?{query}")
    assert answer.status_code == 200
    assert listed(answer) == found


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"by": "ines"}, {"erasure", "copy"}),
        ({"on": "ord"}, {"erasure", "upkeep"}),
        ({"reason": "SMALL"}, {"upkeep"}),
        ({"since": "2026-11-02T00:00:00Z"}, {"upkeep", "copy"}),
        ({"since": "2026-11-02T00:00:00Z", "until": "2026-11-02T23:59:00Z"}, set()),
        ({"until": "2026-11-03T01:59:00+02:00"}, {"erasure"}),
        ({"until": "2026-11-03T02:00:00+02:00", "by": "ben"}, {"upkeep"}),
    ],
)
def test_a_program_narrows_it_by_the_same(jobs, given, found):
    Job.objects.update(preview=None)  # as of one that has yet to be measured
    answer = caller("viewer").get("/jobs", **given)
    assert answer.status_code == 200, answer.content
    assert {job["id"] for job in answer.json()["results"]} == {str(jobs[name].pk) for name in found}


def test_what_is_no_time_is_refused():
    refused = caller("viewer").get("/jobs", since="yesterday")
    assert (refused.status_code, list(refused.json()["fields"])) == (400, ["since"])


@pytest.mark.parametrize("query", ["since=yesterday", "until=2026-13-01", "command=nonsense", "state=nonsense"])
def test_what_is_no_filter_is_said_at_its_field_and_the_others_hold(jobs, query):
    answer = browser(factories.person_with("viewer")).get(f"/jobs/?{query}&by=ben")
    assert answer.status_code == 400
    assert listed(answer) == {"Small"}
    assert 'class="lv-field-error"' in answer.content.decode()
    assert "What you entered is still here" not in answer.content.decode()  # a filter is no draft


def test_a_table_s_jobs_are_a_tab_of_it(jobs, orders):
    client = browser(factories.person_with("viewer"))
    answer = client.get(f"/jobs/?table={orders.pk}&by=ben")
    shown = html.unescape(answer.content.decode())
    assert listed(answer) == {"Small"}
    assert f'<a href="/jobs/?table={orders.pk}" aria-current="page">' in shown
    assert f'href="/tables/{orders.pk}/schema/"' in shown
    assert f'<input type="hidden" name="table" value="{orders.pk}">' in shown  # the next filter stays on the table
    assert 'name="on"' not in shown
    assert "No matching jobs" in client.get(f"/jobs/?table={orders.pk}&by=nobody").content.decode()
    Job.objects.all().delete()
    assert "No jobs on this table yet" in client.get(f"/jobs/?table={orders.pk}").content.decode()


def test_a_table_that_is_not_yours_is_not_told(jobs, orders):
    elsewhere = browser(factories.person_with("viewer", root=factories.RootFactory()))
    shown = elsewhere.get(f"/jobs/?table={orders.pk}").content.decode()
    assert "orders" not in shown
    assert re.search("<h1>Jobs</h1>", shown)


def test_a_filter_is_saved_with_all_its_parts(jobs):
    client = browser(factories.person_with("viewer"))
    query = "by=ines&command=clone&reason=copy&since=2026-11-01"
    client.post("/account/filters/", {"list": "jobs", "query": query, "name": "copies", "do": "save", "next": "/jobs/"})
    shown = html.unescape(client.get("/jobs/").content.decode())
    assert f'href="?{query}"' in shown
