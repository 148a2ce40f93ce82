"""What CONVERT would find in a directory, and every reason why Levee or Delta would refuse to convert it."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from console.base.text.counted import counted
from jobs.commands.convert.spark.file_faults import fault_refusals, unreadable_refusals, unsupported_refusals
from jobs.commands.convert.spark.footer_text import footer_refusals
from jobs.commands.convert.spark.old_calendar import old_times
from jobs.commands.convert.spark.other_formats import format_refusal, nested_format_refusals
from jobs.commands.convert.spark.readings import encoding_refusals, readings
from jobs.commands.convert.spark.schemas import (
    Footers,
    invalid_names,
    merge_footers,
)
from jobs.commands.convert.spark.time_readings import time_readings
from jobs.domain.delta.column_names import invalid_names_failure, is_invalid
from jobs.domain.engine import Report
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.domain.partitions import PartitionField, PartitionLayout, ValueMisfit, check_layout
from jobs.domain.results import Inspection, Note, PartitionProposal
from jobs.engine.directory import Directory, keeping
from jobs.engine.survey import is_table, survey
from jobs.engine.walk import DELTA_LOG, WalkFindings, format_of, holds_table
from tables.rules.table_formats import TableFormat, above_partitions
from tables.storage import stores
from tables.storage.trees import MARKER, Denied

VISIBLE = (TableFormat.ICEBERG, TableFormat.PAIMON)  # whose metadata lies in directories that aren't hidden
OTHER_FORMATS = frozenset(each.code for each in TableFormat)
FAILS = "one such file fails the whole conversion"
NOT_PARQUET = f"is not a parquet file; {FAILS}"
ROWS_UNKNOWN = ("stray", "missing", "no footer")
KINDS_KEPT = 50
CHANGES_WHILE_RUNNING = (FileNotFoundError, NotADirectoryError)


def inspect(
    session: SparkSession, path: str, report: Report, *, schema: Sequence[PartitionField] | None = None
) -> Inspection:
    """Inspects the directory `path` (canonical, or a URI). With `schema` it checks the directories against it.

    Raises CommandRefused (`not_found`) when there is no such directory.
    """
    directory = Directory(path)
    if is_table(path):
        return _already_delta(path)
    report.stage("listing files")
    with keeping(directory.check_place):
        findings = look(session, path, schema or (), footers=True)
        report.stage("reading footers")
        directory.check_place()
        footers = merge_footers(session, path, findings.schemas, partition_names(findings))
        times = time_readings(session, path, findings)
    directory.check_place()
    refusals, (old_notes, too_old) = table_refusals(path), old_times(session, findings)
    if not any(refusal.code in OTHER_FORMATS for refusal in refusals):  # what else is wrong would be no way out
        refusals += directory_refusals(path, findings)
        refusals += [*layout_refusals(path, findings, schema), *encoding_refusals(findings)]
        refusals += [*fault_refusals(session, findings), *_schema_refusals(path, footers, findings), *too_old]
    return replace(_inspection(path, findings, footers, refusals, old_notes), times=times)


def look(
    session: SparkSession,
    path: str,
    schema: Sequence[PartitionField],
    *,
    footers: bool,
    only: Iterable[tuple[str, int, int]] | None = None,
    expected: int | None = None,
) -> WalkFindings:
    """Lists the directory (and reads its footers) as `survey` does."""
    try:
        return survey(session, path, fields=schema, footers=footers, only=only, expected=expected)
    except CHANGES_WHILE_RUNNING as error:
        text = f"{_uri(path)} doesn't exist" if isinstance(error, FileNotFoundError) else f"{path} isn't a directory"
        raise CommandRefused(Refusal("not_found", text, place=path)) from error


def table_refusals(path: str) -> list[Refusal]:
    """The refusal for a directory inside a Delta table, where Delta would silently nest a second one, and for one that is, or lies
    in, a table in another format."""
    for above in (path, *_directories_above(path)):
        try:
            place = stores.tree_at(above)
            inside = above != path and holds_table(place, DELTA_LOG)
            head, _, name = above.rpartition("/")
            other = None if inside else format_of(place, name)
        except Denied:  # a key may be good for a part of its bucket alone, and Levee's roots lie in that part
            return []
        if other is not None:
            top = above_partitions(head) if other is TableFormat.HIVE_ACID else above  # it is a part of that table
            return [format_refusal(path, top, other)]
        if inside:
            return [
                Refusal(
                    code="inside_table",
                    message=f"the directory is inside the Delta table {above}; converting it would nest a second table there",
                    place=above,
                    remedy=f"Don't convert anything below {above}: its files belong to that table.",
                )
            ]
    return []


def _directories_above(path: str) -> Iterator[str]:
    """The nearest first, up to the top of the file system or of the bucket."""
    scheme, mark, below = path.rpartition("://")
    parts = below.strip("/").split("/")
    for count in range(len(parts) - 1, 0 if mark else -1, -1):
        yield f"{scheme}{mark or '/'}{'/'.join(parts[:count])}"


def directory_refusals(path: str, findings: WalkFindings) -> list[Refusal]:
    """Refusals from the listing alone: links, nested tables of any format, half pairs, stray files, no files at all."""
    refusals = [
        _placed(
            "outside_roots",
            findings,
            "links",
            "is a link; its target may be outside your roots",
            "Replace links with real files.",
        ),
        _placed("nested_table", findings, "nested", "is a Delta table of its own", "Move the nested table elsewhere."),
        _placed(
            "partition_mismatch",
            findings,
            "half pairs",
            "is an incomplete partition (its name or value is empty); Delta fails on it without a message",
            "Rename the directory to name=value, or to name=__HIVE_DEFAULT_PARTITION__ for NULL.",
        ),
        _placed(
            "missing_files", findings, "missing", "is named but doesn't exist", "Restore the file, or remove its entry."
        ),
        *nested_format_refusals(findings),
        _stray(path, findings),
    ]
    if not findings.total("files"):
        text = f"No file found in the directory: {path}."
        engine = EngineFailure("DELTA_EMPTY_DIRECTORY", "42K03", text)
        refusals.append(
            Refusal("no_files", text, place=path, remedy="Choose a directory that holds parquet files.", engine=engine)
        )
    return [refusal for refusal in refusals if refusal is not None]


def partition_names(findings: WalkFindings) -> frozenset[str]:
    """The columns of directories, in small letters."""
    return frozenset(column.lower() for columns in findings.layouts for column in columns)


def layout_refusals(path: str, findings: WalkFindings, schema: Sequence[PartitionField] | None) -> list[Refusal]:
    """Refusals for directories that disagree with each other or with the given partition schema, in Delta's own words."""
    layouts = [
        PartitionLayout(columns, files, f"{_uri(path)}/{example}")
        for columns, (files, example) in sorted(findings.layouts.items())
    ]
    refusals = _mixed(layouts)
    if schema is not None:
        by_name = {field.name.lower(): field for field in schema}
        misfits = [
            ValueMisfit(by_name[column], value, f"{path}/{example}")
            for column, (value, example) in sorted(findings.misfits.items())
            if column in by_name
        ]
        refusals += check_layout(schema, layouts, misfits)
    return refusals


