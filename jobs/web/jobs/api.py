"""Jobs over HTTP: ask, follow, cancel, withdraw."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.models import Person
from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.pagination import OrderKey, page
from console.base.rest import ListQuery, NoBody, body_of, cursor_asked, limit_asked, listed, query_of, wait_of
from jobs.lifecycle import cancelling
from jobs.lifecycle.long_poll import wait
from jobs.models import Job, JobEvent, LogLine
from jobs.requests import asking
from jobs.targets.access import job_for
from jobs.web.jobs import queries
from jobs.web.jobs.payloads import job_json, job_json_now, jobs_json
from jobs.web.jobs.serializers import (
    AnyCommand,
    JobEventSerializer,
    JobQuery,
    JobSerializer,
    JobWaitQuery,
    LogLineSerializer,
)
from jobs.web.parts import shapes

KEY_LENGTH = 200
IN_ORDER = (OrderKey("id"),)
COMMANDS = PolymorphicProxySerializer("Command", [shape.body for shape in shapes().values()], "command")
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="The same key and body answer with the same job."
)


class JobList(APIView):
    """The jobs on tables that one may see, newest first; and the place to ask for one."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ, "POST": Permission.JOB_REQUEST}

    @extend_schema(operation_id="jobs_list", parameters=[JobQuery], responses=JobSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The jobs on the tables that you see, newest first."""
        given = query_of(request, JobQuery)
        wanted = queries.JobFilter(
            state=given.get("state", ""),
            command=given.get("command", ""),
            table=str(given.get("table", "")),
            by=given.get("by", ""),
            id=given.get("id", ""),
            on=given.get("on", ""),
            reason=given.get("reason", ""),
            since=given.get("since"),
            before=given.get("until"),
        )
        job_page = queries.job_page(person_of(request), wanted, limit_asked(request), cursor_asked(request))
        return listed(request, job_page, jobs_json(job_page.rows))

    @extend_schema(
        operation_id="jobs_request",
        parameters=[IDEMPOTENCY_KEY],
        request=COMMANDS,
        responses={201: JobSerializer, 200: JobSerializer},
    )
    def post(self, request: Request) -> Response:
        """Asks for a job: 201; 200 with the job as it is now when the Idempotency-Key has made it before."""
        kind = body_of(request, AnyCommand)["command"]
        shape = shapes()[kind]
        given = body_of(request, shape.body)
        made = asking.request(
            Actor.of(request),
            shape.as_command(given),
            given["reason"],
            idempotency_key(request),
            rehearse=given.get("rehearse", False),
        )
        return Response(job_json(made.job), status=201 if made.fresh else 200)


def idempotency_key(request: Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not key.isprintable() or not 0 < len(key) <= KEY_LENGTH:
        raise Problem(400, "invalid", f"An Idempotency-Key has 1 to {KEY_LENGTH} printable characters.")
    return key


class JobDetail(APIView):
    """One job, at once or when it has ended or moved on."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ}

    @extend_schema(operation_id="jobs_get", parameters=[JobWaitQuery], responses=JobSerializer)
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        person, seconds = person_of(request), wait_of(request)
        until = query_of(request, JobWaitQuery)["until"]
        job = job_for(person, job_id)
        if seconds:
            wait(job, seconds, person.pk, any_change=until == "state")
            person = Person.objects.get(pk=person.pk)  # their roles may have changed meanwhile
            job = job_for(person, job_id)
        return Response(job_json_now(job))


class JobEvents(APIView):
    """What happened to a job, oldest first."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ}

    @extend_schema(operation_id="jobs_events", parameters=[ListQuery], responses=JobEventSerializer(many=True))
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        job = job_for(person_of(request), job_id)
        event_page = page(JobEvent.objects.filter(job=job), IN_ORDER, limit_asked(request, 500), cursor_asked(request))
        return listed(request, event_page, JobEventSerializer(event_page.rows, many=True).data)


class JobLog(APIView):
    """The lines of the job's attempts, oldest first; each attempt's log is bounded, secrets are masked."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ}

    @extend_schema(operation_id="jobs_log", parameters=[ListQuery], responses=LogLineSerializer(many=True))
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        job = job_for(person_of(request), job_id)
        lines = LogLine.objects.filter(attempt__job=job).select_related("attempt")
        line_page = page(lines, IN_ORDER, limit_asked(request, 500), cursor_asked(request))
        return listed(request, line_page, LogLineSerializer(line_page.rows, many=True).data)


class JobCancel(APIView):
    """Cancels one's own job, or as an admin any. The job then says whether anything was committed."""

    requires: ClassVar[dict[str, Any]] = {"POST": (Permission.JOB_REQUEST, Permission.JOB_CANCEL_ANY)}

    @extend_schema(operation_id="jobs_cancel", request=None, responses=JobSerializer)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        body_of(request, NoBody)
        job = job_for(person_of(request), job_id)
        cancelling.cancel(Actor.of(request), job)
        return Response(job_now(job))


class JobWithdraw(APIView):
    """Takes back one's own request before it runs."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.JOB_REQUEST}

    @extend_schema(operation_id="jobs_withdraw", request=None, responses=JobSerializer)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        body_of(request, NoBody)
        job = job_for(person_of(request), job_id)
        cancelling.withdraw(Actor.of(request), job)
        return Response(job_now(job))


def job_now(job: Job) -> dict[str, Any]:
    """The job as it is after an act."""
    return job_json(Job.objects.select_related("table", "requested_by").get(pk=job.pk))
