"""What a delete would touch, over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.rest import Body, LiteralText, ReadSerializer, WaitQuery, body_of, query_of, wait_of
from jobs.predicates.reading import MAX_LENGTH
from jobs.web.commands.delete.estimate import ask_exact, preview
from jobs.web.commands.delete.serializers import SkippingSerializer
from jobs.web.parts import ConsequenceSerializer
from jobs.web.reads.api import answered


class PreviewBody(Body):
    """Of which rows."""

    table = serializers.UUIDField()
    predicate = LiteralText(
        allow_null=True,
        allow_blank=True,
        max_length=MAX_LENGTH,
        help_text="null, and nothing else, is the whole table.",
    )


class PreviewQuery(WaitQuery):
    """How it is measured."""

    exact = serializers.BooleanField(required=False, default=False, help_text="Spark counts the rows: a read.")


class PreviewSerializer(serializers.Serializer[Any]):
    """The log's answer. Unknown is null; rows are an upper bound unless `rows_matched_exact`."""

    table = serializers.UUIDField()
    predicate = serializers.CharField(allow_null=True, help_text="As Levee has read it.")
    branch = serializers.ChoiceField(["metadata_only", "deletion_vectors", "rewrite", "nothing"])
    why = serializers.CharField()
    files_total = serializers.IntegerField()
    files_matched = serializers.IntegerField(help_text="Files that may hold a matching row.")
    files_whole = serializers.IntegerField(help_text="Files whose every row matches.")
    bytes_matched = serializers.IntegerField(allow_null=True)
    files_to_rewrite = serializers.IntegerField()
    bytes_to_rewrite = serializers.IntegerField(allow_null=True)
    rows_matched = serializers.IntegerField(allow_null=True)
    rows_matched_exact = serializers.BooleanField()
    rows_least = serializers.IntegerField(allow_null=True)
    partitions = serializers.IntegerField(allow_null=True, help_text="Partitions that may hold matching rows.")
    measured_at_version = serializers.IntegerField()
    rows_total = serializers.IntegerField(allow_null=True)
    rows_copied = serializers.IntegerField(allow_null=True)
    rows_hash = serializers.CharField(allow_null=True)
    table_id = serializers.CharField(help_text="The id in the table's own metadata.")
    consequences = ConsequenceSerializer(many=True)
    speed = serializers.ChoiceField(["log", "spark"])
    notes = serializers.ListField(child=serializers.CharField())
    skipping = SkippingSerializer()

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(["whole_table", "ordinary"]), **super().get_fields()}


class Previews(APIView):
    """What a delete would touch, from the log at once, or with `?exact=true` counted by Spark as a read. Nothing is changed."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.TABLE_ROWS}

    @extend_schema(
        operation_id="previews",
        parameters=[PreviewQuery],
        request=PreviewBody,
        responses={200: PreviewSerializer, 202: ReadSerializer},
    )
    def post(self, request: Request) -> Response:
        """The files, bytes and rows that may match, and the branch Delta will take and why."""
        seconds, exact = wait_of(request), query_of(request, PreviewQuery)["exact"]
        given = body_of(request, PreviewBody)
        if exact:
            return answered(ask_exact(Actor.of(request), given["table"], given["predicate"]), seconds)
        return Response(preview(Actor.of(request), given["table"], given["predicate"]))
