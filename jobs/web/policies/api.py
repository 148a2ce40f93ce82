"""The policy rules over HTTP."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.pagination import OrderKey, page
from console.base.rest import Body, Flag, ListQuery, LiteralText, Whole, body_of, cursor_asked, limit_asked, listed
from jobs.models import PolicyRule
from jobs.policy import queries, services
from jobs.policy.services import Terms
from tables.catalog.scopes import scope_of

BY_COMMAND = (OrderKey("command"), OrderKey("name"), OrderKey("id"))
CLASSES = PolicyRule.TableClass.values


class ChangeSerializer(serializers.Serializer[Any]):
    """A change that lowers a rule and waits for a second admin; null if none waits."""

    id = serializers.UUIDField()
    asked_by = serializers.CharField(source="asked_by.name", allow_null=True, default=None)
    asked_at = serializers.DateTimeField()
    removes = serializers.BooleanField()
    name = serializers.CharField(source="after.name")
    min_share = serializers.FloatField(source="after.min_share", allow_null=True)
    required_approvals = serializers.IntegerField(source="after.required_approvals")
    refuses_tokens = serializers.BooleanField(source="after.refuses_tokens")
    enabled = serializers.BooleanField(source="after.enabled")

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {**super().get_fields(), "class": _Class(read_only=True, allow_null=True, source="after.table_class")}


class RuleSerializer(serializers.Serializer[Any]):
    """One rule; `class` and `min_share` are null if it applies to any."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    command = serializers.CharField()
    min_share = serializers.FloatField(allow_null=True)
    on = serializers.SerializerMethodField()
    required_approvals = serializers.IntegerField()
    role = serializers.CharField()
    refuses_tokens = serializers.BooleanField()
    forbids = serializers.BooleanField(help_text="The command never runs there, however it is approved.")
    enabled = serializers.BooleanField()
    version = serializers.IntegerField()
    changed_by = serializers.CharField(source="changed_by.name", allow_null=True, default=None)
    changed_at = serializers.DateTimeField()
    waiting_change = serializers.SerializerMethodField()

    @extend_schema_field(ChangeSerializer(allow_null=True))
    def get_waiting_change(self, rule: PolicyRule) -> Any:
        """Loaded by `queries.with_waiting`."""
        change = rule.waiting[0] if rule.waiting else None  # type: ignore[attr-defined]
        return None if change is None else ChangeSerializer(change).data

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {**super().get_fields(), "class": _Class(read_only=True, allow_null=True, source="table_class")}

    def get_on(self, rule: PolicyRule) -> str:
        """`everything`, `root:NAME` or `table:PATH`."""
        return services.on_text(rule)


class _Class(serializers.ChoiceField):
    """A class of requests; null in JSON if the row has none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=CLASSES, **kwargs)

    def to_representation(self, value: Any) -> Any:
        return value or None


class ShareField(serializers.FloatField):
    """A JSON number; refuses texts and booleans."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return super().to_internal_value(data)


class RuleChange(Body):
    """The terms of a rule; those that you leave out stay."""

    name = LiteralText(required=False, max_length=services.NAME_LENGTH)
    min_share = ShareField(required=False, allow_null=True, min_value=0, max_value=1)
    required_approvals = Whole(required=False, min_value=0, max_value=PolicyRule.MOST_APPROVALS)
    refuses_tokens = Flag(required=False)
    enabled = Flag(required=False)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {**super().get_fields(), "class": _Class(required=False, allow_null=True, source="table_class")}


