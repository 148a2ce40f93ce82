"""Names of columns that others allow."""

from __future__ import annotations

from itertools import starmap

import pyarrow as pa

from tests.jobs.corpus import footers
from tests.jobs.corpus.footers import made, plain, renamed
from tests.jobs.corpus.thrift import Struct

ODD = {
    "dot": "a.b",
    "blank": "a b",
    "comma": "a,b",
    "equals": "a=b",
    "newline": "a\nb",
    "backtick": "a`b",
    "quote": "a\"'b",
    "percent": "a%20b",
    "umlaut": "größe",
    "emoji": "\U0001f600",
    "empty": "",
    "control": "a\x01b",
    "rtl": "a\u202eb",
    "delta": "_change_type",
    "metadata": "_metadata",
    "long": "x" * 300,
}


def _odd(name: str, text: str) -> tuple[str, bytes]:
    return f"name-{name}", plain({"id": [1, 2], text: ["x", None]})


def _fields() -> pa.Table:
    numbered = pa.field("id", pa.int64(), metadata={b"PARQUET:field_id": b"7"})
    return pa.table({"id": [1]}, schema=pa.schema([numbered]))


def _double_field_ids(footer: Struct) -> None:
    for at in (1, 2):
        footers.set_element(footer, at, FIELD_ID=1)


FILES = {
    **dict(starmap(_odd, ODD.items())),
    "name-duplicate": plain(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])),
    "name-case": plain({"a": [1], "A": [2]}),
    "name-case-nested": plain({"s": pa.array([{"a": 1, "A": 2}])}),
    "name-not-utf8": made({"id": [1], "x": [2]}, lambda footer: renamed(footer, 2, b"\xff\xfe")),
    "name-nul": made({"id": [1], "x": [2]}, lambda footer: renamed(footer, 2, b"a\0b")),
    "field-ids": plain(_fields()),
    "field-ids-twice": made({"a": [1], "b": [2]}, _double_field_ids),
}
