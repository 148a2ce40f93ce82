"""Jobs as JSON: the list, and a job with its parts. Each command has its own serializers for its parameters."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.base.rest import ListQuery, WaitQuery
from jobs.commands.registry import ROWS
from jobs.domain.states import State
from jobs.web.parts import shapes
from jobs.web.refusals import EngineSerializer, RefusalSerializer


class AnyCommand(serializers.Serializer[Any]):
    """The command of a body; the command's own serializer reads the rest."""

    def get_fields(self) -> dict[str, Any]:
        return {"command": serializers.ChoiceField(sorted(shapes()))}


class JobQuery(ListQuery):
    """The filter of `GET /jobs`."""

    state = serializers.ChoiceField(
        ["open", *(s.value for s in State)], required=False, help_text="`open` stands for every state that isn’t final."
    )
    table = serializers.UUIDField(required=False)
    by = serializers.CharField(required=False, max_length=64, help_text="The requester’s name.")
    on = serializers.CharField(
        required=False, max_length=300, help_text="What the table’s name, or its name in the catalog, has in it."
    )
    reason = serializers.CharField(required=False, max_length=300, help_text="What the reason has in it.")
    since = serializers.DateTimeField(required=False, help_text="Requested at this time or later.")
    until = serializers.DateTimeField(required=False, help_text="Requested before this time.")
    id = serializers.RegexField(
        r"^[0-9a-fA-F-]{8,36}$", required=False, help_text="A job’s id, or how it begins: 8 characters or more."
    )

    def get_fields(self) -> dict[str, Any]:
        help_text = "Without it, of the rounds of a stream only the newest is listed."
        command = serializers.ChoiceField(sorted(ROWS), required=False, help_text=help_text)
        return {**super().get_fields(), "command": command}


class JobWaitQuery(WaitQuery):
    """How `GET /jobs/{id}` waits."""

    until = serializers.ChoiceField(["ended", "state"], required=False, default="ended")


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
    """The stage in words; `done` and `total` are Spark's tasks, null where none run. `committed` once the run has reported its commit."""

    stage = serializers.CharField(allow_null=True)
    done = serializers.IntegerField(allow_null=True)
    total = serializers.IntegerField(allow_null=True)
    stages = StageSerializer(many=True, required=False)
    committed = serializers.BooleanField(required=False)


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
    """The result of the run. With `no_op` nothing was committed. `details` are specific to the command."""

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
    """Why the job failed, what that means for the table, and what you can do."""

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
    schedule = serializers.UUIDField(allow_null=True, help_text="The schedule whose run it is.")
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
    """An event of a job. `kind` is the state it went to, or `requested`, `released`, `late_commit`, `note`."""

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
