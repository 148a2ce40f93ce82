"""A restore over HTTP: what asks for it, and its preview. Unknown is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from console.base.rest import Body, LiteralText, Whole
from jobs.commands.restore.rules import Restore
from jobs.web.parts import CLASSES, ConsequenceSerializer, RehearsalSerializer, Shape, rehearse_flag

MOST = 2**63 - 1  # of a version


class RestoreBody(Body):
    """RESTORE of a Delta table to one of its versions."""

    command = serializers.ChoiceField([Restore.kind])
    table = serializers.UUIDField()
    version = Whole(min_value=0, max_value=MOST)
    reason = LiteralText(max_length=2000, allow_blank=True)
    rehearse = rehearse_flag()


def _restore(given: Mapping[str, Any]) -> Restore:
    return Restore(table=str(given["table"]), version=given["version"])


class UndoneCommitSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    operation = serializers.CharField()
    committed_at = serializers.DateTimeField(allow_null=True)
    by = serializers.CharField(allow_null=True)
    job = serializers.UUIDField(allow_null=True)


class SchemaChangeSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    column = serializers.CharField()
    before = serializers.CharField(allow_null=True)
    after = serializers.CharField(allow_null=True)


class PropertyChangeSerializer(serializers.Serializer[Any]):
    property = serializers.CharField()
    before = serializers.CharField(allow_null=True)
    after = serializers.CharField(allow_null=True)


class ClusteringChangeSerializer(serializers.Serializer[Any]):
    before = serializers.ListField(child=serializers.CharField())
    after = serializers.ListField(child=serializers.CharField())


class RestorePreviewSerializer(serializers.Serializer[Any]):
    """What a restore would do: rows and files that come back and go, and the commits it undoes, newest first."""

    to_version = serializers.IntegerField()
    commits_undone = UndoneCommitSerializer(many=True)
    num_commits_undone = serializers.IntegerField()
    rows_back = serializers.IntegerField(allow_null=True)
    rows_gone = serializers.IntegerField(allow_null=True)
    rows_exact = serializers.BooleanField(help_text="Compared row by row; else counted by files, which is more.")
    files_back = serializers.IntegerField()
    files_gone = serializers.IntegerField()
    bytes_back = serializers.IntegerField(allow_null=True)
    bytes_gone = serializers.IntegerField(allow_null=True)
    missing_files = serializers.ListField(child=serializers.CharField())
    schema_changes = SchemaChangeSerializer(many=True)
    property_changes = PropertyChangeSerializer(many=True)
    clustering_change = ClusteringChangeSerializer(
        required=False,
        allow_null=True,
        help_text="The clustering columns, if they change; new files alone follow them.",
    )
    measured_at_version = serializers.IntegerField()
    speed = serializers.ChoiceField(["log", "spark"])
    consequences = ConsequenceSerializer(many=True)
    rehearsal = RehearsalSerializer(required=False)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(CLASSES), **super().get_fields()}


SHAPE = Shape(RestoreBody, _restore, RestorePreviewSerializer)
