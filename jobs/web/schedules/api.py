"""Schedules over HTTP: define, decide, pause, resume, remove, watch."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django.db.models import Prefetch, prefetch_related_objects
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.models import Person
from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.accounts.sign_in.step_up import Purpose, require_recent
from console.audit.actor import Actor
from console.base.pagination import OrderKey as Order
from console.base.pagination import page
from console.base.rest import ListQuery, NoBody, body_of, cursor_asked, limit_asked, listed, query_of
from jobs.domain.digest import sha256_of
from jobs.models import Schedule, ScheduleDecision
from jobs.requests.asking import IdempotencyKey
from jobs.schedules import acts, approvals
from jobs.schedules.queries import last_runs, runs_of, schedule_for, tally_of, visible_to
from jobs.web.jobs.api import IDEMPOTENCY_KEY, idempotency_key
from jobs.web.schedules.serializers import (
    NewSchedule,
    RunsQuery,
    ScheduleChange,
    ScheduleDecisionBody,
    ScheduleRunSerializer,
    ScheduleSerializer,
    plain_json,
    wanted_change,
    wanted_new,
)

BY_NAME = (Order("name"), Order("id"))
NEWEST = (Order("id", descending=True),)
DECISIONS = Prefetch("decisions", ScheduleDecision.objects.select_related("person").order_by("decided_at"))
Decide = Callable[[Actor, Schedule, str, str], None]


def schedules_json(person: Person, schedules: Sequence[Schedule], *, alone: bool = False) -> list[dict[str, Any]]:
    """Several schedules that the person sees; three queries. One that stands `alone` also has its policy by the current rules."""
    prefetch_related_objects(schedules, DECISIONS)
    tallies = {schedule.pk: tally_of(person, schedule) for schedule in schedules if alone}
    context = {
        "last_runs": last_runs([each for each in schedules if each.table_id is not None]),
        "alone": alone,
        "tallies": tallies,
    }
    return [dict(ScheduleSerializer(schedule, context=context).data) for schedule in schedules]


def _now(request: Request, schedule_id: uuid.UUID) -> Response:
    person = person_of(request)
    return Response(schedules_json(person, [schedule_for(person, schedule_id)], alone=True)[0])


class Schedules(APIView):
    """The schedules on tables that you may see; and the place to define one."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ, "POST": Permission.JOB_REQUEST}

    @extend_schema(operation_id="schedules_list", parameters=[ListQuery], responses=ScheduleSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The schedules that you see, by name."""
        person = person_of(request)
        found = page(visible_to(person), BY_NAME, limit_asked(request), cursor_asked(request))
        return listed(request, found, schedules_json(person, found.rows))

    @extend_schema(
        operation_id="schedules_create",
        parameters=[IDEMPOTENCY_KEY],
        request=NewSchedule,
        responses={201: ScheduleSerializer, 200: ScheduleSerializer},
    )
    def post(self, request: Request) -> Response:
        """Defines a schedule, active at once if the rules ask for no approval of its command.

        200 with the schedule that the Idempotency-Key made before.
        """
        given, text = body_of(request, NewSchedule), idempotency_key(request)
        key = IdempotencyKey(text, sha256_of({"act": "create", **plain_json(given)})) if text else None
        made = acts.create(Actor.of(request), given["name"], given["reason"], wanted_new(given), key)
        answer = _now(request, made.schedule.pk)
        answer.status_code = 201 if made.fresh else 200
        return answer


class ScheduleDetail(APIView):
    """One schedule."""

    requires: ClassVar[dict[str, Permission]] = {
        "GET": Permission.TABLE_READ,
        "PATCH": Permission.JOB_REQUEST,
        "DELETE": Permission.JOB_REQUEST,
    }

    @extend_schema(operation_id="schedules_get", responses=ScheduleSerializer)
    def get(self, request: Request, schedule_id: uuid.UUID) -> Response:
        return _now(request, schedule_id)

    @extend_schema(operation_id="schedules_change", request=ScheduleChange, responses=ScheduleSerializer)
    def patch(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """Defines it anew, on the table as it is now: every approval is void, and its runs are in your name."""
        schedule = schedule_for(person_of(request), schedule_id)
        given = body_of(request, ScheduleChange)
        wanted = wanted_change(acts.wanted_of(schedule), given)
        acts.change(Actor.of(request), schedule, wanted, name=given.get("name"), reason=given.get("reason"))
        return _now(request, schedule_id)

    @extend_schema(operation_id="schedules_remove", responses={204: None})
    def delete(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """Removes a schedule. Its past stays on record; a run that a worker has goes on."""
        acts.remove(Actor.of(request), schedule_for(person_of(request), schedule_id))
        return Response(status=204)


class ScheduleRuns(APIView):
    """The times at which a schedule was due, newest first."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ}

    @extend_schema(operation_id="schedules_runs", parameters=[RunsQuery], responses=ScheduleRunSerializer(many=True))
    def get(self, request: Request, schedule_id: uuid.UUID) -> Response:
        schedule = schedule_for(person_of(request), schedule_id)
        rows = runs_of(person_of(request), schedule)
        if outcome := query_of(request, RunsQuery).get("outcome"):
            rows = rows.filter(outcome=outcome)
        found = page(rows, NEWEST, limit_asked(request), cursor_asked(request))
        shown: Any = ScheduleRunSerializer(many=True, instance=found.rows)  # type: ignore[arg-type]  # the stubs know one row
        return listed(request, found, shown.data)


class SchedulePause(APIView):
    """Pauses a schedule."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.JOB_REQUEST}

    @extend_schema(operation_id="schedules_pause", request=NoBody, responses=ScheduleSerializer)
    def post(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """No further runs are opened; one that waits for a worker is ended."""
        body_of(request, NoBody)
        acts.pause(Actor.of(request), schedule_for(person_of(request), schedule_id))
        return _now(request, schedule_id)


class ScheduleResume(APIView):
    """Resumes a paused or stopped schedule."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.JOB_REQUEST}

    @extend_schema(operation_id="schedules_resume", request=NoBody, responses=ScheduleSerializer)
    def post(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """409 `wrong_state` if what was approved no longer holds: change the schedule instead."""
        body_of(request, NoBody)
        acts.resume(Actor.of(request), schedule_for(person_of(request), schedule_id))
        return _now(request, schedule_id)


def _decided(request: Request, schedule_id: uuid.UUID, decide: Decide) -> Response:
    schedule = schedule_for(person_of(request), schedule_id)
    given = body_of(request, ScheduleDecisionBody)
    if decide is approvals.approve:
        require_recent(request, Purpose.DECISION)
    decide(Actor.of(request), schedule, given["digest"], given["comment"])
    return _now(request, schedule_id)


class ScheduleApprove(APIView):
    """One person's approval of a definition; nobody who shaped it can approve it.

    In a browser it needs a password entered within 15 minutes, by token the scope `approve`.
    """

    requires: ClassVar[dict[str, Any]] = {"POST": (Permission.JOB_DECIDE, Permission.JOB_REQUEST)}

    @extend_schema(operation_id="schedules_approve", request=ScheduleDecisionBody, responses=ScheduleSerializer)
    def post(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """409 `stale` for a digest that isn't the schedule's, 403 `not_your_own` for your own."""
        return _decided(request, schedule_id, approvals.approve)


class ScheduleReject(APIView):
    """One rejection stops a schedule, even when it is active."""

    requires: ClassVar[dict[str, Any]] = {"POST": (Permission.JOB_DECIDE, Permission.JOB_REQUEST)}

    @extend_schema(operation_id="schedules_reject", request=ScheduleDecisionBody, responses=ScheduleSerializer)
    def post(self, request: Request, schedule_id: uuid.UUID) -> Response:
        return _decided(request, schedule_id, approvals.reject)
