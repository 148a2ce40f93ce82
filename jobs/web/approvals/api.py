"""Reviewing a job over HTTP: decisions, comments, edits, undo, and a sample of the rows it affects."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.accounts.sign_in.step_up import Purpose, require_recent
from console.audit.actor import Actor
from console.base.rest import Body, LiteralText, ReadSerializer, WaitQuery, Whole, body_of, wait_of
from jobs.approvals import decisions
from jobs.models import Job
from jobs.reads import sample_rows
from jobs.targets.access import job_for
from jobs.web.jobs.api import IDEMPOTENCY_KEY, idempotency_key, job_now
from jobs.web.jobs.payloads import job_json
from jobs.web.jobs.serializers import JobSerializer
from jobs.web.parts import shapes
from jobs.web.reads.api import answered
from jobs.web.reads.rows_api import RowsSerializer

MOST_VERSION = 2**63 - 1


class DecisionBody(Body):
    """An approval or rejection of exactly one digest."""

    digest = LiteralText(max_length=64)
    comment = LiteralText(required=False, default="", allow_blank=True, max_length=decisions.COMMENT_LENGTH)


class CommentBody(Body):
    comment = LiteralText(max_length=decisions.COMMENT_LENGTH)


class UndoBody(Body):
    """The reason, and the later commits to undo as well."""

    reason = LiteralText(max_length=2000, allow_blank=True)
    accept_commits = serializers.ListField(
        child=Whole(min_value=0, max_value=MOST_VERSION), required=False, default=list, max_length=10_000
    )


# A command that can't be edited refuses the body of any command's edits itself.
EDIT_BODIES = [shape.edit for shape in shapes().values() if shape.edit is not None]
EDITS = EDIT_BODIES[0] if len(EDIT_BODIES) == 1 else PolymorphicProxySerializer("Edit", EDIT_BODIES, None)


def _job(request: Request, job_id: uuid.UUID) -> Job:
    return job_for(person_of(request), job_id)


class JobApprove(APIView):
    """One person's approval; requesters can't approve their own request.

    In a browser it needs a password entered within 15 minutes, by token the scope `approve`.
    """

    requires: ClassVar[dict[str, Any]] = {"POST": (Permission.JOB_DECIDE, Permission.JOB_REQUEST)}

    @extend_schema(operation_id="jobs_approve", request=DecisionBody, responses=JobSerializer)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """409 `stale` for a digest that isn't the job's, 403 `not_your_own` for your own request."""
        job = _job(request, job_id)
        given = body_of(request, DecisionBody)
        require_recent(request, Purpose.DECISION)
        decisions.approve(Actor.of(request), job, given["digest"], given["comment"])
        return Response(job_now(job))


class JobReject(APIView):
    """One rejection ends a request, even when it is already queued."""

    requires: ClassVar[dict[str, Any]] = {"POST": (Permission.JOB_DECIDE, Permission.JOB_REQUEST)}

    @extend_schema(operation_id="jobs_reject", request=DecisionBody, responses=JobSerializer)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        job = _job(request, job_id)
        given = body_of(request, DecisionBody)
        decisions.reject(Actor.of(request), job, given["digest"], given["comment"])
        return Response(job_now(job))


class JobComment(APIView):
    """A comment on a request; it becomes an event of the job."""

    requires: ClassVar[dict[str, Any]] = {"POST": (Permission.JOB_REQUEST, Permission.JOB_DECIDE)}

    @extend_schema(operation_id="jobs_comment", request=CommentBody, responses=JobSerializer)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        job = _job(request, job_id)
        given = body_of(request, CommentBody)
        decisions.comment(Actor.of(request), job, given["comment"])
        return Response(job_now(job))


class JobEdit(APIView):
    """Changes your own delete before it runs and voids its approvals."""

    requires: ClassVar[dict[str, Any]] = {"POST": Permission.JOB_REQUEST}

    @extend_schema(operation_id="jobs_edit", request=EDITS, responses=JobSerializer)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        job = _job(request, job_id)
        shape = shapes().get(job.command)
        change = dict(body_of(request, (shape and shape.edit) or EDIT_BODIES[0]))
        decisions.edit(Actor.of(request), job, change, change.pop("reason"))
        return Response(job_now(job))


class JobUndo(APIView):
    """Opens a restore to the version before the job's commit; it is reviewed like any other."""

    requires: ClassVar[dict[str, Any]] = {"POST": Permission.JOB_REQUEST}

    @extend_schema(
        operation_id="jobs_undo",
        parameters=[IDEMPOTENCY_KEY],
        request=UndoBody,
        responses={201: JobSerializer, 200: JobSerializer},
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """409 `later_commits` lists in `commits` the others that it would undo; 409 `nothing_to_undo` if there is nothing."""
        job = _job(request, job_id)
        given = body_of(request, UndoBody)
        made = decisions.undo(
            Actor.of(request), job, given["reason"], given["accept_commits"], idempotency_key(request)
        )
        return Response(job_json(made.job), status=201 if made.fresh else 200)


class JobSample(APIView):
    """Some of the rows that a delete matches, read live under your own permission and never stored with the job."""

    requires: ClassVar[dict[str, Any]] = {"GET": Permission.TABLE_ROWS}

    @extend_schema(
        operation_id="jobs_sample", parameters=[WaitQuery], responses={202: ReadSerializer, 200: RowsSerializer}
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """202 with the read; with `?wait=` its answer, if it comes in time."""
        seconds, actor = wait_of(request), Actor.of(request)
        return answered(sample_rows.ask_sample(actor, _job(request, job_id)), seconds)
