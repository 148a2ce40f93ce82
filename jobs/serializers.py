"""Jobs as JSON: what `POST /jobs` takes for each command, and how a job, its preview and its parts are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.rest import Body, ListQuery, Text, WaitQuery, Whole
from console.rest import Flag as StrictFlag
from jobs.domain.commands import Command, Convert, Delete, Restore
from jobs.domain.states import State
from jobs.predicates import MAX_LENGTH
from jobs.preview_serializers import DeletePreviewSerializer, RestorePreviewSerializer

MOST = 2**63 - 1  # of a version


class ConvertBody(Body):
    """CONVERT TO DELTA of a parquet directory, by path or by catalog name."""

    command = serializers.ChoiceField([Convert.kind])
    path = Text(required=False, allow_null=True, max_length=4096, help_text="Absolute and literal.")
    name = Text(required=False, allow_null=True, max_length=500, help_text="A name of the catalog: db.orders.")
    source_format = Text(max_length=100, help_text="parquet; delta does nothing.")
    partition_schema = Text(
        required=False,
        allow_null=True,
        max_length=20_000,
        help_text="Spark DDL, `day date, country string`; null means unpartitioned.",
    )
    collect_stats = StrictFlag(required=False, default=True)
    reason = Text(max_length=2000, allow_blank=True)


def _convert(given: Mapping[str, Any]) -> Convert:
    return Convert(
        path=given.get("path"),
        name=given.get("name"),
        source_format=given["source_format"],
        partition_schema=given.get("partition_schema"),
        collect_stats=given["collect_stats"],
    )


class DeleteBody(Body):
    """DELETE of the rows of a Delta table that match a predicate."""

    command = serializers.ChoiceField([Delete.kind])
    table = serializers.UUIDField()
    predicate = Text(allow_null=True, max_length=MAX_LENGTH, help_text="null, and nothing else, is the whole table.")
    reason = Text(max_length=2000, allow_blank=True)


def _delete(given: Mapping[str, Any]) -> Delete:
    return Delete(table=str(given["table"]), predicate=given["predicate"])


class RestoreBody(Body):
    """RESTORE of a Delta table to one of its versions."""

    command = serializers.ChoiceField([Restore.kind])
    table = serializers.UUIDField()
    version = Whole(min_value=0, max_value=MOST)
    reason = Text(max_length=2000, allow_blank=True)


def _restore(given: Mapping[str, Any]) -> Restore:
    return Restore(table=str(given["table"]), version=given["version"])


# One entry per command: its body, and how the body's values become the command.
BODIES: Mapping[str, tuple[type[Body], Callable[[Mapping[str, Any]], Command]]] = {
    Convert.kind: (ConvertBody, _convert),
    Delete.kind: (DeleteBody, _delete),
    Restore.kind: (RestoreBody, _restore),
}


class AnyCommand(serializers.Serializer[Any]):
    """Which command a body is for; its own serializer reads the rest."""

    command = serializers.ChoiceField(sorted(BODIES))


class JobQuery(ListQuery):
    """How `GET /jobs` is narrowed."""

    state = serializers.ChoiceField(
        ["open", *(s.value for s in State)], required=False, help_text="`open` is every state that is no end."
    )
    command = serializers.ChoiceField(sorted(BODIES), required=False)
    table = serializers.UUIDField(required=False)
    by = serializers.CharField(required=False, max_length=64, help_text="The name of who asked.")


class JobWaitQuery(WaitQuery):
    """How `GET /jobs/{id}` waits."""

    until = serializers.ChoiceField(["ended", "state"], required=False, default="ended")


class EngineSerializer(serializers.Serializer[Any]):
    """A refusal or failure of Delta or Spark in its own words."""

    condition = serializers.CharField(allow_null=True)
    sqlstate = serializers.CharField(allow_null=True)
    message = serializers.CharField()


class RefusalSerializer(serializers.Serializer[Any]):
    """Why Levee will not convert, where, and what to do about it."""

    code = serializers.CharField()
    message = serializers.CharField()
    place = serializers.CharField(allow_null=True)
    remedy = serializers.CharField(allow_null=True)
    engine = EngineSerializer(allow_null=True)


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


PREVIEWS: Mapping[str, type[serializers.Serializer[Any]]] = {
    Convert.kind: InspectionSerializer,
    Delete.kind: DeletePreviewSerializer,
    Restore.kind: RestorePreviewSerializer,
}


class TableRefSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    path = serializers.CharField()


class PolicySerializer(serializers.Serializer[Any]):
    required_approvals = serializers.IntegerField()
    role = serializers.CharField()
    reasons = serializers.ListField(child=serializers.CharField())


class ApprovalSerializer(serializers.Serializer[Any]):
    """One person's decision on one digest. An edit voids it."""

    by = serializers.CharField(source="person.name")
    decision = serializers.ChoiceField(["approve", "reject"])
    digest = serializers.CharField()
    decided_at = serializers.DateTimeField()
    comment = serializers.CharField()
    voided_at = serializers.DateTimeField(allow_null=True)


