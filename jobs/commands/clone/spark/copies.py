"""The files of a deep clone: new names that carry the job's id and its claim's token, the copies, and the actions that name them."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from console.base.text.counted import counted
from jobs.commands.clone.cleanup import CloneClaim
from jobs.commands.clone.rules import Clone
from jobs.commands.clone.spark.values import CloneTarget, Copies
from jobs.domain.engine import Report
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.storage_causes import NO_SPACE, cause_of
from jobs.engine.measuring import local
from jobs.engine.table_files.copying import Copied, copy_files, order_of, room_for
from tables.deltalog.read.vector_files import ID_LENGTH, vector_file

# How the log stores a deletion vector: in its own line, in a file below the table by its id, in a file by its full path.
INLINE, BY_ID, BY_PATH = "i", "u", "p"
FOLDER = r"^((?:[^/]*/)*)[^/]*$"
EXTENSIONS = r"((?:\.[A-Za-z0-9]{1,16}){1,2})$"
ROW = "source STRING, target STRING, size LONG"
RETRY = "Request it again; nothing was committed, and the copies were removed."


def copied_files(session: SparkSession, command: Clone, target: CloneTarget, table: Any, report: Report) -> Copies:
    """Copies the data files and deletion vectors of Delta's object into the target.

    Raises CommandRefused: `no_space`, `version_gone` for a file that isn't there any more, `copy_failed`.
    """
    snapshot = table.initialSnapshot()
    _refuse_full_disk(command.path, int(snapshot.sizeInBytes()))
    files = _relative(DataFrame(snapshot.allFiles().toDF(), session), table)
    renamed = _renamed(files, target.claim, target.uri)
    began = time.monotonic()
    order = order_of(command.source, command.path)
    vectors = _vectors(session, command, files, target.claim)
    for_tasks = _data(session, renamed)
    copied = _require(copy_files(for_tasks, order))
    copied_vectors = _require(copy_files(vectors, order)) if vectors is not None else Copied()
    seconds = time.monotonic() - began
    details = {
        "files_copied": copied.files,
        "bytes_copied": copied.bytes,
        "vector_files_copied": copied_vectors.files,
        "vector_bytes_copied": copied_vectors.bytes,
        "copy_seconds": round(seconds, 3),
    }
    report.log(f"Copied {counted(copied.files, 'data file')} ({counted(copied.bytes, 'byte')}) in {seconds:.1f} s.")
    return Copies(renamed.drop("relative"), copied.files, copied.bytes, details)


def _relative(files: DataFrame, table: Any) -> DataFrame:
    """The files with `relative`, their path below the table as the log has it: an absolute one in it loses its start."""
    data_path = table.deltaLog().dataPath().toString()
    plain = data_path.removeprefix("file:")
    path = F.col("path")
    relative = path
    for start in sorted({data_path, plain, f"file://{plain}"}, key=len):
        prefix = start.rstrip("/") + "/"
        relative = F.when(path.startswith(prefix), F.substr(path, F.lit(len(prefix) + 1))).otherwise(relative)
    return files.withColumn("relative", relative)


def _renamed(files: DataFrame, claim: CloneClaim, target: str) -> DataFrame:
    """The actions of the clone: Delta's own clone gives rows new ids, and marks every file as new data."""
    relative, vector = F.col("relative"), F.col("deletionVector")
    extension = F.regexp_extract(relative, EXTENSIONS, 1)
    name = F.concat(
        F.regexp_extract(relative, FOLDER, 1),
        F.lit("part-"),
        F.md5(relative),
        F.lit(claim.file_mark),
        F.when(extension == "", F.lit(".parquet")).otherwise(extension),
    )
    renamed = files.withColumn("path", name).withColumn("dataChange", F.lit(True))
    moved = vector.withField("pathOrInlineDv", _vector_name(vector, claim, target))
    renamed = renamed.withColumn("deletionVector", moved)
    for column in ("baseRowId", "defaultRowCommitVersion", "backReference", "amtPassthrough"):
        if column in renamed.columns:
            renamed = renamed.withColumn(column, F.lit(None).cast(renamed.schema[column].dataType))
    return renamed


def _vector_name(vector: Column, claim: CloneClaim, target: str) -> Column:
    """A copied vector keeps its own id, in the run's directory."""
    kind, stored, directory = vector["storageType"], vector["pathOrInlineDv"], claim.vector_directory
    by_id = F.concat(F.lit(directory), F.substr(stored, F.length(stored) - F.lit(ID_LENGTH - 1)))
    by_path = F.concat(F.lit(f"{target.rstrip('/')}/{directory}/"), F.regexp_extract(stored, "[^/]*$", 0))
    return F.when(kind == BY_ID, by_id).when(kind == BY_PATH, by_path).otherwise(stored)


def _data(session: SparkSession, renamed: DataFrame) -> DataFrame:
    """What tasks copy: decoded paths below source and target, and the size that the log tells."""
    decoded = [F.url_decode(F.replace(F.col(name), F.lit("+"), F.lit("%2B"))) for name in ("relative", "path")]
    return renamed.select(decoded[0].alias("source"), decoded[1].alias("target"), F.col("size"))


def _vectors(session: SparkSession, command: Clone, files: DataFrame, claim: CloneClaim) -> DataFrame | None:
    """The files of deletion vectors, each once, for the tasks; None if there are none."""
    vector = F.col("deletionVector")
    kind, stored = vector["storageType"].alias("kind"), vector["pathOrInlineDv"].alias("stored")
    rows = files.where(vector.isNotNull() & (vector["storageType"] != INLINE)).select(kind, stored).distinct().collect()
    directory = claim.vector_directory
    named = {_vector_source(command.source, row["kind"], row["stored"]) for row in rows}
    pairs = [(name, f"{directory}/{name.rpartition('/')[2]}", None) for name in sorted(named)]
    return session.createDataFrame(pairs, ROW) if pairs else None


def _vector_source(source: str, kind: str, stored: str) -> str:
    """A vector's file below the source, decoded."""
    if kind == BY_ID:
        return vector_file(stored)
    path = local(stored)
    return path.removeprefix(f"{source.rstrip('/')}/") if path.startswith("/") or "://" in path else unquote(stored)


def _refuse_full_disk(target: str, size: int) -> None:
    room = room_for(target, size)
    if room is not None and not room.is_enough:
        text = f"The copies take {room.needed:,} bytes, and the disk of {target} has {room.free:,} left."
        raise CommandRefused(Refusal("no_space", text, place=target, remedy=NO_SPACE.remedy))


def _require(copied: Copied) -> Copied:
    """Raises CommandRefused for the first fault that a task met."""
    if not copied.fault:
        return copied
    if copied.missing:
        text = f"A file of the source is gone: {copied.fault}. VACUUM may have removed it."
        raise CommandRefused(Refusal("version_gone", text, remedy="Choose a newer version, then request it again."))
    cause = cause_of([copied.fault])
    text = f"{cause.words}: {copied.fault}" if cause else f"Levee couldn't copy a file: {copied.fault}."
    raise CommandRefused(Refusal("copy_failed", text, remedy=cause.remedy if cause else RETRY))