def proposals(findings: WalkFindings) -> tuple[PartitionProposal, ...]:
    """The partition columns of the most common layout, outermost first, each with a proposed type and the evidence for it."""
    if not findings.layouts:
        return ()
    columns = max(findings.layouts.items(), key=lambda item: (item[1][0], item[0]))[0]
    return tuple(_proposal(findings, column) for column in columns)


def _proposal(findings: WalkFindings, column: str) -> PartitionProposal:
    values = findings.values[column]
    proposed, evidence = values.propose()
    return PartitionProposal(column, proposed, evidence, len(values.seen), values.nulls, values.examples())


def digest(findings: WalkFindings) -> str:
    """sha256 over the sum of every file's own sha256 (path, size, modification time): the same in any order."""
    total = findings.digest.to_bytes(32, "big") + findings.total("files").to_bytes(8, "big")
    return hashlib.sha256(total).hexdigest()


def packed_manifest(lines: list[str] | None) -> str | None:
    """The file list as base64 of zlib of lines `path TAB size TAB changed_ns`; None when there are too many to store."""
    if lines is None:
        return None
    return base64.b64encode(zlib.compress("\n".join(sorted(lines)).encode("utf-8", "surrogatepass"), 6)).decode()


def unpacked_manifest(manifest: str | None) -> set[str] | None:
    """The lines of a packed manifest."""
    if manifest is None:
        return None
    text = zlib.decompress(base64.b64decode(manifest)).decode("utf-8", "surrogatepass")
    return set(text.split("\n")) if text else set()


