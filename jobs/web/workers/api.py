"""Workers over HTTP: their state, drain, restart."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.rest import Body, Flag, NoBody, body_of, whole
from jobs.models import Worker
from jobs.web.workers import queries, services


class WorkedOnSerializer(serializers.Serializer[Any]):
    """The job that a worker previews or runs."""

    id = serializers.UUIDField()
    title = serializers.CharField()


class WorkerSerializer(serializers.Serializer[Any]):
    """A worker in its reported state; `lost` after three heartbeats without a sign."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(Worker.Kind.choices)
    state = serializers.ChoiceField([*Worker.Condition.values, "lost"])
    text = serializers.CharField()
    job = WorkedOnSerializer(allow_null=True)
    host = serializers.CharField()
    pid = serializers.IntegerField()
    jvm_memory_bytes = serializers.IntegerField(allow_null=True)
    version = serializers.CharField()
    started_at = serializers.DateTimeField()
    heartbeat_at = serializers.DateTimeField()
    drain_requested_at = serializers.DateTimeField(allow_null=True)


class QueueSerializer(serializers.Serializer[Any]):
    """What is waiting and running for one kind of worker."""

    name = serializers.CharField()
    waiting = serializers.IntegerField()
    running = serializers.IntegerField()
    oldest_at = serializers.DateTimeField(allow_null=True)


class FailingRoundSerializer(serializers.Serializer[Any]):
    """A kind of round that is failing, while the others continue."""

    kind = serializers.CharField()
    failures = serializers.IntegerField(help_text="in a row")
    error = serializers.CharField()


class DispatcherSerializer(serializers.Serializer[Any]):
    """The dispatcher's last round of reconciliation."""

    state = serializers.CharField()
    last_round_at = serializers.DateTimeField(allow_null=True)
    seconds = serializers.FloatField(allow_null=True)
    failing = FailingRoundSerializer(many=True)


class WorkersSerializer(serializers.Serializer[Any]):
    """All of it in one answer."""

    results = WorkerSerializer(many=True)
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    queues = QueueSerializer(many=True)
    dispatcher = DispatcherSerializer()


class DrainBody(Body):
    """Whether to drain (the default) or to end the drain."""

    drain = Flag(required=False, default=True)


class Workers(APIView):
    """Processes, queues, the dispatcher."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.WORKER_MANAGE}

    @extend_schema(operation_id="workers_list", responses=WorkersSerializer)
    def get(self, request: Request) -> Response:
        rows = WorkerSerializer(queries.workers(), many=True).data
        queues = QueueSerializer(queries.queues(), many=True).data
        return whole(rows, queues=queues, dispatcher=DispatcherSerializer(queries.dispatcher()).data)


class WorkerDrain(APIView):
    """Drains a worker: it finishes what it runs and claims nothing more. Or lets it claim again."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.WORKER_MANAGE}

    @extend_schema(operation_id="workers_drain", request=DrainBody, responses=WorkerSerializer)
    def post(self, request: Request, worker_id: uuid.UUID) -> Response:
        worker = get_object_or_404(Worker, pk=worker_id)
        services.drain(Actor.of(request), worker, on=body_of(request, DrainBody)["drain"])
        return Response(_now(worker_id))


class WorkerRestart(APIView):
    """Ends a worker with its JVM once it is idle; the supervisor starts another."""

    requires: ClassVar[dict[str, Permission]] = {"POST": Permission.WORKER_MANAGE}

    @extend_schema(operation_id="workers_restart", request=None, responses=WorkerSerializer)
    def post(self, request: Request, worker_id: uuid.UUID) -> Response:
        body_of(request, NoBody)
        services.restart(Actor.of(request), get_object_or_404(Worker, pk=worker_id))
        return Response(_now(worker_id))


def _now(worker_id: uuid.UUID) -> Any:
    return WorkerSerializer(next(w for w in queries.workers() if w["id"] == worker_id)).data
