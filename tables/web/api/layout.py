"""How a table's files lie, over HTTP."""

from __future__ import annotations

import uuid

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.base.rest import limit_asked, query_of, whole
from tables.history import layout_at, partitions
from tables.history import queries as histories
from tables.web.api.serializers import DayOut, PartitionsQuery, VersionQuery, day_json
from tables.web.api.shared import FREE, READ, documented, next_page, start_of, table_asked, version_asked


class FileLayout(APIView):
    """How the live files of a version lie."""

    requires = {"GET": READ}

    @documented(parameters=[VersionQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table, version = version_asked(request, table_id)
        return Response(layout_at.at(table, version))


class GrowthByDay(APIView):
    """Commits, bytes and rows by day of the last 90 days, oldest first, for the charts."""

    requires = {"GET": READ}

    @documented(responses=DayOut(many=True))
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = table_asked(request, table_id)
        days = histories.days_of(table, timezone.now()) if table.version is not None else []
        return whole(day_json(day) for day in days)


class Partitions(APIView):
    """Every partition of the newest version with its files, bytes and rows, largest first."""

    requires = {"GET": READ}

    @documented(parameters=[PartitionsQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = table_asked(request, table_id)
        asked = query_of(request, PartitionsQuery)
        order = asked.get("order", partitions.USUAL)
        page = partitions.page(table, order, asked.get("q", ""), start_of(request), limit_asked(request))
        return Response(
            {
                "version": page.version,
                "columns": page.columns,
                "count": page.count,
                "found": page.found,
                "results": page.rows,
                "next": next_page(request, page.next),
                "previous": next_page(request, page.previous),
            }
        )
