"""Checks of a table's files over HTTP."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.rest import Body, ReadSerializer, WaitQuery, Whole, body_of, wait_of
from jobs.reads import file_check
from jobs.web.reads.api import MAX_VERSION, answered
from tables.catalog import listing


class FileCheckBody(Body):
    """Which version's files to ask storage for."""

    version = Whole(
        required=False, allow_null=True, default=None, min_value=0, max_value=MAX_VERSION, help_text="null: the newest."
    )


class UnlikeFileSerializer(serializers.Serializer[Any]):
    """A file that isn't as the log says. `stored` is null where there is no regular file; `logged` is 0 where the log says no size."""

    path = serializers.CharField()
    logged = serializers.IntegerField()
    stored = serializers.IntegerField(allow_null=True)
    vector = serializers.BooleanField(help_text="Whether it is a file of deletion vectors, and no data file.")


class FileCheckSerializer(serializers.Serializer[Any]):
    """What storage has of a version's files: `asked` of `files` were looked at, none of the `outside` ones."""

    version = serializers.IntegerField()
    at = serializers.DateTimeField()
    files = serializers.IntegerField(help_text="Data files and deletion vector files that the version needs.")
    asked = serializers.IntegerField()
    outside = serializers.IntegerField(help_text="Files outside the table’s directory: never touched.")
    missing = serializers.IntegerField(help_text="Data files without a regular file.")
    missing_vectors = serializers.IntegerField(help_text="Files of deletion vectors without one.")
    other_size = serializers.IntegerField()
    named = UnlikeFileSerializer(many=True)


class FileCheck(APIView):
    """Whether storage has a version's files as the log says."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.TABLE_READ}

    @extend_schema(
        operation_id="tables_check_files",
        parameters=[WaitQuery],
        request=FileCheckBody,
        responses={202: ReadSerializer, 200: FileCheckSerializer},
    )
    def post(self, request: Request, table_id: uuid.UUID) -> Response:
        """202 with the read; with `?wait=` its answer, if it comes in time. 503 `busy` beside two other checks."""
        seconds = wait_of(request)
        table = listing.table_for(person_of(request), table_id)
        given = body_of(request, FileCheckBody)
        return answered(file_check.ask(Actor.of(request), table, given["version"]), seconds)
