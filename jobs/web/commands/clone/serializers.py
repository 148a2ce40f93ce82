"""A clone over HTTP: what asks for it, and its preview. Unknown is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from console.base.rest import Body, LiteralText, Whole
from jobs.commands.clone.rules import DEPTHS, Clone
from jobs.web.parts import CLASSES, ConsequenceSerializer, Shape


class CloneBody(Body):
    """A new Delta table with the rows of another one's version: a shallow clone names its files, a deep one copies them."""

    command = serializers.ChoiceField([Clone.kind])
    table = serializers.UUIDField(help_text="The source.")
    version = Whole(
        allow_null=True, required=False, default=None, min_value=0, help_text="null is the newest at the request."
    )
    target = LiteralText(max_length=4096, help_text="An empty or new directory below a root. Absolute and literal.")
    kind = serializers.ChoiceField(list(DEPTHS))
    reason = LiteralText(max_length=2000, allow_blank=True)


def _clone(given: Mapping[str, Any]) -> Clone:
    return Clone(table=str(given["table"]), target=given["target"], depth=given["kind"], version=given["version"])


class ProtocolSerializer(serializers.Serializer[Any]):
    reader = serializers.IntegerField()
    writer = serializers.IntegerField()


class SourceSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    path = serializers.CharField()


class ClonePreviewSerializer(serializers.Serializer[Any]):
    """What a clone would hold, by the log of its source. `bytes_to_copy` leaves out the files of deletion vectors."""

    depth = serializers.ChoiceField(list(DEPTHS))
    source = SourceSerializer()  # type: ignore[assignment]
    target = serializers.CharField()
    source_version = serializers.IntegerField()
    files = serializers.IntegerField()
    bytes = serializers.IntegerField()
    rows = serializers.IntegerField(allow_null=True)
    deletion_vectors = serializers.IntegerField(help_text="Files among them with a deletion vector.")
    files_to_copy = serializers.IntegerField(help_text="0 for a shallow clone.")
    bytes_to_copy = serializers.IntegerField()
    seconds = serializers.FloatField(allow_null=True, help_text="For the copying, by the pace of the last deep clones.")
    partition_columns = serializers.ListField(child=serializers.CharField())
    properties = serializers.IntegerField(help_text="How many come along, CHECK constraints among them.")
    constraints = serializers.ListField(child=serializers.CharField(), help_text="The names of CHECK constraints.")
    protocol = ProtocolSerializer()
    features = serializers.ListField(child=serializers.CharField())
    measured_at_version = serializers.IntegerField()
    readable_until = serializers.DateTimeField(
        allow_null=True,
        help_text="Until when the source keeps an older version's files by its own retention; null for the newest, or unknown.",
    )
    speed = serializers.ChoiceField(["log"])
    consequences = ConsequenceSerializer(many=True)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(CLASSES), **super().get_fields()}


SHAPE = Shape(CloneBody, _clone, ClonePreviewSerializer)
