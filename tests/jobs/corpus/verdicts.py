"""What becomes of each file of the corpus. A file that isn't named here converts, and Spark reads the rows that pyarrow reads."""

from __future__ import annotations

STRAY, DAMAGED, ENCRYPTED, UNREADABLE, RANGE = (
    "stray_files",
    "damaged_files",
    "encrypted_files",
    "unreadable_files",
    "times_out_of_range",
)
SCHEMA, NAME = "schema_conflict", "bad_column_name"

# What the listing and the footers show by themselves: refused without Spark.
BY_FOOTERS = {
    **dict.fromkeys(
        (
            "size-0",
            "size-1",
            "magic-alone",
            "magic-twice",
            "magic-of-orc",
            "magic-end-missing",
            "magic-small",
            "text",
            "cut-end",
            "cut-half",
            "appended",
        ),
        STRAY,
    ),
    **dict.fromkeys(
        (
            "type-decimal-scale-above-precision",
            "type-decimal-precision-zero",
            "name-not-utf8",
            "chunks-missing",
            "cut-head",
            "cut-middle",
            "footer-length-0",
            "footer-length-beyond",
            "footer-length-negative",
            "footer-length-big-endian",
            "footer-length-short",
            "footer-zeros",
            "footer-noise",
            "footer-alone",
            "page-offset-beyond",
            "page-offset-negative",
            "page-offset-0",
            "page-size-beyond",
            "page-size-negative",
            "schema-without-root",
            "schema-empty",
            "schema-children-beyond",
            "schema-type-unknown",
            "schema-type-other",
        ),
        DAMAGED,
    ),
    **dict.fromkeys(
        ("encrypted-footer", "encrypted-column", "encrypted-uniform", "encrypted-uniform-plain-footer"), ENCRYPTED
    ),
    **dict.fromkeys(
        (
            "type-decimal-bytes",
            "codec-brotli",
            "codec-lzo",
            "codec-unknown",
            "encoding-split-float",
            "encoding-split-double",
            "encoding-split-int",
            "encoding-split-long",
            "encoding-split-fixed",
        ),
        UNREADABLE,
    ),
    "timestamp-millis-beyond": RANGE,
    "timestamp-millis-utc-beyond": RANGE,
}
BY_FOOTERS |= dict.fromkeys(
    (
        "struct-declared-list",
        "polars-int128",
        "rust-brotli",
        "rust-split",
        "duckdb-brotli",
        "duckdb-pages-v2",
        "polars-brotli",
        "fastparquet-brotli",
    ),
    UNREADABLE,
)

# What Spark's or Delta's own schema code refuses when the inspection asks it.
BY_SPARK = {
    **dict.fromkeys(
        (
            "type-float16",
            "type-uuid",
            "type-interval",
            "type-unknown-logical",
            "type-variant-declared",
            "type-decimal-39",
            "type-decimal-too-precise-for-int32",
            "type-time-millis",
            "type-time-micros",
            "type-time-nanos",
            "timestamp-ns",
            "timestamp-ns-utc",
            "timestamp-ns-list",
            "duckdb-interval",
            "duckdb-time",
            "duckdb-timestamp-ns",
            "duckdb-timetz",
            "duckdb-uuid",
            "polars-datetime-ns",
            "polars-no-columns",
            "polars-time",
            "fastparquet-duration",  # a time of the day, to parquet
            "fastparquet-times-ns",
            "name-duplicate",
            "name-case",
            "name-case-nested",
            "columns-none",
            "columns-none-groups-none",
            "map-without-values",
        ),
        SCHEMA,
    ),
    **dict.fromkeys(("name-blank", "name-comma", "name-equals", "name-newline"), NAME),
}
REFUSED = BY_FOOTERS | BY_SPARK