class NewRule(RuleChange):
    """A new rule: a command, a scope, and how many approvals it requires there; or that it may never run there."""

    name = LiteralText(max_length=services.NAME_LENGTH)
    command = LiteralText(
        max_length=20, help_text="A command, such as `delete`; a rule that forbids may also name `any`."
    )
    on = LiteralText(
        required=False, default="everything", max_length=4200, help_text="everything, root:NAME or table:PATH"
    )
    required_approvals = Whole(required=False, min_value=0, max_value=PolicyRule.MOST_APPROVALS)
    forbids = Flag(required=False, default=False, help_text="Protects: then leave `required_approvals` out.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """How many approvals is said, unless the rule forbids."""
        if "required_approvals" not in attrs and not attrs["forbids"]:
            raise serializers.ValidationError({"required_approvals": "This field is required."})
        return {"required_approvals": 0, **attrs}


class ReviewedChange(Body):
    """The change that the admin reviewed."""

    change = serializers.UUIDField(help_text="waiting_change.id")


class Policies(APIView):
    """The rules for how many approvals a command needs."""

    requires: ClassVar[dict[str, Any]] = {"GET": queries.READ_BY, "POST": Permission.POLICY_MANAGE}

    @extend_schema(operation_id="policies_list", parameters=[ListQuery], responses=RuleSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The rules by command, including those that are switched off, without removed ones."""
        rules = queries.rules_for(person_of(request))
        rule_page = page(rules, BY_COMMAND, limit_asked(request), cursor_asked(request))
        return listed(request, rule_page, RuleSerializer(rule_page.rows, many=True).data)

    @extend_schema(operation_id="policies_add", request=NewRule, responses={201: RuleSerializer})
    def post(self, request: Request) -> Response:
        """Adds a rule: the strictest that applies to a request counts. One that forbids cancels what waits to change its tables."""
        given = _terms(body_of(request, NewRule))
        forbids = given.pop("forbids")
        command, scope = given.pop("command"), scope_of(given.pop("on"), person_of(request), Permission.POLICY_MANAGE)
        made = services.add(Actor.of(request), command, scope, Terms(**given), forbids=forbids)
        return Response(_rule_now(made.pk), status=201)


class PolicyDetail(APIView):
    """One rule."""

    requires: ClassVar[dict[str, Any]] = {
        "GET": queries.READ_BY,
        "PATCH": Permission.POLICY_MANAGE,
        "DELETE": Permission.POLICY_MANAGE,
    }

    @extend_schema(operation_id="policies_get", responses=RuleSerializer)
    def get(self, request: Request, policy_id: uuid.UUID) -> Response:
        return Response(RuleSerializer(queries.rule_for(person_of(request), policy_id)).data)

    @extend_schema(
        operation_id="policies_change", request=RuleChange, responses={200: RuleSerializer, 202: RuleSerializer}
    )
    def patch(self, request: Request, policy_id: uuid.UUID) -> Response:
        """Changes its terms, or switches it on or off. A change that lowers it waits for a second admin: 202, with `waiting_change`."""
        rule = queries.rule_for(person_of(request), policy_id)
        terms = _terms(body_of(request, RuleChange))
        now = services.change(Actor.of(request), rule, **terms)
        waits = any(getattr(now, name) != value for name, value in terms.items())
        return Response(_rule_now(policy_id), status=202 if waits else 200)

    @extend_schema(operation_id="policies_remove", responses={204: None, 202: RuleSerializer})
    def delete(self, request: Request, policy_id: uuid.UUID) -> Response:
        """Removes the rule from the policy; if it requires anything, the removal waits for a second admin: 202."""
        rule = queries.rule_for(person_of(request), policy_id)
        if services.remove(Actor.of(request), rule):
            return Response(status=204)
        return Response(_rule_now(policy_id), status=202)


class PolicyConfirm(APIView):
    """The second admin's confirmation of a change that lowers a rule."""

    requires: ClassVar[dict[str, Any]] = {"POST": Permission.POLICY_MANAGE}

    @extend_schema(operation_id="policies_confirm", request=ReviewedChange, responses={200: RuleSerializer, 204: None})
    def post(self, request: Request, policy_id: uuid.UUID) -> Response:
        """204 when it removes the rule. 403 `not_your_own`, `not_independent`; 409 `wrong_state` for a change that isn't waiting."""
        rule = queries.rule_for(person_of(request), policy_id)
        services.confirm(Actor.of(request), rule, body_of(request, ReviewedChange)["change"])
        left = queries.with_waiting(PolicyRule.objects.filter(pk=policy_id, removed_at=None)).first()
        return Response(status=204) if left is None else Response(RuleSerializer(left).data)


class PolicyDecline(APIView):
    """Declines a waiting change, or takes back your own."""

    requires: ClassVar[dict[str, Any]] = {"POST": Permission.POLICY_MANAGE}

    @extend_schema(operation_id="policies_decline", request=ReviewedChange, responses=RuleSerializer)
    def post(self, request: Request, policy_id: uuid.UUID) -> Response:
        """The rule stays as it is."""
        rule = queries.rule_for(person_of(request), policy_id)
        services.decline(Actor.of(request), rule, body_of(request, ReviewedChange)["change"])
        return Response(_rule_now(policy_id))


def _terms(given: dict[str, Any]) -> dict[str, Any]:
    if "table_class" in given:
        given["table_class"] = given["table_class"] or ""
    return given


def _rule_now(rule_id: uuid.UUID) -> Any:
    return RuleSerializer(queries.with_waiting(PolicyRule.objects.all()).get(pk=rule_id)).data
