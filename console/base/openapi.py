"""The OpenAPI document: generated from the routes, with the parts that all of them share."""

from __future__ import annotations

from functools import cache
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import get_doc

PROBLEM = {
    "type": "object",
    "description": "What is wrong: a stable code, and Delta’s or Spark’s own message if there is one.",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "fields": {"type": "object", "additionalProperties": {"type": "string"}},
        "engine": {
            "type": "object",
            "properties": {name: {"type": ["string", "null"]} for name in ("condition", "sqlstate", "message")},
        },
    },
}
_CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
PROBLEMS = {
    "4XX": {"description": "Refused: the code is the reason, and nothing was changed.", "content": _CONTENT},
    "503": {
        "description": "The database or the audit doesn’t respond, or a disk is full; the detail tells you what happened to the request.",
        "content": _CONTENT,
    },
}


class KeysetPage:
    """What drf-spectacular asks of a paginator: the envelope that every list has."""

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["results", "next", "previous"],
            "properties": {"results": schema, "next": address, "previous": address},
        }

    def get_schema_operation_parameters(self, view: object) -> list[dict[str, Any]]:
        return []  # a route declares its query itself


class LeveeSchema(AutoSchema):
    """Lists are keyset pages, everywhere. What an address is for comes before what its one method adds to that."""

    def get_description(self) -> str:  # type: ignore[override]  # as drf-spectacular itself does it
        """The method's text, after that of its view if the view has no other method; else the view's."""
        text, of_view = str(super().get_description()), str(get_doc(type(self.view)))
        is_alone = len(getattr(self.view, "requires", ())) == 1
        return f"{of_view}\n\n{text}" if is_alone and of_view and text != of_view else text

    def _get_paginator(self) -> KeysetPage:
        return KeysetPage()


class BearerToken(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # of its metaclass
    """`Authorization: Bearer …`, as the document names it."""

    target_class = "console.accounts.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer"}


@cache
def document() -> dict[str, Any]:
    """The document, made once in a process: it depends on routes and settings alone. Not to be changed."""
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return made


class KeptDocument(SchemaGenerator):
    """Answers each request with the one document."""

    def get_schema(self, request: object = None, public: bool = False) -> dict[str, Any]:
        return document()


def add_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Every operation may answer with a problem."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"] = {**PROBLEMS, **operation["responses"]}
    return result
