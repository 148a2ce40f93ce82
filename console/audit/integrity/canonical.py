"""Reads the chain as stored, and hashes each event in Python: the check doesn't rely on the database that it verifies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from psycopg.types.string import TextLoader

from console.audit.verify_export import COLUMNS, event_hash, quote

_SPELT = {"at": "e.at at time zone 'UTC'"}
_ROWS = f"""
    select s.sequence, s.event, s.previous, s.hash, e.hash, {", ".join(_SPELT.get(name, f"e.{name}") for name in COLUMNS)}
    from audit.seal s left join audit.event e on e.id = s.event
    where s.sequence > %s order by s.sequence limit %s
"""  # nosec B608  # noqa: S608 (constants of this module)
# As the server sends them: a value that Python had read and written again could look otherwise.
_AS_SENT = ("uuid", "jsonb", "int8", "timestamp", "timestamptz")
_PLAIN = [name in {"before", "after", "table_version"} for name in COLUMNS]  # which are JSON already
_AT = COLUMNS.index("at")


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One link as it is stored, with its event's stored hash and the hash of the event's row as it is now (None: no row)."""

    sequence: int
    event: str
    previous: str
    hash: str
    event_hash: str | None
    computed: str | None


def links(after: int, most: int) -> list[ChainLink]:
    """The next links after a sequence."""
    with connection.cursor() as cursor:
        for kind in _AS_SENT:
            cursor.adapters.register_loader(kind, TextLoader)
        cursor.execute(_ROWS, [after, most])
        return [_link(row) for row in cursor]


def _link(row: Sequence[str | None]) -> ChainLink:
    sequence, event, previous, stored, event_hash_, *values = row
    computed = None if event_hash_ is None else row_hash(values)
    return ChainLink(int(sequence or 0), event or "", previous or "", stored or "", event_hash_, computed)


def row_hash(values: Sequence[str | None]) -> str:
    """The hash of a row whose columns, in the order of COLUMNS, are as PostgreSQL sends them."""
    encoded = [
        "null" if value is None else value if plain else quote(value)
        for plain, value in zip(_PLAIN, values, strict=True)
    ]
    if (at := values[_AT]) is not None:
        encoded[_AT] = quote(_time(at))
    return event_hash(encoded)


def _time(value: str) -> str:
    """2026-01-02 03:04:05.6 as jsonb writes that time of UTC: 2026-01-02T03:04:05.6+00:00."""
    day, blank, clock = value.partition(" ")
    if not blank:
        return value  # infinity
    clock, before_christ, era = clock.partition(" ")
    return f"{day}T{clock}+00:00{before_christ}{era}"
