"""Schedules as JSON: what a request may say, and what answers hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.base.rest import Body, LiteralText, Whole
from jobs.approvals.decisions import COMMENT_LENGTH
from jobs.domain.commands import Command
from jobs.models import Schedule, ScheduleRun
from jobs.requests.asking import REASON_LENGTH
from jobs.schedules import times
from jobs.schedules.approvals import policy_now, required
from jobs.schedules.definition import LONGEST_WINDOW, MOST_BYTES, NAME_LENGTH, WantedSchedule
from jobs.web.jobs.serializers import ApprovalSerializer, PolicySerializer, TableRefSerializer
from jobs.web.parts import Shape, shapes

NEXT_RUNS = 5
ZONE_LENGTH = 60


class BoundsBody(Body):
    """What a run may take at most; without a bound, what the instance allows."""

    max_bytes = Whole(required=False, allow_null=True, min_value=1, max_value=MOST_BYTES, help_text="By its preview.")
    max_minutes = Whole(required=False, allow_null=True, min_value=1, max_value=LONGEST_WINDOW)


class ScheduleChange(Body):
    """A definition; what you leave out stays as it is. Any change voids its approvals."""

    name = LiteralText(required=False, max_length=NAME_LENGTH)
    reason = LiteralText(required=False, max_length=REASON_LENGTH)
    command = serializers.DictField(required=False, help_text="As the body of `POST /jobs`, without `reason`.")
    cron = LiteralText(
        required=False, max_length=times.LONGEST, help_text="Minute, hour, day of month, month, day of week."
    )
    time_zone = LiteralText(required=False, max_length=ZONE_LENGTH, help_text="As `Europe/Berlin`.")
    window_minutes = Whole(
        required=False,
        min_value=1,
        max_value=LONGEST_WINDOW,
        help_text="A run that hasn’t started this long after it is due is skipped.",
    )
    bounds = BoundsBody(required=False)


class NewSchedule(ScheduleChange):
    """A schedule to define."""

    name = LiteralText(max_length=NAME_LENGTH)
    reason = LiteralText(max_length=REASON_LENGTH)
    command = serializers.DictField(help_text="As the body of `POST /jobs`, without `reason`.")
    cron = LiteralText(max_length=times.LONGEST, help_text="Minute, hour, day of month, month, day of week.")
    time_zone = LiteralText(max_length=ZONE_LENGTH, help_text="As `Europe/Berlin`.")
    window_minutes = Whole(
        min_value=1,
        max_value=LONGEST_WINDOW,
        help_text="A run that hasn’t started this long after it is due is skipped.",
    )


class ScheduleDecisionBody(Body):
    """An approval or rejection of exactly one digest."""

    digest = LiteralText(max_length=64)
    comment = LiteralText(required=False, default="", allow_blank=True, max_length=COMMENT_LENGTH)


def command_of(given: Mapping[str, Any]) -> Command:
    """The command of a body’s `command`. Raises ValidationError, which names its fields."""
    shape = _shape(given.get("command"))
    if "reason" in given:
        raise _wrong({"reason": ["Unknown field."]})
    if "rehearse" in given:
        raise _wrong({"rehearse": ["A scheduled run isn’t rehearsed: nobody looks at it before it runs."]})
    body = shape.body(data={**given, "reason": "scheduled"})
    if not body.is_valid():
        raise _wrong(dict(body.errors))
    return shape.as_command(body.validated_data)


def _shape(kind: Any) -> Shape:
    known = shapes()
    if not isinstance(kind, str) or kind not in known:
        raise _wrong({"command": [f"Use one of {', '.join(sorted(known))}."]})
    return known[kind]


def _wrong(errors: Mapping[str, Any]) -> serializers.ValidationError:
    return serializers.ValidationError({"command": errors})


def wanted_new(given: Mapping[str, Any]) -> WantedSchedule:
    """What a new schedule says."""
    bounds = given.get("bounds") or {}
    return WantedSchedule(
        command_of(given["command"]),
        given["cron"],
        given["time_zone"],
        given["window_minutes"],
        bounds.get("max_bytes"),
        bounds.get("max_minutes"),
    )


def wanted_change(now: WantedSchedule, given: Mapping[str, Any]) -> WantedSchedule:
    """What the schedule says with the change. Given bounds replace all of the old ones."""
    bounds = given.get("bounds", {"max_bytes": now.max_bytes, "max_minutes": now.max_minutes})
    return WantedSchedule(
        command_of(given["command"]) if "command" in given else now.command,
        given.get("cron", now.cron),
        given.get("time_zone", now.time_zone),
        given.get("window_minutes", now.window_minutes),
        bounds.get("max_bytes"),
        bounds.get("max_minutes"),
    )


class ScheduleRunSerializer(serializers.Serializer[ScheduleRun]):
    """One time at which it was due. `outcome` is null while the run is open; `job` is null if none was opened."""

    due_at = serializers.DateTimeField()
    job = serializers.UUIDField(source="job_id", allow_null=True)
    outcome = serializers.SerializerMethodField()
    text = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True)

    @extend_schema_field(serializers.ChoiceField(["succeeded", "failed", "skipped", "ended"], allow_null=True))
    def get_outcome(self, run: ScheduleRun) -> str | None:
        return run.outcome or None


class ScheduleSerializer(serializers.Serializer[Schedule]):
    """A schedule as it is now."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    reason = serializers.CharField()
    command = serializers.SerializerMethodField()
    table = TableRefSerializer()
    cron = serializers.CharField()
    time_zone = serializers.CharField()
    window_minutes = serializers.IntegerField()
    bounds = serializers.SerializerMethodField()
    digest = serializers.CharField()
    revision = serializers.IntegerField()
    state = serializers.ChoiceField(Schedule.State.choices)
    state_text = serializers.CharField()
    state_since = serializers.DateTimeField(source="state_at")
    policy = serializers.SerializerMethodField()
    approvals = serializers.SerializerMethodField()
    next_run_at = serializers.DateTimeField(source="next_due_at", allow_null=True)
    next_runs = serializers.SerializerMethodField()
    last_run = serializers.SerializerMethodField()
    failures = serializers.IntegerField(help_text="In a row; the second one stops the schedule.")
    run_by = serializers.CharField(source="run_by.name")
    created_by = serializers.CharField(source="created_by.name")
    created_at = serializers.DateTimeField()

    @extend_schema_field(serializers.DictField())
    def get_command(self, schedule: Schedule) -> dict[str, Any]:
        return {"command": schedule.command, **schedule.asked}

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField(allow_null=True)))
    def get_bounds(self, schedule: Schedule) -> dict[str, int | None]:
        return {"max_bytes": schedule.max_bytes, "max_minutes": schedule.max_minutes}

    @extend_schema_field(PolicySerializer())
    def get_policy(self, schedule: Schedule) -> dict[str, Any]:
        """By the current rules; in a list, as when it was defined."""
        if not self.context["alone"]:
            return {name: schedule.policy.get(name) for name in ("required_approvals", "role", "reasons")}
        policy = policy_now(schedule)
        return {"required_approvals": required(schedule), "role": policy.role, "reasons": list(policy.reasons)}

    @extend_schema_field(ApprovalSerializer(many=True))
    def get_approvals(self, schedule: Schedule) -> Any:
        return ApprovalSerializer(schedule.decisions.all(), many=True).data

    @extend_schema_field(serializers.ListField(child=serializers.DateTimeField()))
    def get_next_runs(self, schedule: Schedule) -> list[str]:
        """When it would be due next, whatever its state; empty if its time zone isn’t known on this machine any more."""
        try:
            moments = times.upcoming(schedule.cron, schedule.time_zone, timezone.now(), NEXT_RUNS)
        except times.NeverDue:
            return []
        return [f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in moments]

    @extend_schema_field(ScheduleRunSerializer(allow_null=True))
    def get_last_run(self, schedule: Schedule) -> Any:
        run = self.context["last_runs"].get(schedule.pk)
        return None if run is None else ScheduleRunSerializer(run).data
