"""The catalog's part of `/api/v1/`."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

from django.db import transaction
from django.urls import path, reverse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.errors import Problem
from console.rest import ListQuery, NoBody, body_of, cursor_asked, limit_asked, listed, query_of, whole
from tables import (
    actions,
    descriptions,
    explanation_api,
    explanations,
    facets,
    histories,
    layouts,
    log_state,
    naming,
    partitions,
    queries,
    schedules,
    services,
)
from tables.keyset import Key, page
from tables.models import Commit, Table
from tables.reach import Reach, joined
from tables.serializers import (
    CommitDetailOut,
    CommitOut,
    CommitQuery,
    DayOut,
    FilesQuery,
    FindingOut,
    HistoryQuery,
    NewRoot,
    NewTable,
    PartitionsQuery,
    RootChange,
    RootOut,
    TableChange,
    TableOut,
    TableQuery,
    TableRow,
    VersionQuery,
    commit_json,
    day_json,
    finding_json,
    root_json,
    row_json,
    table_json,
)

READ = Permission.TABLE_READ
ADD = Permission.TABLE_ADD
FREE = OpenApiTypes.OBJECT
BETWEEN = [
    OpenApiParameter("from", OpenApiTypes.INT64, required=True, description="The earlier version, usually."),
    OpenApiParameter("to", OpenApiTypes.INT64, required=True, description="The later version, usually."),
    CommitQuery,
]
Method = TypeVar("Method", bound=Callable[..., Response])


def documented(**described: Any) -> Callable[[Method], Method]:
    """What the OpenAPI document says of a method."""
    return extend_schema(**described)


class RootList(APIView):
    """Roots: the storage prefixes outside of which nothing is read."""

    asks = {"GET": READ, "POST": Permission.ROOT_MANAGE}

    @documented(parameters=[ListQuery], responses=RootOut(many=True))
    def get(self, request: Request) -> Response:
        roots = queries.roots_of(person_of(request))
        found = page(roots, [Key("name")], limit_asked(request), cursor_asked(request))
        return listed(request, found, map(root_json, found.rows))

    @documented(request=NewRoot, responses={201: RootOut})
    def post(self, request: Request) -> Response:
        body = body_of(request, NewRoot)
        root = services.add_root(Actor.of(request), body.pop("name"), body.pop("uri"), **body)
        root.refresh_from_db()
        return Response(root_json(root), status=201)


class RootDetail(APIView):
    """One root."""

    asks = {"GET": READ, "PATCH": Permission.ROOT_MANAGE}

    @documented(responses=RootOut)
    def get(self, request: Request, root_id: uuid.UUID) -> Response:
        return Response(root_json(queries.root_for(person_of(request), root_id)))

    @documented(request=RootChange, responses=RootOut)
    def patch(self, request: Request, root_id: uuid.UUID) -> Response:
        """Changes how often the logs of its tables are read."""
        root = queries.root_for(person_of(request), root_id, Permission.ROOT_MANAGE)
        body = body_of(request, RootChange)
        if "sync_seconds" in body:
            root = schedules.change(Actor.of(request), root, body["sync_seconds"])
        return Response(root_json(root))


class Findings(APIView):
    """What the scans of a root have found."""

    asks = {"GET": READ}

    @documented(parameters=[ListQuery], responses=FindingOut(many=True))
    def get(self, request: Request, root_id: uuid.UUID) -> Response:
        root = queries.root_for(person_of(request), root_id)
        found = page(queries.findings_of(root), [Key("path")], limit_asked(request), cursor_asked(request))
        return listed(request, found, map(finding_json, found.rows))


class TableList(APIView):
    """The catalog."""

    asks = {"GET": READ, "POST": ADD}

    @documented(parameters=[TableQuery], responses=TableRow(many=True))
    def get(self, request: Request) -> Response:
        asked = query_of(request, TableQuery)
        groups = {name: asked.get(name, []) for name in queries.GROUPS}
        wanted = queries.Filter(q=asked.get("q", ""), stale=asked.get("stale", False), **groups)
        order = asked.get("order") or ("best" if wanted.q else "name")
        found = queries.table_page(person_of(request), wanted, order, limit_asked(request), cursor_asked(request))
        return listed(request, found, map(row_json, found.rows))

    @documented(request=NewTable, responses={200: TableOut, 201: TableOut})
    def post(self, request: Request) -> Response:
        """Adds what lies at a path, gives it a name, or answers the table that has a name: 201 when that is new, else 200."""
        body = body_of(request, NewTable)
        if "path" not in body:
            return Response(table_json(queries.named(person_of(request), body["name"])))
        act = naming.name_table if "name" in body else services.add_table
        added = act(Actor.of(request), **body)
        return Response(table_json(added.table), status=201 if added.is_new else 200)


class TableFacets(APIView):
    """How many tables there are by format, root, health, last change, owner, feature and tag, as the asker sees the catalog."""

    asks = {"GET": READ}

    @documented(responses=FREE)
    def get(self, request: Request) -> Response:
        return Response(facets.told(*facets.counts_for(person_of(request))))


class TableDetail(APIView):
    """One table."""

    asks = {"GET": READ, "PATCH": (ADD, Permission.TAG_MANAGE), "DELETE": Permission.TAG_MANAGE}

    @documented(responses=TableOut)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        return Response(table_json(_table(request, table_id)))

    @documented(request=TableChange, responses=TableOut)
    def patch(self, request: Request, table_id: uuid.UUID) -> Response:
        table = _table(request, table_id)
        body = body_of(request, TableChange)
        with transaction.atomic():
            if "catalog_name" in body:
                table = naming.rename_table(Actor.of(request), table, body.pop("catalog_name"))
            table = services.update_table(Actor.of(request), table, **body)
        return Response(table_json(table))

    @documented(responses={204: None})
    def delete(self, request: Request, table_id: uuid.UUID) -> Response:
        services.hide_table(Actor.of(request), _table(request, table_id))
        return Response(status=204)


class TableSync(APIView):
    """Reads what is new in the log."""

    asks = {"POST": ADD}

    @documented(request=NoBody, responses={200: TableOut, 202: TableOut})
    def post(self, request: Request, table_id: uuid.UUID) -> Response:
        """200 once the log has been read. A log that takes minutes: 202 with the overview as it was, and with the read's address."""
        body_of(request, NoBody)
        synced = services.sync_table(Actor.of(request), _table(request, table_id))
        if synced.asked is None:
            return Response(table_json(synced.table))
        where = reverse("api_read", args=[synced.asked])
        return Response(table_json(synced.table), status=202, headers={"Location": where})


