"""The catalog's API: checks the input, and gives the output one shape."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from console.base.rest import Body, ListQuery, LiteralText
from tables.catalog import freshness
from tables.catalog.listing import AGES
from tables.deltalog.read.file_sums import Removal
from tables.deltalog.rules.reachability import VersionReach
from tables.history import partitions, removed_files
from tables.history.queries import Day
from tables.models import Commit, Explanation, Table
from tables.rules.health_findings import HealthCode, Severity
from tables.web.table_state import has_unguarded_writers


class NewTable(Body):
    """A path alone adds the table there, a name alone returns the table with that name, both together name the table."""

    path = LiteralText(max_length=4096, required=False)
    name = LiteralText(max_length=500, required=False, help_text="database.table; a single part lies in `default`.")
    source_format = LiteralText(max_length=100, required=False, help_text="With name and path: delta or parquet.")
    schema = serializers.DictField(
        required=False, allow_null=True, help_text="Of parquet: Spark's JSON struct of all columns."
    )
    partition_columns = serializers.ListField(
        child=LiteralText(max_length=255),
        required=False,
        allow_null=True,
        max_length=100,
        help_text="Columns of the schema.",
    )

    def validate(self, attrs: Any) -> Any:
        if {"path", "name"} <= set(attrs):
            if "source_format" not in attrs:
                raise serializers.ValidationError({"source_format": "Set this to delta or parquet."})
        elif len(attrs) != 1 or not {"path", "name"} & set(attrs):
            raise serializers.ValidationError({"path": "Give a path or a name; both together give a name."})
        return attrs


class TableChange(Body):
    catalog_name = LiteralText(
        max_length=500, required=False, allow_null=True, help_text="database.table; null removes the name."
    )
    owner = LiteralText(max_length=100, required=False, allow_blank=True)
    description = LiteralText(max_length=10_000, required=False, allow_blank=True)
    tags = serializers.ListField(child=LiteralText(max_length=50), required=False, max_length=50)


def _several(child: serializers.Field[Any, Any, Any, Any], help_text: str = "") -> serializers.ListField:
    """A parameter that may be given more than once: alternatives."""
    return serializers.ListField(child=child, required=False, max_length=100, help_text=help_text)


class TableQuery(ListQuery):
    """Groups that are given more than once hold alternatives."""

    q = serializers.CharField(required=False, help_text="Any part of a word of name, path, column, tag or owner.")
    root = _several(serializers.CharField(), "A root's id or name.")  # type: ignore[assignment]
    format = _several(serializers.ChoiceField(Table.Format.choices))
    tag = _several(serializers.CharField())
    owner = _several(serializers.CharField())
    feature = _several(serializers.CharField())
    health = _several(serializers.ChoiceField(HealthCode.choices))
    age = _several(serializers.ChoiceField(AGES), "Changed within a day, or not for 90 days.")
    stale = serializers.BooleanField(required=False)
    favourite = serializers.BooleanField(required=False, help_text="Your favourites alone.")
    order = serializers.ChoiceField(["best", "name", "-size", "-files", "-changed"], required=False)


class CommitQuery(serializers.Serializer[Any]):
    incarnation = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="Number of an earlier table at this location; the present one unless given.",
    )


class HistoryQuery(ListQuery, CommitQuery):
    operation = serializers.CharField(
        required=False, help_text="A name, or `destructive`, `but_streaming`, `unexplained`."
    )
    by = serializers.CharField(
        required=False, help_text="Who requested the job, or the user or engine named in the log."
    )
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)
    before = serializers.IntegerField(required=False, min_value=0, max_value=2**63 - 1)
    job = serializers.CharField(required=False, max_length=36, help_text="A job’s id, or its beginning.")


class VersionQuery(serializers.Serializer[Any]):
    version = serializers.IntegerField(required=False, min_value=0, max_value=2**63 - 1)


class FilesQuery(ListQuery):
    action = serializers.ChoiceField(["add", "remove", "cdc"], required=False)


class PartitionsQuery(ListQuery):
    order = serializers.ChoiceField(list(partitions.ORDERS), required=False)
    q = serializers.CharField(
        required=False, max_length=partitions.LONGEST_QUERY, help_text="A part of `column=value/column=value`."
    )


class ProtocolOut(serializers.Serializer[Any]):
    min_reader_version = serializers.IntegerField()
    min_writer_version = serializers.IntegerField()
    reader_features = serializers.ListField(child=serializers.CharField(), allow_null=True)
    writer_features = serializers.ListField(child=serializers.CharField(), allow_null=True)
    implied_features = serializers.ListField(child=serializers.CharField())


class HealthOut(serializers.Serializer[Any]):
    code = serializers.ChoiceField(HealthCode.choices)
    severity = serializers.ChoiceField(Severity.choices)
    value = serializers.JSONField(allow_null=True)
    threshold = serializers.JSONField(allow_null=True)
    text = serializers.CharField()
    advice = serializers.CharField()


class TableRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    path = serializers.CharField()
    catalog_name = serializers.CharField(allow_null=True)
    root = serializers.UUIDField()  # type: ignore[assignment]
    format = serializers.ChoiceField(Table.Format.choices)
    version = serializers.IntegerField(allow_null=True)
    last_commit_at = serializers.DateTimeField(allow_null=True)
    size_bytes = serializers.IntegerField(allow_null=True)
    num_files = serializers.IntegerField(allow_null=True)
    num_records = serializers.IntegerField(allow_null=True)
    owner = serializers.CharField(allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())
    health_codes = serializers.ListField(child=serializers.CharField())
    missing_since = serializers.DateTimeField(allow_null=True)
    synced_at = serializers.DateTimeField(allow_null=True)
    sync_error = serializers.CharField(allow_null=True)


class EntryOut(serializers.Serializer[Any]):
    schema = serializers.JSONField()
    partition_columns = serializers.ListField(child=serializers.CharField())


class TableOut(TableRow):
    catalog_entry = EntryOut(allow_null=True)
    description = serializers.CharField(allow_null=True)
    table_id = serializers.CharField(allow_null=True)
    incarnation = serializers.IntegerField()
    created_at = serializers.DateTimeField(allow_null=True)
    schema = serializers.JSONField(allow_null=True)
    partition_columns = serializers.ListField(child=serializers.CharField())
    clustering_columns = serializers.ListField(child=serializers.CharField())
    properties = serializers.DictField(child=serializers.CharField(allow_null=True))
    protocol = ProtocolOut(allow_null=True)
    features = serializers.ListField(child=serializers.CharField())
    health = HealthOut(many=True)
    problems = serializers.ListField(child=serializers.DictField())
    notes = serializers.ListField(child=serializers.ChoiceField(["unguarded_writers"]))


class ExplanationOut(serializers.Serializer[Any]):
    """The attribution of a destructive commit; null for any other."""

    verdict = serializers.ChoiceField(Explanation.Verdict.values)
    effects = serializers.ListField(child=serializers.CharField())
    why = serializers.CharField(allow_null=True)
    acknowledged_at = serializers.DateTimeField(allow_null=True)
    acknowledged_by = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_null=True)


class CommitOut(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    incarnation = serializers.IntegerField()
    committed_at = serializers.DateTimeField(allow_null=True)
    operation = serializers.CharField(allow_null=True)
    operation_parameters = serializers.DictField(child=serializers.CharField(allow_null=True))
    operation_metrics = serializers.DictField(child=serializers.CharField(allow_null=True))
    user_name = serializers.CharField(allow_null=True)
    engine_info = serializers.CharField(allow_null=True)
    isolation_level = serializers.CharField(allow_null=True)
    is_blind_append = serializers.BooleanField(allow_null=True)
    txn_id = serializers.CharField(allow_null=True)
    user_metadata = serializers.CharField(allow_null=True)
    read_version = serializers.IntegerField(allow_null=True)
    in_log = serializers.BooleanField()
    restorable = serializers.BooleanField()
    job = serializers.UUIDField(allow_null=True)
    explanation = ExplanationOut(allow_null=True)


class DayOut(serializers.Serializer[Any]):
    """A day with commits: how many, and the bytes and rows of the table at its end."""

    day = serializers.DateField()
    commits = serializers.IntegerField()
    size_bytes = serializers.IntegerField(allow_null=True)
    num_records = serializers.IntegerField(allow_null=True)


def day_json(day: Day) -> dict[str, Any]:
    return {
        "day": day.date,
        "commits": day.commits,
        "size_bytes": day.size_bytes,
        "num_records": day.num_records,
    }


class SchemaChangeOut(serializers.Serializer[Any]):
    change = serializers.CharField()
    column = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class PropertyChangeOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    before = serializers.CharField(allow_null=True)
    after = serializers.CharField(allow_null=True)


class CommitDetailOut(CommitOut):
    """A commit with what it did beyond its line in the history; null is unknown, or not touched by it."""

    files_added = serializers.IntegerField(allow_null=True)
    files_removed = serializers.IntegerField(allow_null=True)
    bytes_added = serializers.IntegerField(allow_null=True)
    bytes_removed = serializers.IntegerField(allow_null=True)
    rows_added = serializers.IntegerField(allow_null=True)
    rows_removed = serializers.IntegerField(allow_null=True)
    rows_changed = serializers.IntegerField(allow_null=True)
    rows_reported = serializers.IntegerField(allow_null=True)
    removal = serializers.ChoiceField([each.value for each in Removal], allow_null=True)
    schema_changes = SchemaChangeOut(many=True, allow_null=True)
    property_changes = PropertyChangeOut(many=True, allow_null=True)
    protocol = serializers.JSONField(allow_null=True)
    readable_until = serializers.DateTimeField(allow_null=True)
    why_not_restorable = serializers.CharField(allow_null=True)
    problems = serializers.ListField(child=serializers.JSONField())


def row_json(table: Table) -> dict[str, Any]:
    """A table in a list."""
    return {
        "id": str(table.pk),
        "name": table.name,
        "path": table.path,
        "catalog_name": table.catalog_name,
        "root": str(table.root_id),
        "format": table.format,
        "version": table.version,
        "last_commit_at": table.last_commit_at,
        "size_bytes": table.size_bytes,
        "num_files": table.num_files,
        "num_records": table.num_records,
        "owner": table.owner or None,
        "tags": table.tags,
        "health_codes": freshness.codes_of(table),
        "missing_since": table.missing_since,
        "synced_at": table.synced_at,
        "sync_error": table.sync_error or None,
    }


def table_json(table: Table) -> dict[str, Any]:
    """A table's overview."""
    return row_json(table) | {
        "catalog_entry": table.catalog_entry,
        "description": table.description or table.comment or None,
        "table_id": table.table_id,
        "incarnation": table.incarnation,
        "created_at": table.created_at,
        "schema": table.schema.struct if table.schema else None,
        "partition_columns": table.partition_columns,
        "clustering_columns": table.clustering_columns,
        "properties": table.properties,
        "protocol": table.protocol,
        "features": table.features,
        "health": health_json(table),
        "problems": table.problems,
        "notes": ["unguarded_writers"] if has_unguarded_writers(table) else [],
    }


def health_json(table: Table) -> list[dict[str, Any]]:
    """The findings of the last sync, and those that time has added."""
    by_time = (freshness.late_finding(table), removed_files.finding_of(table, timezone.now()))
    return [*table.health, *(finding.as_json() for finding in by_time if finding)]


def commit_json(commit: Commit, there: VersionReach) -> dict[str, Any]:
    """An entry of a history, with what can be done with its version."""
    return {
        "version": commit.version,
        "incarnation": commit.incarnation,
        "committed_at": commit.committed_at,
        "operation": commit.operation or None,
        "operation_parameters": commit.operation_parameters,
        "operation_metrics": commit.operation_metrics,
        "user_name": commit.user_name or None,
        "engine_info": commit.engine_info or None,
        "isolation_level": commit.isolation_level or None,
        "is_blind_append": commit.is_blind_append,
        "txn_id": commit.txn_id or None,
        "user_metadata": commit.user_metadata or None,
        "read_version": commit.read_version,
        "in_log": there.in_log,
        "restorable": there.restorable,
        "job": str(commit.job) if commit.job else None,
    }
