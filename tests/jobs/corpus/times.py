"""Dates and times: units, time zones, INT96, and values that one calendar or one range doesn't have."""

from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa

from tests.jobs.corpus import footers
from tests.jobs.corpus.footers import made, plain, set_element

MOMENTS = [datetime(1500, 3, 1, 12), datetime(2026, 1, 1), None]
RECENT = [datetime(1970, 1, 1), datetime(2026, 1, 1, 0, 0, 0, 123456), None]
SPARK, LEGACY, LEGACY_INT96, ZONE = (
    f"org.apache.spark.{name}".encode() for name in ("version", "legacyDateTime", "legacyINT96", "timeZone")
)


def stamps(unit: str, zone: str | None = None, values: list[datetime | None] | None = None) -> pa.Array:
    return pa.array(RECENT if values is None else values, pa.timestamp(unit, zone))


def _tagged(columns: footers.Columns, metadata: dict[bytes, bytes], **options: object) -> bytes:
    """A file with the words that Spark leaves in a footer."""
    return plain(pa.table(columns).replace_schema_metadata(metadata), **options)


def _int96(values: list[datetime | None], metadata: dict[bytes, bytes] | None = None) -> bytes:
    return _tagged({"c": stamps("us", values=values)}, metadata or {}, use_deprecated_int96_timestamps=True)


def _converted(values: pa.Array, converted: int) -> bytes:
    return made({"c": values}, lambda footer: set_element(footer, 1, CONVERTED=converted, LOGICAL=None))


OLD_SPARK = {SPARK: b"2.4.8"}
LEGACY_SPARK = {SPARK: b"3.5.0", LEGACY: b"", LEGACY_INT96: b"", ZONE: b"America/Los_Angeles"}
NEW_SPARK = {SPARK: b"4.2.0"}

FILES = {
    **{
        f"timestamp-{unit}{'-utc' if zone else ''}": plain({"c": stamps(unit, zone)}, allow_truncated_timestamps=True)
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "UTC")
        if unit in ("us", "ns")
    },
    "timestamp-ms": plain({"c": pa.array([0, 1767225600123, None], pa.timestamp("ms"))}),
    "timestamp-ms-utc": plain({"c": pa.array([0, 1767225600123, None], pa.timestamp("ms", "UTC"))}),
    "timestamp-s": plain({"c": pa.array([0, 1767225600], pa.timestamp("s"))}),
    "timestamp-zone": plain({"c": stamps("us", "America/New_York")}),
    "timestamp-ns-list": plain({"c": pa.array([[1]], pa.list_(pa.timestamp("ns")))}),
    "timestamp-millis-converted": _converted(pa.array([0, 1767225600123]), footers.TIMESTAMP_MILLIS),
    "timestamp-micros-converted": _converted(pa.array([0, 1767225600123456]), footers.TIMESTAMP_MICROS),
    "timestamp-old": plain({"c": stamps("us", values=MOMENTS)}),
    "timestamp-old-utc": plain({"c": stamps("us", "UTC", values=MOMENTS)}),
    "timestamp-old-spark-2": _tagged({"c": stamps("us", "UTC", values=MOMENTS)}, OLD_SPARK),
    "timestamp-old-spark-legacy": _tagged({"c": stamps("us", "UTC", values=MOMENTS)}, LEGACY_SPARK),
    "timestamp-old-spark-4": _tagged({"c": stamps("us", "UTC", values=MOMENTS)}, NEW_SPARK),
    "timestamp-millis-beyond": plain({"c": pa.array([1 << 62, 0], pa.timestamp("ms"))}),
    "timestamp-millis-utc-beyond": plain({"c": pa.array([-(1 << 62), 0], pa.timestamp("ms", "UTC"))}),
    "timestamp-millis-beyond-untold": plain({"c": pa.array([1 << 62, 0], pa.timestamp("ms"))}, write_statistics=False),
    "timestamp-micros-least": plain({"c": pa.array([-(1 << 63), 0], pa.timestamp("us", "UTC"))}),
    "timestamp-year-10000": plain({"c": pa.array([253402300800000000, 0], pa.timestamp("us", "UTC"))}),
    "date-old": plain({"c": [date(1500, 3, 1), date(2026, 1, 1)]}),
    "date-old-spark-2": _tagged({"c": [date(1500, 3, 1), date(2026, 1, 1)]}, OLD_SPARK),
    "date-old-untold": plain({"c": [date(1500, 3, 1)]}, write_statistics=False),
    "date-year-0": plain({"c": pa.array([-719_529, 0], pa.int32()).cast(pa.date32())}),
    "date-least": plain({"c": pa.array([-(1 << 31), 0], pa.int32()).cast(pa.date32())}),
    "date-greatest": plain({"c": pa.array([(1 << 31) - 1, 0], pa.int32()).cast(pa.date32())}),
    "int96": _int96(RECENT),
    "int96-old": _int96(MOMENTS),
    "int96-spark-2": _int96(MOMENTS, OLD_SPARK),
    "int96-spark-legacy": _int96(MOMENTS, LEGACY_SPARK),
    "int96-spark-4": _int96(MOMENTS, NEW_SPARK),
    "int96-struct": _tagged({"s": pa.array([{"c": datetime(2026, 1, 1)}])}, {}, use_deprecated_int96_timestamps=True),
    "int96-list": _tagged({"s": pa.array([[datetime(2026, 1, 1)]])}, {}, use_deprecated_int96_timestamps=True),
    "int96-nulls": _int96([None, None]),
}
