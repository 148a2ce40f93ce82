"""The previews of delete and restore as the API shows them. Unknown is null."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

CLASSES = ["whole_table", "ordinary"]


class ConsequenceSerializer(serializers.Serializer[Any]):
    """What a change means beyond its numbers; `code` is stable."""

    code = serializers.CharField()
    text = serializers.CharField()


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
    notes = serializers.ListField(child=serializers.CharField())

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(CLASSES), **super().get_fields()}


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
    measured_at_version = serializers.IntegerField()
    speed = serializers.ChoiceField(["log", "spark"])
    consequences = ConsequenceSerializer(many=True)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(CLASSES), **super().get_fields()}
