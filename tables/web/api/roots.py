"""Roots and the findings of their scans, over HTTP."""

from __future__ import annotations

import uuid

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.pagination import Key, page
from console.base.rest import ListQuery, body_of, cursor_asked, limit_asked, listed
from tables.catalog import listing, roots, sync_interval
from tables.web.api.serializers import FindingOut, NewRoot, RootChange, RootOut, finding_json, root_json
from tables.web.api.shared import READ, documented


class RootList(APIView):
    """Roots: the storage prefixes outside of which Levee reads nothing."""

    requires = {"GET": READ, "POST": Permission.ROOT_MANAGE}

    @documented(parameters=[ListQuery], responses=RootOut(many=True))
    def get(self, request: Request) -> Response:
        roots = listing.roots_of(person_of(request))
        root_page = page(roots, [Key("name")], limit_asked(request), cursor_asked(request))
        return listed(request, root_page, map(root_json, root_page.rows))

    @documented(request=NewRoot, responses={201: RootOut})
    def post(self, request: Request) -> Response:
        body = body_of(request, NewRoot)
        root = roots.add_root(Actor.of(request), body.pop("name"), body.pop("uri"), **body)
        root.refresh_from_db()
        return Response(root_json(root), status=201)


class RootDetail(APIView):
    """One root."""

    requires = {"GET": READ, "PATCH": Permission.ROOT_MANAGE}

    @documented(responses=RootOut)
    def get(self, request: Request, root_id: uuid.UUID) -> Response:
        return Response(root_json(listing.root_for(person_of(request), root_id)))

    @documented(request=RootChange, responses=RootOut)
    def patch(self, request: Request, root_id: uuid.UUID) -> Response:
        """Changes how often the logs of its tables are read."""
        root = listing.root_for(person_of(request), root_id, Permission.ROOT_MANAGE)
        body = body_of(request, RootChange)
        if "sync_seconds" in body:
            root = sync_interval.change(Actor.of(request), root, body["sync_seconds"])
        return Response(root_json(root))


class Findings(APIView):
    """The findings of a root's scans."""

    requires = {"GET": READ}

    @documented(parameters=[ListQuery], responses=FindingOut(many=True))
    def get(self, request: Request, root_id: uuid.UUID) -> Response:
        root = listing.root_for(person_of(request), root_id)
        finding_page = page(listing.findings_of(root), [Key("path")], limit_asked(request), cursor_asked(request))
        return listed(request, finding_page, map(finding_json, finding_page.rows))
