"""Reads one file's footer: its schema with pyarrow, its row groups by Levee's own reader.

Arrow ends the process where it is asked for a column of an unknown codec, or one that is encrypted, so it is never asked for columns.
Runs in Spark's Python workers, where this module and those that it imports travel by value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from jobs.domain.footers.chunks import (
    DAMAGED,
    ENCRYPTED,
    LONG,
    SCHEMA,
    WANTED,
    FooterFault,
    Struct,
    groups_of,
    number,
    writer_of,
)
from tables.deltalog.checkpoints.thrift import Malformed, read_struct
from tables.storage.trees import Tree

MAGIC, ENCRYPTED_MAGIC = b"PAR1", b"PARE"
ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"
TAIL = 64 << 10
LARGEST = 128 << 20  # bytes of a footer: a task holds it in memory, and a file that is sparse costs nothing to make
REASON = 200  # characters of Arrow's words


class NotParquet(Exception):
    """A file that doesn't end as parquet does."""


class BadFooter(Exception):
    """A file that ends as parquet, whose footer can't be read; `fault` says why."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(what)
        self.fault = FooterFault(kind, what)


class Footer(NamedTuple):
    """`rows` are those of the row groups, as Spark counts them, `schema` is pyarrow's ParquetSchema, `key` the same for files of one
    schema, `body` the bytes before the footer."""

    rows: int
    schema: Any
    key: str
    words: Mapping[bytes, bytes]
    created_by: str
    groups: list[Struct]
    body: int


def read_footer(storage: Tree, path: str, size: int) -> Footer:
    """The footer of a file of `size` bytes. Raises NotParquet, BadFooter, and what the storage raises."""
    tail = storage.tail(path, TAIL)
    if len(tail) < 12 or tail[-4:] not in (MAGIC, ENCRYPTED_MAGIC):
        raise NotParquet
    if tail[-4:] == ENCRYPTED_MAGIC:
        raise BadFooter(ENCRYPTED, "footer")
    length = int.from_bytes(tail[-8:-4], "little")
    whole = len(tail) if len(tail) < TAIL else size
    if length + 12 > whole:
        raise BadFooter(DAMAGED, "its footer would be longer than the file")
    if length > LARGEST:
        raise BadFooter(LONG, f"{LARGEST >> 20} MiB")
    if length + 8 > len(tail):
        tail = storage.tail(path, length + 8)
    return _parsed(tail, length, whole - 8 - length)


def _parsed(tail: bytes, length: int, body: int) -> Footer:
    import pyarrow
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(pyarrow.BufferReader(tail))
        struct, _ = read_struct(tail[-8 - length : -8], WANTED)
        words = metadata.metadata or {}
        key = schema_key(metadata.schema, words)
    except UnicodeDecodeError as error:
        raise BadFooter(DAMAGED, "a name in its footer isn’t UTF-8") from error
    except pyarrow.ArrowException as error:  # the footer is whole, and Arrow has no such types
        raise BadFooter(SCHEMA, _reason(error)) from error
    except (OSError, Malformed) as error:
        raise _failed(error) from error
    groups, writer = groups_of(struct), writer_of(struct)
    rows = sum(max(0, number(group, 3)) for group in groups)
    return Footer(rows, metadata.schema, key, words, writer, groups, body)


def _failed(error: Exception) -> BadFooter:
    if "decrypt" in str(error):
        return BadFooter(ENCRYPTED, "footer")
    return BadFooter(DAMAGED, f"its footer can’t be read: {_reason(error)}")


def _reason(error: Exception) -> str:
    """The failure in its first words."""
    return " ".join(str(error).split())[:REASON].rstrip(".")


def schema_key(schema: Any, words: Mapping[bytes, bytes]) -> str:
    """A key, equal for files of the same schema: parquet's own, and Spark's description of it where the footer has one."""
    text = words.get(ROW_METADATA, b"") + str(schema).partition("\n")[2].encode()
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()
