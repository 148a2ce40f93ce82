"""Files as parquet-rs writes them, by way of delta-rs: its data files, taken out of their tables."""

from __future__ import annotations

import tempfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import BloomFilterProperties, ColumnProperties, WriterProperties, write_deltalake

ROWS: dict[str, Any] = {
    "id": [1, 2, 3],
    "name": ["a", None, "c"],
    "x": [0.5, None, float("inf")],
    "day": [date(2026, 1, 1), None, date(1969, 12, 31)],
    "at": pa.array([datetime(2026, 1, 1, tzinfo=UTC), None, None], pa.timestamp("us", "UTC")),
    "local": pa.array([datetime(2026, 1, 1), None, None], pa.timestamp("us")),
    "cents": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(9, 2)),
    "list": [[1], [], None],
    "pairs": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
    "data": [b"\x00", b"", None],
}


def _file(columns: dict[str, Any] = ROWS, **properties: Any) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        write_deltalake(place, pa.table(columns), writer_properties=WriterProperties(**properties))
        (file,) = Path(place).glob("*.parquet")
        return file.read_bytes()


def _each(**properties: Any) -> bytes:
    return _file(default_column_properties=ColumnProperties(**properties))


def _encoded(values: list[Any], encoding: Any) -> bytes:
    properties = ColumnProperties(dictionary_enabled=False, encoding=encoding)
    return _file({"c": values}, default_column_properties=properties)


FILES = {
    **{
        f"rust-{codec.lower()}": _file(compression=codec)
        for codec in ("UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "ZSTD")
    },
    "rust-lz4-raw": _file(compression="LZ4_RAW"),
    "rust-lz4-hadoop": _file(compression="LZ4"),
    "rust-no-dictionary": _each(dictionary_enabled=False),
    "rust-no-statistics": _each(statistics_enabled="NONE"),
    "rust-page-statistics": _each(statistics_enabled="PAGE"),
    "rust-bloom": _each(bloom_filter_properties=BloomFilterProperties(True)),
    "rust-small-pages": _file(data_page_row_count_limit=1, write_batch_size=1),
    "rust-groups": _file(max_row_group_size=1),
    "rust-delta-numbers": _encoded([1, 2, 3], "DELTA_BINARY_PACKED"),
    "rust-delta-texts": _encoded(["a", "ab", None], "DELTA_BYTE_ARRAY"),
    "rust-delta-lengths": _encoded(["a", "ab", None], "DELTA_LENGTH_BYTE_ARRAY"),
    "rust-split": _encoded([0.5, 1.5, None], "BYTE_STREAM_SPLIT"),
    "rust-rle": _encoded([True, False, None], "RLE"),
}
