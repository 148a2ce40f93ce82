"""A dropped feature over HTTP: what asks for it, and its preview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from console.base.rest import Body, Flag, LiteralText
from jobs.commands.drop_feature.rules import DropFeature
from jobs.web.definitions import DefinitionPreviewSerializer
from jobs.web.parts import Shape

LONGEST_NAME = 255


class DropFeatureBody(Body):
    """DROP FEATURE of a Delta table."""

    command = serializers.ChoiceField([DropFeature.kind])
    table = serializers.UUIDField()
    feature = LiteralText(max_length=LONGEST_NAME)
    truncate_history = Flag(required=False, default=False, help_text="In two requests, with a wait between them.")
    reason = LiteralText(max_length=2000, allow_blank=True)


def _drop_feature(given: Mapping[str, Any]) -> DropFeature:
    return DropFeature(str(given["table"]), given["feature"], given["truncate_history"])


class FeaturesSerializer(serializers.Serializer[Any]):
    """The table's features, also those that its versions imply."""

    features = serializers.ListField(child=serializers.CharField())


class DropFeaturePreviewSerializer(DefinitionPreviewSerializer):
    """How Delta drops the feature. `way`: `plain`, `fast` (old versions are protected), `truncate` (history is cut after a wait)."""

    way = serializers.ChoiceField(["plain", "fast", "truncate"])
    before = FeaturesSerializer()
    after = FeaturesSerializer()
    steps = serializers.ListField(child=serializers.CharField())
    ask_again_after = serializers.DateTimeField(
        allow_null=True, help_text="When Delta can take the second step, once a job took the first; else null."
    )
    files_total = serializers.IntegerField(allow_null=True)


SHAPE = Shape(DropFeatureBody, _drop_feature, DropFeaturePreviewSerializer)
