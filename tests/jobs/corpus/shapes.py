"""Files with no rows, no row groups, no columns, many columns."""

from __future__ import annotations

import io

import pyarrow as pa
from pyarrow import parquet as pq

from tests.jobs.corpus import footers
from tests.jobs.corpus.footers import made, plain
from tests.jobs.corpus.thrift import BINARY, I32, I64, LIST, STRUCT, Struct

COLUMNS = {"id": pa.array([1, 2, 3]), "name": pa.array(["a", None, "c"])}
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def _no_groups() -> bytes:
    out = io.BytesIO()
    pq.ParquetWriter(out, SCHEMA).close()
    return out.getvalue()


def _empty_groups() -> bytes:
    out = io.BytesIO()
    with pq.ParquetWriter(out, SCHEMA) as writer:
        writer.write_table(SCHEMA.empty_table())
        writer.write_table(pa.table(COLUMNS, schema=SCHEMA))
        writer.write_table(SCHEMA.empty_table())
    return out.getvalue()


def _no_columns(footer: Struct) -> None:
    """Rows of no columns: a row group without chunks."""
    footers.elements(footer)[:] = [footers.elements(footer)[0] | {footers.CHILDREN: (I32, 0)}]
    footer.pop(footers.ORDERS)
    for group in footer[footers.GROUPS][1][1]:
        group[1] = (LIST, (STRUCT, []))


def _no_chunks(footer: Struct) -> None:
    """A row group that lacks the chunks of its columns."""
    for group in footer[footers.GROUPS][1][1]:
        group[1] = (LIST, (STRUCT, []))


def _empty_group(footer: Struct) -> None:
    footer[footers.ROWS] = (I64, 0)
    for group in footer[footers.GROUPS][1][1]:
        group[3] = (I64, 0)


def _rows(count: int) -> footers.Change:
    def change(footer: Struct) -> None:
        footer[footers.ROWS] = (I64, count)

    return change


def _created_by(text: bytes | None) -> footers.Change:
    def change(footer: Struct) -> None:
        footer.pop(footers.CREATED_BY, None)
        if text is not None:
            footer[footers.CREATED_BY] = (BINARY, text)

    return change


FILES = {
    "rows-none": plain(SCHEMA.empty_table()),
    "groups-none": _no_groups(),
    "groups-empty": _empty_groups(),
    "group-of-no-rows": made(COLUMNS, _empty_group),
    "columns-none": made(COLUMNS, _no_columns),
    "columns-none-groups-none": plain(pa.table({})),
    "columns-many": plain({f"c{n}": [n] for n in range(600)}),
    "chunks-missing": made(COLUMNS, _no_chunks),
    "rows-more-than-told": made(COLUMNS, _rows(1)),
    "rows-fewer-than-told": made(COLUMNS, _rows(1000)),
    "rows-negative": made(COLUMNS, _rows(-1)),
    "created-by-none": made(COLUMNS, _created_by(None)),
    "created-by-old-mr": made(COLUMNS, _created_by(b"parquet-mr version 1.6.0")),
    "created-by-impala": made(COLUMNS, _created_by(b"impala version 2.3.0-INTERNAL (build 9b1)")),
    "created-by-nonsense": made(COLUMNS, _created_by(b"\xff( version")),
    "value-long": plain({"c": ["x" * 200_000, None]}),
    "rows-many-null": plain({"c": pa.nulls(5000, pa.int64()), "id": range(5000)}),
}
