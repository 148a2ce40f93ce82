"""Schedules as JSON: what a request may say, and what answers hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.base.rest import Body, ListQuery, LiteralText, Whole
from jobs.approvals.decisions import COMMENT_LENGTH
from jobs.domain.commands import Command
from jobs.models import Schedule, ScheduleRun
from jobs.requests.asking import REASON_LENGTH
from jobs.schedules import times
from jobs.schedules.approvals import policy_now, required
from jobs.schedules.definition import LONGEST_WINDOW, MOST_BYTES, NAME_LENGTH, TAG_LENGTH, WantedSchedule
from jobs.schedules.places import of_no_table, place_of
from jobs.web.jobs.serializers import ApprovalSerializer, PolicySerializer, TableRefSerializer
from jobs.web.parts import Shape, shapes
from jobs.web.schedules.lines import TALLIED

NEXT_RUNS = 5
ZONE_LENGTH = 60
NO_TABLE = "00000000-0000-0000-0000-000000000000"  # in the place of the table that a command for many doesn't name


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


class ManyBody(Body):
    """All tables of a root, or all with a tag: those that are there when a run is due. Give one of the two."""

    root = serializers.UUIDField(required=False)  # type: ignore[assignment]
    tag = LiteralText(required=False, max_length=TAG_LENGTH)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise serializers.ValidationError("Give a root or a tag.")
        return attrs


class NewSchedule(ScheduleChange):
    """A schedule to define: on the command’s table, or `on` many; then the command names none."""

    name = LiteralText(max_length=NAME_LENGTH)
    reason = LiteralText(max_length=REASON_LENGTH)
    command = serializers.DictField(help_text="As the body of `POST /jobs`, without `reason`.")
    on = ManyBody(required=False)
    cron = LiteralText(max_length=times.LONGEST, help_text="Minute, hour, day of month, month, day of week.")
    time_zone = LiteralText(max_length=ZONE_LENGTH, help_text="As `Europe/Berlin`.")
    window_minutes = Whole(
        min_value=1,
        max_value=LONGEST_WINDOW,
        help_text="A run that hasn’t started this long after it is due is skipped.",
    )


class RunsQuery(ListQuery):
    """The runs of a schedule."""

    outcome = serializers.ChoiceField(["succeeded", "failed", "skipped", "ended"], required=False)


class ScheduleDecisionBody(Body):
    """An approval or rejection of exactly one digest."""

    digest = LiteralText(max_length=64)
    comment = LiteralText(required=False, default="", allow_blank=True, max_length=COMMENT_LENGTH)


def plain_json(given: Mapping[str, Any]) -> dict[str, Any]:
    """A body's values as JSON has them: a root's id as a text."""
    on = {name: str(value) for name, value in (given.get("on") or {}).items()}
    return {**given, **({"on": on} if on else {})}


def command_of(given: Mapping[str, Any], *, of_many: bool = False) -> Command:
    """The command of a body’s `command`. Raises ValidationError, which names its fields."""
    shape = _shape(given.get("command"))
    if of_many and "table" in given:
        raise _wrong({"table": ["Leave it out: the schedule is for many tables."]})
    if "reason" in given:
        raise _wrong({"reason": ["Unknown field."]})
    if "rehearse" in given:
        raise _wrong({"rehearse": ["A scheduled run isn’t rehearsed: nobody looks at it before it runs."]})
    body = shape.body(data={**given, "reason": "scheduled", **({"table": NO_TABLE} if of_many else {})})
    if not body.is_valid():
        raise _wrong(dict(body.errors))
    command = shape.as_command(body.validated_data)
    return of_no_table(command) if of_many else command


def _shape(kind: Any) -> Shape:
    known = shapes()
    if not isinstance(kind, str) or kind not in known:
        raise _wrong({"command": [f"Use one of {', '.join(sorted(known))}."]})
    return known[kind]


def _wrong(errors: Mapping[str, Any]) -> serializers.ValidationError:
    return serializers.ValidationError({"command": errors})


def wanted_new(given: Mapping[str, Any]) -> WantedSchedule:
    """What a new schedule says."""
    bounds, on = given.get("bounds") or {}, given.get("on") or {}
    return WantedSchedule(
        command_of(given["command"], of_many=bool(on)),
        given["cron"],
        given["time_zone"],
        given["window_minutes"],
        bounds.get("max_bytes"),
        bounds.get("max_minutes"),
        on.get("root"),
        on.get("tag", ""),
    )


def wanted_change(now: WantedSchedule, given: Mapping[str, Any]) -> WantedSchedule:
    """What the schedule says with the change. Given bounds replace all of the old ones."""
    bounds = given.get("bounds", {"max_bytes": now.max_bytes, "max_minutes": now.max_minutes})
    return WantedSchedule(
        command_of(given["command"], of_many=now.is_for_many) if "command" in given else now.command,
        given.get("cron", now.cron),
        given.get("time_zone", now.time_zone),
        given.get("window_minutes", now.window_minutes),
        bounds.get("max_bytes"),
        bounds.get("max_minutes"),
        now.root,
        now.tag,
    )


class ScheduleRunSerializer(serializers.Serializer[ScheduleRun]):
    """One time at which it was due, on one table. `outcome` is null while the run is open; `job` is null if none was opened."""

    due_at = serializers.DateTimeField()
    table = serializers.UUIDField(source="table_id")
    table_name = serializers.CharField(source="table.name")
    is_planned = serializers.BooleanField(help_text="Not opened yet.")
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
    table = TableRefSerializer(allow_null=True, help_text="Null for one on many tables.")
    on = serializers.SerializerMethodField(
        help_text="`{root}` or `{tag}` of one on many tables; null for one on a table."
    )
    runs_on = serializers.SerializerMethodField(help_text="The same in words: `sales`, `all tables of lake`.")
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
    failures = serializers.IntegerField(
        help_text="In a row; the second one stops the schedule. Of one for many tables, those of the newest time."
    )
    newest_time = serializers.SerializerMethodField(help_text="Of one for many tables, alone: its runs by outcome.")
    run_by = serializers.CharField(source="run_by.name")
    created_by = serializers.CharField(source="created_by.name")
    created_at = serializers.DateTimeField()

    @extend_schema_field(serializers.DictField())
    def get_command(self, schedule: Schedule) -> dict[str, Any]:
        asked = {name: value for name, value in schedule.asked.items() if schedule.table_id or name != "table"}
        return {"command": schedule.command, **asked}

    @extend_schema_field(serializers.DictField(child=serializers.CharField(), allow_null=True))
    def get_on(self, schedule: Schedule) -> dict[str, str] | None:
        return None if schedule.table_id is not None else place_of(schedule).on

    def get_runs_on(self, schedule: Schedule) -> str:
        return place_of(schedule).name

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

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_newest_time(self, schedule: Schedule) -> dict[str, Any] | None:
        """`{due_at, succeeded, failed, skipped, ended, open, planned}`; null for one on a table, before its first time, and in lists."""
        tally = self.context["tallies"].get(schedule.pk)
        if tally is None:
            return None
        return {"due_at": f"{tally.due_at:%Y-%m-%dT%H:%M:%SZ}", **{name: tally.counts.get(name, 0) for name in TALLIED}}

    @extend_schema_field(ScheduleRunSerializer(allow_null=True))
    def get_last_run(self, schedule: Schedule) -> Any:
        run = self.context["last_runs"].get(schedule.pk)
        return None if run is None else ScheduleRunSerializer(run).data