# What no footer shows: the conversion fails in Spark while it collects statistics, with its condition and without a commit.
FAILS = {
    "pages-overwritten": "FAILED_READ_FILE.NO_HINT",
    "pages-zeros": "FAILED_READ_FILE.NO_HINT",
    "codec-lz4-hadoop": "FAILED_READ_FILE.NO_HINT",
    "fastparquet-lz4": "FAILED_READ_FILE.NO_HINT",
    "timestamp-millis-beyond-untold": "FAILED_READ_FILE.NO_HINT",
}

# Rows that Spark reads otherwise than pyarrow, as it does for good or by its own rules.
OLD_CALENDAR = "the footer names the calendar of Spark before 3, which pyarrow passes over"
OLD_ZONE = "and the time zone of its writer, whose days of long ago have odd seconds"
DIFFERENT = {
    "type-uint64": (
        [{"c": "0"}, {"c": "18446744073709551615"}, {"c": None}],
        "decimal(20,0) where pyarrow has numbers",
    ),
    "type-string-not-utf8": ([{"c": "\ufffd\ufffd"}, {"c": "ok"}], "pyarrow refuses what isn't UTF-8"),
    "type-enum": ([{"c": "RED"}, {"c": "BLUE"}], "texts where pyarrow has bytes"),
    "type-decimal-wide-fixed": ([{"c": "0.01"}], "pyarrow refuses decimals in more than 16 bytes"),
    "duckdb-variant": ([{"c": '{"a":1}'}], "a VARIANT where pyarrow has its parts"),
    "duckdb-ubigint": ([{"c": "18446744073709551615"}], "decimal(20,0) where pyarrow has numbers"),
    "fastparquet-ubigint": ([{"c": "1"}, {"c": "18446744073709551615"}], "decimal(20,0) where pyarrow has numbers"),
    "polars-duration": ([{"c": 1_000_000}], "numbers: only Arrow's own schema says that they are durations"),
    "polars-unsigned": (
        [{"a": 255, "b": 65_535, "c": 4_294_967_295, "d": "18446744073709551615"}],
        "decimal(20,0) where pyarrow has numbers",
    ),
    "type-duration": ([{"c": 1}, {"c": None}], "numbers: only Arrow's own schema says that they are durations"),
    "map-without-annotation": (
        [
            {"c": {"key_value": [{"key": "a", "value": 1}, {"key": "b", "value": None}]}},
            {"c": {"key_value": []}},
            {"c": None},
        ],
        "a list of structs where pyarrow makes a map",
    ),
    "timestamp-old-spark-2": ([{"c": "1500-02-20T12:00:00"}, {"c": "2026-01-01T00:00:00"}, {"c": None}], OLD_CALENDAR),
    "timestamp-old-spark-legacy": ([{"c": "1500-02-20T11:52:58"}, {"c": "2026-01-01T00:00:00"}, {"c": None}], OLD_ZONE),
    "date-old-spark-2": ([{"c": "1500-02-20"}, {"c": "2026-01-01"}], OLD_CALENDAR),
    "int96-spark-2": ([{"c": "1500-02-20T12:00:00"}, {"c": "2026-01-01T00:00:00"}, {"c": None}], OLD_CALENDAR),
    "int96-spark-legacy": ([{"c": "1500-02-20T11:52:58"}, {"c": "2026-01-01T00:00:00"}, {"c": None}], OLD_ZONE),
}

# Files that convert to rows that nobody wrote: their schema says of NULLs what isn't so, and no reader of pages can know.
MISREAD = {"schema-repetition-other"}

# Files with years that neither Python reader has: Spark's own texts of them.
BEYOND_PYTHON = {
    "timestamp-micros-least": ["-290308-12-21 19:59:05.224192", "1970-01-01 00:00:00"],
    "timestamp-year-10000": ["+10000-01-01 00:00:00", "1970-01-01 00:00:00"],
    "duckdb-infinity": ["+294247-01-10 04:00:54.775807"],
    "date-year-0": ["-0001-12-31", "1970-01-01"],
    "date-least": ["-5877641-06-23", "1970-01-01"],
    "date-greatest": ["+5881580-07-11", "1970-01-01"],
}
