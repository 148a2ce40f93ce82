"""People, their roles and their tokens over HTTP."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts import services
from console.accounts.models import Grant, Person, Token
from console.accounts.permissions import Open, person_of
from console.accounts.roles import Permission, Role, TokenScope
from console.accounts.sign_in.step_up import Purpose, require_recent
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.pagination import OrderKey, page
from console.base.rest import ListQuery, body_of, cursor_asked, limit_asked, listed, query_of
from console.pages.people import queries
from console.pages.people.serializers import (
    GrantQuery,
    GrantSerializer,
    IssuedTokenSerializer,
    NewGrant,
    NewPerson,
    NewToken,
    PersonChange,
    PersonSerializer,
    TokenSerializer,
)
from tables.catalog.scopes import scope_of

BY_NAME = (OrderKey("name"), OrderKey("id"))
BY_ID = (OrderKey("id"),)
NEWEST = (OrderKey("created_at", descending=True), OrderKey("id", descending=True))


class Tokens(APIView):
    """Your own tokens."""

    requires: ClassVar[dict[str, Open]] = {"GET": Open.SIGNED_IN, "POST": Open.SIGNED_IN}

    @extend_schema(operation_id="tokens_list", parameters=[ListQuery], responses=TokenSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Your tokens, newest first, ended ones included; the secret is never shown again."""
        tokens = Token.objects.filter(person=person_of(request))
        token_page = page(tokens, NEWEST, limit_asked(request), cursor_asked(request))
        return listed(request, token_page, TokenSerializer(token_page.rows, many=True).data)

    @extend_schema(operation_id="tokens_add", request=NewToken, responses={201: IssuedTokenSerializer})
    def post(self, request: Request) -> Response:
        """Creates a token; `token` is its text, shown only now. Scopes default to read and request."""
        given = body_of(request, NewToken)
        scopes = {TokenScope(scope) for scope in given.get("scopes") or ("read", "request")}
        _check_scopes(request, scopes)
        token, text = services.add_token(Actor.of(request), person_of(request), given["label"], scopes)
        token.refresh_from_db()
        return Response(TokenSerializer(token).data | {"token": text}, status=201)


def _check_scopes(request: Request, scopes: set[TokenScope]) -> None:
    if TokenScope.APPROVE in scopes and isinstance(request.auth, Token):
        detail = (
            "You can give the scope approve only in the browser, after your password, or at the command line: "
            "manage.py person add NAME --token LABEL --scope approve"
        )
        raise Problem(403, "step_up_required", detail)
    require_recent(request, Purpose.TOKEN)
    if isinstance(request.auth, Token) and not scopes <= set(request.auth.scopes):
        raise Problem(403, "forbidden", "A token can’t create a token with more scopes than its own.")


class TokenDetail(APIView):
    """One of your own tokens."""

    requires: ClassVar[dict[str, Open]] = {"DELETE": Open.SIGNED_IN}

    @extend_schema(operation_id="tokens_revoke", responses={204: None})
    def delete(self, request: Request, token_id: uuid.UUID) -> Response:
        """Ends it at once."""
        services.revoke_token(Actor.of(request), get_object_or_404(Token, pk=token_id, person=person_of(request)))
        return Response(status=204)


class People(APIView):
    """All people, and adding one."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.PEOPLE_MANAGE, "POST": Permission.PEOPLE_MANAGE}

    @extend_schema(operation_id="people_list", parameters=[ListQuery], responses=PersonSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Everybody by name, closed accounts included."""
        people_page = page(queries.people(person_of(request)), BY_NAME, limit_asked(request), cursor_asked(request))
        return listed(request, people_page, PersonSerializer(people_page.rows, many=True).data)

    @extend_schema(operation_id="people_add", request=NewPerson, responses={201: PersonSerializer})
    def post(self, request: Request) -> Response:
        """Adds a person. Without a password they can use only tokens; they must change a given one at the first sign-in."""
        given = body_of(request, NewPerson)
        person = services.add_person(
            Actor.of(request), given["name"], given.get("password"), must_change_password="password" in given
        )
        return Response(_person_now(request, person.pk), status=201)


class PersonDetail(APIView):
    """One person."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.PEOPLE_MANAGE, "PATCH": Permission.PEOPLE_MANAGE}

    @extend_schema(operation_id="people_get", responses=PersonSerializer)
    def get(self, request: Request, person_id: uuid.UUID) -> Response:
        return Response(_person_now(request, person_id))

    @extend_schema(operation_id="people_change", request=PersonChange, responses=PersonSerializer)
    def patch(self, request: Request, person_id: uuid.UUID) -> Response:
        """Closes an account, with its tokens and sessions, or opens it again."""
        given = body_of(request, PersonChange)
        services.set_active(Actor.of(request), get_object_or_404(Person, pk=person_id), given["is_active"])
        return Response(_person_now(request, person_id))


def _person_now(request: Request, person_id: uuid.UUID) -> Any:
    return PersonSerializer(get_object_or_404(queries.people(person_of(request)), pk=person_id)).data


class Grants(APIView):
    """Roles of people, with their scopes."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.PEOPLE_MANAGE, "POST": Permission.PEOPLE_MANAGE}

    @extend_schema(operation_id="grants_list", parameters=[GrantQuery], responses=GrantSerializer(many=True))
    def get(self, request: Request) -> Response:
        given = query_of(request, GrantQuery)
        grants = queries.grants_for(person_of(request))
        if "person" in given:
            grants = grants.filter(person__name__iexact=given["person"])
        grant_page = page(grants, BY_ID, limit_asked(request), cursor_asked(request))
        return listed(request, grant_page, GrantSerializer(grant_page.rows, many=True).data)

    @extend_schema(operation_id="grants_add", request=NewGrant, responses={201: GrantSerializer, 200: GrantSerializer})
    def post(self, request: Request) -> Response:
        """Gives a person a role on a scope: 201, or 200 when they have it there already."""
        given = body_of(request, NewGrant)
        person = Person.objects.filter(name__iexact=given["person"]).first()
        if person is None:
            detail = f"no person is named {given['person']}"
            raise Problem(400, "invalid", detail, fields={"person": detail})
        known = set(person.grants.values_list("pk", flat=True))
        made = services.grant(Actor.of(request), person, Role(given["role"]), scope_of(given["on"], person_of(request)))
        return Response(_grant_now(made.pk), status=200 if made.pk in known else 201)


class GrantDetail(APIView):
    """One grant."""

    requires: ClassVar[dict[str, Permission]] = {"DELETE": Permission.PEOPLE_MANAGE}

    @extend_schema(operation_id="grants_remove", responses={204: None})
    def delete(self, request: Request, grant_id: uuid.UUID) -> Response:
        """Removes the role at once."""
        held = get_object_or_404(queries.grants_for(person_of(request)), pk=grant_id)
        services.remove_grant(Actor.of(request), held)
        return Response(status=204)


def _grant_now(grant_id: uuid.UUID) -> Any:
    return GrantSerializer(Grant.objects.select_related("person", "root", "table", "granted_by").get(pk=grant_id)).data
