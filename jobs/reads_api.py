"""Reads over HTTP: questions that a worker answers. 202 until there is an answer, for ten minutes, for the asker alone."""

from __future__ import annotations

import re
import uuid
from typing import Any, ClassVar

from django.db import transaction
from django.http import Http404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.models import Person
from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.errors import Problem
from console.rest import Body, NoBody, ReadSerializer, Text, WaitQuery, body_of, query_of, wait_of
from jobs import live_table, locating, previews, reads, row_reads
from jobs.live_reads import ask_deltatable
from jobs.models import Read, Worker
from jobs.serializers import InspectionSerializer
from tables import queries

AT = re.compile(r"^@(v[0-9]{1,18}|[0-9]{17})$")
MAX_VERSION = 2**63 - 1
# The right that the question took must still be there for its answer.
NEEDS = dict.fromkeys((*row_reads.KINDS, previews.MATCHED), Permission.TABLE_ROWS)


class InspectBody(Body):
    """The directory to look at."""

    path = Text(max_length=4096, help_text="Absolute and literal.")


class Inspect(APIView):
    """What a convert of a directory would find; nothing is changed."""

    asks: ClassVar[dict[str, Permission]] = {"POST": Permission.TABLE_READ}

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
        place = locating.by_path(Actor.of(request), path, Action.CONVERSION_INSPECT)
        read = reads.ask(person_of(request), "inspect", Worker.Kind.INTERACTIVE, {"path": place.path})
        return answered(read, seconds)


class DeltaTableQuery(WaitQuery):
    """Which state of the table, and how it is loaded."""

    version = serializers.IntegerField(required=False, min_value=0, max_value=MAX_VERSION)
    timestamp = serializers.DateTimeField(required=False, help_text="UTC unless it says otherwise.")
    at = serializers.RegexField(AT, required=False, help_text="`@v3` or `@yyyyMMddHHmmssSSS`, Delta's path syntax.")
    by = serializers.ChoiceField(["path", "name"], required=False)
    partition = serializers.CharField(required=False, max_length=2000, help_text="A directory below: `p=1/q=x`.")
    read_change_feed = serializers.BooleanField(required=False)
    starting_version = serializers.IntegerField(required=False, min_value=0, max_value=MAX_VERSION)
    ending_version = serializers.IntegerField(required=False, min_value=0, max_value=MAX_VERSION)
    starting_timestamp = serializers.DateTimeField(required=False)
    ending_timestamp = serializers.DateTimeField(required=False)


class DeltaTable(APIView):
    """The live `DeltaTableV2`, as Delta loads it now; a named table by its name, unless `by=path`."""

    asks: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ}

    @extend_schema(
        operation_id="tables_deltatable",
        parameters=[DeltaTableQuery],
        responses={
            202: ReadSerializer,
            200: OpenApiResponse(OpenApiTypes.OBJECT, description="Every member of the object."),
        },
    )
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        """202 with the read; with `?wait=` its answer, if that comes in time; 422 where Delta refuses."""
        seconds = wait_of(request)
        given = query_of(request, DeltaTableQuery)
        person = person_of(request)
        table = queries.table_for(person, table_id)
        return answered(ask_deltatable(person, table, given), seconds)


class RootScan(APIView):
    """Looks through a root for Delta tables and parquet directories; a light worker does it."""

    asks: ClassVar[dict[str, Permission]] = {"POST": Permission.TABLE_ADD}

    @extend_schema(
        operation_id="roots_scan",
        parameters=[WaitQuery],
        request=None,
        responses={202: ReadSerializer, 200: OpenApiResponse(OpenApiTypes.OBJECT, description="What was counted.")},
    )
    def post(self, request: Request, root_id: uuid.UUID) -> Response:
        """202 with the read; then the findings are at `/roots/{id}/findings`."""
        body_of(request, NoBody)
        seconds = wait_of(request)
        person = person_of(request)
        root = queries.roots_of(person).filter(pk=root_id).first()
        if root is None:
            raise Http404
        if not person.scopes(Permission.TABLE_ADD).covers_root(root.pk):
            raise Problem(403, "forbidden", f"Scanning {root.name} needs an operator on it.")
        with transaction.atomic():
            record(Actor.of(request), Action.ROOT_SCAN, ObjectKind.ROOT, root.pk, root.name)
            read = reads.ask(person, "scan", Worker.Kind.LIGHT, {"root": str(root.pk)})
        return answered(read, seconds)


class ReadDetail(APIView):
    """The answer of a read, or its problem; 202 until there is one. Ten minutes after the question it is gone."""

    asks: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ}

    @extend_schema(
        operation_id="reads_get",
        parameters=[WaitQuery],
        responses={202: ReadSerializer, 200: OpenApiResponse(OpenApiTypes.OBJECT, description="The answer.")},
    )
    def get(self, request: Request, read_id: uuid.UUID) -> Response:
        seconds = wait_of(request)
        person = person_of(request)
        read = Read.objects.select_related("table").filter(pk=read_id, person=person).first()
        if read is None or reads.is_over(read):
            raise Http404
        _check_still_visible(request, person, read)
        return answered(reads.wait_for(read, seconds), 0, at_once=True)


def _check_still_visible(request: Request, person: Person, read: Read) -> None:
    """A right that was taken away since the question takes the answer with it."""
    if read.table_id is not None:
        queries.table_for(person, read.table_id, NEEDS.get(read.kind, Permission.TABLE_READ))
    elif read.kind == "inspect":
        locating.by_path(Actor.of(request), read.question["path"], Action.CONVERSION_INSPECT)
    elif not queries.roots_of(person).filter(pk=read.question["root"]).exists():
        raise Http404


def answered(read: Read, seconds: float, *, at_once: bool = False) -> Response:
    """200 with the answer (after a wait, or `at_once`), the read's problem, or 202 with where to look."""
    if seconds:
        read = reads.wait_for(read, seconds)
    if (seconds or at_once) and read.state == Read.State.ANSWERED:
        return Response(_shown(read))
    if (seconds or at_once) and (problem := reads.problem_of(read)):
        raise problem
    where = reverse("api_read", args=[read.pk])
    return Response({"id": read.pk, "state": read.state, "result_url": where}, status=202)


def _shown(read: Read) -> Any:
    match read.kind:
        case "inspect":
            return InspectionSerializer(read.answer).data
        case "deltatable":
            return live_table.with_details(read.answer or {})
        case previews.MATCHED:
            return previews.answered(read)
    return read.answer
