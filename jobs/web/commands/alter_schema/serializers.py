"""A change of a schema over HTTP: what asks for it, and its preview. Unknown is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.base.rest import Body, LiteralText
from jobs.commands.alter_schema.rules import MOST_CHANGES, AlterSchema
from jobs.web.parts import CLASSES, ConsequenceSerializer, RehearsalSerializer, Shape, rehearse_flag


@extend_schema_field({"type": "object", "maxProperties": 1, "minProperties": 1, "additionalProperties": True})
class ChangeField(serializers.Field[Any, Any, Any, Any]):
    """One change: an object with one key, its kind. The command's own check says what is wrong in it."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError("A change is an object with one key, its kind.")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class AlterSchemaBody(Body):
    """Changes of a Delta table's schema, constraints, clustering and comment: one commit each, in order."""

    command = serializers.ChoiceField([AlterSchema.kind])
    table = serializers.UUIDField()
    changes = serializers.ListField(
        child=ChangeField(),
        min_length=1,
        max_length=MOST_CHANGES,
        help_text=(
            "Each an object with one key: add {path, type, comment?, after? | first?}, rename {path, to}, drop {path}, widen {path, type},"
            " comment {path, text}, nullable {path}, add_constraint {name, expression}, drop_constraint {name}, cluster_by [columns],"
            " table_comment text. A path is `a.b`; below an array `a.element.b`, below a map `m.key`, `m.value`."
        ),
    )
    reason = LiteralText(max_length=2000, allow_blank=True)
    rehearse = rehearse_flag()


def _alter_schema(given: Mapping[str, Any]) -> AlterSchema:
    return AlterSchema(table=str(given["table"]), changes=[dict(change) for change in given["changes"]])


class AlteredProtocolSerializer(serializers.Serializer[Any]):
    """What readers and writers must support; lists are null in versions that list no features."""

    min_reader_version = serializers.IntegerField()
    min_writer_version = serializers.IntegerField()
    reader_features = serializers.ListField(child=serializers.CharField(), allow_null=True)
    writer_features = serializers.ListField(child=serializers.CharField(), allow_null=True)


class AlteredSerializer(serializers.Serializer[Any]):
    """What changes can change: the schema as Delta's JSON, the table's comment, CHECK constraints by name, and clustering columns."""

    schema = serializers.DictField()
    comment = serializers.CharField(allow_blank=True)
    constraints = serializers.DictField(child=serializers.CharField())
    clustering_columns = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="null for a table that isn’t clustered."
    )


class SchemaReaderSerializer(serializers.Serializer[Any]):
    """An engine, and whether it reads and writes the table afterwards; `writes` is null where its source doesn't say."""

    name = serializers.CharField()
    version = serializers.CharField()
    reads = serializers.BooleanField()
    writes = serializers.BooleanField(allow_null=True)
    why = serializers.CharField(allow_blank=True)
    seen = serializers.CharField(help_text="The month in which Levee’s makers looked.")

    def get_fields(self) -> dict[str, Any]:
        """`source` is a member of every field already."""
        return {**super().get_fields(), "source": serializers.CharField()}


class ListedChangeSerializer(serializers.Serializer[Any]):
    """A change in words, and the statement that it stands for."""

    text = serializers.CharField()
    operation = serializers.CharField()


class SchemaLineSerializer(serializers.Serializer[Any]):
    """One difference of the table's metadata."""

    kind = serializers.ChoiceField(["added", "removed", "renamed", "type", "nullable", "comment", "order", "changed"])
    column = serializers.CharField(allow_blank=True)
    before = serializers.CharField(allow_null=True)
    after = serializers.CharField(allow_null=True)


class AlterSchemaPreviewSerializer(serializers.Serializer[Any]):
    """What the changes come to, by the log. `violating_rows` is Spark's count for new constraints: null before it, or without one."""

    before = AlteredSerializer()
    after = AlteredSerializer()
    changes = ListedChangeSerializer(many=True)
    diff = SchemaLineSerializer(many=True)
    protocol_before = AlteredProtocolSerializer()
    protocol_after = AlteredProtocolSerializer()
    irreversible = serializers.ListField(child=serializers.CharField())
    readers = SchemaReaderSerializer(many=True)
    violating_rows = serializers.IntegerField(allow_null=True)
    measured_at_version = serializers.IntegerField()
    rehearsal = RehearsalSerializer(required=False)
    speed = serializers.ChoiceField(["log", "exact"])
    consequences = ConsequenceSerializer(many=True)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(CLASSES), **super().get_fields()}


SHAPE = Shape(AlterSchemaBody, _alter_schema, AlterSchemaPreviewSerializer)
