"""Refusals and failures as the API shows them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class EngineSerializer(serializers.Serializer[Any]):
    """A refusal or failure of Delta or Spark in its own words."""

    condition = serializers.CharField(allow_null=True)
    sqlstate = serializers.CharField(allow_null=True)
    message = serializers.CharField()


class RefusalSerializer(serializers.Serializer[Any]):
    """Why Levee refuses a conversion, where, and what you can do about it."""

    code = serializers.CharField()
    message = serializers.CharField()
    place = serializers.CharField(allow_null=True)
    remedy = serializers.CharField(allow_null=True)
    engine = EngineSerializer(allow_null=True)
