"""Looks into the files of a directory that a stream may read: the columns that they hold, and a few rows.

Only the beginnings of some files are read, however long they are.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from jobs.commands.stream_round.rules import FILE_OPTIONS, PARSED_FORMATS, is_on
from jobs.domain.engine import Report
from jobs.domain.errors import CommandRefused, Refusal
from jobs.engine.directory import Directory, keeping
from jobs.engine.named_files import is_taken_for_a_pattern, parsed_lines, source_files
from jobs.engine.rows import answer_of
from jobs.engine.table_v2 import refuse_unknown
from tables.storage.stores import folders_at

QUESTION = frozenset(["path", "format", "options", "files"])
ROWS = 5
LINES = 1_000  # of all files together
HEAD_BYTES = 256 << 10  # of each file
LARGEST_WHOLE = 8 << 20  # a file that Spark reads whole: as one text, or for values over many lines
LINE_END = re.compile(r"\r\n|\r|\n")  # Hadoop's LineRecordReader knows no other
TEXT = StructType([StructField("value", StringType())])
CORRUPT = "_corrupt_record"
COMPRESSED = (".bz2", ".zst", ".zstd", ".snappy", ".lz4", ".deflate")
BY_HAND = "Write the columns yourself."

Question = Mapping[str, Any]


def read_source(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    """Answers a `stream_source` read: a few rows as `read_rows` has them, `schema` (Spark's struct), `lines` and `damaged`.

    `question`: the directory's `path`, `format`, `options` of the source, and `files`, named from there. `lines` are those that the
    columns were inferred from, of which `damaged` didn't fit (None for a format whose files name their columns). Raises CommandRefused
    (`outside_roots`, `not_found`, `no_columns`, `too_large`, `unreadable_type`); Spark's refusals pass through.
    """
    refuse_unknown(question, QUESTION)
    report.stage("reading the beginnings of files")
    directory = Directory(str(question["path"]))
    directory.check()
    with keeping(directory.check):
        answer = _answer(session, question)
    directory.check()
    return answer


def _answer(session: SparkSession, question: Question) -> dict[str, Any]:
    path, form, files = str(question["path"]), str(question["format"]), list(question["files"])
    options, inferred, told = _options(question), None, {"lines": None, "damaged": None}
    if form in PARSED_FORMATS:
        inferred, told = _parsed(session, path, files, form, options)
    elif form == "text":
        inferred = _text(path, files, options)
    if inferred is None:
        frame = source_files(session, path, files, form, None, {**options, "mergeSchema": "true"})
    else:
        whole = StructType([*inferred.fields, *_of_directories(session, path, files, options, inferred)])
        frame = source_files(session, path, files, form, whole, {**options, "mode": "PERMISSIVE"})
    if not frame.schema.fields:
        raise _refused("no_columns", f"The newest files of {path} hold no columns.")
    return answer_of(frame, ROWS) | told | {"schema": json.loads(frame.schema.json())}


def _options(question: Question) -> dict[str, str]:
    """The options that reading takes: those of a stream's batches have no part in it, nor what damaged lines do there."""
    given = dict(question.get("options") or {})
    return {
        name: value
        for name, value in given.items()
        if name == "recursiveFileLookup" or name not in (*FILE_OPTIONS, "mode")
    }


def _text(path: str, files: Sequence[str], options: Mapping[str, str]) -> StructType:
    if is_on(options.get("wholetext")):
        for file in files:
            _head(path, file, LARGEST_WHOLE, whole_by="wholetext")
    return TEXT


def _parsed(
    session: SparkSession, path: str, files: Sequence[str], form: str, options: Mapping[str, str]
) -> tuple[StructType, dict[str, Any]]:
    """The columns that Spark infers for JSON or CSV."""
    if is_on(options.get("multiLine")):
        for file in files:
            if is_taken_for_a_pattern(f"{path}/{file}"):
                text = f"Spark takes {path}/{file} for a pattern where it infers the columns of values over many lines."
                raise _refused("unreadable", text)
            _head(path, file, LARGEST_WHOLE, whole_by="multiLine")
        frame = source_files(session, path, files, form, None, {**options, "recursiveFileLookup": "true"})
        return frame.schema, {"lines": None, "damaged": None}
    lines = [line for file in files for line in _lines(path, file)][:LINES]
    given = session.createDataFrame([(line,) for line in lines], TEXT)
    inferred = _inferred(session, given, form, options)
    damaged = _damaged(session, given, form, options, inferred)
    if lines and damaged == len(lines):
        those = "The first line can’t" if len(lines) == 1 else f"None of the first {len(lines):,} lines can"
        raise _refused("no_columns", f"{those} be read as {form}: is it the files’ format?")
    return inferred, {"lines": len(lines), "damaged": damaged}


def _inferred(session: SparkSession, lines: DataFrame, form: str, options: Mapping[str, str]) -> StructType:
    return parsed_lines(session, lines, form, None, {**options, "mode": "DROPMALFORMED", "inferSchema": "true"}).schema


def _damaged(
    session: SparkSession, lines: DataFrame, form: str, options: Mapping[str, str], inferred: StructType
) -> int | None:
    """How many of the lines don't fit the columns; None if one of these has the name that Spark gives to damaged lines."""
    if CORRUPT in {field.name.lower() for field in inferred.fields}:
        return None
    marked = StructType([*inferred.fields, StructField(CORRUPT, StringType())])
    frame = parsed_lines(session, lines, form, marked, {**options, "mode": "PERMISSIVE"})
    return int(frame.filter(F.col(CORRUPT).isNotNull()).count())


def _of_directories(
    session: SparkSession, path: str, files: Sequence[str], options: Mapping[str, str], inferred: StructType
) -> list[StructField]:
    """The columns that the names of directories give, which Spark finds without opening a file."""
    named = {field.name.lower() for field in inferred.fields}
    kept = {name: value for name, value in options.items() if name == "recursiveFileLookup"}
    found = source_files(session, path, files, "text", None, kept).schema.fields[1:]
    return [field for field in found if field.name.lower() not in named]


def _lines(path: str, file: str) -> list[str]:
    """The whole lines that a file begins with, without the mark of a file in UTF-8, as Hadoop's LineRecordReader has them."""
    head, is_all = _head(path, file, HEAD_BYTES)
    lines = LINE_END.split(head.decode("utf-8-sig", "replace"))
    if not is_all and len(lines) < 2:
        raise _refused("too_large", f"The first line of {file} is longer than {HEAD_BYTES >> 10} KiB.")
    return [line for line in (lines if is_all else lines[:-1]) if line.strip()]


def _head(path: str, file: str, most: int, *, whole_by: str = "") -> tuple[bytes, bool]:
    """The first bytes of a file, unpacked, and whether they are all.

    `whole_by` is the option that makes Spark read the file whole. Raises CommandRefused, with it `too_large` for more bytes.
    """
    if file.endswith(COMPRESSED):
        raise _refused("compressed", f"{file} is compressed in a way that Levee looks into no further.")
    try:
        head = folders_at(path).head(f"{path}/{file}", most + 1)
    except OSError as error:
        raise _refused("unreadable", f"{file} can’t be read: {error.strerror or error}.") from None
    is_all = len(head) <= most
    if file.endswith(".gz"):
        head, is_all = _unpacked(file, head, most, is_all=is_all)
    if whole_by and not is_all:
        text = f"{file} is larger than {most >> 20} MiB, and with {whole_by} Spark reads each file whole."
        raise _refused("too_large", text)
    return head[:most], is_all


def _unpacked(file: str, packed: bytes, most: int, *, is_all: bool) -> tuple[bytes, bool]:
    """The same of the beginning of a gzip file, which may be several one after another: Hadoop reads them all."""
    head = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as unpacking:
            while len(head) <= most and (piece := unpacking.read1(HEAD_BYTES)):
                head += piece
    except EOFError:
        is_all = False
    except (zlib.error, gzip.BadGzipFile):
        raise _refused("unreadable", f"{file} isn’t the gzip file that its name says.") from None
    return bytes(head), is_all and len(head) <= most


def _refused(code: str, text: str) -> CommandRefused:
    return CommandRefused(Refusal(code, f"{text} {BY_HAND}"))
