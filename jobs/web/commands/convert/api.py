"""What a convert would find, over HTTP."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actions import Action
from console.audit.actor import Actor
from console.base.rest import Body, LiteralText, ReadSerializer, WaitQuery, body_of, wait_of
from jobs.models import Worker
from jobs.reads import queue
from jobs.targets import places
from jobs.web.commands.convert.serializers import InspectionSerializer
from jobs.web.reads.api import answered


class InspectBody(Body):
    """The directory to look at."""

    path = LiteralText(max_length=4096, help_text="Absolute and literal.")


class Inspect(APIView):
    """What a convert of a directory would find; nothing is changed."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.TABLE_READ}

    @extend_schema(
        operation_id="conversions_inspect",
        parameters=[WaitQuery],
        request=InspectBody,
        responses={202: ReadSerializer, 200: InspectionSerializer},
    )
    def post(self, request: Request) -> Response:
        """202 with the read; with `?wait=` its answer, if that comes in time."""
        seconds = wait_of(request)
        path = body_of(request, InspectBody)["path"]
        place = places.by_path(Actor.of(request), path, Action.CONVERSION_INSPECT)
        read = queue.ask(person_of(request), "inspect", Worker.Kind.INTERACTIVE, {"path": place.path})
        return answered(read, seconds)
