"""The rules of policy over HTTP."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.accounts.scopes import scope_of
from console.audit.actor import Actor
from console.rest import Body, Flag, ListQuery, Text, Whole, body_of, cursor_asked, limit_asked, listed
from jobs import policy_queries, policy_services
from jobs.models import PolicyRule
from jobs.policy_services import Terms
from tables.keyset import Key, page

BY_COMMAND = (Key("command"), Key("name"), Key("id"))
CLASSES = PolicyRule.TableClass.values


class RuleSerializer(serializers.Serializer[Any]):
    """One rule; `class` and `min_share` are null where it is about any."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    command = serializers.CharField()
    min_share = serializers.FloatField(allow_null=True)
    on = serializers.SerializerMethodField()
    required_approvals = serializers.IntegerField()
    role = serializers.CharField()
    refuses_tokens = serializers.BooleanField()
    enabled = serializers.BooleanField()
    version = serializers.IntegerField()
    changed_by = serializers.CharField(source="changed_by.name", allow_null=True, default=None)
    changed_at = serializers.DateTimeField()

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {**super().get_fields(), "class": _Class(read_only=True, allow_null=True, source="table_class")}

    def get_on(self, rule: PolicyRule) -> str:
        """`everything`, `root:NAME` or `table:PATH`."""
        return policy_services.on_text(rule)


class _Class(serializers.ChoiceField):
    """A class of requests; null in JSON where the row says nothing."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=CLASSES, **kwargs)

    def to_representation(self, value: Any) -> Any:
        return value or None


class Share(serializers.FloatField):
    """A JSON number; a text or a flag is none."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return super().to_internal_value(data)


class RuleChange(Body):
    """The terms of a rule; what isn't given stays."""

    name = Text(required=False, max_length=policy_services.NAME_LENGTH)
    min_share = Share(required=False, allow_null=True, min_value=0, max_value=1)
    required_approvals = Whole(required=False, min_value=0, max_value=PolicyRule.MOST_APPROVALS)
    refuses_tokens = Flag(required=False)
    enabled = Flag(required=False)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {**super().get_fields(), "class": _Class(required=False, allow_null=True, source="table_class")}


class NewRule(RuleChange):
    """A new rule: a command, a place, and how many approvals it asks for there."""

    name = Text(max_length=policy_services.NAME_LENGTH)
    command = Text(max_length=20, help_text="convert, delete or restore")
    on = Text(required=False, default="everything", max_length=4200, help_text="everything, root:NAME or table:PATH")
    required_approvals = Whole(min_value=0, max_value=PolicyRule.MOST_APPROVALS)


class Policies(APIView):
    """The rules that say how many approvals a command needs."""

    asks: ClassVar[dict[str, Any]] = {"GET": policy_queries.READ_BY, "POST": Permission.POLICY_MANAGE}

    @extend_schema(operation_id="policies_list", parameters=[ListQuery], responses=RuleSerializer(many=True))
    def get(self, request: Request) -> Response:
        """By command; those that are switched off included, removed ones not."""
        rules = policy_queries.rules_for(person_of(request))
        found = page(rules, BY_COMMAND, limit_asked(request), cursor_asked(request))
        return listed(request, found, RuleSerializer(found.rows, many=True).data)

    @extend_schema(operation_id="policies_add", request=NewRule, responses={201: RuleSerializer})
    def post(self, request: Request) -> Response:
        """A rule more: the strictest that applies to a request counts."""
        given = _terms(body_of(request, NewRule))
        command, scope = given.pop("command"), scope_of(given.pop("on"))
        made = policy_services.add(Actor.of(request), command, scope, Terms(**given))
        return Response(_rule_now(made.pk), status=201)


class PolicyDetail(APIView):
    """One rule."""

    asks: ClassVar[dict[str, Any]] = {
        "GET": policy_queries.READ_BY,
        "PATCH": Permission.POLICY_MANAGE,
        "DELETE": Permission.POLICY_MANAGE,
    }

    @extend_schema(operation_id="policies_get", responses=RuleSerializer)
    def get(self, request: Request, policy_id: uuid.UUID) -> Response:
        return Response(RuleSerializer(policy_queries.rule_for(person_of(request), policy_id)).data)

    @extend_schema(operation_id="policies_change", request=RuleChange, responses=RuleSerializer)
    def patch(self, request: Request, policy_id: uuid.UUID) -> Response:
        """Other terms, or on and off. What open requests need is never lowered by it."""
        rule = policy_queries.rule_for(person_of(request), policy_id)
        policy_services.change(Actor.of(request), rule, **_terms(body_of(request, RuleChange)))
        return Response(_rule_now(policy_id))

    @extend_schema(operation_id="policies_remove", responses={204: None})
    def delete(self, request: Request, policy_id: uuid.UUID) -> Response:
        """Takes the rule out of the policy; requests that it applied to go on naming it."""
        policy_services.remove(Actor.of(request), policy_queries.rule_for(person_of(request), policy_id))
        return Response(status=204)


def _terms(given: dict[str, Any]) -> dict[str, Any]:
    if "table_class" in given:
        given["table_class"] = given["table_class"] or ""
    return given


def _rule_now(rule_id: uuid.UUID) -> Any:
    kept = PolicyRule.objects.select_related("root", "table", "changed_by")
    return RuleSerializer(kept.get(pk=rule_id)).data
