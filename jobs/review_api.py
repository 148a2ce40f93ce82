"""Reviewing a job over HTTP: decisions, comments, edits, undo, and a look at the rows it is about."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.accounts.step_up import require_recent
from console.audit.actor import Actor
from console.rest import Body, ReadSerializer, Text, WaitQuery, Whole, body_of, wait_of
from jobs import queries, reviews, samples
from jobs.api import IDEMPOTENCY_KEY, idempotency_key, job_now
from jobs.models import Job
from jobs.predicates import MAX_LENGTH
from jobs.reads_api import answered
from jobs.representation import job_json
from jobs.rows_api import RowsSerializer
from jobs.serializers import MOST, JobSerializer


class DecisionBody(Body):
    """A yes or no to exactly one digest."""

    digest = Text(max_length=64)
    comment = Text(required=False, default="", allow_blank=True, max_length=reviews.COMMENT_LENGTH)


class CommentBody(Body):
    comment = Text(max_length=reviews.COMMENT_LENGTH)


class EditBody(Body):
    """The request as it should be."""

    predicate = Text(allow_null=True, max_length=MAX_LENGTH, help_text="null, and nothing else, is the whole table.")
    reason = Text(max_length=2000, allow_blank=True)


class UndoBody(Body):
    """Why, and which later commits may be undone as well."""

    reason = Text(max_length=2000, allow_blank=True)
    accept_commits = serializers.ListField(
        child=Whole(min_value=0, max_value=MOST), required=False, default=list, max_length=10_000
    )


def _job(request: Request, job_id: uuid.UUID) -> Job:
    return queries.job_for(person_of(request), job_id)


class JobApprove(APIView):
    """One person's approval; who asked is told that it isn't theirs to give.

    In a browser it takes a password given within 15 minutes, by token the scope `approve`.
    """

    asks: ClassVar[dict[str, Any]] = {"POST": (Permission.JOB_DECIDE, Permission.JOB_REQUEST)}

    @extend_schema(operation_id="jobs_approve", request=DecisionBody, responses=JobSerializer)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """409 `stale` for a digest that isn't the job's, 403 `not_your_own` for one's own."""
        job = _job(request, job_id)
        given = body_of(request, DecisionBody)
        require_recent(request)
        reviews.approve(Actor.of(request), job, given["digest"], given["comment"])
        return Response(job_now(job))


class JobReject(APIView):
    """One no ends a request, even when it is queued already."""

    asks: ClassVar[dict[str, Any]] = {"POST": (Permission.JOB_DECIDE, Permission.JOB_REQUEST)}

    @extend_schema(operation_id="jobs_reject", request=DecisionBody, responses=JobSerializer)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        job = _job(request, job_id)
        given = body_of(request, DecisionBody)
        reviews.reject(Actor.of(request), job, given["digest"], given["comment"])
        return Response(job_now(job))


class JobComment(APIView):
    """A word on a request; it is an event of the job."""

    asks: ClassVar[dict[str, Any]] = {"POST": (Permission.JOB_REQUEST, Permission.JOB_DECIDE)}

    @extend_schema(operation_id="jobs_comment", request=CommentBody, responses=JobSerializer)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        job = _job(request, job_id)
        given = body_of(request, CommentBody)
        reviews.comment(Actor.of(request), job, given["comment"])
        return Response(job_now(job))


class JobEdit(APIView):
    """Changes one's own delete before it runs; approvals given so far are void."""

    asks: ClassVar[dict[str, Any]] = {"POST": Permission.JOB_REQUEST}

    @extend_schema(operation_id="jobs_edit", request=EditBody, responses=JobSerializer)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        job = _job(request, job_id)
        given = body_of(request, EditBody)
        reviews.edit(Actor.of(request), job, given["predicate"], given["reason"])
        return Response(job_now(job))


class JobUndo(APIView):
    """Opens a restore to the version before the job's commit; it is reviewed like any other."""

    asks: ClassVar[dict[str, Any]] = {"POST": Permission.JOB_REQUEST}

    @extend_schema(
        operation_id="jobs_undo",
        parameters=[IDEMPOTENCY_KEY],
        request=UndoBody,
        responses={201: JobSerializer, 200: JobSerializer},
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """409 `later_commits` names in `commits` what else it would undo; 409 `nothing_to_undo` where there is nothing."""
        job = _job(request, job_id)
        given = body_of(request, UndoBody)
        made = reviews.undo(Actor.of(request), job, given["reason"], given["accept_commits"], idempotency_key(request))
        return Response(job_json(made.job), status=201 if made.fresh else 200)


class JobSample(APIView):
    """Some of the rows that a delete is about, read live under the asker's own right to rows and never stored with the job."""

    asks: ClassVar[dict[str, Any]] = {"GET": Permission.TABLE_ROWS}

    @extend_schema(
        operation_id="jobs_sample", parameters=[WaitQuery], responses={202: ReadSerializer, 200: RowsSerializer}
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """202 with the read; with `?wait=` its answer, if that comes in time."""
        seconds, actor = wait_of(request), Actor.of(request)
        return answered(samples.ask_sample(actor, _job(request, job_id)), seconds)
