"""The audit over HTTP: events, one event, the export. The audit records each read."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import ClassVar

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import AnyOf, person_of
from console.accounts.roles import Permission
from console.audit import queries
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.export import export
from console.audit.queries import EventFilter
from console.audit.readings import record_reading
from console.audit.representation import event_json
from console.audit.serializers import AuditQuery, EventOut, ExportQuery, filter_of
from console.audit.services import record
from console.base.rest import cursor_asked, limit_asked, listed, query_of

READS: AnyOf = (Permission.AUDIT_READ, Permission.TABLE_READ)


class AuditList(APIView):
    """Events."""

    requires: ClassVar[dict[str, AnyOf]] = {"GET": READS}

    @extend_schema(operation_id="audit_list", parameters=[AuditQuery], responses=EventOut(many=True))
    def get(self, request: Request) -> Response:
        """Newest first. An auditor sees all events, others those of tables that they may see."""
        person, wanted = person_of(request), filter_of(query_of(request, AuditQuery))
        record_reading(Actor.of(request), wanted)
        page = queries.event_page(person, wanted, limit_asked(request), cursor_asked(request))
        origins = queries.sees_origins(person)
        return listed(request, page, [event_json(event, origins=origins) for event in page.rows])


class AuditDetail(APIView):
    """One event."""

    requires: ClassVar[dict[str, AnyOf]] = {"GET": READS}

    @extend_schema(operation_id="audit_get", responses=EventOut)
    def get(self, request: Request, event_id: uuid.UUID) -> Response:
        person = person_of(request)
        event = queries.event_for(person, event_id)
        record_reading(Actor.of(request), EventFilter(object=str(event_id)))
        return Response(event_json(event, origins=queries.sees_origins(person)))


class AnyAccept(DefaultContentNegotiation):
    """`?format=` chooses the file's format; the Accept header doesn't."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class AuditExport(APIView):
    """The audit as a file."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.AUDIT_READ}
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="audit_export",
        parameters=[ExportQuery],
        responses={(200, "application/x-ndjson"): OpenApiTypes.STR, (200, "text/csv"): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Oldest first. JSON Lines end with the newest signed head."""
        given = query_of(request, ExportQuery)
        wanted = filter_of(given)
        after = {"format": given["format"], **wanted.given()}
        record(Actor.of(request), Action.AUDIT_EXPORT, ObjectKind.AUDIT, "", "the audit", after=after)
        return _file(export(person_of(request), wanted, given["format"]), given["format"])


def _file(text: Iterator[str], kind: str) -> StreamingHttpResponse:
    media = "text/csv; charset=utf-8" if kind == "csv" else "application/x-ndjson"
    headers = {"Content-Disposition": f'attachment; filename="levee-audit.{kind}"', "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(text, content_type=media, headers=headers)
