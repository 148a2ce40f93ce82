"""Encodings of values, codecs of pages, versions of pages, what stands beside them."""

from __future__ import annotations

import pyarrow as pa

from tests.jobs.corpus import footers
from tests.jobs.corpus.footers import chunks, made, plain, without
from tests.jobs.corpus.thrift import I32, LIST, Struct

COLUMNS = {"id": list(range(100)), "name": [f"name {n % 7}" for n in range(100)], "x": [n / 4 for n in range(100)]}
TEXTS = [f"a common head {n}" for n in range(50)]


def _encoded(values: pa.Array, encoding: str, version: str = "1.0") -> bytes:
    return plain({"c": values}, use_dictionary=False, column_encoding={"c": encoding}, data_page_version=version)


def _codec(number: int) -> bytes:
    """A file that says that its pages are packed by another codec than they are."""

    def change(footer: Struct) -> None:
        for chunk in chunks(footer):
            chunk[footers.CODEC] = (I32, number)

    return made(COLUMNS, change)


def _encodings(footer: Struct) -> None:
    for chunk in chunks(footer):
        chunk[footers.ENCODINGS] = (LIST, (I32, [77]))


CODECS = {
    f"codec-{codec}": plain(COLUMNS, compression=codec) for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4")
}
ENCODED = {
    "encoding-delta-int32": _encoded(pa.array(range(100), pa.int32()), "DELTA_BINARY_PACKED"),
    "encoding-delta-int64": _encoded(pa.array(range(100)), "DELTA_BINARY_PACKED"),
    "encoding-delta-timestamp": _encoded(pa.array(range(100), pa.timestamp("us")), "DELTA_BINARY_PACKED"),
    "encoding-delta-length": _encoded(pa.array(TEXTS), "DELTA_LENGTH_BYTE_ARRAY"),
    "encoding-delta-bytes": _encoded(pa.array(TEXTS), "DELTA_BYTE_ARRAY"),
    "encoding-delta-fixed": _encoded(pa.array([b"abc", b"abd"], pa.binary(3)), "DELTA_BYTE_ARRAY"),
    "encoding-split-float": _encoded(pa.array([1.5, 2.5], pa.float32()), "BYTE_STREAM_SPLIT"),
    "encoding-split-double": _encoded(pa.array([1.5, 2.5]), "BYTE_STREAM_SPLIT"),
    "encoding-split-int": _encoded(pa.array([1, 2], pa.int32()), "BYTE_STREAM_SPLIT"),
    "encoding-split-long": _encoded(pa.array([1, 2]), "BYTE_STREAM_SPLIT"),
    "encoding-split-fixed": _encoded(pa.array([b"abc", b"abd"], pa.binary(3)), "BYTE_STREAM_SPLIT"),
    "encoding-rle-boolean": _encoded(pa.array([True, False, None] * 20), "RLE"),
    "encoding-rle-boolean-v2": _encoded(pa.array([True, False, None] * 20), "RLE", "2.0"),
    "encoding-delta-v2": _encoded(pa.array(TEXTS), "DELTA_BYTE_ARRAY", "2.0"),
}

FILES = {
    **CODECS,
    **ENCODED,
    "codec-lzo": _codec(footers.LZO),
    "codec-unknown": _codec(42),
    "codec-lz4-hadoop": _codec(footers.LZ4),  # pages of Snappy: only its name is that of Hadoop's framing
    "encoding-unknown": made(COLUMNS, _encodings),
    "pages-v2": plain(COLUMNS, data_page_version="2.0"),
    "pages-v2-zstd": plain(COLUMNS, data_page_version="2.0", compression="zstd"),
    "pages-small": plain(COLUMNS, data_page_size=16, use_dictionary=False, write_batch_size=2),
    "pages-index": plain(COLUMNS, write_page_index=True),
    "pages-checksum": plain(COLUMNS, write_page_checksum=True),
    "pages-bloom": plain(COLUMNS, bloom_filter_options={"id": True}),
    "format-1.0": plain(COLUMNS, version="1.0"),
    "format-2.4": plain(COLUMNS, version="2.4"),
    "dictionary-none": plain(COLUMNS, use_dictionary=False),
    "dictionary-overflow": plain(
        {"c": [str(n) * 40 for n in range(200)]}, dictionary_pagesize_limit=64, write_batch_size=8
    ),
    "statistics-none": plain(COLUMNS, write_statistics=False),
    "statistics-some": plain(COLUMNS, write_statistics=["id"]),
    "statistics-removed": made(COLUMNS, without(footers.STATISTICS)),
    "groups-many": plain(COLUMNS, row_group_size=7),
    "schema-not-stored": plain(COLUMNS, store_schema=False),
    "flavor-spark": plain({"c": pa.array([1], pa.timestamp("us"))}, flavor="spark"),
}