class DriftSerializer(serializers.Serializer[Any]):
    """How far the table has moved since the preview: now while it waits, else at the check before the run."""

    head_version = serializers.IntegerField(allow_null=True)
    verdict = serializers.ChoiceField(["unmoved", "same_files", "same_rows", "moved"])
    why = serializers.CharField()
    checked_at = serializers.DateTimeField(allow_null=True)


class StageSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    seconds = serializers.FloatField(allow_null=True)


class ProgressSerializer(serializers.Serializer[Any]):
    """The stage in words; `done` and `total` are Spark's tasks, null where none run."""

    stage = serializers.CharField(allow_null=True)
    done = serializers.IntegerField(allow_null=True)
    total = serializers.IntegerField(allow_null=True)
    stages = StageSerializer(many=True, required=False)


class AttemptSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    worker = serializers.CharField()
    claimed_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    outcome = serializers.SerializerMethodField()

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_outcome(self, attempt: Any) -> str | None:
        return attempt.outcome or None


class ResultSerializer(serializers.Serializer[Any]):
    """What the run did. With `no_op` nothing was committed. `details` are facts of the one command."""

    version = serializers.IntegerField(allow_null=True)
    operation = serializers.CharField(allow_null=True)
    operation_parameters = serializers.DictField(child=serializers.CharField())
    operation_metrics = serializers.DictField(child=serializers.CharField())
    num_affected_rows = serializers.IntegerField(allow_null=True)
    no_op = serializers.BooleanField()
    drifted = serializers.BooleanField()
    read_version = serializers.IntegerField(allow_null=True)
    details = serializers.JSONField()


class ErrorSerializer(serializers.Serializer[Any]):
    """Why the job failed, what it means for the table, and what to do."""

    code = serializers.CharField()
    message = serializers.CharField()
    engine = EngineSerializer(allow_null=True)
    table_state = serializers.CharField()
    what_to_do = serializers.CharField()
    refusals = RefusalSerializer(many=True, required=False)


class JobSerializer(serializers.Serializer[Any]):
    """A job as it is now."""

    id = serializers.UUIDField()
    command = serializers.CharField()
    parameters = serializers.JSONField()
    table = TableRefSerializer()
    state = serializers.ChoiceField([s.value for s in State])
    state_text = serializers.CharField()
    table_state_text = serializers.CharField()
    requested_by = serializers.CharField()
    requested_at = serializers.DateTimeField()
    reason = serializers.CharField()
    digest = serializers.CharField(allow_null=True)
    base_version = serializers.IntegerField(allow_null=True)
    expires_at = serializers.DateTimeField()
    policy = PolicySerializer()
    approvals = ApprovalSerializer(many=True)
    preview = serializers.JSONField(allow_null=True)
    drift = DriftSerializer(allow_null=True)
    progress = ProgressSerializer()
    attempts = AttemptSerializer(many=True)
    result = ResultSerializer(allow_null=True)
    error = ErrorSerializer(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class JobEventSerializer(serializers.Serializer[Any]):
    """What happened to a job. `kind` is the state it went to, or `requested`, `released`, `late_commit`, `note`."""

    happened_at = serializers.DateTimeField(source="at")
    kind = serializers.CharField()
    who = serializers.CharField()
    from_state = serializers.CharField(source="source", allow_null=True)
    to_state = serializers.CharField(source="target", allow_null=True)
    attempt = serializers.IntegerField(allow_null=True)
    text = serializers.CharField()
    table_text = serializers.CharField()

    def to_representation(self, instance: Any) -> dict[str, Any]:
        shown = super().to_representation(instance)
        return shown | {name: shown[name] or None for name in ("from_state", "to_state")}


class LogLineSerializer(serializers.Serializer[Any]):
    """One line of an attempt's log; attempt 0 is the preview's."""

    logged_at = serializers.DateTimeField(source="at")
    attempt = serializers.IntegerField(source="attempt.number")
    text = serializers.CharField()
