"""Rows and changes of a table over HTTP."""

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
from console.base.rest import Body, LiteralText, ReadSerializer, WaitQuery, Whole, body_of, wait_of
from jobs.predicates.reading import MAX_LENGTH
from jobs.reads.row_diff import ask_row_diff
from jobs.reads.rows import MAX_ROWS, USUAL_ROWS, ask_changes, ask_rows, table_with_rows
from jobs.web.reads.api import MAX_VERSION, ColumnNames, answered

MAX_COLUMNS = 10_000


class RowsBody(Body):
    """Which rows to read."""

    version = Whole(required=False, min_value=0, max_value=MAX_VERSION)
    timestamp = serializers.DateTimeField(required=False, help_text="UTC unless it has an offset.")
    columns = ColumnNames(
        max_length=MAX_COLUMNS,
        help_text="Top-level columns by their exact names, in the order that you want; without it, all of them.",
    )
    predicate = LiteralText(
        required=False,
        max_length=MAX_LENGTH,
        help_text="Which rows; its columns are those of the version that you read.",
    )
    limit = Whole(required=False, default=USUAL_ROWS, min_value=1, max_value=MAX_ROWS)


class ChangesBody(Body):
    """Which changes to read."""

    from_version = Whole(min_value=0, max_value=MAX_VERSION)
    to_version = Whole(
        required=False, allow_null=True, default=None, min_value=0, max_value=MAX_VERSION, help_text="null: the newest."
    )
    limit = Whole(required=False, default=USUAL_ROWS, min_value=1, max_value=MAX_ROWS)


class RowDiffBody(Body):
    """Which two versions to compare."""

    from_version = Whole(min_value=0, max_value=MAX_VERSION)
    to_version = Whole(min_value=0, max_value=MAX_VERSION, help_text="A later one.")
    limit = Whole(required=False, default=USUAL_ROWS, min_value=1, max_value=MAX_ROWS)


class ColumnSerializer(serializers.Serializer[Any]):
    """A column of the answer, its type as Spark prints it."""

    name = serializers.CharField()
    type = serializers.CharField()


class AnswerSerializer(serializers.Serializer[Any]):
    """The common part of rows and changes."""

    columns = ColumnSerializer(many=True)
    rows = serializers.ListField(child=serializers.ListField(child=serializers.JSONField(allow_null=True)))
    truncated = serializers.BooleanField(help_text="There are more rows than `limit`, or than fit into an answer.")
    cut_cells = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="`[row, column]` of each truncated value: a text that ends with `…`.",
    )


class RowsSerializer(AnswerSerializer):
    """Rows of one version; Spark chooses which, since a table has no order."""

    version = serializers.IntegerField()


class ChangesSerializer(AnswerSerializer):
    """Changes, oldest commits first."""

    from_version = serializers.IntegerField()
    to_version = serializers.IntegerField()


class RowDiffTotalsSerializer(serializers.Serializer[Any]):
    """Rows by what became of them; those by updates are null where only the files were compared."""

    insert = serializers.IntegerField()
    delete = serializers.IntegerField()
    update_preimage = serializers.IntegerField(allow_null=True)
    update_postimage = serializers.IntegerField(allow_null=True)
    lines = serializers.IntegerField(help_text="Lines that an answer without a limit would have: equal rows share one.")


class RowDiffReadSerializer(serializers.Serializer[Any]):
    """What Spark read for the answer."""

    files = serializers.IntegerField()
    bytes = serializers.IntegerField(help_text="Of these files, as the log has their sizes.")
    rows = serializers.IntegerField()


class RowDiffSerializer(AnswerSerializer):
    """Rows that differ, in the order of their values. The first two columns are `_change_type` (`insert`, `delete`, `update_preimage`,
    `update_postimage`) and `_count`, how often."""

    from_version = serializers.IntegerField()
    to_version = serializers.IntegerField()
    read_from = serializers.ChoiceField(["change_feed", "files"])
    no_feed = serializers.CharField(allow_null=True, help_text="Why the change feed wasn't read.")
    totals = RowDiffTotalsSerializer()
    read = RowDiffReadSerializer()
    columns_added = serializers.ListField(child=serializers.CharField(), help_text="In the newer version only.")
    columns_removed = serializers.ListField(
        child=serializers.CharField(), help_text="In the older version only: not compared."
    )
    columns_changed = serializers.ListField(child=serializers.CharField(), help_text="Of another type: not compared.")
    added_as_null = serializers.BooleanField(
        help_text="Added columns count as NULL in the older version; else they aren't compared."
    )


class Rows(APIView):
    """Rows of the table at any version, read from its files now."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.TABLE_ROWS}

    @extend_schema(
        operation_id="tables_rows",
        parameters=[WaitQuery],
        request=RowsBody,
        responses={202: ReadSerializer, 200: RowsSerializer},
    )
    def post(self, request: Request, table_id: uuid.UUID) -> Response:
        """202 with the read; with `?wait=` its answer, if it comes in time; 422 if Delta refuses."""
        seconds, actor = wait_of(request), Actor.of(request)
        table = table_with_rows(actor, table_id)
        return answered(ask_rows(actor, table, body_of(request, RowsBody)), seconds)


class ChangeFeed(APIView):
    """The table's change data feed, read now."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.TABLE_ROWS}

    @extend_schema(
        operation_id="tables_changes",
        parameters=[WaitQuery],
        request=ChangesBody,
        responses={202: ReadSerializer, 200: ChangesSerializer},
    )
    def post(self, request: Request, table_id: uuid.UUID) -> Response:
        """202 with the read; with `?wait=` its answer, if it comes in time; 422 if Delta refuses."""
        seconds, actor = wait_of(request), Actor.of(request)
        table = table_with_rows(actor, table_id)
        return answered(ask_changes(actor, table, body_of(request, ChangesBody)), seconds)


class RowDiff(APIView):
    """Which rows differ between two versions, read now: from the change feed, else from the files that only one of them has."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.TABLE_ROWS}

    @extend_schema(
        operation_id="tables_row_diff",
        parameters=[WaitQuery],
        request=RowDiffBody,
        responses={202: ReadSerializer, 200: RowDiffSerializer},
    )
    def post(self, request: Request, table_id: uuid.UUID) -> Response:
        """202 with the read; with `?wait=` its answer, if it comes in time; 422 `too_much_to_read`, or if Delta refuses."""
        seconds, actor = wait_of(request), Actor.of(request)
        table = table_with_rows(actor, table_id)
        return answered(ask_row_diff(actor, table, body_of(request, RowDiffBody)), seconds)
