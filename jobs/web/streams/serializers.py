"""Streams as JSON: what a request may say, and what answers hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.base.rest import Body, Flag, LiteralText, Whole
from jobs.models import Stream, StreamBatch
from jobs.requests.asking import REASON_LENGTH
from jobs.streams.acts import FIELDS, NAME_LENGTH
from jobs.streams.sinks import sink_of
from jobs.web.jobs.serializers import ErrorSerializer, TableRefSerializer

MOST_COLUMNS = 2_000


class ColumnNameList(serializers.ListField):
    """Names of columns."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=LiteralText(max_length=255), max_length=MOST_COLUMNS, **kwargs)


class Renamed(serializers.DictField):
    """Columns to names."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=LiteralText(max_length=255), **kwargs)


class SourceBody(Body):
    """Files below a directory (`path`, `format`, `schema`), or a Delta table (`table`, by id or catalog name)."""

    path = LiteralText(required=False, max_length=4_096)
    format = LiteralText(required=False, max_length=20, help_text="parquet, json, csv or text")
    schema = serializers.JSONField(required=False, help_text="DDL text, or Spark’s struct as JSON.")
    options = serializers.DictField(required=False)
    table = LiteralText(required=False, max_length=400)
    starting_version = Whole(required=False, allow_null=True, min_value=0, max_value=2**63 - 1)
    starting_timestamp = LiteralText(required=False, allow_null=True, max_length=40)
    skip_change_commits = Flag(required=False)


class TargetBody(Body):
    """A directory below a root, new or a Delta table; or a table of the catalog by id or name."""

    path = LiteralText(required=False, max_length=4_096)
    table = LiteralText(required=False, max_length=400)


class AggregateBody(Body):
    """Counts rows by columns; without columns, all."""

    group_by = ColumnNameList(required=False)
    count_as = LiteralText(max_length=255)


class StreamChange(Body):
    """A definition; what you leave out stays as it is."""

    name = LiteralText(required=False, max_length=NAME_LENGTH)
    reason = LiteralText(required=False, max_length=REASON_LENGTH)
    source = SourceBody(required=False)  # type: ignore[assignment]  # a body's field, not where a field reads from
    rename = Renamed(required=False)
    cast = Renamed(required=False)
    filter = LiteralText(required=False, allow_null=True, max_length=20_000)
    select = ColumnNameList(required=False, allow_null=True)
    aggregate = AggregateBody(required=False, allow_null=True)
    target = TargetBody(required=False)
    checkpoint = LiteralText(required=False, allow_null=True, max_length=4_096)
    output_mode = LiteralText(required=False, max_length=20, help_text="append or complete")
    partition_by = ColumnNameList(required=False)
    options = serializers.DictField(required=False, help_text="By Delta’s and Spark’s own names; a closed list.")
    trigger = serializers.JSONField(required=False, help_text='"available_now" or {"interval": "30s"}')


class NewStream(StreamChange):
    """A stream to create."""

    name = LiteralText(max_length=NAME_LENGTH)
    reason = LiteralText(max_length=REASON_LENGTH)
    source = SourceBody()
    target = TargetBody()
    output_mode = LiteralText(max_length=20, help_text="append or complete")


class ResetBody(Body):
    """Why the checkpoint is to be reset."""

    reason = LiteralText(max_length=REASON_LENGTH)


class LagSerializer(serializers.Serializer[Any]):
    """What waits in the source: `unit` is `file` or `version`. Without `exact`, at least so many."""

    waiting = serializers.IntegerField()
    unit = serializers.CharField()
    oldest = serializers.DateTimeField(allow_null=True)
    exact = serializers.BooleanField()
    too_old = serializers.IntegerField(
        help_text="Files that Spark never takes: over a week older than the newest one taken."
    )


class BatchSerializer(serializers.Serializer[StreamBatch]):
    """A micro-batch. `num_output_rows` is of its commit: Spark reports -1 for every Delta sink. Null is unknown."""

    batch_id = serializers.IntegerField()
    version = serializers.IntegerField(allow_null=True)
    output_mode = serializers.CharField()
    query_id = serializers.CharField()
    run_id = serializers.CharField()
    epoch_id = serializers.IntegerField(source="batch_id")
    at = serializers.DateTimeField()
    skipped = serializers.BooleanField(help_text="Delta had the batch already and wrote nothing.")
    num_input_rows = serializers.IntegerField(source="input_rows", allow_null=True)
    damaged_lines = serializers.IntegerField(
        allow_null=True,
        help_text="Lines left out as damaged (mode=DROPMALFORMED), which num_input_rows includes; null: not counted.",
    )
    num_output_rows = serializers.IntegerField(source="rows_out", allow_null=True)
    num_added_files = serializers.IntegerField(source="files_added", allow_null=True)
    num_removed_files = serializers.IntegerField(source="files_removed", allow_null=True)
    num_output_bytes = serializers.IntegerField(source="bytes_added", allow_null=True)
    duration_ms = serializers.DictField(source="durations", child=serializers.IntegerField())
    input_rows_per_second = serializers.FloatField(source="input_rate", allow_null=True)
    processed_rows_per_second = serializers.FloatField(source="processed_rate", allow_null=True)
    job = serializers.UUIDField(source="job_id", allow_null=True)


class AheadSerializer(serializers.Serializer[Any]):
    """A commit of the source table that fails the next round, or (not `fails`) may change what it writes."""

    version = serializers.IntegerField()
    fails = serializers.BooleanField()
    text = serializers.CharField()
    remedy = serializers.CharField()


class StreamSerializer(serializers.Serializer[Stream]):
    """A stream as it is now; the definition's fields are as you gave them."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    reason = serializers.CharField()
    state = serializers.ChoiceField(Stream.State.choices)
    state_text = serializers.CharField()
    state_since = serializers.DateTimeField(source="state_at")
    error = ErrorSerializer(allow_null=True)
    table = TableRefSerializer()
    source_table = TableRefSerializer(allow_null=True)
    sink = serializers.SerializerMethodField()
    checkpoint = serializers.CharField()
    definition_sha256 = serializers.CharField()
    revision = serializers.IntegerField()
    prediction = serializers.JSONField()
    query_id = serializers.CharField(allow_null=True)
    rounds = serializers.IntegerField()
    next_round_at = serializers.DateTimeField(allow_null=True)
    lag = LagSerializer(allow_null=True)
    lag_at = serializers.DateTimeField(allow_null=True)
    lag_text = serializers.CharField(help_text="Why the last look at the source told no lag; empty if it told one.")
    last_batch = serializers.SerializerMethodField()
    round = serializers.SerializerMethodField()
    schema_ahead = serializers.SerializerMethodField()
    approved_by_job = serializers.UUIDField(source="approved_by_job_id", allow_null=True)
    run_by = serializers.CharField(source="run_by.name", allow_null=True, default=None)
    created_by = serializers.CharField(source="created_by.name")
    created_at = serializers.DateTimeField()

    def get_sink(self, stream: Stream) -> str:
        """As Spark describes it: `DeltaSink[path]`."""
        return sink_of(stream)

    @extend_schema_field(BatchSerializer(allow_null=True))
    def get_last_batch(self, stream: Stream) -> Any:
        """Its newest micro-batch."""
        batch = self.context["last_batches"].get(stream.pk)
        return None if batch is None else BatchSerializer(batch).data

    @extend_schema_field(serializers.UUIDField(allow_null=True))
    def get_round(self, stream: Stream) -> Any:
        """The job of the round that is open."""
        return self.context["rounds"].get(stream.pk)

    @extend_schema_field(AheadSerializer(allow_null=True))
    def get_schema_ahead(self, stream: Stream) -> Any:
        """A change of the source's columns that fails its next round, or may."""
        ahead = self.context["ahead"].get(stream.pk)
        return None if ahead is None else ahead.as_json()

    def to_representation(self, instance: Stream) -> Any:
        """With the definition as it was asked for."""
        shown = super().to_representation(instance)
        asked: Mapping[str, Any] = instance.asked
        return {**shown, **{field: asked.get(field) for field in FIELDS if field != "checkpoint"}}
