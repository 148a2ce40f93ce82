"""Tables of the catalog over HTTP: the list, one of them, sync, protocol."""

from __future__ import annotations

import uuid
from dataclasses import asdict

from django.db import transaction
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission, TokenScope
from console.audit.actor import Actor
from console.base.rest import NoBody, body_of, cursor_asked, limit_asked, listed, query_of
from tables import ports
from tables.catalog import entries, facets, listing, renaming, requested_syncs
from tables.catalog.adding import additions
from tables.catalog.own import favourites
from tables.history import payloads
from tables.history import queries as histories
from tables.record import transactions
from tables.web.api.serializers import (
    NewTable,
    TableChange,
    TableOut,
    TableQuery,
    TableRow,
    VersionQuery,
    row_json,
    table_json,
)
from tables.web.api.shared import ADD, FREE, READ, documented, table_asked, version_asked


class TableList(APIView):
    """The catalog."""

    requires = {"GET": READ, "POST": ADD}

    @documented(parameters=[TableQuery], responses=TableRow(many=True))
    def get(self, request: Request) -> Response:
        """The catalog: the tables that you see, by the words and the properties that you ask for."""
        asked = query_of(request, TableQuery)
        groups = {name: asked.get(name, []) for name in listing.GROUPS}
        favourite_of = person_of(request) if asked.get("favourite") else None
        stale = asked.get("stale", False)
        wanted = listing.TableFilter(q=asked.get("q", ""), stale=stale, favourite_of=favourite_of, **groups)
        order = asked.get("order") or ("best" if wanted.q else "name")
        page = listing.table_page(person_of(request), wanted, order, limit_asked(request), cursor_asked(request))
        return listed(request, page, map(row_json, page.rows))

    @documented(request=NewTable, responses={200: TableOut, 201: TableOut})
    def post(self, request: Request) -> Response:
        """Adds the table at a path, names it, or returns the table with a name: 201 if new, else 200."""
        body = body_of(request, NewTable)
        if "path" not in body:
            return Response(table_json(listing.named(person_of(request), body["name"])))
        act = renaming.name_table if "name" in body else additions.add_table
        added = act(Actor.of(request), **body)
        return Response(table_json(added.table), status=201 if added.is_new else 200)


class TableFacets(APIView):
    """Counts of the tables that you see, by format, root, health, last change, owner, feature and tag."""

    requires = {"GET": READ}

    @documented(responses=FREE)
    def get(self, request: Request) -> Response:
        return Response(facets.as_json(*facets.counts_for(person_of(request))))


class TableDetail(APIView):
    """One table."""

    requires = {"GET": READ, "PATCH": (ADD, Permission.TAG_MANAGE), "DELETE": Permission.TAG_MANAGE}

    @documented(responses=TableOut)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        """The overview of a table: its version, schema, properties, protocol, sizes and health."""
        return Response(table_json(table_asked(request, table_id)))

    @documented(request=TableChange, responses=TableOut)
    def patch(self, request: Request, table_id: uuid.UUID) -> Response:
        """Describes the entry: owner, description, its name in Levee's catalog; tags, which only admins set. The data stays as it is."""
        table = table_asked(request, table_id)
        body = body_of(request, TableChange)
        with transaction.atomic():
            if "catalog_name" in body:
                table = renaming.rename_table(Actor.of(request), table, body.pop("catalog_name"))
            table = entries.update_table(Actor.of(request), table, **body)
        return Response(table_json(table))

    @documented(responses={204: None})
    def delete(self, request: Request, table_id: uuid.UUID) -> Response:
        """Hides the entry. Its history and audit stay, and the data is never touched."""
        entries.hide_table(Actor.of(request), table_asked(request, table_id))
        return Response(status=204)


class TableFavourite(APIView):
    """Your own mark on a table; nobody else sees it."""

    requires = {"PUT": READ, "DELETE": READ}
    changing_scope = TokenScope.REQUEST

    @documented(request=NoBody, responses={204: None})
    def put(self, request: Request, table_id: uuid.UUID) -> Response:
        """Makes the table a favourite of yours, if it isn't one yet."""
        body_of(request, NoBody)
        favourites.mark(person_of(request), table_asked(request, table_id))
        return Response(status=204)

    @documented(responses={204: None})
    def delete(self, request: Request, table_id: uuid.UUID) -> Response:
        """Takes the mark from the table, if it has one."""
        favourites.unmark(person_of(request), table_asked(request, table_id))
        return Response(status=204)


class TableSync(APIView):
    """Reads what is new in the log."""

    requires = {"POST": ADD}

    @documented(request=NoBody, responses={200: TableOut, 202: TableOut})
    def post(self, request: Request, table_id: uuid.UUID) -> Response:
        """200 once the log has been read. A log that takes minutes: 202 with the overview as it was, and with the read's address."""
        body_of(request, NoBody)
        synced = requested_syncs.sync_table(Actor.of(request), table_asked(request, table_id))
        if synced.asked is None:
            return Response(table_json(synced.table))
        where = reverse("api_read", args=[synced.asked])
        return Response(table_json(synced.table), status=202, headers={"Location": where})


class TableProtocol(APIView):
    """Protocol versions and features, each with what it demands, and `engines`: which well-known ones can read and write the table."""

    requires = {"GET": READ}

    @documented(parameters=[VersionQuery], responses=FREE)
    def get(self, request: Request, table_id: uuid.UUID) -> Response:
        table, version = version_asked(request, table_id)
        state = histories.state_at(table, version)
        engines = [asdict(engine) for engine in ports.engines_of(state.protocol)]
        return Response({**payloads.protocol_json(state), **transactions.at(table, version), "engines": engines})
