"""The operations of the OpenAPI document as pages show them, by subject."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any

from console.accounts.permissions import SAFE
from console.accounts.roles import Permission
from console.base.openapi import document
from console.pages.reference import schemas as read
from console.pages.reference.schemas import Object, Schema, SchemaField

PREFIX = "/api/v1"
# The order and the titles of the subjects; one that is new comes last, under its own name.
SUBJECTS = {
    "tables": "Tables",
    "conversions": "Conversions",
    "previews": "Previews",
    "jobs": "Jobs",
    "reads": "Reads",
    "streams": "Streams",
    "schedules": "Schedules",
    "roots": "Roots",
    "metastore": "Metastore",
    "audit": "Audit",
    "me": "You",
    "tokens": "Tokens",
    "sign-ins": "Sign-ins of programs",
    "people": "People",
    "grants": "Roles of people",
    "notices": "Notices",
    "policies": "Policies",
    "workers": "Workers",
    "api": "This API",
}
JSON = "application/json"
_READING = {Permission.TABLE_READ.value, Permission.TABLE_ROWS.value}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A part of the address, of the query, or a header."""

    field: SchemaField
    place: str  # path, query or header
    choices: Sequence[str]
    is_several: bool


@dataclass(frozen=True, slots=True)
class Variant:
    """One kind of body: its fields, and a sample as JSON."""

    title: str
    text: str
    fields: Sequence[SchemaField]
    sample: str


@dataclass(frozen=True, slots=True)
class Response:
    """A status with what comes with it. `object` is what the body is, empty for none."""

    status: str
    meaning: str
    object: str
    objects: Sequence[str]
    text: str

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The body as texts, each with the anchor that it leads to, or none."""
        return read.linked(self.object, self.objects)


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of an address, with all that its page shows."""

    id: str
    subject: str
    method: str
    address: str  # below the API's own
    text: str
    parameters: Sequence[Parameter]
    bodies: Sequence[Variant]
    answers: Sequence[Response]
    objects: Sequence[Object]
    permissions: Sequence[str]
    roles: Sequence[str]
    scopes: Sequence[str]

    @property
    def first_sentence(self) -> str:
        """The line of a list."""
        return self.text.partition("\n")[0]

    @property
    def paragraphs(self) -> list[str]:
        """The whole text."""
        return [each for each in self.text.split("\n\n") if each]

    @property
    def slug(self) -> str:
        return self.id.replace("_", "-")

    @property
    def path(self) -> str:
        return f"{PREFIX}{self.address}"

    @property
    def is_public(self) -> bool:
        return not self.scopes

    @property
    def changes(self) -> bool:
        """Whether a call changes anything: some questions have a body, and are POSTs."""
        is_question = self.method == "POST" and bool(self.permissions) and set(self.permissions) <= _READING
        return self.method not in SAFE and not is_question


@dataclass(frozen=True, slots=True)
class OperationGroup:
    """Operations on one kind of thing."""

    name: str
    title: str
    operations: Sequence[Operation]


@cache
def subjects() -> tuple[OperationGroup, ...]:
    """Every operation, by subject in reading order; made once in a process, as the document is."""
    found: dict[str, list[Operation]] = {}
    for operation in _operations(document()):
        found.setdefault(operation.subject, []).append(operation)
    names = sorted(found, key=lambda name: list(SUBJECTS).index(name) if name in SUBJECTS else len(SUBJECTS))
    return tuple(OperationGroup(name, SUBJECTS.get(name, name), found[name]) for name in names)


@cache
def by_slug() -> Mapping[str, Operation]:
    """The operations by the names of their pages."""
    return {operation.slug: operation for subject in subjects() for operation in subject.operations}


def _operations(made: Mapping[str, Any]) -> Iterator[Operation]:
    schemas = made["components"]["schemas"]
    for path, methods in made["paths"].items():
        for method, told in methods.items():
            yield _operation(path, method.upper(), told, schemas)


def _operation(path: str, method: str, told: Mapping[str, Any], schemas: read.Schemas) -> Operation:
    objects: dict[str, Object] = {}
    body = _json_schema(told.get("requestBody", {}))
    bodies = list(_bodies(body, schemas)) if body else []
    for schema in (body, *(_json_schema(answer) for answer in _own(told["responses"]).values())):
        read.objects_in(schema, schemas, objects)
    for name in _variants(body, schemas):
        objects.pop(name, None)  # its fields are the body's own
    return Operation(
        id=told["operationId"],
        subject=told["tags"][0],
        method=method,
        address=path.removeprefix(PREFIX),
        text=told.get("description", ""),
        parameters=_parameters(path, told.get("parameters", ()), schemas),
        bodies=bodies,
        answers=list(_answers(told["responses"], schemas)),
        objects=list(objects.values()),
        permissions=told["x-permissions"],
        roles=told["x-roles"],
        scopes=told["x-token-scopes"],
    )


def _own(responses: Mapping[str, Any]) -> dict[str, Any]:
    """The answers that aren't the same everywhere."""
    return {status: answer for status, answer in sorted(responses.items()) if status[0] in "123"}


def _json_schema(content: Mapping[str, Any]) -> Schema:
    schema: Schema = content.get("content", {}).get(JSON, {}).get("schema", {})
    return schema


def _parameters(path: str, given: Sequence[Mapping[str, Any]], schemas: read.Schemas) -> list[Parameter]:
    """Those of the path in its order, then the others by name."""
    order = re.findall(r"{(\w+)}", path)
    places = ("path", "query", "header")
    known = [each for each in given if each["in"] in places]
    known.sort(
        key=lambda each: (places.index(each["in"]), *([order.index(each["name"])] if each["in"] == "path" else []))
    )
    return [
        Parameter(
            field=read.field(
                each["name"], each["schema"], schemas, each.get("required", False), each.get("description", "")
            ),
            place=each["in"],
            choices=read.choices_of(each["schema"], schemas),
            is_several=each["schema"].get("type") == "array",
        )
        for each in known
    ]


def _variants(body: Schema, schemas: read.Schemas) -> list[str]:
    """The names of the kinds of a body; of one kind, its own."""
    options = read.resolved(body, schemas).get("oneOf", (body,))
    return [name for option in options if (name := read.name_of(option))]


def _bodies(body: Schema, schemas: read.Schemas) -> Iterator[Variant]:
    options = read.resolved(body, schemas).get("oneOf", (body,))
    for option in options:
        told = read.resolved(option, schemas)
        kinds = read.choices_of(told.get("properties", {}).get("command", {}), schemas)
        title = kinds[0] if len(options) > 1 and kinds else ""
        sample = json.dumps(read.sample_of(option, schemas), indent=2, ensure_ascii=False)
        yield Variant(title, read.described(told), list(read.fields_of(told, schemas)), sample)


def _answers(responses: Mapping[str, Any], schemas: read.Schemas) -> Iterator[Response]:
    for status, answer in _own(responses).items():
        kinds = list(answer.get("content", {}))
        schema = _json_schema(answer)
        what, objects = _what(schema, schemas) if schema else (" or ".join(kinds), ())
        yield Response(status, HTTPStatus(int(status)).phrase, what, objects, answer.get("description", ""))


def _what(schema: Schema, schemas: read.Schemas) -> tuple[str, Sequence[str]]:
    """A page of a list by what it lists, anything else by its type."""
    told = read.resolved(schema, schemas)
    if read.is_page(told):
        text, objects = read.type_of(told["properties"]["results"]["items"], schemas)
        return f"a page of {text}", objects
    return read.type_of(schema, schemas)
