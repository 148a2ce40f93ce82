"""The audit as a file: JSON Lines with the chain's proof, or CSV that no spreadsheet runs. Streamed, in pages by position."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q, QuerySet
from django.utils import timezone

from console.accounts.models import Person
from console.audit import heads
from console.audit.models import Event
from console.audit.queries import Filter, sees_origins, visible_to
from console.audit.representation import event_json

PAGE = 2_000
COLUMNS = (
    "sequence", "at", "actor_kind", "actor", "action", "object_kind", "object_id", "object_name", "outcome", "reason", "job", "table",
    "table_version", "digest", "address", "session", "request_id", "before", "after", "id", "hash", "previous", "link",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of a formula


def export(person: Person, wanted: Filter, kind: str) -> Iterator[str]:
    """The file's text in pieces, oldest event first; `kind` is jsonl or csv. What is recorded meanwhile is left out."""
    until = min(filter(None, (wanted.until, timezone.now())))
    events = replace(wanted, until=until).apply(visible_to(person)).select_related("seal")
    pages = _pages(events, origins=sees_origins(person))
    return _jsonl(pages) if kind == "jsonl" else _csv(pages)


def _pages(events: QuerySet[Event], *, origins: bool) -> Iterator[list[dict[str, Any]]]:
    after = Q()
    while True:
        found = list(events.filter(after).order_by("at", "id")[:PAGE])
        if found:
            yield [event_json(event, origins=origins) for event in found]
        if len(found) < PAGE:
            return
        last = found[-1]
        after = Q(at__gte=last.at) & (Q(at__gt=last.at) | Q(id__gt=last.pk))


def _jsonl(pages: Iterable[list[dict[str, Any]]]) -> Iterator[str]:
    """A line per event, and at the end the newest signed head with its signature, when there is one."""
    encode = DjangoJSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for rows in pages:
        yield "".join(encode(row) + "\n" for row in rows)
    if head := newest_head():
        yield json.dumps({"head": head}) + "\n"


def newest_head() -> dict[str, Any] | None:
    """The newest head outside the database; None before the first."""
    exported = heads.exported().heads
    return asdict(exported[max(exported)]) if exported else None


def _csv(pages: Iterable[list[dict[str, Any]]]) -> Iterator[str]:
    yield ",".join(COLUMNS) + "\r\n"
    for rows in pages:
        text = io.StringIO()
        csv.writer(text).writerows([_cell(value) for value in _flat(row)] for row in rows)
        yield text.getvalue()


def _flat(row: Mapping[str, Any]) -> Iterator[Any]:
    flat = {**row, **{f"object_{name}": value for name, value in row["object"].items()}}
    return (flat[name] for name in COLUMNS)


def _cell(value: Any) -> str:
    """The value as text. What would begin a formula gets an apostrophe before it, as spreadsheets themselves mark text."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False)
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text
