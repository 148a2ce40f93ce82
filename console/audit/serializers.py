"""The audit's queries and answers, for checking and for the OpenAPI document."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rest_framework import serializers

from console.audit.actions import Action, ActorKind, EventOutcome, ObjectKind
from console.audit.queries import EventFilter
from console.base.rest import ListQuery
from console.base.text.short_ids import BEGINNING


class AuditFilter(serializers.Serializer[Any]):
    """The filter of events."""

    actor = serializers.CharField(required=False, max_length=64, help_text="A name, or a person's id.")
    action = serializers.ChoiceField(Action.values, required=False)
    object = serializers.CharField(required=False, max_length=4000, help_text="`kind:id`, an id, or a name.")
    outcome = serializers.ChoiceField(EventOutcome.values, required=False)
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)
    table = serializers.CharField(
        required=False, max_length=4000, help_text="An id, a name or a path; its jobs included."
    )
    job = serializers.RegexField(
        rf"^{BEGINNING}\Z", required=False, help_text="A job’s id, or how it begins: 8 characters or more."
    )
    q = serializers.CharField(required=False, max_length=200, help_text="Words of the reason.")


class AuditQuery(ListQuery, AuditFilter):
    """A page of events."""


class ExportQuery(AuditFilter):
    format = serializers.ChoiceField(["jsonl", "csv"])


class VerifyQuery(serializers.Serializer[Any]):
    since = serializers.IntegerField(
        required=False, min_value=0, max_value=2**62, help_text="Takes the links up to this sequence as given."
    )


NARROWED = tuple(field.name for field in fields(EventFilter))


def filter_of(given: dict[str, Any]) -> EventFilter:
    """The checked values as a filter."""
    return EventFilter(**{name: given[name] for name in NARROWED if name in given})


class ObjectOut(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(ObjectKind.values)
    id = serializers.CharField()
    name = serializers.CharField()


class EventOut(serializers.Serializer[Any]):
    """One event; `sequence`, `previous` and `link` are null until it is sealed."""

    id = serializers.UUIDField()
    sequence = serializers.IntegerField(allow_null=True)
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    actor_kind = serializers.ChoiceField(ActorKind.values)
    actor_id = serializers.UUIDField(allow_null=True)
    action = serializers.ChoiceField(Action.values)
    object = ObjectOut()
    outcome = serializers.ChoiceField(EventOutcome.values)
    reason = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)
    job = serializers.UUIDField(allow_null=True)
    digest = serializers.CharField(allow_null=True)
    table = serializers.UUIDField(allow_null=True)
    table_version = serializers.IntegerField(allow_null=True)
    address = serializers.CharField(allow_null=True)
    session = serializers.CharField(allow_null=True)
    request_id = serializers.CharField(allow_null=True)
    token_id = serializers.UUIDField(allow_null=True)
    hash = serializers.CharField(help_text="Of the event's own row.")
    previous = serializers.CharField(allow_null=True)
    link = serializers.CharField(allow_null=True, help_text="Of sequence, previous, id and hash.")


class DifferenceOut(serializers.Serializer[Any]):
    kind = serializers.CharField()
    sequence = serializers.IntegerField(allow_null=True)
    text = serializers.CharField()


class VerificationOut(serializers.Serializer[Any]):
    ok = serializers.BooleanField()
    whole = serializers.BooleanField(help_text="Whether it began at the first event.")
    first = serializers.IntegerField()
    last = serializers.IntegerField()
    checked = serializers.IntegerField()
    seconds = serializers.FloatField()
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    asked_by = serializers.CharField()
    problem_count = serializers.IntegerField()
    first_wrong = serializers.IntegerField(allow_null=True, help_text="From this sequence on something differs.")
    problems = DifferenceOut(many=True)
    head = serializers.JSONField(allow_null=True, help_text="The newest signed head outside the database.")
