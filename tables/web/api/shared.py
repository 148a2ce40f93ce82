"""Shared parts of the catalog's API: permissions, and the table and versions of a request."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.base.errors import Problem
from console.base.rest import cursor_asked, query_of
from tables.catalog import listing
from tables.history import queries as histories
from tables.models import Table
from tables.web.api.serializers import CommitQuery, VersionQuery

READ = Permission.TABLE_READ
ADD = Permission.TABLE_ADD
FREE = OpenApiTypes.OBJECT
BETWEEN = [
    OpenApiParameter("from", OpenApiTypes.INT64, required=True, description="The earlier version, usually."),
    OpenApiParameter("to", OpenApiTypes.INT64, required=True, description="The later version, usually."),
    CommitQuery,
]
Method = TypeVar("Method", bound=Callable[..., Response])


def documented(**described: Any) -> Callable[[Method], Method]:
    """The OpenAPI description of a method."""
    return extend_schema(**described)


def start_of(request: Request) -> int:
    """The place in a list where a page by number begins. Raises Problem 400 `invalid_cursor`."""
    text = cursor_asked(request)
    if text and not (text.isdecimal() and len(text) < 12):
        raise Problem(400, "invalid_cursor", "This page address isn’t valid. Start at the first page.")
    return int(text or 0)


def next_page(request: Request, start: int | None) -> str | None:
    """The address of the page that begins at `start`; None behind the last one."""
    return None if start is None else replace_query_param(request.build_absolute_uri(), "cursor", start)


def table_asked(request: Request, table_id: uuid.UUID) -> Table:
    """The table, for a person who may see it. Raises Http404."""
    return listing.table_for(person_of(request), table_id)


def version_asked(request: Request, table_id: uuid.UUID) -> tuple[Table, int]:
    """The table and the version asked for, its newest without one. Raises Problem as `histories.newest`."""
    table = table_asked(request, table_id)
    asked = query_of(request, VersionQuery).get("version")
    newest = histories.newest(table)
    return table, newest if asked is None else asked


def versions_asked(request: Request) -> tuple[int, int]:
    """The versions `from` and `to` of a comparison. Raises Problem 400 `invalid`."""
    texts = [request.query_params.get(name, "") for name in ("from", "to")]
    if not all(text.isdecimal() and len(text) < 19 for text in texts):
        raise Problem(400, "invalid", "from and to are versions", fields={"from": "a version", "to": "a version"})
    return int(texts[0]), int(texts[1])
