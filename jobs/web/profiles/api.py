"""Profiles of a table's columns over HTTP: by the log at once."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.roles import Permission
from console.audit.actor import Actor
from jobs.web.profiles.log_profile import as_json, of_columns, subject_for


class ValueSerializer(serializers.Serializer[Any]):
    """A value of a partition column, as the log has it."""

    value = serializers.CharField()
    rows = serializers.IntegerField(allow_null=True)


class LogColumnSerializer(serializers.Serializer[Any]):
    """A column, by the statistics of files: bounds. Of a partition column the values themselves stand in the log."""

    name = serializers.CharField(help_text="Dotted; a struct has its fields in its place.")
    type = serializers.CharField()
    partition = serializers.BooleanField()
    nulls = serializers.IntegerField(
        allow_null=True, help_text="At most so many where rows are deleted by vectors; of the files that tell it."
    )
    nulls_unknown_files = serializers.IntegerField()
    min = serializers.CharField(allow_null=True)
    max = serializers.CharField(allow_null=True)
    min_cut = serializers.BooleanField(help_text="The text may go on.")
    max_cut = serializers.BooleanField()
    bounds_unknown_files = serializers.IntegerField(allow_null=True, help_text="null: none are kept of its type.")
    distinct = serializers.IntegerField(allow_null=True, help_text="Of a partition column, exactly.")
    values = ValueSerializer(many=True, help_text="Of a partition column: the ten with most rows.")


class LogProfileSerializer(serializers.Serializer[Any]):
    """The columns of the newest version by its log."""

    version = serializers.IntegerField()
    files = serializers.IntegerField()
    rows = serializers.IntegerField(allow_null=True)
    files_with_deletion_vectors = serializers.IntegerField()
    statistics_read = serializers.BooleanField(help_text="false: there are too many for an answer at once.")
    columns = LogColumnSerializer(many=True)


class Profile(APIView):
    """What the log says of each column of the newest version."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_ROWS}

    @extend_schema(operation_id="tables_profile_by_log", responses={200: LogProfileSerializer})
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        """At once; 422 for a log that can't be read with certainty."""
        return Response(as_json(of_columns(subject_for(Actor.of(request), table_id))[0]))
