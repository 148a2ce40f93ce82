"""A delete over HTTP: what asks for it, what edits it, and its preview. Unknown is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from console.base.rest import Body, LiteralText
from jobs.commands.delete.rules import Delete
from jobs.predicates.reading import MAX_LENGTH
from jobs.web.parts import CLASSES, ConsequenceSerializer, RehearsalSerializer, Shape, rehearse_flag

WHOLE_TABLE = "null, and nothing else, is the whole table."


class DeleteBody(Body):
    """DELETE of the rows of a Delta table that match a predicate."""

    command = serializers.ChoiceField([Delete.kind])
    table = serializers.UUIDField()
    predicate = LiteralText(allow_null=True, max_length=MAX_LENGTH, help_text=WHOLE_TABLE)
    reason = LiteralText(max_length=2000, allow_blank=True)
    rehearse = rehearse_flag()


def _delete(given: Mapping[str, Any]) -> Delete:
    return Delete(table=str(given["table"]), predicate=given["predicate"])


class EditBody(Body):
    """The request as it should be."""

    predicate = LiteralText(allow_null=True, max_length=MAX_LENGTH, help_text=WHOLE_TABLE)
    reason = LiteralText(max_length=2000, allow_blank=True)


class SkippingSerializer(serializers.Serializer[Any]):
    """Files that Delta's data skipping passes over though rows in them may match."""

    bounds = serializers.IntegerField(help_text="Their bounds in the log are cut, rounded or contradictory.")
    nan = serializers.IntegerField(help_text="They may hold NaN, which some writers leave out of bounds.")


class PassedOverSerializer(serializers.Serializer[Any]):
    """What Spark found in a sample of the files that Delta's data skipping passes over, read without skipping."""

    files = serializers.IntegerField(help_text="Files that were read: the smallest, up to 20 of 256 MiB together.")
    of = serializers.IntegerField(help_text="Files that Delta passes over though rows in them may match.")
    rows = serializers.IntegerField(help_text="Matching rows in them, which the delete leaves.")


class DeletePreviewSerializer(serializers.Serializer[Any]):
    """What a delete would do. Rows are an upper bound unless `rows_matched_exact`."""

    branch = serializers.ChoiceField(["metadata_only", "deletion_vectors", "rewrite", "nothing"])
    why = serializers.CharField()
    files_total = serializers.IntegerField()
    files_matched = serializers.IntegerField(
        help_text="Files with a matching row; those that may have one until it is exact."
    )
    files_whole = serializers.IntegerField(help_text="Files whose every row matches.")
    bytes_matched = serializers.IntegerField(allow_null=True)
    files_to_rewrite = serializers.IntegerField()
    bytes_to_rewrite = serializers.IntegerField(allow_null=True)
    rows_matched = serializers.IntegerField(allow_null=True)
    rows_matched_exact = serializers.BooleanField()
    rows_least = serializers.IntegerField(allow_null=True)
    rows_total = serializers.IntegerField(allow_null=True)
    rows_copied = serializers.IntegerField(allow_null=True, help_text="Rows that a rewrite writes again.")
    rows_hash = serializers.CharField(allow_null=True)
    partitions = serializers.IntegerField(allow_null=True)
    measured_at_version = serializers.IntegerField()
    speed = serializers.ChoiceField(["log", "spark"])
    consequences = ConsequenceSerializer(many=True)
    rehearsal = RehearsalSerializer(required=False)
    notes = serializers.ListField(child=serializers.CharField())
    skipping = SkippingSerializer(required=False)
    passed_over = PassedOverSerializer(required=False)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(CLASSES), **super().get_fields()}


SHAPE = Shape(DeleteBody, _delete, DeletePreviewSerializer, EditBody)
