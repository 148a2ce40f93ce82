"""A table's schemas over HTTP."""

from __future__ import annotations

import uuid

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.base.rest import ListQuery, cursor_asked, limit_asked, listed
from tables.history import payloads
from tables.history import queries as histories
from tables.web.api.history import _incarnation
from tables.web.api.serializers import VersionQuery
from tables.web.api.shared import BETWEEN, FREE, READ, documented, table_asked, version_asked, versions_asked


class SchemaAt(APIView):
    """The schema at a version, as Spark's JSON struct and as a flat list of fields."""

    requires = {"GET": READ}

    @documented(parameters=[VersionQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table, version = version_asked(request, table_id)
        return Response(payloads.schema_json(histories.state_at(table, version)))


class SchemaChanges(APIView):
    """The commits that changed the schema, newest first."""

    requires = {"GET": READ}

    @documented(parameters=[ListQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        """Leaves out commits that rewrite the metadata without changing the schema."""
        table = table_asked(request, table_id)
        page, rows = payloads.schema_changes(table, limit_asked(request), cursor_asked(request))
        return listed(request, page, (payloads.schema_change_json(*row) for row in rows))


class SchemaCompare(APIView):
    """The schemas of two versions compared."""

    requires = {"GET": READ}

    @documented(parameters=BETWEEN, responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = table_asked(request, table_id)
        return Response(payloads.schema_compare_json(table, *versions_asked(request), _incarnation(request, table)))
