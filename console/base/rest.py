"""The conventions of `/api/v1/`: strict and bounded bodies, lists by position, waiting."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from django.db.models import Model
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from console.base.errors import Problem
from console.base.pagination import MAX_LIMIT, Page, limit_of

M = TypeVar("M", bound=Model)
MAX_WAIT_SECONDS = 60


class StrictJSON(JSONParser):
    """JSON. One name twice is refused: two readers could take different values from it. Django bounds the body's size."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        """The body as plain values. Raises ParseError."""
        body = stream.read()
        try:
            return _decoded(body)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {error}") from None


def _decoded(body: bytes) -> Any:
    return json.loads(body.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has the same name twice")
    "".join(members).encode()  # half a character in a name couldn't even be answered
    return members


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} isn’t a JSON number")


class LiteralText(serializers.CharField):
    """A JSON string, taken literally: nothing is trimmed, a number is no text."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"trim_whitespace": False, **kwargs})

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """true or false, and nothing that resembles them."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Whole(serializers.IntegerField):
    """A JSON integer; a text or a flag is none."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return super().to_internal_value(data)


class Body(serializers.Serializer[Any]):
    """A request's body. Fields that it doesn't know are refused by name, so that a misspelt one is never ignored."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, Mapping) else []
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if not isinstance(error.detail, dict):
                raise
            raise serializers.ValidationError({**error.detail, **_unknown(unknown)}) from None
        if unknown:
            raise serializers.ValidationError(_unknown(unknown))
        return values


def _unknown(names: Iterable[str]) -> dict[str, list[str]]:
    return {name[:100]: ["Unknown field."] for name in names}


class NoBody(Body):
    """For acts that need nothing but their address."""


class ListQuery(serializers.Serializer[Any]):
    """The parameters of every list."""

    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_LIMIT, help_text=f"Rows per page, {MAX_LIMIT} at most."
    )
    cursor = serializers.CharField(required=False, help_text="From `next` or `previous`.")


class WaitQuery(serializers.Serializer[Any]):
    """The parameters of every call that can wait."""

    wait = serializers.FloatField(
        required=False, min_value=0, max_value=MAX_WAIT_SECONDS, help_text="Seconds to wait for the answer, 60 at most."
    )


class ReadSerializer(serializers.Serializer[Any]):
    """A question that a worker answers: the answer is at `result_url`."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(["waiting", "running", "answered", "failed"])
    result_url = serializers.CharField()


def body_of(request: Request, kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The body's values. Raises ValidationError, which becomes a 400 that names the fields."""
    serializer = kind(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def query_of(request: Request, kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The query parameters' values, all those of a parameter that is a list, else the last one. Raises ValidationError."""
    given = request.query_params
    several = {name for name, field in kind().fields.items() if isinstance(field, serializers.ListField)}
    serializer = kind(data={name: given.getlist(name) if name in several else given[name] for name in given})
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def wait_of(request: Request) -> float:
    """Seconds that `?wait=` asks for, 0 to 60. Raises Problem 400 `invalid`."""
    text = request.query_params.get("wait", "")
    if not text:
        return 0
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= MAX_WAIT_SECONDS:
        detail = f"wait must be a number of seconds from 0 to {MAX_WAIT_SECONDS}"
        raise Problem(400, "invalid", detail, fields={"wait": detail})
    return seconds


def limit_asked(request: Request, usual: int = 50) -> int:
    """`?limit=`, 1 to 500. Raises Problem 400 `invalid`."""
    return limit_of(request.query_params.get("limit"), usual)


def cursor_asked(request: Request) -> str:
    """`?cursor=`, empty for the first page."""
    return request.query_params.get("cursor", "")


def listed(request: Request, page: Page[M], rows: Iterable[Any], **more: Any) -> Response:
    """A page as the contract has lists: `results`, and the addresses of its neighbours."""
    body = {"results": list(rows), "next": _at(request, page.next), "previous": _at(request, page.previous)}
    return Response(body | more)


def _at(request: Request, cursor: str | None) -> str | None:
    return cursor and replace_query_param(request.build_absolute_uri(), "cursor", cursor)


def whole(rows: Iterable[Any], **more: Any) -> Response:
    """A list that is always one page."""
    return Response({"results": list(rows), "next": None, "previous": None} | more)