class TableProtocol(APIView):
    """Protocol versions and features, each with what it demands."""

    asks = {"GET": READ}

    @documented(parameters=[VersionQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table, version = _at(request, table_id)
        return Response(descriptions.protocol_json(histories.state_at(table, version)) | log_state.at(table, version))


class History(APIView):
    """Commits, newest first."""

    asks = {"GET": READ}

    @documented(parameters=[HistoryQuery], responses=CommitOut(many=True))
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = _table(request, table_id)
        asked = query_of(request, HistoryQuery)
        wanted = histories.Filter(**{name: asked[name] for name in _HISTORY if name in asked})
        lay = _lay(request, table)
        found = histories.history_page(table, wanted, limit_asked(request), cursor_asked(request), lay)
        return listed(request, found, _with_reach(table, found.rows, lay))


_HISTORY = ("operation", "by", "since", "until", "before", "job")


def _lay(request: Request, table: Table) -> int:
    """The incarnation asked for. Raises Http404 for one that never was."""
    return histories.incarnation_of(table, request.query_params.get("incarnation", ""))


def _with_reach(table: Table, commits: list[Commit], incarnation: int) -> list[dict[str, Any]]:
    reach = Reach(table).over(commits) if commits else []
    known = explanations.of_commits(table, incarnation, [commit.version for commit in commits])
    return [
        commit_json(commit, there) | {"explanation": explanations.explanation_json(known.get(commit.version))}
        for commit, there in zip(commits, reach, strict=True)
    ]


class CommitDetail(APIView):
    """One commit, with the schema and property changes that it made."""

    asks = {"GET": READ}

    @documented(parameters=[CommitQuery], responses=CommitDetailOut)
    def get(self, request: Request, table_id: uuid.UUID, version: int) -> Response:
        table = _table(request, table_id)
        commit = histories.commit_at(table, version, _lay(request, table))
        there = Reach(table).of(commit)
        (line,) = _with_reach(table, [commit], commit.incarnation)
        return Response(line | descriptions.commit_json(table, commit, there))


class CommitFiles(APIView):
    """The files that a commit added, removed, or wrote for the change feed."""

    asks = {"GET": READ}

    @documented(parameters=[FilesQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID, version: int) -> Response:
        table = _table(request, table_id)
        commit = histories.commit_at(table, version)
        asked = query_of(request, FilesQuery)
        found = actions.files_of(table, commit, asked.get("action", ""), _start(request), limit_asked(request))
        return Response(
            {
                "results": [asdict(row) for row in found.rows],
                "next": _next(request, found.next),
                "previous": _next(request, found.previous),
                "problems": [problem.as_json() for problem in found.problems],
            }
        )


def _start(request: Request) -> int:
    text = cursor_asked(request)
    if text and not (text.isdecimal() and len(text) < 12):
        raise Problem(400, "invalid_cursor", "This page’s address is not one that Levee gave; begin at the first page.")
    return int(text or 0)


def _next(request: Request, start: int | None) -> str | None:
    return None if start is None else replace_query_param(request.build_absolute_uri(), "cursor", start)


class Reachability(APIView):
    """Which versions can be read and restored, and until when."""

    asks = {"GET": READ}

    @documented(parameters=[ListQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = _table(request, table_id)
        reach = Reach(table)
        spans = [span.as_json() for span in joined(reach.spans)]
        found = histories.history_page(table, histories.Filter(), limit_asked(request), cursor_asked(request))
        versions = [
            descriptions.reach_json(c, there) for c, there in zip(found.rows, reach.over(found.rows), strict=True)
        ]
        return listed(request, found, versions, head=table.version, spans=spans)


class Compare(APIView):
    """Two versions side by side: schema, properties, protocol, and what lies between them."""

    asks = {"GET": READ}

    @documented(parameters=BETWEEN, responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = _table(request, table_id)
        return Response(descriptions.compare_json(table, *_between(request), _lay(request, table)))


class SchemaAt(APIView):
    """The schema at a version, as Spark's JSON struct and as a flat list of fields."""

    asks = {"GET": READ}

    @documented(parameters=[VersionQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table, version = _at(request, table_id)
        return Response(descriptions.schema_json(histories.state_at(table, version)))


class SchemaChanges(APIView):
    """The commits that changed the schema, newest first."""

    asks = {"GET": READ}

    @documented(parameters=[ListQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        """A commit that describes the table anew without another schema is left out."""
        table = _table(request, table_id)
        found, rows = descriptions.schema_changes(table, limit_asked(request), cursor_asked(request))
        return listed(request, found, (descriptions.schema_change_json(*row) for row in rows))


class SchemaCompare(APIView):
    """The schemas of two versions compared."""

    asks = {"GET": READ}

    @documented(parameters=BETWEEN, responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = _table(request, table_id)
        return Response(descriptions.schema_compare_json(table, *_between(request), _lay(request, table)))


class Layout(APIView):
    """How the live files of a version lie."""

    asks = {"GET": READ}

    @documented(parameters=[VersionQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table, version = _at(request, table_id)
        return Response(layouts.at(table, version))


class Growth(APIView):
    """Commits, bytes and rows by day of the last 90 days, oldest first: what the charts draw."""

    asks = {"GET": READ}

    @documented(responses=DayOut(many=True))
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = _table(request, table_id)
        days = histories.days_of(table, timezone.now()) if table.version is not None else []
        return whole(day_json(day) for day in days)


class Partitions(APIView):
    """Every partition of the newest version with its files, bytes and rows, largest first."""

    asks = {"GET": READ}

    @documented(parameters=[PartitionsQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = _table(request, table_id)
        asked = query_of(request, PartitionsQuery)
        order = asked.get("order", partitions.USUAL)
        found = partitions.page(table, order, asked.get("q", ""), _start(request), limit_asked(request))
        return Response(
            {
                "version": found.version,
                "columns": found.columns,
                "count": found.count,
                "found": found.found,
                "results": found.rows,
                "next": _next(request, found.next),
                "previous": _next(request, found.previous),
            }
        )


def _table(request: Request, table_id: uuid.UUID) -> Table:
    return queries.table_for(person_of(request), table_id)


def _at(request: Request, table_id: uuid.UUID) -> tuple[Table, int]:
    """The table and the version asked for, its newest without one. Raises Problem as `histories.newest`."""
    table = _table(request, table_id)
    asked = query_of(request, VersionQuery).get("version")
    newest = histories.newest(table)
    return table, newest if asked is None else asked


def _between(request: Request) -> tuple[int, int]:
    texts = [request.query_params.get(name, "") for name in ("from", "to")]
    if not all(text.isdecimal() and len(text) < 19 for text in texts):
        raise Problem(400, "invalid", "from and to are versions", fields={"from": "a version", "to": "a version"})
    return int(texts[0]), int(texts[1])


_TABLE = "tables/<uuid:table_id>"
urlpatterns = [
    path("roots", RootList.as_view()),
    path("roots/<uuid:root_id>", RootDetail.as_view()),
    path("roots/<uuid:root_id>/findings", Findings.as_view()),
    path("tables", TableList.as_view()),
    path("tables/facets", TableFacets.as_view()),
    path(_TABLE, TableDetail.as_view()),
    path(f"{_TABLE}/sync", TableSync.as_view()),
    path(f"{_TABLE}/protocol", TableProtocol.as_view()),
    path(f"{_TABLE}/history", History.as_view()),
    path(f"{_TABLE}/commits/<int:version>", CommitDetail.as_view()),
    path(f"{_TABLE}/commits/<int:version>/files", CommitFiles.as_view()),
    path(f"{_TABLE}/commits/<int:version>/acknowledge", explanation_api.Acknowledge.as_view()),
    path(f"{_TABLE}/reachability", Reachability.as_view()),
    path(f"{_TABLE}/compare", Compare.as_view()),
    path(f"{_TABLE}/schema", SchemaAt.as_view()),
    path(f"{_TABLE}/schema/changes", SchemaChanges.as_view()),
    path(f"{_TABLE}/schema/compare", SchemaCompare.as_view()),
    path(f"{_TABLE}/layout", Layout.as_view()),
    path(f"{_TABLE}/growth", Growth.as_view()),
    path(f"{_TABLE}/partitions", Partitions.as_view()),
]
