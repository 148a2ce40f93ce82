"""Every physical and logical type, as pyarrow writes it and as other writers declare it."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal

import pyarrow as pa

from tests.jobs.corpus import footers
from tests.jobs.corpus.footers import logical, made, plain, set_element
from tests.jobs.corpus.thrift import Struct

CENTS = [Decimal("1.50"), Decimal("-2.25"), None]


def _declared(values: pa.Array, converted: int | None = None, kind: int | None = None) -> bytes:
    """One column whose logical type is declared by hand: a ConvertedType, or a member of the union LogicalType."""

    def change(footer: Struct) -> None:
        set_element(footer, 1, CONVERTED=converted, LOGICAL=None)
        if kind is not None:
            logical(footer, 1, kind)

    return made({"c": values}, change)


def _decimal(values: pa.Array, precision: int, scale: int) -> bytes:
    """An older writer's decimal: a ConvertedType alone."""
    return made(
        {"c": values},
        lambda footer: set_element(
            footer, 1, CONVERTED=footers.DECIMAL, LOGICAL=None, SCALE=scale, PRECISION=precision
        ),
    )


def _fixed(values: list[bytes], length: int) -> pa.Array:
    return pa.array(values, pa.binary(length))


def _unsigned(bits: int) -> bytes:
    values = pa.array([0, (1 << bits) - 1, None], getattr(pa, f"uint{bits}")())
    return plain({"c": values}, store_schema=False)


FILES = {
    "type-boolean": plain({"c": [True, False, None]}),
    "type-int8": plain({"c": pa.array([-128, 127, None], pa.int8())}),
    "type-int16": plain({"c": pa.array([-32768, 32767, None], pa.int16())}),
    "type-int32": plain({"c": pa.array([-(1 << 31), (1 << 31) - 1, None], pa.int32())}),
    "type-int64": plain({"c": pa.array([-(1 << 63), (1 << 63) - 1, None], pa.int64())}),
    "type-uint8": _unsigned(8),
    "type-uint16": _unsigned(16),
    "type-uint32": _unsigned(32),
    "type-uint64": _unsigned(64),
    "type-float16": plain({"c": pa.array([1.5, -2.0, None], pa.float16())}),
    "type-float": plain({"c": pa.array([1.5, float("inf"), None], pa.float32())}),
    "type-double": plain({"c": [1.5, float("-inf"), None]}),
    "type-double-nan": plain({"c": [float("nan"), 1.0]}),
    "type-string": plain({"c": ["", "ä", "\U0001f600", None]}),
    "type-large-string": plain({"c": pa.array(["a", None], pa.large_string())}),
    "type-string-view": plain({"c": pa.array(["a", None], pa.string_view())}),
    "type-dictionary": plain({"c": pa.array(["a", "b", "a", None]).dictionary_encode()}),
    "type-binary": plain({"c": [b"", b"\x00\xff", None]}),
    "type-binary-no-utf8": _declared(pa.array(["a", "b"])),
    "type-string-not-utf8": _declared(pa.array([b"\xff\xfe", b"ok"]), footers.UTF8),
    "type-fixed": plain({"c": _fixed([b"abc", b"xyz"], 3)}),
    "type-uuid": plain({"c": pa.array([b"0123456789abcdef"], pa.uuid())}),
    "type-json": plain({"c": pa.array(['{"a": 1}', None], pa.json_())}),
    "type-json-converted": _declared(pa.array([b'{"a": 1}']), footers.JSON),
    "type-bson": _declared(pa.array([b"\x05\x00\x00\x00\x00"]), footers.BSON),
    "type-enum": _declared(pa.array([b"RED", b"BLUE"]), footers.ENUM),
    "type-interval": _declared(_fixed([b"\x01\x00\x00\x00" * 3], 12), footers.INTERVAL),
    "type-unknown-logical": _declared(pa.array([1, 2]), kind=40),
    "type-null": plain({"c": pa.nulls(3), "id": [1, 2, 3]}),
    "type-null-alone": plain({"c": pa.nulls(3)}),
    "type-variant-declared": _declared(pa.array([b"x"]), kind=16),
    "type-decimal-fixed": plain({"c": pa.array(CENTS, pa.decimal128(9, 2))}),
    "type-decimal-int32": plain({"c": pa.array(CENTS, pa.decimal128(9, 2))}, store_decimal_as_integer=True),
    "type-decimal-int64": plain({"c": pa.array(CENTS, pa.decimal128(18, 2))}, store_decimal_as_integer=True),
    "type-decimal-38": plain({"c": pa.array([Decimal(10**37), None], pa.decimal128(38, 0))}),
    "type-decimal-39": plain({"c": pa.array([Decimal(10**38)], pa.decimal256(39, 0))}),
    "type-decimal-small": plain({"c": pa.array([Decimal("0.01")], pa.decimal32(5, 2))}),
    "type-decimal-bytes": _decimal(pa.array([b"\x00\x96", b"\xff\x1f"]), 9, 2),
    "type-decimal-bytes-long": _decimal(pa.array([b"\x00" * 10 + b"\x01"]), 20, 2),
    "type-decimal-wide-fixed": _decimal(_fixed([b"\x00" * 19 + b"\x01"], 20), 38, 2),
    "type-decimal-scale-above-precision": _decimal(pa.array([150], pa.int32()), 2, 4),
    "type-decimal-precision-zero": _decimal(pa.array([150], pa.int32()), 0, 0),
    "type-decimal-too-precise-for-int32": _decimal(pa.array([150], pa.int32()), 15, 2),
    "type-date": plain({"c": [date(1970, 1, 1), date(2026, 12, 31), None]}),
    "type-time-millis": plain({"c": pa.array([time(1, 2, 3)], pa.time32("ms"))}),
    "type-time-micros": plain({"c": pa.array([time(1, 2, 3)], pa.time64("us"))}),
    "type-time-nanos": plain({"c": pa.array([1], pa.time64("ns"))}),
    "type-duration": plain({"c": pa.array([1, None], pa.duration("us"))}),
}
