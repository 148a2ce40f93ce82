"""Pages of a long list by position: the place after a row is found by an index, at any depth in the same time."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import QueryDict

from console.base.errors import Problem

M = TypeVar("M", bound=Model)
MAX_LIMIT = 500
NOT_STORED = re.compile(r"[\x00\ud800-\udfff]")  # what no text in the database holds


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One part of an order: a field or annotation of the rows. The last part of an order must tell any two rows apart."""

    field: str
    descending: bool = False

    def ordering(self, backwards: bool) -> str:
        return f"-{self.field}" if self.descending != backwards else self.field

    def beyond(self, backwards: bool) -> str:
        return "lt" if self.descending != backwards else "gt"


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """One page. `next` and `previous` are cursors, None where the list ends."""

    rows: list[M]
    next: str | None
    previous: str | None


def page(rows: QuerySet[M], order: Sequence[OrderKey], limit: int, cursor: str = "") -> Page[M]:
    """The page at `cursor`, at most `limit` rows. One query. Raises Problem 400 `invalid_cursor` for a cursor of other rows."""
    return cut(list(beyond(rows, order, cursor, limit)), order, limit, cursor)


def beyond(rows: QuerySet[M], order: Sequence[OrderKey], cursor: str, limit: int) -> QuerySet[M]:
    """The rows from which the page at a cursor is made, one more than fit: for queries that put a page together from parts."""
    backwards, position = _decode(cursor, len(order)) if cursor else (False, None)
    if position is not None:
        rows = _beyond(rows, order, position, backwards)
    return rows.order_by(*(key.ordering(backwards) for key in order))[: limit + 1]


def cut(rows: list[M], order: Sequence[OrderKey], limit: int, cursor: str = "") -> Page[M]:
    """The page of the rows that `beyond` gave, in their order: one more than fit tells that the list goes on."""
    backwards = goes_back(cursor, order)
    more, rows = len(rows) > limit, rows[:limit]
    if backwards:
        rows.reverse()
    return Page(
        rows,
        _encode(order, rows[-1], backwards=False) if rows and (more or backwards) else None,
        _encode(order, rows[0], backwards=True) if rows and (more if backwards else bool(cursor)) else None,
    )


def goes_back(cursor: str, order: Sequence[OrderKey]) -> bool:
    """Whether the cursor leads to the page before a row. Raises Problem 400 `invalid_cursor`."""
    return bool(cursor) and _decode(cursor, len(order))[0]


class Around(Protocol):
    """A page that knows the cursors around it: a keyset's text, or the number of a first row."""

    @property
    def next(self) -> str | int | None: ...

    @property
    def previous(self) -> str | int | None: ...


def pager(asked: QueryDict, around: Around, next_text: str, text: str = "", **more: str) -> dict[str, Any]:
    """The links around a page as `parts/pager.html` takes them: the question as it was asked, at another cursor."""
    return {
        "previous_url": _at(asked, around.previous),
        "next_url": _at(asked, around.next),
        "next_text": next_text,
        "text": text,
        **more,
    }


def _at(asked: QueryDict, cursor: str | int | None) -> str | None:
    if cursor is None:
        return None
    changed = asked.copy()
    changed["cursor"] = str(cursor)
    return f"?{changed.urlencode()}"


def limit_of(text: str | None, usual: int = 50) -> int:
    """The page size that was asked for. Raises Problem 400 `invalid`."""
    if not text:
        return usual
    if not text.isdecimal() or not 1 <= int(text) <= MAX_LIMIT:
        raise Problem(400, "invalid", f"limit must be a number from 1 to {MAX_LIMIT}", fields={"limit": text[:20]})
    return int(text)


def _beyond(rows: QuerySet[M], order: Sequence[OrderKey], position: Sequence[Any], backwards: bool) -> QuerySet[M]:
    try:
        return rows.filter(_after(order, position, backwards))
    except (ValueError, TypeError, ValidationError):  # a value that the field can't hold
        raise _not_ours() from None


def _after(order: Sequence[OrderKey], position: Sequence[Any], backwards: bool) -> Q:
    """Rows beyond the position: `a > x OR a = x AND b > y …`, with `a >= x` before it so that an index can begin there."""
    condition, equal = Q(), Q()
    for key, value in zip(order, position, strict=True):
        condition |= equal & Q(**{f"{key.field}__{key.beyond(backwards)}": value})
        equal &= Q(**{key.field: value})
    first = order[0]
    return Q(**{f"{first.field}__{first.beyond(backwards)}e": position[0]}) & condition


def _encode(order: Sequence[OrderKey], row: Model, backwards: bool) -> str:
    values = [_text(getattr(row, key.field)) for key in order]
    return base64.urlsafe_b64encode(json.dumps([int(backwards), *values]).encode()).decode().rstrip("=")


def _text(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int | str) else str(value)


def _decode(cursor: str, parts: int) -> tuple[bool, list[Any]]:
    try:
        backwards, *position = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        plain = backwards in (0, 1) and all(map(_is_plain, position))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        plain, position = False, []
    if not plain or len(position) != parts:
        raise _not_ours()
    return bool(backwards), position


def _is_plain(part: Any) -> bool:
    return isinstance(part, int) or (isinstance(part, str) and not NOT_STORED.search(part))


def _not_ours() -> Problem:
    return Problem(400, "invalid_cursor", "This page address isn’t valid. Start at the first page.")
