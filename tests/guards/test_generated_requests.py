"""Requests that nobody would write, against every operation of the OpenAPI document: no server error, no undocumented answer (F12)."""

import json
import os
import re
from urllib.parse import quote, urlencode

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.accounts.roles import Role
from console.base.openapi import document
from tables.catalog import listing
from tables.models import ObjectStore
from tests import factories
from tests.clients import Caller, browser, caller

pytestmark = pytest.mark.django_db

EXAMPLES = 100 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 12  # of each operation
TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["", "\x00", "\ud800", "0", "-1", "1e9", "9" * 25, "null", "true", "@v1", "everything", "root:lake", "/etc",
         "p=1", "2026-01-01", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00",
         "WzAsIjEiLCIyIl0", "WzAsOTk5OTk5OTk5OTk5OTk5OTk5OTk5OTldCg",
         "WzAsIlx1ZDgwMCIsIjAwMDAwMDAwLTAwMDAtMDAwMC0wMDAwLTAwMDAwMDAwMDAwMSJd", "convert", "parquet", "running", "name", "%", "'; --",
         "s3://lake-of-tests/sales", "s3://lake-of-tests/sales/orders", "http://127.0.0.1:9", "http://host.7", "http://xn--a.com"]
    ),
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


REPEATED = [f"{name}=%00&{name}=x" for name in (*listing.GROUPS, "q", "order", "stale")] + [
    "cursor=WzAsIlx1ZDgwMCIsIjAwMDAwMDAwLTAwMDAtMDAwMC0wMDAwLTAwMDAwMDAwMDAwMSJd",
    "cursor=WzAsIlx1ZDgwMCIsIjAwMDAwMDAwLTAwMDAtMDAwMC0wMDAwLTAwMDAwMDAwMDAwMSJd&order=-changed",
    "q=a&cursor=WzAsMCwiXHVkODAwIiwiMDAwMDAwMDAtMDAwMC0wMDAwLTAwMDAtMDAwMDAwMDAwMDAxIl0",
]


def operations():
    whole = document()
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            yield pytest.param(whole, path, method, operation, id=f"{method} {path}")


def fields_of(document, schema):
    """The fields that a schema names, each with its own; empty for what is no object."""
    named = [
        ref["$ref"].rsplit("/", 1)[1] for key in ("oneOf", "allOf") for ref in schema.get(key, []) if "$ref" in ref
    ]
    named += [schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else []
    return {
        field: inner
        for name in named
        for field, inner in document["components"]["schemas"][name].get("properties", {}).items()
    }


def body_of(document, schema, depth=2):
    """Objects with the schema's fields, and some unknown ones, with any values; those of an object in it likewise."""
    fields = fields_of(document, schema)
    inner = [body_of(document, each, depth - 1) for each in fields.values() if depth and fields_of(document, each)]
    return st.dictionaries(st.sampled_from([*fields, "x"]), st.one_of(VALUES, *inner), max_size=len(fields) + 1)


def request_of(document, operation):
    """Strategies for the query and the body: known names with any values, and some unknown ones."""
    known = [p["name"] for p in operation.get("parameters", []) if p["in"] == "query" and p["name"] != "wait"]
    values = st.lists(TEXTS, min_size=1, max_size=2)
    query = st.dictionaries(st.sampled_from([*known, "limit", "cursor", "x"]), values, max_size=4)
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    return st.tuples(query, body_of(document, content) | VALUES)


@pytest.fixture(scope="module")
def made(rows_of_module, tmp_path_factory):
    """A person with all roles, a client of each role's, and the values that addresses name things by: by two roots."""
    place = tmp_path_factory.mktemp("lake")
    (place / "orders").mkdir()
    with rows_of_module():
        lake = factories.RootFactory(name="lake", uri=str(place))
        person, clients = callers()
        ids = ids_of(lake, person)
        return clients, (ids, ids | {"root_id": bucket().pk})


ROLES = (Role.VIEWER, Role.OPERATOR, Role.APPROVER, Role.ADMIN)


def callers():
    """A client of each role's, and of a person with all of them."""
    person = factories.PersonFactory()
    for role in Role:
        factories.GrantFactory(person=person, role=role)
    return person, {"all": Caller(person).client} | {role: caller(role).client for role in ROLES}


def bucket():
    """A root in an object store that doesn't answer."""
    ObjectStore.objects.create(
        bucket="lake-of-tests", endpoint="http://127.0.0.1:9", region="us-east-1", path_style=True
    )
    return factories.RootFactory(name="stored", uri="s3://lake-of-tests/sales")


def ids_of(lake, person):
    table = factories.TableFactory(root=lake, name="orders")
    return {
        "root_id": lake.pk, "table_id": table.pk, "job_id": factories.job(table=table).pk, "version": 0,
        "read_id": factories.read(person, question={"path": table.path}).pk, "worker_id": factories.WorkerFactory().pk,
        "token_id": factories.token_row(person).pk, "person_id": person.pk, "grant_id": factories.GrantFactory().pk,
        "stream_id": factories.stream(table, person).pk, "schedule_id": factories.schedule(table, person).pk,
        "notice_id": factories.notice().pk, "policy_id": factories.PolicyRuleFactory().pk, "event_id": factories.event(table).pk,
        "database": "shop", "sign_in_id": factories.sign_in()[0].pk,
    }  # fmt: skip


def filled(path, ids):
    return re.sub(r"{(\w+)}", lambda m: str(ids[m[1]]), path)


@pytest.mark.parametrize("query", REPEATED)
@pytest.mark.parametrize("address", ["/api/v1/tables", "/tables/"])
def test_a_list_of_tables_answers_odd_values_in_any_place(address, query, made, redis_server):
    client = browser(factories.person_with("viewer")) if address == "/tables/" else made[0]["all"]
    client.raise_request_exception = False
    assert client.get(f"{address}?{query}").status_code in {200, 400}


@pytest.mark.parametrize(("document", "path", "method", "operation"), list(operations()))
def test_it_answers_anything_as_documented(document, path, method, operation, made, redis_server):
    clients, known = made
    addresses = {filled(path, ids) for ids in known}
    documented = set(operation["responses"])

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(["all", "all", *ROLES]), st.sampled_from(sorted(addresses)), request_of(document, operation))
    def answers(role, address, asked):
        client, (query, body) = clients[role], asked
        client.raise_request_exception = False
        named = [(name, value.encode("utf-8", "surrogatepass")) for name, values in query.items() for value in values]
        text = urlencode(named, quote_via=quote)
        with transaction.atomic():
            answer = client.generic(
                method.upper(), f"{address}?{text}", json.dumps(body), content_type="application/json"
            )
            transaction.set_rollback(True)
        status = str(answer.status_code)
        assert status in documented or (status[0] == "4" and "4XX" in documented), (
            role,
            address,
            asked,
            answer.content,
        )
        if status[0] in "45":
            assert answer["content-type"] == "application/problem+json"
            assert answer.json()["status"] == answer.status_code

    answers()
