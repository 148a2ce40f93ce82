"""The OpenAPI document is complete, valid and of the routes that there are."""

import re

import pytest
from django.test import RequestFactory
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.validation import validate_schema
from rest_framework.request import Request

from console.base.openapi import PROBLEM
from tests.clients import caller
from tests.factories import person_with
from tests.guards.routes import routes


@pytest.fixture(scope="module")
def document():
    with GENERATOR_STATS.silence():
        GENERATOR_STATS.reset()
        return SchemaGenerator().get_schema(request=None, public=True)


def test_it_generates_without_a_warning(document):
    assert [*GENERATOR_STATS._warn_cache, *GENERATOR_STATS._error_cache] == []


def test_it_is_valid_openapi_3_1(document):
    assert document["openapi"].startswith("3.1")
    validate_schema(document)


def test_it_has_every_route_and_no_other(document):
    known = {
        (r.method, re.sub(r"<\w+:(\w+)>", r"{\1}", r.address))
        for r in routes()
        if r.is_api and "schema/" not in r.address[-8:] and "<short_id:" not in r.address
    }
    assert {(m.upper(), path) for path, operations in document["paths"].items() for m in operations} == known


def test_every_operation_says_how_it_refuses(document):
    assert document["components"]["schemas"]["Problem"] == PROBLEM
    for operations in document["paths"].values():
        for operation in operations.values():
            assert {"4XX", "503"} <= set(operation["responses"])


def test_every_list_is_a_keyset_page(document):
    for path, operations in document["paths"].items():
        content = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        assert schema.get("type") != "array", path


TABLES = "/api/v1/tables/{table_id}"


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/api/v1/roots", {"limit", "cursor"}),
        ("/api/v1/roots/{root_id}/findings", {"limit", "cursor"}),
        (f"{TABLES}/reachability", {"limit", "cursor"}),
        (f"{TABLES}/schema/changes", {"limit", "cursor"}),
        (f"{TABLES}/compare", {"from", "to"}),
        (f"{TABLES}/schema/compare", {"from", "to"}),
        ("/api/v1/tables", {"age", "limit", "cursor", "tag"}),
    ],
)
def test_it_names_the_query_that_an_address_takes(document, path, names):
    assert names <= {p["name"] for p in document["paths"][path]["get"]["parameters"] if p["in"] == "query"}


@pytest.mark.django_db
def test_it_is_served_as_json():
    answer = caller("viewer").get("/schema/")
    assert answer.status_code == 200
    assert answer.json()["info"]["title"] == "Levee"


@pytest.mark.django_db
def test_it_is_the_same_whoever_asks(document):
    """So it is made once in a process."""
    request = RequestFactory().get("/api/v1/schema/")
    for role in ("viewer", "admin"):
        request.user = person_with(role)
        assert SchemaGenerator().get_schema(request=Request(request), public=True) == document
    assert caller("viewer").get("/schema/").content == OpenApiJsonRenderer().render(document)
