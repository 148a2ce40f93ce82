"""The metastore over HTTP: its databases and tables are reads, and so is the addition of tables that it names."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.rest import Body, Flag, LiteralText, ReadSerializer, WaitQuery, body_of, query_of, wait_of
from jobs.reads import metastore
from jobs.web.reads.api import answered


class DatabasesSerializer(serializers.Serializer[Any]):
    databases = serializers.ListField(child=serializers.CharField())


class MetastoreTableSerializer(serializers.Serializer[Any]):
    """A table as the metastore has it, and what the catalog knows at its location."""

    name = serializers.CharField()
    type = serializers.ChoiceField(["managed", "external", "view", "unreadable"])
    format = serializers.CharField(allow_null=True)
    location = serializers.CharField(allow_null=True, help_text="Null where you see no root above it.")
    root = serializers.CharField(  # type: ignore[assignment]
        allow_null=True, help_text="The root that you see above the location."
    )
    table = serializers.UUIDField(allow_null=True, help_text="The catalog’s table at the location.")
    catalog_name = serializers.CharField(allow_null=True, help_text="That table’s name.")
    is_known = serializers.BooleanField(help_text="Whether the catalog has the table under this name.")
    is_stale = serializers.BooleanField(help_text="Whether the metastore says parquet, and the table is Delta by now.")
    refusal = serializers.CharField(help_text="Why it can’t be added; empty if nothing speaks against it.")


class TablesSerializer(serializers.Serializer[Any]):
    database = serializers.CharField()
    tables = MetastoreTableSerializer(many=True)
    total = serializers.IntegerField(help_text="Of the whole database.")
    next = serializers.CharField(allow_null=True, help_text="The `cursor` of the next page.")


class RefusedSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    code = serializers.CharField()
    detail = serializers.CharField()


class AdditionSerializer(serializers.Serializer[Any]):
    """What became of an addition by name."""

    database = serializers.CharField()
    tables = serializers.IntegerField(help_text="How many were looked at.")
    added = serializers.IntegerField(help_text="New in the catalog.")
    named = serializers.IntegerField(help_text="In the catalog without a name, which now have this one.")
    known = serializers.IntegerField(help_text="In the catalog under this name.")
    refusals = serializers.IntegerField()
    refused = RefusedSerializer(many=True, help_text="The first 200.")


class TablesQuery(WaitQuery):
    cursor = serializers.CharField(required=False, max_length=metastore.MAX_CURSOR)


class AdditionBody(Body):
    """The tables to add: some by `names`, or `all` of the database."""

    names = serializers.ListField(
        child=LiteralText(), required=False, max_length=metastore.MAX_NAMES, allow_empty=False
    )
    all = Flag(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if bool(attrs.get("all")) == ("names" in attrs):
            raise serializers.ValidationError({"names": "Give either names, or all as true."})
        return attrs


class Databases(APIView):
    """The databases of the metastore that LEVEE_METASTORE names."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_ADD}

    @extend_schema(
        operation_id="metastore_databases",
        parameters=[WaitQuery],
        responses={202: ReadSerializer, 200: DatabasesSerializer},
    )
    def get(self, request: Request) -> Response:
        """202 with the read; 409 `no_metastore` without the setting. The read is 503 `metastore_away` if it doesn’t answer."""
        seconds = wait_of(request)
        return answered(metastore.ask_databases(person_of(request)), seconds)


class Tables(APIView):
    """The tables of one of its databases, and their addition to the catalog under their names."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.TABLE_ADD, "POST": Permission.TABLE_ADD}

    @extend_schema(
        operation_id="metastore_tables",
        parameters=[TablesQuery],
        responses={202: ReadSerializer, 200: TablesSerializer},
    )
    def get(self, request: Request, database: str) -> Response:
        """202 with the read: 200 tables at most, by name; the answer’s `next` is the `cursor` of the following ones."""
        seconds = wait_of(request)
        given = query_of(request, TablesQuery)
        return answered(metastore.ask_tables(person_of(request), database, given.get("cursor", "")), seconds)

    @extend_schema(
        operation_id="metastore_add",
        parameters=[WaitQuery],
        request=AdditionBody,
        responses={202: ReadSerializer, 200: AdditionSerializer},
    )
    def post(self, request: Request, database: str) -> Response:
        """202 with the read: the light worker adds each table under your permission at its location, and names it."""
        seconds = wait_of(request)
        given = body_of(request, AdditionBody)
        return answered(metastore.ask_addition(Actor.of(request), database, given.get("names")), seconds)
