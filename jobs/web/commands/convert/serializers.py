"""A convert over HTTP: what asks for it, and what an inspection finds. Unknown is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from console.base.rest import Body, LiteralText
from console.base.rest import Flag as StrictFlag
from jobs.commands.convert.rules import DECISIONS, Convert
from jobs.web.parts import Shape
from jobs.web.refusals import RefusalSerializer


class ConvertBody(Body):
    """CONVERT TO DELTA of a parquet directory, by path or by catalog name."""

    command = serializers.ChoiceField([Convert.kind])
    path = LiteralText(required=False, allow_null=True, max_length=4096, help_text="Absolute and literal.")
    name = LiteralText(required=False, allow_null=True, max_length=500, help_text="A name of the catalog: db.orders.")
    source_format = LiteralText(max_length=100, help_text="parquet; delta does nothing.")
    partition_schema = LiteralText(
        required=False,
        allow_null=True,
        max_length=20_000,
        help_text="Spark DDL, `day date, country string`; null means unpartitioned.",
    )
    collect_stats = StrictFlag(required=False, default=True)
    accept = serializers.ListField(
        child=serializers.ChoiceField(list(DECISIONS)),
        required=False,
        default=list,
        max_length=len(DECISIONS),
        help_text="Codes of refusals that you decide for: Spark's reading is then taken.",
    )
    reason = LiteralText(max_length=2000, allow_blank=True)


def _convert(given: Mapping[str, Any]) -> Convert:
    return Convert(
        path=given.get("path"),
        name=given.get("name"),
        source_format=given["source_format"],
        partition_schema=given.get("partition_schema"),
        collect_stats=given["collect_stats"],
        accept=tuple(dict.fromkeys(given["accept"])),
    )


class ProposalSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    proposed_type = serializers.CharField()
    evidence = serializers.CharField()
    distinct = serializers.IntegerField()
    nulls = serializers.IntegerField()
    examples = serializers.ListField(child=serializers.CharField())


class ConflictSerializer(serializers.Serializer[Any]):
    column = serializers.CharField()
    types = serializers.DictField(child=serializers.IntegerField())
    example_files = serializers.ListField(child=serializers.CharField())
    fatal = serializers.BooleanField()
    text = serializers.CharField()


class NoteSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    text = serializers.CharField()


class ReadingSerializer(serializers.Serializer[Any]):
    """A name of partition directories that Spark reads otherwise than its writer meant."""

    directory = serializers.CharField()
    name = serializers.CharField()
    spark = serializers.CharField()
    utf8 = serializers.CharField()


class FooterSerializer(serializers.Serializer[Any]):
    """A kind of files whose footer describes other columns than they have; `types` are [column, in the text, in the file]."""

    example = serializers.CharField()
    files = serializers.IntegerField()
    only_in_file = serializers.ListField(child=serializers.CharField())
    only_in_text = serializers.ListField(child=serializers.CharField())
    types = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))


class TimeSampleSerializer(serializers.Serializer[Any]):
    """A value as the file holds it and as Spark reads it; `spark` is null where Spark refuses or fails to read it."""

    file = serializers.CharField()
    spark = serializers.CharField(allow_null=True)


class TimeReadingSerializer(serializers.Serializer[Any]):
    """A column of dates or times that Spark may read as others than the files hold. A sample is null where no footer tells it."""

    column = serializers.CharField()
    stored = serializers.CharField(help_text="INT96, DATE, TIMESTAMP or TIMESTAMP(NANOS).")
    reads_as = serializers.CharField(allow_null=True, help_text="Spark's type; null where it refuses the column.")
    decided_by = serializers.CharField(help_text="A setting of Spark with its value, or what the footer says.")
    files = serializers.IntegerField()
    example = serializers.CharField()
    oldest = TimeSampleSerializer(allow_null=True)
    largest = TimeSampleSerializer(allow_null=True)


class InspectionSerializer(serializers.Serializer[Any]):
    """What a convert would find in a directory. Paths are relative to `path`; `num_records` is null when a footer can't be read."""

    path = serializers.CharField()
    num_files = serializers.IntegerField()
    size_bytes = serializers.IntegerField()
    num_records = serializers.IntegerField(allow_null=True)
    partition_columns = ProposalSerializer(many=True)
    conflicts = ConflictSerializer(many=True)
    stray_files = serializers.ListField(child=serializers.CharField())
    nested_tables = serializers.ListField(child=serializers.CharField())
    hidden_files = serializers.IntegerField()
    schema = serializers.JSONField(allow_null=True)
    refusals = RefusalSerializer(many=True)
    notes = NoteSerializer(many=True)
    empty_files = serializers.IntegerField()
    from_metadata_log = serializers.BooleanField()
    already_delta = serializers.BooleanField()
    readings = ReadingSerializer(many=True, default=list)
    footers = FooterSerializer(many=True, default=list)
    times = TimeReadingSerializer(many=True, default=list)


SHAPE = Shape(ConvertBody, _convert, InspectionSerializer)
