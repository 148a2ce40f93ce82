"""A table's commits over HTTP, and the versions that you can still read."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.base.rest import ListQuery, cursor_asked, limit_asked, listed, query_of
from tables.catalog import attributions
from tables.history import commit_files, explained, payloads
from tables.history import queries as histories
from tables.history.reachability import TableReach, joined
from tables.models import Commit, Table
from tables.web.api.serializers import CommitDetailOut, CommitOut, CommitQuery, FilesQuery, HistoryQuery, commit_json
from tables.web.api.shared import BETWEEN, FREE, READ, documented, next_page, start_of, table_asked, versions_asked


class History(APIView):
    """Commits, newest first."""

    requires = {"GET": READ}

    @documented(parameters=[HistoryQuery], responses=CommitOut(many=True))
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = table_asked(request, table_id)
        asked = query_of(request, HistoryQuery)
        wanted = histories.HistoryFilter(**{name: asked[name] for name in _HISTORY if name in asked})
        incarnation = _incarnation(request, table)
        page = histories.history_page(table, wanted, limit_asked(request), cursor_asked(request), incarnation)
        return listed(request, page, _with_reach(table, page.rows, incarnation))


_HISTORY = ("operation", "by", "since", "until", "before", "job")


def _incarnation(request: Request, table: Table) -> int:
    """The incarnation asked for. Raises Http404 for one that never was."""
    return histories.incarnation_of(table, request.query_params.get("incarnation", ""))


def _with_reach(table: Table, commits: list[Commit], incarnation: int) -> list[dict[str, Any]]:
    reach = TableReach(table).over(commits) if commits else []
    known = explained.of_commits(table, incarnation, [commit.version for commit in commits])
    return [
        commit_json(commit, there) | {"explanation": attributions.explanation_json(known.get(commit.version))}
        for commit, there in zip(commits, reach, strict=True)
    ]


class CommitDetail(APIView):
    """One commit, with the schema and property changes that it made."""

    requires = {"GET": READ}

    @documented(parameters=[CommitQuery], responses=CommitDetailOut)
    def get(self, request: Request, table_id: uuid.UUID, version: int) -> Response:
        table = table_asked(request, table_id)
        commit = histories.commit_at(table, version, _incarnation(request, table))
        there = TableReach(table).of(commit)
        (line,) = _with_reach(table, [commit], commit.incarnation)
        return Response(line | payloads.commit_json(table, commit, there))


class CommitFiles(APIView):
    """The files that a commit added, removed, or wrote for the change feed."""

    requires = {"GET": READ}

    @documented(parameters=[FilesQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID, version: int) -> Response:
        table = table_asked(request, table_id)
        commit = histories.commit_at(table, version)
        asked = query_of(request, FilesQuery)
        page = commit_files.files_of(table, commit, asked.get("action", ""), start_of(request), limit_asked(request))
        return Response(
            {
                "results": [asdict(row) for row in page.rows],
                "next": next_page(request, page.next),
                "previous": next_page(request, page.previous),
                "problems": [problem.as_json() for problem in page.problems],
            }
        )


class Reachability(APIView):
    """The versions that you can read and restore, and until when."""

    requires = {"GET": READ}

    @documented(parameters=[ListQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = table_asked(request, table_id)
        reach = TableReach(table)
        spans = [span.as_json() for span in joined(reach.spans)]
        page = histories.history_page(table, histories.HistoryFilter(), limit_asked(request), cursor_asked(request))
        versions = [payloads.reach_json(c, there) for c, there in zip(page.rows, reach.over(page.rows), strict=True)]
        return listed(request, page, versions, head=table.version, spans=spans)


class Compare(APIView):
    """Two versions side by side: schema, properties, protocol, and the commits between them."""

    requires = {"GET": READ}

    @documented(parameters=BETWEEN, responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table = table_asked(request, table_id)
        return Response(payloads.compare_json(table, *versions_asked(request), _incarnation(request, table)))
