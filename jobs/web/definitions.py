"""What the previews of changes to a table's definition have in common over HTTP: the protocol, and who can read the table then."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from jobs.web.parts import CLASSES, ConsequenceSerializer


class ProtocolSerializer(serializers.Serializer[Any]):
    """A protocol. The lists are null in versions that list no features."""

    min_reader_version = serializers.IntegerField()
    min_writer_version = serializers.IntegerField()
    reader_features = serializers.ListField(child=serializers.CharField(), allow_null=True)
    writer_features = serializers.ListField(child=serializers.CharField(), allow_null=True)


class ReaderSerializer(serializers.Serializer[Any]):
    """An engine and whether it can read the table afterwards; `writes` is null where its source doesn't say."""

    name = serializers.CharField()
    version = serializers.CharField()
    reads = serializers.BooleanField()
    writes = serializers.BooleanField(allow_null=True)
    why = serializers.CharField(help_text="What it lacks; empty if nothing.")
    source = serializers.CharField(help_text="Where its features are written down.")  # type: ignore[assignment]
    seen = serializers.CharField(help_text="The month in which that was looked up.")


class DefinitionPreviewSerializer(serializers.Serializer[Any]):
    """What a change does to a table's definition, by the log."""

    protocol_before = ProtocolSerializer()
    protocol_after = ProtocolSerializer()
    irreversible = serializers.ListField(child=serializers.CharField())
    readers = ReaderSerializer(many=True)
    violating_rows = serializers.IntegerField(allow_null=True)
    measured_at_version = serializers.IntegerField()
    speed = serializers.ChoiceField(["log"])
    consequences = ConsequenceSerializer(many=True)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(CLASSES), **super().get_fields()}