def _inspection(
    path: str, findings: WalkFindings, footers: Footers, refusals: list[Refusal], notes: list[Note]
) -> Inspection:
    columns = proposals(findings)
    return Inspection(
        path=path,
        num_files=findings.total("files"),
        size_bytes=findings.total("bytes"),
        num_records=None if any(map(findings.total, ROWS_UNKNOWN)) else findings.total("rows"),
        partition_columns=columns,
        conflicts=footers.conflicts,
        stray_files=tuple(findings.first("stray")),
        nested_tables=tuple(findings.first("nested")),
        hidden_files=findings.total("hidden"),
        schema=_without(footers.schema, {column.name.lower() for column in columns}),
        refusals=tuple(refusals),
        notes=(*_notes(findings, footers, columns), *notes),
        empty_files=findings.total("empty"),
        from_metadata_log=bool(findings.total("from metadata log")),
        files_digest=digest(findings),
        layout=tuple(column.name for column in columns),
        manifest=packed_manifest(findings.lines),
        readings=readings(findings),
        footers=footers.differences[:KINDS_KEPT],
    )


def _already_delta(path: str) -> Inspection:
    note = Note("already_delta", "The directory is already a Delta table; converting it changes nothing.")
    return Inspection(
        path=path,
        num_files=0,
        size_bytes=0,
        num_records=None,
        partition_columns=(),
        conflicts=(),
        stray_files=(),
        nested_tables=(),
        hidden_files=0,
        schema=None,
        refusals=(),
        notes=(note,),
        already_delta=True,
    )


def _notes(findings: WalkFindings, footers: Footers, columns: Sequence[PartitionProposal]) -> list[Note]:
    notes = []
    if findings.total("from metadata log"):
        notes.append(
            Note(
                "metadata_log",
                "A streaming query wrote this directory: only the files listed in its _spark_metadata count.",
            )
        )
    if empty := findings.total("empty"):
        text = f"{empty:,} file{'s have' if empty > 1 else ' has'} no rows; with statistics Delta leaves such files out"
        notes.append(Note("empty_files", f"{text} (for example {findings.first('empty')[0]})."))
    if footers.missing_columns:
        names = ", ".join(footers.missing_columns)
        notes.append(Note("missing_columns", f"Not every file has {names}; Spark reads missing values as NULL."))
    if over := findings.total("schemas beyond the limit"):
        notes.append(
            Note(
                "many_schemas",
                f"{counted(over, 'file has a schema', 'files have schemas')} beyond the first few hundred kinds;"
                " Levee leaves the check to Delta, and hasn’t compared what their footers say of them with their columns.",
            )
        )
    partitions = {column.name.lower() for column in columns}
    for field in (footers.schema or {}).get("fields", ()):
        if field["name"].lower() in partitions:
            text = f"The partition column {field['name']} overrides the data column of that name."
            notes.append(Note("overridden_column", text))
    return notes


