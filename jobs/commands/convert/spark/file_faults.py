"""Refusals of files whose footers say that Spark can't read their pages: damaged, encrypted, of codecs and encodings that it lacks."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from jobs.commands.convert.spark.schemas import NO_COLUMNS, Footers, UnreadableTypes
from jobs.domain.consequences import listed
from jobs.domain.errors import EngineFailure, Refusal
from jobs.domain.footers.chunks import (
    CODEC,
    DAMAGED,
    DECIMAL,
    ENCODING,
    ENCRYPTED,
    LONG,
    RANGE,
    SCHEMA,
    Faulty,
    FooterFault,
)
from jobs.engine.walk import WalkFindings

VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
KEYS = "parquet.crypto.factory.class"
# Classes of codecs that come with no Spark (CompressionCodecName of parquet 1.16).
CLASSES = {"BROTLI": "org.apache.hadoop.io.compress.BrotliCodec", "LZO": "com.hadoop.compression.lzo.LzoCodec"}
COLUMNS_NAMED = 10
CODES = {
    ENCRYPTED: "encrypted_files",
    DAMAGED: "damaged_files",
    LONG: "unreadable_files",
    SCHEMA: "unreadable_files",
    CODEC: "unreadable_files",
    ENCODING: "unreadable_files",
    DECIMAL: "unreadable_files",
    RANGE: "times_out_of_range",
}
BY_ROWS = (
    f"or let Spark read row by row: set {VECTORIZED}=false in LEVEE_SPARK_CONF, and for every other reader of the table"
)
REMEDIES = {
    ENCRYPTED: "Write the files again without encryption, or move them out of the directory.",
    DAMAGED: "Replace the files with whole copies, or move them out of the directory.",
    LONG: "Write the files again with fewer row groups or columns, or move them out of the directory.",
    SCHEMA: "Write the files again with types that Spark supports.",
    CODEC: "Write the files again with Snappy or Zstandard, or put the codec’s library on Spark’s class path.",
    ENCODING: f"Write the files again with another encoding, {BY_ROWS}.",
    DECIMAL: f"Write the files again with such decimals as numbers or as bytes of a fixed length, {BY_ROWS}.",
    RANGE: "Write the files again without these values, or with the column as a number.",
}


def fault_refusals(session: SparkSession, findings: WalkFindings) -> list[Refusal]:
    """One for each kind of trouble that this Spark has with the files, with the number of files and the first of them."""
    found = sorted(findings.faults.items())
    return [_refusal(fault, faulty) for fault, faulty in found if _stops(session, fault)]


def unreadable_refusals(path: str, footers: Footers, findings: WalkFindings) -> list[Refusal]:
    """A refusal for each kind of files with types that Spark doesn't read, with their columns where those are known; none of files that
    `fault_refusals` names already."""
    named = {faulty.example for fault, faulty in findings.faults.items() if fault.kind in (DAMAGED, CODEC)}
    return [_unreadable(path, each) for each in footers.unreadable if each.example not in named]


def _unreadable(path: str, each: UnreadableTypes) -> Refusal:
    text = f"Spark can't read {_columns_of(each)} of {each.example}: {each.failure.message}"
    remedy = "Rewrite the file with types that Spark supports."
    if each.failure == NO_COLUMNS:
        text = f"{each.example} has no column, and Delta converts no directory with such a file"
        remedy = "Move the file out of the directory: it holds nothing."
    return Refusal("schema_conflict", text, place=f"{path}/{each.example}", remedy=remedy, engine=each.failure)


def unsupported_refusals(footers: Footers) -> list[Refusal]:
    """A refusal of columns that Spark reads and that no Delta table can have."""
    if not footers.unsupported:
        return []
    columns = [f"{name} ({kind})" for name, kind in footers.unsupported]
    text = f"Delta doesn’t support the type{'s' if len(columns) > 1 else ''} of the column{'s' if len(columns) > 1 else ''}"
    message = f"Found columns using unsupported data types: {', '.join(columns)}."
    return [
        Refusal(
            "schema_conflict",
            f"{text} {listed(columns, COLUMNS_NAMED)}",
            place=footers.unsupported[0][0],
            remedy="Rewrite the files with types that Delta supports.",
            engine=EngineFailure("DELTA_UNSUPPORTED_DATA_TYPES", "0AKDC", message),
        )
    ]


def _columns_of(each: UnreadableTypes) -> str:
    if not each.columns:
        return "the schema"
    texts = [f"{name} ({kind})" for name, kind in each.columns]
    return f"the column{'s' if len(texts) > 1 else ''} {listed(texts, COLUMNS_NAMED)}"


def _refusal(fault: FooterFault, faulty: Faulty) -> Refusal:
    more = f" (and {faulty.files - 1:,} more)" if faulty.files > 1 else ""
    text = f"{faulty.example}{more}: {_what(fault, faulty.column)}"
    return Refusal(CODES[fault.kind], text, faulty.example, REMEDIES[fault.kind])


def _what(fault: FooterFault, column: str) -> str:
    of = f"the column {column}" if column else "a column"
    texts = {
        ENCRYPTED: f"{'its footer' if fault.what == 'footer' else of} is encrypted, and Spark has no keys",
        DAMAGED: f"it is damaged: {fault.what}",
        LONG: f"its footer takes more than {fault.what}, and Levee reads none that is longer",
        SCHEMA: f"its footer has a schema that Levee can’t read: {fault.what}",
        CODEC: f"{of} is compressed with the codec {fault.what}, which this Spark doesn’t have",
        ENCODING: f"{of} is encoded as {fault.what}, which Spark’s vectorized reader doesn’t know",
        DECIMAL: f"{of} has decimals of 18 digits at most as bytes, which Spark’s vectorized reader doesn’t read",
        RANGE: f"{of} has times in milliseconds that are beyond Spark’s range, the years -290308 to 294247",
    }
    return texts[fault.kind]


def _stops(session: SparkSession, fault: FooterFault) -> bool:
    if fault.kind in (ENCODING, DECIMAL):
        return str(session.conf.get(VECTORIZED, "true")).lower() == "true"
    if fault.kind == ENCRYPTED:
        return not _hadoop_conf(session).get(KEYS)
    return fault.kind != CODEC or not _has_class(session, CLASSES.get(fault.what))


def _has_class(session: SparkSession, name: str | None) -> bool:
    if name is None:
        return False
    try:
        _hadoop_conf(session).getClassByName(name)
    except Py4JError:
        return False
    return True


def _hadoop_conf(session: SparkSession) -> Any:
    return session._jsparkSession.sessionState().newHadoopConf()
