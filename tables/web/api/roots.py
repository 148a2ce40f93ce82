"""Roots and the findings of their scans, over HTTP."""

from __future__ import annotations

import uuid
from dataclasses import asdict

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.pagination import OrderKey, page
from console.base.rest import ListQuery, NoBody, body_of, cursor_asked, limit_asked, listed
from tables.catalog import listing
from tables.catalog.adding import bulk as bulk_additions
from tables.catalog.roots import changes as root_changes
from tables.catalog.roots import entries as roots
from tables.catalog.roots import figures as root_figures
from tables.catalog.roots import object_stores
from tables.catalog.roots import places as root_places
from tables.catalog.roots import removal as root_removal
from tables.catalog.roots.object_stores import description_of
from tables.models import Root
from tables.web.api.root_serializers import (
    AdditionOut,
    FindingOut,
    NewRoot,
    PlaceAsked,
    PlaceOut,
    RootChange,
    RootDetailOut,
    RootOut,
    StorageIn,
    StorageOut,
    addition_json,
    description,
    finding_json,
    root_detail_json,
    root_json,
    storage_json,
)
from tables.web.api.shared import ADD, READ, documented

MANAGE = Permission.ROOT_MANAGE


class RootList(APIView):
    """Roots: the storage prefixes outside of which Levee reads nothing."""

    requires = {"GET": READ, "POST": MANAGE}

    @documented(parameters=[ListQuery], responses=RootOut(many=True))
    def get(self, request: Request) -> Response:
        """The storage prefixes outside of which Levee reads nothing."""
        roots = listing.roots_of(person_of(request))
        root_page = page(roots, [OrderKey("name")], limit_asked(request), cursor_asked(request))
        return listed(request, root_page, map(root_json, root_page.rows))

    @documented(request=NewRoot, responses={201: RootOut})
    def post(self, request: Request) -> Response:
        """Lets Levee read below a directory or a prefix of an object store."""
        body = body_of(request, NewRoot)
        storage = description(body.pop("storage", None))
        root = roots.add_root(Actor.of(request), body.pop("name"), body.pop("uri"), **body, storage=storage)
        root.refresh_from_db()
        return Response(root_json(root), status=201)


class RootDetail(APIView):
    """One root."""

    requires = {"GET": READ, "PATCH": MANAGE, "DELETE": MANAGE}

    @documented(responses=RootDetailOut)
    def get(self, request: Request, root_id: uuid.UUID) -> Response:
        """One root, with how many of its tables are due, unreadable or missing."""
        root = listing.root_for(person_of(request), root_id)
        return Response(root_detail_json(root, root_figures.figures_of([root])[root.pk]))

    @documented(request=RootChange, responses=RootOut)
    def patch(self, request: Request, root_id: uuid.UUID) -> Response:
        """Changes its name, how often its tables are synced and it is scanned, and whether finds are added."""
        root = _managed(request, root_id)
        return Response(root_json(root_changes.change(Actor.of(request), root, body_of(request, RootChange))))

    @documented(request=None, responses={204: None})
    def delete(self, request: Request, root_id: uuid.UUID) -> Response:
        """Takes the root away. Its tables leave the lists; their histories and the audit stay."""
        root_removal.remove(Actor.of(request), _managed(request, root_id))
        return Response(status=204)


class RootTest(APIView):
    """What stands for and against a place as a root. Registers nothing."""

    requires = {"POST": MANAGE}

    @documented(request=PlaceAsked, responses=PlaceOut)
    def post(self, request: Request) -> Response:
        body = body_of(request, PlaceAsked)
        given, writes = description(body.get("storage")), body.get("writes", False)
        checks = root_places.examine(Actor.of(request), body["uri"], given, writes=writes)
        return Response(
            {"passed": all(check.passed for check in checks), "checks": [asdict(check) for check in checks]}
        )


class RootStorage(APIView):
    """How a root's bucket is reached, for all roots in it."""

    requires = {"PUT": MANAGE}

    @documented(request=StorageIn, responses=StorageOut)
    def put(self, request: Request, root_id: uuid.UUID) -> Response:
        """Changes it; a new credential counts within seconds, without a restart."""
        given = description_of(body_of(request, StorageIn))
        root = _managed(request, root_id)
        object_stores.change(Actor.of(request), root, given)
        return Response(storage_json(root))


class RootPause(APIView):
    """No syncs and no scans in a root, until it is resumed."""

    requires = {"POST": MANAGE}

    @documented(request=None, responses=RootOut)
    def post(self, request: Request, root_id: uuid.UUID) -> Response:
        body_of(request, NoBody)
        return Response(root_json(root_changes.pause(Actor.of(request), _managed(request, root_id))))


class RootResume(APIView):
    """Syncs and scans go on in a root."""

    requires = {"POST": MANAGE}

    @documented(request=None, responses=RootOut)
    def post(self, request: Request, root_id: uuid.UUID) -> Response:
        body_of(request, NoBody)
        return Response(root_json(root_changes.resume(Actor.of(request), _managed(request, root_id))))


def _managed(request: Request, root_id: uuid.UUID) -> Root:
    return listing.root_for(person_of(request), root_id, MANAGE)


class Additions(APIView):
    """Additions of all that a root's scans have found new; the newest first."""

    requires = {"GET": READ, "POST": ADD}

    @documented(parameters=[ListQuery], responses=AdditionOut(many=True))
    def get(self, request: Request, root_id: uuid.UUID) -> Response:
        root = listing.root_for(person_of(request), root_id)
        keys = [OrderKey("requested_at", descending=True), OrderKey("id")]
        addition_page = page(bulk_additions.of_root(root), keys, limit_asked(request), cursor_asked(request))
        return listed(request, addition_page, map(addition_json, addition_page.rows))

    @documented(request=None, responses={202: AdditionOut})
    def post(self, request: Request, root_id: uuid.UUID) -> Response:
        """Has the light worker add all of it; answers the addition under way where there is one."""
        body_of(request, NoBody)
        root = listing.root_for(person_of(request), root_id, ADD)
        addition = bulk_additions.request(Actor.of(request), root)
        return Response(addition_json(bulk_additions.of_root(root).get(pk=addition.pk)), status=202)


class RootFindings(APIView):
    """The findings of a root's scans."""

    requires = {"GET": READ}

    @documented(parameters=[ListQuery], responses=FindingOut(many=True))
    def get(self, request: Request, root_id: uuid.UUID) -> Response:
        root = listing.root_for(person_of(request), root_id)
        finding_page = page(listing.findings_of(root), [OrderKey("path")], limit_asked(request), cursor_asked(request))
        return listed(request, finding_page, map(finding_json, finding_page.rows))