def _schema_refusals(path: str, footers: Footers, findings: WalkFindings) -> list[Refusal]:
    refusals = [*unreadable_refusals(path, footers, findings), *unsupported_refusals(footers)]
    refusals += footer_refusals(footers.differences)
    if footers.failure is not None:
        fatal = [conflict for conflict in footers.conflicts if conflict.fatal]
        refusals.append(
            Refusal(
                "schema_conflict",
                "; ".join(conflict.text for conflict in fatal) or footers.failure.message,
                place=", ".join(conflict.column for conflict in fatal) or path,
                remedy="Rewrite the files of one type with the other type, or move them out of the directory.",
                engine=footers.failure,
            )
        )
    return refusals + _bad_names(footers, findings)


def _bad_names(footers: Footers, findings: WalkFindings) -> list[Refusal]:
    names = [name for name in sorted(findings.values) if is_invalid(name)]
    names += invalid_names(footers.schema or {})
    if not names:
        return []
    return [
        Refusal(
            "bad_column_name",
            f"Delta refuses column names that contain a space or one of ,;{{}}()=: {', '.join(names)}",
            place=names[0],
            remedy="Rewrite the files with other column names.",
            engine=invalid_names_failure(names),
        )
    ]


def _mixed(layouts: list[PartitionLayout]) -> list[Refusal]:
    shapes = {tuple(column.lower() for column in layout.columns): layout for layout in layouts}
    if len(shapes) < 2:
        return []
    most = max(layouts, key=lambda layout: layout.files)
    schema = [PartitionField(name, "string") for name in most.columns]
    other = next(
        layout for layout in layouts if len(layout.columns) != len(most.columns) or check_layout(schema, [layout])
    )
    engine = check_layout(schema, [other])[0].engine
    texts = [f"{layout.files:,} under {_text(layout.columns)}" for layout in layouts[:5]]
    return [
        Refusal(
            "partition_mismatch",
            f"files are in different partition layouts: {', '.join(texts)}",
            place=other.example,
            remedy="Move the files so that all are under the same partition columns, in the same order.",
            engine=engine,
        )
    ]


def _text(columns: tuple[str, ...]) -> str:
    return "/".join(f"{column}=…" for column in columns) or "no partition"


def _placed(code: str, findings: WalkFindings, kind: str, text: str, remedy: str) -> Refusal | None:
    if not findings.total(kind):
        return None
    first, more = findings.first(kind)[0], findings.total(kind) - 1
    tail = f" (and {more:,} more)" if more else ""
    return Refusal(code, f"{first} {text}{tail}", place=first, remedy=remedy)


def _stray(path: str, findings: WalkFindings) -> Refusal | None:
    strays, markers = findings.total("stray"), findings.total("markers")
    text, remedy = NOT_PARQUET, "Remove the files, or rename them to start with _ or a dot."
    if markers and markers == strays:
        text = f"is a directory marker of Hadoop’s first client of S3, and no parquet file; {FAILS}"
    if markers:
        remedy = (
            f"Remove the files whose names end with {MARKER}: they are empty and stand for directories in S3 alone."
        )
        remedy += " Remove the other files too, or rename them to start with _ or a dot." if markers < strays else ""
    refusal = _placed("stray_files", findings, "stray", text, remedy)
    if refusal is None or any(findings.total(each.code) for each in VISIBLE):  # their manifests must stay
        return None
    text = f"Could not read footer for file: {_uri(path)}/{findings.first('stray')[0]}"
    engine = EngineFailure("DELTA_FAILED_READ_FILE_FOOTER", "KD001", text)
    return Refusal(refusal.code, refusal.message, refusal.place, refusal.remedy, engine)


def _without(schema: Any, names: set[str]) -> Any:
    if schema is None:
        return None
    return {**schema, "fields": [field for field in schema["fields"] if field["name"].lower() not in names]}


def _uri(path: str) -> str:
    """A path as Delta prints it."""
    return path if stores.is_remote(path) else f"file:{path}"
