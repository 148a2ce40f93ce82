"""The audit as a file: JSON Lines with the chain's proof, or CSV that no spreadsheet runs. Streamed from a cursor.

The database makes the lines: a million events would else become a million objects first.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.db import models, transaction
from django.db.models.expressions import RawSQL
from django.utils import timezone

from console.accounts.models import Person
from console.audit.integrity import heads
from console.audit.queries import EventFilter, sees_origins, visible_to
from console.base.text.spreadsheets import inert

AT_ONCE = 2_000  # rows that are held in memory
_AT = """to_char("audit"."event"."at" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
_OWN = {
    name: f'"audit"."event"."{column or name}"'
    for name, column in {
        "id": "", "actor": "actor_name", "actor_kind": "", "actor_id": "", "action": "", "object_kind": "", "object_id": "",
        "object_name": "", "outcome": "", "reason": "", "before": "", "after": "", "job": "", "digest": "", "table": "table_id",
        "table_version": "", "hash": "",
    }.items()
}  # fmt: skip
_LINK = {
    "sequence": '"audit"."seal"."sequence"', "previous": '"audit"."seal"."previous"', "link": '"audit"."seal"."hash"',
}  # fmt: skip
_ORIGIN = {
    name: f"""nullif("audit"."event"."{name}"::text, '')""" for name in ("address", "session", "request_id", "token_id")
}
COLUMNS = (
    "sequence", "at", "actor_kind", "actor", "action", "object_kind", "object_id", "object_name", "outcome", "reason", "job", "table",
    "table_version", "digest", "address", "session", "request_id", "before", "after", "id", "hash", "previous", "link",
)  # fmt: skip
JSON_FIELDS = (
    "id", "sequence", "at", "actor", "actor_kind", "actor_id", "action", "object", "outcome", "reason", "before", "after", "job", "digest",
    "table", "table_version", "address", "session", "request_id", "token_id", "hash", "previous", "link",
)  # fmt: skip


def export(person: Person, wanted: EventFilter, kind: str) -> Iterator[str]:
    """The file's text in pieces, oldest event first; `kind` is jsonl or csv. Leaves out events recorded meanwhile."""
    until = min(filter(None, (wanted.until, timezone.now())))
    spelt = _spelt(origins=sees_origins(person))
    made = [_json(spelt)] if kind == "jsonl" else [_text(spelt[name]) for name in COLUMNS]
    rows = _rows(person, replace(wanted, until=until), made)
    return _jsonl(rows) if kind == "jsonl" else _csv(rows)


def _spelt(*, origins: bool) -> dict[str, str]:
    """Each field in SQL; an act's origin is null for readers who may not see it."""
    hidden = dict.fromkeys(_ORIGIN, "null::text")
    return {"at": _AT, **_OWN, **_LINK, **(_ORIGIN if origins else hidden)}


def _json(spelt: dict[str, str]) -> RawSQL:
    thing = (
        f"json_build_object('kind', {spelt['object_kind']}, 'id', {spelt['object_id']}, 'name', {spelt['object_name']})"
    )
    fields = ", ".join(f"'{name}', {spelt.get(name, thing)}" for name in JSON_FIELDS)
    return RawSQL(f"json_build_object({fields})::text", [], models.TextField())  # nosec B611  # noqa: S611 (constants of this module)


def _text(spelt: str) -> RawSQL:
    return RawSQL(f"({spelt})::text", [], models.TextField())  # nosec B611  # noqa: S611 (constants of this module)


def _rows(person: Person, wanted: EventFilter, made: Sequence[RawSQL]) -> Iterator[list[tuple[Any, ...]]]:
    """The rows in pieces, from one cursor in one transaction; each row begins with its sequence, which brings the link's table in."""
    events = wanted.apply(visible_to(person)).order_by("at", "id")
    lines = events.values_list("seal__sequence", *made)
    piece: list[tuple[Any, ...]] = []
    with transaction.atomic():
        for row in lines.iterator(chunk_size=AT_ONCE):
            piece.append(row)
            if len(piece) == AT_ONCE:
                yield piece
                piece = []
    yield piece


def _jsonl(pieces: Iterable[list[tuple[Any, ...]]]) -> Iterator[str]:
    """A line per event, and at the end the newest signed head with its signature, when there is one."""
    for rows in pieces:
        yield "".join(f"{line}\n" for _, line in rows)
    if head := newest_head():
        yield json.dumps({"head": head}) + "\n"


def newest_head() -> dict[str, Any] | None:
    """The newest head outside the database; None before the first."""
    exported = heads.exported().heads
    return asdict(exported[max(exported)]) if exported else None


def _csv(pieces: Iterable[list[tuple[Any, ...]]]) -> Iterator[str]:
    yield ",".join(COLUMNS) + "\r\n"
    for rows in pieces:
        text = io.StringIO()
        csv.writer(text).writerows([_cell(value) for value in row[1:]] for row in rows)
        yield text.getvalue()


def _cell(text: str | None) -> str:
    return inert(text) if text else ""
