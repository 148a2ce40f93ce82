"""Reads a stream's files so that the damaged lines which are left out are counted, in the one pass that writes the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from jobs.commands.stream_round.damaged_lines import leaves_out, why_uncounted, written_columns
from jobs.commands.stream_round.rules import Definition, FileSource
from jobs.engine.named_files import file_stream
from jobs.engine.quoting import quoted

# The name of the figures in a batch's progress, which Spark calls its observed metrics.
OBSERVED = "levee_lines"
MARK = "_levee_damaged_line"
CORRUPT_NAME = "spark.sql.columnNameOfCorruptRecord"


def file_rows(session: SparkSession, definition: Definition, source: FileSource) -> DataFrame:
    """The rows of the source's files, with its damaged lines counted where it leaves them out. Reads nothing yet."""
    schema = StructType.fromJson(dict(source.schema))
    own = str(session.conf.get(CORRUPT_NAME))
    if leaves_out(source) and not why_uncounted(definition, own):
        # A schema with Spark's own column of damaged lines keeps it: under another name Spark would look for it in the files.
        mark = own if own in schema.fieldNames() else _unused(schema)
        marked = schema if mark == own else StructType([*schema.fields, StructField(mark, StringType())])
        options = {**source.read_options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": mark}
        frame = file_stream(session, source.path, source.format, marked, options)
        if _is_same(definition, source, mark, _of_directories(frame)):
            return _sound(frame, mark, keeps=mark == own)
    return file_stream(session, source.path, source.format, schema, source.read_options)


def _unused(schema: StructType) -> str:
    """A name that no column has, whatever its case."""
    taken = {name.lower() for name in schema.fieldNames()}
    name = MARK
    while name in taken:
        name += "_"
    return name


def _is_same(definition: Definition, source: FileSource, mark: str, of_directories: set[str]) -> bool:
    """Whether Spark parses the same columns of the same files as with DROPMALFORMED, beside directories that give these columns.

    It reads no file of a directory that a filter rules out, and parses no line where all that is written comes from directories.
    """
    if mark.lower() in of_directories:
        return False
    if of_directories and definition.steps.filter is not None:
        return False
    return bool(written_columns(source, definition.steps) - of_directories - {mark.lower()})


def _of_directories(frame: DataFrame) -> set[str]:
    """The columns that the names of directories like `day=1` give, in lower case."""
    leaves: Any = frame._jdf.queryExecution().analyzed().collectLeaves()
    names = leaves.head().dataSource().sourceInfo().partitionColumns()
    return {str(names.apply(place)).lower() for place in range(names.size())}


def _sound(frame: DataFrame, mark: str, *, keeps: bool) -> DataFrame:
    """The rows of lines that aren't damaged. No filter of a step is pushed below what observes, so every line of a batch is seen.

    `keeps`: the mark is a column of the stream's own, NULL in all these rows.
    """
    column = F.col(quoted(mark))
    seen = frame.observe(OBSERVED, F.count(F.lit(1)).alias("read"), F.count(column).alias("damaged"))
    sound = seen.filter(column.isNull())
    return sound if keeps else sound.drop(mark)


def damaged_of(progress: Mapping[str, Any]) -> int | None:
    """How many lines a batch has left out as damaged; None where nobody counted.

    The figures are those of the plan that Spark made. Where Delta makes its own of it (casts to the table's types, generated
    columns) or skips the batch, Spark's doesn't run and has seen no line.
    """
    seen = (progress.get("observedMetrics") or {}).get(OBSERVED) or {}
    return int(seen["damaged"]) if seen.get("read") else None
