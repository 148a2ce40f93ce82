"""Schemas in words: types, bounds, choices, objects, samples."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from console.base.openapi import document
from console.base.rest import Body
from console.pages.reference import schemas as read
from console.pages.reference.operations import by_slug
from console.pages.reference.schemas import SchemaField

SCHEMAS: dict[str, dict[str, Any]] = {
    "Kind": {"enum": ["shallow", "deep"], "type": "string", "description": "How.\n\n* `shallow` - shallow\n* `deep` - deep"},
    "Table": {"type": "object", "description": "A table.", "required": ["path"], "properties": {"path": {"type": "string"}}},
    "Job": {
        "type": "object",
        "required": ["table"],
        "properties": {
            "kind": {"$ref": "#/components/schemas/Kind"},
            "table": {"oneOf": [{"$ref": "#/components/schemas/Table"}, {"type": "null"}], "description": "What for."},
            "own": {"$ref": "#/components/schemas/Job"},
            "steps": {"type": "array", "items": {"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}}}},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
            "names": {"type": "object", "additionalProperties": {"type": "string"}},
            "version": {"type": ["integer", "null"]},
            "anything": {},
        },
    },
    "Jobs": {
        "type": "object",
        "properties": {"results": {"type": "array", "items": {"$ref": "#/components/schemas/Job"}}, "next": {}, "previous": {}},
    },
}  # fmt: skip
JOB = {"$ref": "#/components/schemas/Job"}


def test_it_says_each_type_in_words() -> None:
    fields = {field.name: field for field in read.fields_of(JOB, SCHEMAS)}
    assert fields["table"] == SchemaField("table", "Table or null", True, "What for.", ("Table",))
    assert fields["kind"] == SchemaField("kind", "choice", False, "How. `shallow`, `deep`.")
    assert fields["steps"].type == "list of object"
    assert fields["steps.at"].type == "time"
    assert fields["limit"].text == "1 to 1,000. Default: `100`."
    assert fields["names"].type == "object of text"
    assert fields["version"].type == "integer or null"
    assert fields["anything"].type == "any value"
    assert next(iter(fields)) == "table", "what is required comes first"


def test_a_type_leads_to_the_objects_that_it_names() -> None:
    field = next(iter(read.fields_of(JOB, SCHEMAS)))
    assert field.parts == [("Table", "object-table"), (" or null", "")]


def test_it_lists_each_object_once_even_one_that_holds_itself() -> None:
    assert list(read.objects_in({"$ref": "#/components/schemas/Jobs"}, SCHEMAS)) == ["Job", "Table"]


def test_it_leaves_out_what_every_body_says() -> None:
    assert read.described({"description": " ".join((Body.__doc__ or "").split())}) == ""
    assert read.described({"description": "More than that."}) == "More than that."


def test_a_sample_has_what_is_required() -> None:
    assert read.sample_of(JOB, SCHEMAS) == {"table": {"path": "/lake/orders"}}


@pytest.mark.parametrize("slug", [slug for slug, operation in by_slug().items() if operation.bodies])
def test_the_sample_of_every_body_is_one_that_the_document_takes(slug: str) -> None:
    made = document()
    operation = by_slug()[slug]
    told = made["paths"][operation.path][operation.method.lower()]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    checker = jsonschema.Draft202012Validator({**told, "components": made["components"]})
    for body in operation.bodies:
        sample = json.loads(body.sample)
        assert set(sample) <= {field.name for field in body.fields}
        assert not list(checker.iter_errors(sample)), body.title
