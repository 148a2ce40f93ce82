"""A vacuum over HTTP: what asks for it, and its preview. Unknown is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from console.base.rest import Body, Flag, LiteralText, Whole
from jobs.commands.vacuum.rules import MOST_HOURS, Vacuum
from jobs.web.parts import CLASSES, ConsequenceSerializer, Shape


class VacuumBody(Body):
    """VACUUM of a Delta table: deletes the files from storage that no version within the retention needs."""

    command = serializers.ChoiceField([Vacuum.kind])
    table = serializers.UUIDField()
    retention_hours = Whole(
        allow_null=True,
        required=False,
        default=None,
        help_text=f"Whole hours, 0 to {MOST_HOURS}; without them, the table's own retention. Less than 168 is a class of its own.",
    )
    lite = Flag(required=False, default=False, help_text="By the log alone, without listing the directory.")
    reason = LiteralText(max_length=2000, allow_blank=True)


def _vacuum(given: Mapping[str, Any]) -> Vacuum:
    return Vacuum(str(given["table"]), given["retention_hours"], given["lite"])


class AgeSerializer(serializers.Serializer[Any]):
    """Files that aren't needed since at least `from_hours` and less than `to_hours` (null: no end)."""

    from_hours = serializers.IntegerField()
    to_hours = serializers.IntegerField(allow_null=True)
    files = serializers.IntegerField()
    bytes = serializers.IntegerField(allow_null=True)


class RemovedBySerializer(serializers.Serializer[Any]):
    """Files that the commit of this version removed from the table."""

    version = serializers.IntegerField()
    files = serializers.IntegerField()
    bytes = serializers.IntegerField(allow_null=True)


class RetentionSerializer(serializers.Serializer[Any]):
    """What a vacuum would delete with this retention."""

    hours = serializers.IntegerField()
    files = serializers.IntegerField()
    bytes = serializers.IntegerField(allow_null=True)


class VacuumPreviewSerializer(serializers.Serializer[Any]):
    """What a vacuum would delete: by the log until the worker has listed the directory (`speed` is then `spark`)."""

    lite = serializers.BooleanField()
    retention = serializers.CharField()
    own_retention = serializers.CharField()
    files = serializers.IntegerField()
    bytes = serializers.IntegerField(allow_null=True)
    untracked_files = serializers.IntegerField(allow_null=True, help_text="Of them, files that the log doesn't name.")
    untracked_bytes = serializers.IntegerField(allow_null=True)
    directories = serializers.IntegerField(allow_null=True, help_text="Empty ones, which go as well.")
    listed = serializers.IntegerField(required=False, allow_null=True, help_text="Files that were looked at.")
    dying_versions = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2),
        help_text="[first, last] of versions that can be read now and no longer after the run.",
    )
    first_readable_after = serializers.IntegerField()
    needed_by = serializers.ListField(child=serializers.CharField())
    curve = RetentionSerializer(many=True)
    by_age = AgeSerializer(many=True)
    by_commit = RemovedBySerializer(many=True)
    sample = serializers.ListField(child=serializers.CharField())
    cut_at = serializers.DateTimeField(required=False, help_text="What was changed or removed later stays.")
    exact = serializers.BooleanField()
    measured_at_version = serializers.IntegerField()
    speed = serializers.ChoiceField(["log", "spark"])
    consequences = ConsequenceSerializer(many=True)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(CLASSES), **super().get_fields()}


SHAPE = Shape(VacuumBody, _vacuum, VacuumPreviewSerializer)
