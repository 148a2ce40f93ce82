"""A change of properties over HTTP: what asks for it, and its preview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from console.base.rest import Body, LiteralText
from jobs.commands.set_properties.rules import LONGEST_NAME, LONGEST_VALUE, MOST_PROPERTIES, SetProperties
from jobs.web.definitions import DefinitionPreviewSerializer
from jobs.web.parts import Shape


class SetPropertiesBody(Body):
    """SET and UNSET TBLPROPERTIES of a Delta table."""

    command = serializers.ChoiceField([SetProperties.kind])
    table = serializers.UUIDField()
    set = serializers.DictField(
        child=LiteralText(max_length=LONGEST_VALUE, allow_blank=True),
        required=False,
        default=dict,
        help_text="Values by name; `delta.feature.NAME` is `supported`.",
    )
    unset = serializers.ListField(
        child=LiteralText(max_length=LONGEST_NAME), required=False, default=list, max_length=MOST_PROPERTIES
    )
    reason = LiteralText(max_length=2000, allow_blank=True)


def _set_properties(given: Mapping[str, Any]) -> SetProperties:
    return SetProperties(table=str(given["table"]), set=given["set"], unset=given["unset"])


class SetPropertiesPreviewSerializer(DefinitionPreviewSerializer):
    """What a change of properties does. `before` and `after` have the changed properties alone; null is not set."""

    before = serializers.DictField(child=serializers.CharField(allow_null=True))
    after = serializers.DictField(child=serializers.CharField(allow_null=True))
    nothing_to_do = serializers.BooleanField()


SHAPE = Shape(SetPropertiesBody, _set_properties, SetPropertiesPreviewSerializer)
