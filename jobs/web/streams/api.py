"""Streams over HTTP: define, start, stop, run once, reset, watch."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django.db import IntegrityError
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.pagination import OrderKey as Order
from console.base.pagination import page
from console.base.rest import ListQuery, NoBody, body_of, cursor_asked, limit_asked, listed
from jobs.domain.digest import sha256_of
from jobs.models import Job, Stream, StreamBatch
from jobs.requests import asking
from jobs.requests.asking import IdempotencyKey
from jobs.streams import acts, runs
from jobs.streams.keys import starts as start_keys
from jobs.streams.queries import last_batches, open_jobs, stream_for, visible_to
from jobs.streams.schema_ahead import ahead_of
from jobs.web.jobs.api import IDEMPOTENCY_KEY, idempotency_key
from jobs.web.jobs.payloads import job_json
from jobs.web.jobs.serializers import JobSerializer
from jobs.web.streams.serializers import BatchSerializer, NewStream, ResetBody, StreamChange, StreamSerializer

BY_NAME = (Order("name"), Order("id"))
NEWEST_BATCH = (Order("id", descending=True),)


Act = Callable[..., Job]


def streams_json(streams: Sequence[Stream]) -> list[dict[str, Any]]:
    """Several streams; four queries."""
    context = {"last_batches": last_batches(streams), "rounds": open_jobs(streams), "ahead": ahead_of(streams)}
    return [dict(StreamSerializer(stream, context=context).data) for stream in streams]


def _now(request: Request, stream_id: uuid.UUID) -> dict[str, Any]:
    return streams_json([stream_for(person_of(request), stream_id)])[0]


def _asked(request: Request, stream: Stream, act: Act, **said: str) -> Response:
    """The job that the act opens; 200 with the job as it is now if the Idempotency-Key has made it before."""
    actor, text = Actor.of(request), idempotency_key(request)
    key = IdempotencyKey(text, sha256_of({"stream": str(stream.pk), "act": act.__name__, **said})) if text else None
    if key and (known := _known(actor, key)):
        return Response(job_json(known))
    try:
        return Response(job_json(act(actor, stream, *said.values(), key=key)), status=202)
    except (Problem, IntegrityError):  # a request with the same key, which came at the same moment, may have been first
        if key and (known := _known(actor, key)):
            return Response(job_json(known))
        raise


def _known(actor: Actor, key: IdempotencyKey) -> Job | None:
    """The job that this key opened, or that a start with it met. Raises Http404, Problem 409 `idempotency_conflict`."""
    return asking.known_request(actor, key) or start_keys.known_round(actor, key)


class Streams(APIView):
    """The streams into tables that you may see; and the place to define one."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ, "POST": Permission.JOB_REQUEST}

    @extend_schema(operation_id="streams_list", parameters=[ListQuery], responses=StreamSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The streams that you see, by name."""
        found = page(visible_to(person_of(request)), BY_NAME, limit_asked(request), cursor_asked(request))
        return listed(request, found, streams_json(found.rows))

    @extend_schema(
        operation_id="streams_create",
        parameters=[IDEMPOTENCY_KEY],
        request=NewStream,
        responses={201: StreamSerializer, 200: StreamSerializer},
    )
    def post(self, request: Request) -> Response:
        """Creates a stream, stopped; 200 with the stream as it is now when the Idempotency-Key has made it before.

        422 `schema_refused` names what its first batch would be refused for.
        """
        given, text = body_of(request, NewStream), idempotency_key(request)
        key = IdempotencyKey(text, sha256_of({"act": "create", **given})) if text else None
        actor, name, reason = Actor.of(request), given.pop("name"), given.pop("reason")
        if key is None:
            return Response(_now(request, acts.create(actor, name, reason, given).pk), status=201)
        made = acts.create_once(actor, name, reason, given, key)
        return Response(_now(request, made.stream.pk), status=201 if made.fresh else 200)


class StreamDetail(APIView):
    """One stream."""

    requires: ClassVar[dict[str, Permission]] = {
        "GET": Permission.TABLE_READ,
        "PATCH": Permission.JOB_REQUEST,
        "DELETE": Permission.JOB_REQUEST,
    }

    @extend_schema(operation_id="streams_get", responses=StreamSerializer)
    def get(self, request: Request, stream_id: uuid.UUID) -> Response:
        return Response(_now(request, stream_id))

    @extend_schema(operation_id="streams_change", request=StreamChange, responses=StreamSerializer)
    def patch(self, request: Request, stream_id: uuid.UUID) -> Response:
        """Changes the definition from the next round on. 409 `needs_reset` for what the checkpoint can’t follow."""
        stream = stream_for(person_of(request), stream_id)
        acts.change(Actor.of(request), stream, body_of(request, StreamChange))
        return Response(_now(request, stream_id))

    @extend_schema(operation_id="streams_remove", responses={204: None})
    def delete(self, request: Request, stream_id: uuid.UUID) -> Response:
        """Removes a stopped stream. 409 `wrong_state` while it runs."""
        acts.remove(Actor.of(request), stream_for(person_of(request), stream_id))
        return Response(status=204)


class StartStream(APIView):
    """Starts a stream."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.JOB_REQUEST}

    @extend_schema(
        operation_id="streams_start",
        parameters=[IDEMPOTENCY_KEY],
        request=NoBody,
        responses={202: JobSerializer, 200: JobSerializer},
    )
    def post(self, request: Request, stream_id: uuid.UUID) -> Response:
        """Answers with the job of its first round."""
        body_of(request, NoBody)
        return _asked(request, stream_for(person_of(request), stream_id), runs.start)


class StreamStop(APIView):
    """Stops a stream."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.JOB_REQUEST}

    @extend_schema(operation_id="streams_stop", request=NoBody, responses={202: StreamSerializer})
    def post(self, request: Request, stream_id: uuid.UUID) -> Response:
        """After the round that runs; at once if none does."""
        body_of(request, NoBody)
        runs.stop(Actor.of(request), stream_for(person_of(request), stream_id))
        return Response(_now(request, stream_id), status=202)


class StreamRunOnce(APIView):
    """Runs one round."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.JOB_REQUEST}

    @extend_schema(
        operation_id="streams_run_once",
        parameters=[IDEMPOTENCY_KEY],
        request=NoBody,
        responses={202: JobSerializer, 200: JobSerializer},
    )
    def post(self, request: Request, stream_id: uuid.UUID) -> Response:
        """The job’s result has `no_op: true` if the source held nothing new."""
        body_of(request, NoBody)
        return _asked(request, stream_for(person_of(request), stream_id), runs.run_once)


class StreamReset(APIView):
    """Requests the reset of a stream's checkpoint."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.JOB_REQUEST}

    @extend_schema(
        operation_id="streams_reset",
        parameters=[IDEMPOTENCY_KEY],
        request=ResetBody,
        responses={202: JobSerializer, 200: JobSerializer},
    )
    def post(self, request: Request, stream_id: uuid.UUID) -> Response:
        """A reviewed job: afterwards the stream reads its source from the start again."""
        given = body_of(request, ResetBody)
        return _asked(request, stream_for(person_of(request), stream_id), runs.reset, reason=given["reason"])


class StreamBatches(APIView):
    """A stream's micro-batches, newest first."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_READ}

    @extend_schema(operation_id="streams_batches", parameters=[ListQuery], responses=BatchSerializer(many=True))
    def get(self, request: Request, stream_id: uuid.UUID) -> Response:
        stream = stream_for(person_of(request), stream_id)
        rows = StreamBatch.objects.filter(stream=stream)
        found = page(rows, NEWEST_BATCH, limit_asked(request), cursor_asked(request))
        shown: Any = BatchSerializer(many=True, instance=found.rows)  # type: ignore[arg-type]  # the stubs know one row
        return listed(request, found, shown.data)
