"""The one way to have Spark read files and streams: each by its literal name, never as a glob.

Spark treats `[`, `*`, `?`, `{` and the backslash in a path as a glob, Delta doesn't: Levee would check a table called `g[x]` by the
files of `gx`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

_PATTERN = re.compile(r"[\\*?\[\]{}]")


def is_taken_for_a_pattern(file: str) -> bool:
    """Whether Spark takes the name for a pattern where nothing helps: as it infers the columns of values over many lines."""
    return bool(_PATTERN.search(file))


def json_lines(session: SparkSession, files: Sequence[str], schema: str) -> DataFrame:
    """The lines of these files, each a JSON object. `files` are full paths or URIs, taken literally; a missing one fails the read."""
    if not files:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).json([literal_path(file) for file in files])


def parquet_file(session: SparkSession, file: str) -> DataFrame:
    """A parquet file by its full path or URI, taken literally. Reads its footer, and raises Spark's failures."""
    return session.read.parquet(literal_path(file))


def source_files(
    session: SparkSession,
    path: str,
    files: Sequence[str],
    form: str,
    schema: StructType | None,
    options: Mapping[str, str],
) -> DataFrame:
    """Some files below a directory, each by its literal name, with the columns that directories like `day=1` give. Reads no row yet."""
    reader = session.read.format(form).options(**options)
    if options.get("recursiveFileLookup", "").strip().lower() != "true":  # which leaves such columns out
        reader = reader.option("basePath", path)
    return (reader if schema is None else reader.schema(schema)).load(
        [literal_path(f"{path}/{file}") for file in files]
    )


def parsed_lines(
    session: SparkSession, lines: DataFrame, form: str, schema: StructType | None, options: Mapping[str, str]
) -> DataFrame:
    """Lines of JSON or CSV that are here already, as Spark parses them; without a schema it infers one. No path is read."""
    reader = session.read.options(**options)
    reader = reader if schema is None else reader.schema(schema)
    return reader.csv(lines) if form == "csv" else reader.json(lines)


def file_stream(
    session: SparkSession, path: str, form: str, schema: StructType, options: Mapping[str, str]
) -> DataFrame:
    """The files of a directory as a stream, the directory taken literally. Reads nothing yet."""
    reader = session.readStream.format(form).schema(schema).options(**options)
    return reader.load(literal_path(path))


def table_stream(session: SparkSession, path: str, options: Mapping[str, str]) -> DataFrame:
    """A Delta table as a stream; Delta takes a path literally. Reads nothing yet."""
    return session.readStream.format("delta").options(**options).load(path)


def literal_path(path: str) -> str:
    """The path escaped so that Spark's readers take it literally."""
    return _PATTERN.sub(r"\\\g<0>", path)
