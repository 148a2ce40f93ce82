"""A repair over HTTP: what asks for it, and its preview. Unknown is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from console.base.rest import Body, LiteralText
from jobs.commands.repair.rules import Repair
from jobs.web.parts import CLASSES, ConsequenceSerializer, Shape


class RepairBody(Body):
    """Takes the data files that storage no longer holds out of a Delta table, with their rows."""

    command = serializers.ChoiceField([Repair.kind])
    table = serializers.UUIDField()
    reason = LiteralText(max_length=2000, allow_blank=True)


def _repair(given: Mapping[str, Any]) -> Repair:
    return Repair(table=str(given["table"]))


class LastCheckSerializer(serializers.Serializer[Any]):
    """The table's last check of its files, before storage is asked for the repair."""

    version = serializers.IntegerField()
    at = serializers.DateTimeField()
    asked = serializers.IntegerField()
    missing = serializers.IntegerField()


class LosingPartitionSerializer(serializers.Serializer[Any]):
    """A partition that loses files."""

    values = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(allow_null=True)),
        help_text="Each column and its value.",
    )
    files = serializers.IntegerField()
    rows = serializers.IntegerField(allow_null=True)


class RepairPreviewSerializer(serializers.Serializer[Any]):
    """What storage was found not to hold. `files` and what depends on it is null until a worker has asked for every live file."""

    files = serializers.IntegerField(allow_null=True, help_text="Missing data files.")
    bytes = serializers.IntegerField(allow_null=True, help_text="Their sizes by the log.")
    rows = serializers.IntegerField(
        allow_null=True, help_text="Their rows by the log, without deleted ones; null where it doesn’t record all."
    )
    files_total = serializers.IntegerField(help_text="Live files of the version.")
    vectors_missing = serializers.IntegerField(
        allow_null=True, help_text="Files that stay although the file of their deletion vector is missing."
    )
    outside = serializers.IntegerField(allow_null=True, help_text="Files outside the table’s directory, which stay.")
    sample = serializers.ListField(
        child=serializers.CharField(), help_text="At most 100 missing files, as the log names them."
    )
    missing_sha256 = serializers.CharField(allow_null=True, help_text="The digest of all missing files.")
    partitions = serializers.IntegerField(
        allow_null=True, help_text="Partitions that lose files; null without partitions."
    )
    by_partition = LosingPartitionSerializer(many=True, help_text="At most 20, most files first.")
    last_check = LastCheckSerializer(allow_null=True)
    measured_at_version = serializers.IntegerField()
    speed = serializers.ChoiceField(["log"])
    consequences = ConsequenceSerializer(many=True)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(CLASSES), **super().get_fields()}


SHAPE = Shape(RepairBody, _repair, RepairPreviewSerializer)
