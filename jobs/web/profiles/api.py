"""Profiles of a table's columns over HTTP: by the log at once, and by all of their rows as a read."""

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
from console.base.rest import Body, ReadSerializer, WaitQuery, Whole, body_of, query_of, wait_of
from jobs.domain.read_limits import MOST_COLUMNS
from jobs.reads.profile import ask_profile
from jobs.reads.rows import table_with_rows
from jobs.web.profiles.log_profile import AT_ONCE, as_json, of_columns, subject_for
from jobs.web.reads.api import MAX_VERSION, ColumnNames, answered


class StartQuery(serializers.Serializer[Any]):
    """Which columns to tell."""

    start = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=MAX_VERSION, help_text="How many columns to leave out before."
    )


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
    columns = LogColumnSerializer(many=True, help_text=f"At most {AT_ONCE}, from `start` on.")
    more_columns = serializers.IntegerField(help_text="Columns after these.")


class ProfileBody(Body):
    """Which columns to read."""

    version = Whole(required=False, min_value=0, max_value=MAX_VERSION)
    columns = ColumnNames(
        max_length=MOST_COLUMNS,
        help_text=f"Top-level columns by their exact names; without it, the first {MOST_COLUMNS}.",
    )


class FrequentSerializer(serializers.Serializer[Any]):
    """A value and how often it is there."""

    value = serializers.CharField()
    count = serializers.IntegerField()


class RowColumnSerializer(serializers.Serializer[Any]):
    """A column by its rows. Values are text as Spark spells them, a long one cut with `…`."""

    name = serializers.CharField()
    type = serializers.CharField()
    nulls = serializers.IntegerField()
    distinct = serializers.IntegerField(help_text="An estimate.")
    min = serializers.CharField(allow_null=True, help_text="null: no value, or a type without order.")
    max = serializers.CharField(allow_null=True)
    mean = serializers.JSONField(allow_null=True, help_text="Of numbers; NaN and infinities are text.")
    frequent = FrequentSerializer(
        many=True, allow_null=True, help_text="The five most frequent values; estimates above 10,000 distinct ones."
    )


class WhatWasReadSerializer(serializers.Serializer[Any]):
    """What Spark read for the answer."""

    files = serializers.IntegerField()
    bytes = serializers.IntegerField()


class RowProfileSerializer(serializers.Serializer[Any]):
    """Columns of one version by all of their rows."""

    version = serializers.IntegerField()
    rows = serializers.IntegerField()
    columns = RowColumnSerializer(many=True)
    more_columns = serializers.IntegerField(help_text="Columns that were not named and not read.")
    read = WhatWasReadSerializer()


class TableProfile(APIView):
    """What the log, or all rows, say of each column."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_ROWS, "POST": Permission.TABLE_ROWS}

    @extend_schema(operation_id="tables_profile_by_log", parameters=[StartQuery], responses={200: LogProfileSerializer})
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        """At once; 422 for a log that can't be read with certainty."""
        start = query_of(request, StartQuery)["start"]
        found, total = of_columns(subject_for(Actor.of(request), table_id), start)
        return Response(as_json(found, start, total))

    @extend_schema(
        operation_id="tables_profile",
        parameters=[WaitQuery],
        request=ProfileBody,
        responses={202: ReadSerializer, 200: RowProfileSerializer},
    )
    def post(self, request: Request, table_id: uuid.UUID) -> Response:
        """202 with the read; with `?wait=` its answer, if it comes in time; 422 `too_much_to_read`, or if Delta refuses."""
        seconds, actor = wait_of(request), Actor.of(request)
        table = table_with_rows(actor, table_id)
        return answered(ask_profile(actor, table, body_of(request, ProfileBody)), seconds)
