"""People, grants and tokens as JSON."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.accounts.roles import Role, TokenScope
from console.base.rest import Body, Flag, ListQuery, LiteralText


class TokenSerializer(serializers.Serializer[Any]):
    """A token without its secret."""

    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]
    prefix = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(TokenScope.values))
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class IssuedTokenSerializer(TokenSerializer):
    """A new token with its text, shown only now."""

    token = serializers.CharField()


class NewToken(Body):
    label = LiteralText(max_length=100)  # type: ignore[assignment]
    scopes = serializers.ListField(
        child=serializers.ChoiceField(TokenScope.values), required=False, help_text="read and request by default"
    )


class HeldGrantSerializer(serializers.Serializer[Any]):
    """A role and its scope: `everything`, `root:NAME` or `table:PATH`."""

    id = serializers.UUIDField()
    role = serializers.ChoiceField(Role.values)
    on = serializers.CharField(source="scope_text")


class PersonSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    is_active = serializers.BooleanField()
    must_change_password = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    live_tokens = serializers.IntegerField(help_text="How many of their tokens still work.")
    grants = HeldGrantSerializer(many=True, source="grants.all")


class NewPerson(Body):
    name = LiteralText(max_length=64)
    password = LiteralText(required=False, max_length=500)


class PersonChange(Body):
    is_active = Flag()


class GrantSerializer(HeldGrantSerializer):
    """A grant: who has which role where, by whom, since when."""

    person = serializers.CharField(source="person.name")
    granted_by = serializers.CharField(source="granted_by.name", allow_null=True, default=None)
    granted_at = serializers.DateTimeField()


class NewGrant(Body):
    person = LiteralText(max_length=64, help_text="The person's name.")
    role = serializers.ChoiceField(Role.values)
    on = LiteralText(max_length=4200, help_text="everything, root:NAME or table:PATH")


class GrantQuery(ListQuery):
    person = serializers.CharField(required=False, max_length=64, help_text="The person's name.")
