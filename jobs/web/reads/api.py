"""Reads over HTTP: questions that a worker answers. 202 until there is an answer, kept ten minutes for the person who asked."""

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

from console.accounts.admins import role_needed
from console.accounts.models import Person
from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from console.base.rest import LiteralText, NoBody, ReadSerializer, WaitQuery, body_of, query_of, wait_of
from jobs.models import Read, Worker
from jobs.reads import metastore, queue, rows
from jobs.reads.delta_table import ask_deltatable
from jobs.web.parts import answers
from jobs.web.reads import delta_table_text
from tables.catalog import listing
from tables.catalog.rights import refuse_paused

AT = re.compile(r"^@(v[0-9]{1,18}|[0-9]{17})$")
MAX_VERSION = 2**63 - 1


class ColumnNames(serializers.ListField):
    """Names of columns, none of them twice."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"child": LiteralText(max_length=1000), "required": False, "allow_empty": False, **kwargs})

    def to_internal_value(self, data: Any) -> list[str]:
        """Raises ValidationError."""
        names = super().to_internal_value(data)
        if len(set(names)) != len(names):
            raise serializers.ValidationError("It names a column twice.")
        return names


class DeltaTableQuery(WaitQuery):
    """The state of the table to load, and how."""

    version = serializers.IntegerField(required=False, min_value=0, max_value=MAX_VERSION)
    timestamp = serializers.DateTimeField(required=False, help_text="UTC unless it has an offset.")
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

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ}

    @extend_schema(
        operation_id="tables_deltatable",
        parameters=[DeltaTableQuery],
        responses={
            202: ReadSerializer,
            200: OpenApiResponse(OpenApiTypes.OBJECT, description="Every member of the object."),
        },
    )
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        """202 with the read; with `?wait=` its answer, if it comes in time; 422 if Delta refuses."""
        seconds = wait_of(request)
        given = query_of(request, DeltaTableQuery)
        person = person_of(request)
        table = listing.table_for(person, table_id)
        return answered(ask_deltatable(person, table, given), seconds)


class RootScan(APIView):
    """Scans a root for Delta tables and parquet directories, in a light worker."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.TABLE_ADD}

    @extend_schema(
        operation_id="roots_scan",
        parameters=[WaitQuery],
        request=None,
        responses={
            202: ReadSerializer,
            200: OpenApiResponse(OpenApiTypes.OBJECT, description="What the scan counted."),
        },
    )
    def post(self, request: Request, root_id: uuid.UUID) -> Response:
        """202 with the read; afterwards the findings are at `/roots/{id}/findings`."""
        body_of(request, NoBody)
        seconds = wait_of(request)
        person = person_of(request)
        root = listing.roots_of(person).filter(pk=root_id).first()
        if root is None:
            raise Http404
        if not person.scopes(Permission.TABLE_ADD).covers_root(root.pk):
            raise Problem(403, "forbidden", role_needed(Permission.TABLE_ADD, where=f"the root {root.name}"))
        refuse_paused(root)
        with transaction.atomic():
            record(Actor.of(request), Action.ROOT_SCAN, ObjectKind.ROOT, root.pk, root.name)
            read = queue.ask(person, "scan", Worker.Kind.LIGHT, {"root": str(root.pk)})
        return answered(read, seconds)


class ReadDetail(APIView):
    """The answer of a read, or its problem; 202 until there is one. It expires ten minutes after the question."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ}

    @extend_schema(
        operation_id="reads_get",
        parameters=[WaitQuery],
        responses={202: ReadSerializer, 200: OpenApiResponse(OpenApiTypes.OBJECT, description="The answer.")},
    )
    def get(self, request: Request, read_id: uuid.UUID) -> Response:
        seconds = wait_of(request)
        person = person_of(request)
        read = Read.objects.select_related("table").filter(pk=read_id, person=person).first()
        if read is None or queue.is_over(read):
            raise Http404
        _check_still_visible(request, person, read)
        return answered(queue.wait_for(read, seconds), 0, at_once=True)


def _check_still_visible(request: Request, person: Person, read: Read) -> None:
    """Raises Problem or Http404 if the person has lost the permission since the question."""
    answer = answers().get(read.kind)
    if read.table_id is not None:
        needed = Permission.TABLE_ROWS if read.kind in rows.WITH_VALUES else Permission.TABLE_READ
        listing.table_for(person, read.table_id, answer.permission if answer else needed)
    elif read.kind in metastore.KINDS:
        metastore.require(person)
    elif answer:
        answer.check(Actor.of(request), read)
    elif not listing.roots_of(person).filter(pk=read.question["root"]).exists():
        raise Http404


def answered(read: Read, seconds: float, *, at_once: bool = False) -> Response:
    """200 with the answer (after a wait, or `at_once`), the read's problem, or 202 with its address."""
    if seconds:
        read = queue.wait_for(read, seconds)
    if (seconds or at_once) and read.state == Read.State.ANSWERED:
        return Response(_shown(read))
    if (seconds or at_once) and (problem := queue.problem_of(read)):
        raise problem
    where = reverse("api_read", args=[read.pk])
    return Response({"id": read.pk, "state": read.state, "result_url": where}, status=202)


def _shown(read: Read) -> Any:
    if read.kind == "deltatable":
        return delta_table_text.with_details(read.answer or {})
    if read.kind in metastore.KINDS:
        return metastore.shown(read.person, read)
    answer = answers().get(read.kind)
    return answer.shown(read) if answer else read.answer
