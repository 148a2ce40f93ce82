"""Workers over HTTP: what they are and do; drain, restart."""

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
from console.rest import Body, Flag, NoBody, body_of, whole
from jobs import queries, worker_services
from jobs.models import Worker


class WorkedOnSerializer(serializers.Serializer[Any]):
    """The job that a worker previews or runs."""

    id = serializers.UUIDField()
    title = serializers.CharField()


class WorkerSerializer(serializers.Serializer[Any]):
    """A worker as it says it is; `lost` when it has been silent for three heartbeats."""

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
    """What waits and runs for one kind of worker."""

    name = serializers.CharField()
    waiting = serializers.IntegerField()
    running = serializers.IntegerField()
    oldest_at = serializers.DateTimeField(allow_null=True)


class DispatcherSerializer(serializers.Serializer[Any]):
    """The dispatcher's last round of reconciliation."""

    state = serializers.CharField()
    last_round_at = serializers.DateTimeField(allow_null=True)
    seconds = serializers.FloatField(allow_null=True)


class WorkersSerializer(serializers.Serializer[Any]):
    """All of it in one answer."""

    results = WorkerSerializer(many=True)
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    queues = QueueSerializer(many=True)
    dispatcher = DispatcherSerializer()


class DrainBody(Body):
    """Whether to drain (the usual) or to end the drain."""

    drain = Flag(required=False, default=True)


class Workers(APIView):
    """Processes, queues, the dispatcher."""

    asks: ClassVar[dict[str, Permission]] = {"GET": Permission.WORKER_MANAGE}

    @extend_schema(operation_id="workers_list", responses=WorkersSerializer)
    def get(self, request: Request) -> Response:
        rows = WorkerSerializer(queries.workers(), many=True).data
        queues = QueueSerializer(queries.queues(), many=True).data
        return whole(rows, queues=queues, dispatcher=DispatcherSerializer(queries.dispatcher()).data)


class WorkerDrain(APIView):
    """Lets a worker finish what it runs and claim nothing more, or claim again."""

    asks: ClassVar[dict[str, Permission]] = {"POST": Permission.WORKER_MANAGE}

    @extend_schema(operation_id="workers_drain", request=DrainBody, responses=WorkerSerializer)
    def post(self, request: Request, worker_id: uuid.UUID) -> Response:
        worker = get_object_or_404(Worker, pk=worker_id)
        worker_services.drain(Actor.of(request), worker, body_of(request, DrainBody)["drain"])
        return Response(_now(worker_id))


class WorkerRestart(APIView):
    """Ends a worker with its JVM once it runs nothing; its supervisor starts another."""

    asks: ClassVar[dict[str, Permission]] = {"POST": Permission.WORKER_MANAGE}

    @extend_schema(operation_id="workers_restart", request=None, responses=WorkerSerializer)
    def post(self, request: Request, worker_id: uuid.UUID) -> Response:
        body_of(request, NoBody)
        worker_services.restart(Actor.of(request), get_object_or_404(Worker, pk=worker_id))
        return Response(_now(worker_id))


def _now(worker_id: uuid.UUID) -> Any:
    return WorkerSerializer(next(w for w in queries.workers() if w["id"] == worker_id)).data
