"""A page or list with many rows asks the database as often as one with few."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import factories
from tests.clients import browser, caller

pytestmark = pytest.mark.django_db

PAGES = {
    "/": 20,
    "/jobs/": 12,
    "/tables/": 20,
    "/people/": 10,
    "/policies/": 10,
    "/workers/": 14,
    "/account/tokens/": 10,
}
CALLS = {
    "/jobs": 8,
    "/tables": 8,
    "/people": 8,
    "/grants": 8,
    "/policies": 8,
    "/tokens": 6,
    "/workers": 12,
    "/roots": 6,
}


def everybody():
    person = factories.PersonFactory()
    for role in ("admin", "operator", "auditor"):
        factories.GrantFactory(person=person, role=role)
    return person


def more(person, number):
    """As many of everything again."""
    for _ in range(number):
        job = factories.job("running", requested_by=person)
        factories.job("succeeded", requested_by=person)
        factories.GrantFactory(root=job.table.root, role="viewer")
        factories.GrantFactory(table=job.table, role="viewer")
        factories.WorkerFactory()
        factories.token_row(person)
        factories.PolicyRuleFactory(scope="root", root=job.table.root, changed_by=person)
        factories.PolicyRuleFactory(scope="table", table=job.table)


def queries(client, path):
    with CaptureQueriesContext(connection) as seen:
        answer = client.get(path)
    assert answer.status_code == 200
    return [query["sql"] for query in seen]


@pytest.mark.parametrize(("path", "most"), [*PAGES.items(), *((f"/api/v1{p}", n) for p, n in CALLS.items())])
def test_it_asks_as_often_for_many_rows_as_for_few(path, most, redis_server):
    person = everybody()
    client = caller("admin").client if path.startswith("/api") else browser(person)
    more(person, 2)
    queries(client, path)  # the first call notes the token's use
    few = queries(client, path)
    more(person, 6)
    many = queries(client, path)
    assert len(many) == len(few), "\n".join(many)
    assert len(few) <= most, "\n".join(few)
