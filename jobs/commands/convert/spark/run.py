"""CONVERT TO DELTA of a parquet directory: the check before it, the statement, and its commit read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from jobs.commands.convert.cleanup import remove_empty_log
from jobs.commands.convert.rules import Convert, check_convert, data_schema, decided, partition_fields
from jobs.commands.convert.spark.by_catalog import by_catalog, filled
from jobs.commands.convert.spark.file_faults import fault_refusals, unreadable_refusals
from jobs.commands.convert.spark.footer_text import footer_refusals
from jobs.commands.convert.spark.inspect import (
    digest,
    directory_refusals,
    inspect,
    layout_refusals,
    look,
    partition_names,
    table_refusals,
    unpacked_manifest,
)
from jobs.commands.convert.spark.old_calendar import old_times
from jobs.commands.convert.spark.readings import encoding_refusals
from jobs.commands.convert.spark.schemas import merge_footers
from jobs.domain.engine import Checked, Report
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.domain.partitions import PartitionField, parse_schema, print_schema
from jobs.domain.results import Inspection, Note, Result
from jobs.engine.catalog import is_stale, name_parts, register_delta, register_parquet
from jobs.engine.commits.history import first_commit, latest, recorded
from jobs.engine.directory import Directory, changing, keeping, refuse_foreign_sidecars
from jobs.engine.quoting import path_table, quoted_name
from jobs.engine.runner import Question, Runner
from jobs.engine.session import USER_METADATA
from jobs.engine.survey import is_table
from jobs.engine.walk import MISREAD, WalkFindings

COLLECT_STATS = "spark.databricks.delta.stats.collect"
STATS_BATCH = "spark.databricks.delta.import.batchSize.statsCollection"
SCHEMA_BATCH = "spark.databricks.delta.import.batchSize.schemaInference"
DEFAULTS = "spark.databricks.delta.properties.defaults."
NAMED_CHANGES = 50

STALE_ENTRY = Note(
    "stale_entry",
    "The directory is already a Delta table, but its catalog entry says parquet; converting repairs the entry.",
)
MERGED = "The directory was already a Delta table; Delta merged the catalog's properties into it."
NO_OP = "The directory is already a Delta table: nothing changed."
VACUUM = (
    "From now on VACUUM may remove files below {path} that aren’t part of this table, once they are older than its retention"
    " (7 days by default): files that other programs write there, and files left out of the conversion."
)


def preview_convert(session: SparkSession, command: Convert, version: int | None, report: Report) -> Inspection:
    """Inspects what the command would convert, checked against its partition schema and the session's defaults."""
    command = filled(session, command)
    refusals = check_convert(command)
    if refusals:
        raise CommandRefused(*refusals)
    path = _path(command)
    inspection = inspect(session, path, report, schema=partition_fields(command))
    if inspection.already_delta and command.name is not None and is_stale(session, command.name):
        return replace(inspection, already_delta=False, notes=(STALE_ENTRY,))
    if inspection.already_delta or command.source_format.lower() == "delta":
        return inspection
    return _extended(decided(command, by_catalog(command, inspection)), default_refusals(session, command))


def run_convert(
    session: SparkSession, command: Convert, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Converts, and returns what Delta recorded.

    Raises DirectorySwapped where Levee can't know which directory Delta converted, CommandRefused for a reason that the preview
    didn't find. After any failure it removes a `_delta_log` that wasn't there before and holds no commit.
    """
    command, seen = filled(session, command), Inspection.from_json(preview)
    path = _path(command)
    directory = Directory(path)
    if command.source_format.lower() == "delta" or is_table(path):
        return _already(session, command, directory, report)
    schema = partition_fields(command)
    report.stage("listing files")
    with keeping(directory.check_place):
        changes = _changes(session, path, schema, seen)
    refusals = [*seen.refusals, *table_refusals(path), *default_refusals(session, command), *changes["refusals"]]
    if refusals:
        raise CommandRefused(*refusals)
    settings = effective_settings(session, command)
    for key, value in settings.items():
        report.log(f"{key} = {value}")
    if command.name is not None:
        known = command.declared_schema or seen.schema or {"type": "struct", "fields": []}
        directory.check()
        register_parquet(session, command.name, path, data_schema(known, schema), schema)
    _execute(session, command, directory, report)
    with changing(directory):
        report.stage("committing")
        report.point("commit visible")
        return _result(session, path, settings, changes)


def statement(command: Convert, path: str) -> str:
    """The SQL statement, from quoted parts only. NO STATISTICS comes before PARTITIONED BY in Delta's grammar.

    A command without a partition schema gets no PARTITIONED BY; Delta then uses the catalog's.
    """
    schema = parse_schema(command.partition_schema)
    target = quoted_name(name_parts(command.name)) if command.name is not None else path_table("parquet", path)
    text = f"CONVERT TO DELTA {target}"
    if not command.collect_stats:
        text += " NO STATISTICS"
    return f"{text} PARTITIONED BY ({print_schema(schema)})" if schema else text


def effective_settings(session: SparkSession, command: Convert) -> dict[str, Any]:
    """The settings that decide about statistics in this run. Delta defines the schema inference batch size but never reads it."""
    return {
        "collect_stats": command.collect_stats and session.conf.get(COLLECT_STATS, "true") == "true",
        "statistics_batch_size": int(session.conf.get(STATS_BATCH, "50000")),
        "schema_inference_batch_size (inert)": int(session.conf.get(SCHEMA_BATCH, "1000000")),
    }


def default_refusals(session: SparkSession, command: Convert) -> list[Refusal]:
    """Refusals for the session's table defaults that CONVERT doesn't support."""
    refusals = []
    mode = session.conf.get(f"{DEFAULTS}columnMapping.mode", None)
    if mode not in (None, "none"):
        text = (
            f"The configuration '{DEFAULTS}columnMapping.mode' cannot be set to `{mode}` when using CONVERT TO DELTA."
        )
        refusals.append(
            _default_refusal("columnMapping.mode", text, "DELTA_CONVERSION_UNSUPPORTED_COLUMN_MAPPING", "0AKDC")
        )
    tracking = (
        session.conf.get(f"{DEFAULTS}enableRowTracking", None),
        session.conf.get(f"{DEFAULTS}feature.rowTracking", None),
    )
    if any(tracking) and tracking != ("false", None) and not effective_settings(session, command)["collect_stats"]:
        text = "Cannot enable row tracking without collecting statistics."
        refusals.append(
            _default_refusal("enableRowTracking", text, "DELTA_CONVERT_TO_DELTA_ROW_TRACKING_WITHOUT_STATS", "22000")
        )
    return refusals


def _default_refusal(name: str, text: str, condition: str, sqlstate: str) -> Refusal:
    return Refusal(
        code="unsupported_default",
        message=text,
        place=DEFAULTS + name,
        remedy="Remove the default from LEVEE_SPARK_CONF and set the property on the table after the conversion.",
        engine=EngineFailure(condition, sqlstate, text),
    )


def _execute(session: SparkSession, command: Convert, directory: Directory, report: Report) -> None:
    report.stage("converting")
    report.point("Spark started")
    # The last check before Delta writes: since the listing, the path may have become a link out of the root.
    directory.check()
    with remove_empty_log(directory.path), changing(directory):
        session.sql(statement(command, directory.path)).collect()


def _changes(
    session: SparkSession, path: str, schema: tuple[PartitionField, ...], preview: Inspection
) -> dict[str, Any]:
    """Lists the directory again: the files added and removed since the preview, and the refusals that they cause.

    Of a directory with too many files for a list of them, all footers are read again if any file differs by name, size or time.
    """
    findings = look(session, path, schema, footers=False, expected=preview.num_files)
    refusals = [*directory_refusals(path, findings), *layout_refusals(path, findings, schema)]
    refusals += _new_encodings(findings, preview)
    before, now = unpacked_manifest(preview.manifest), findings.lines
    if before is None or now is None:
        if digest(findings) == preview.files_digest:
            return {"refusals": refusals, "found": findings, "come": [], "gone": []}
        refusals += [each for each in _new_files(session, path, schema, None, preview) if each not in refusals]
        return {"refusals": refusals, "found": findings, "come": None, "gone": None}
    come = sorted(set(now) - before)
    gone = sorted(before - set(now))
    if come:
        refusals += _new_files(session, path, schema, come, preview)
    return {"refusals": refusals, "found": findings, "come": _names(come), "gone": _names(gone)}


def _new_encodings(findings: WalkFindings, preview: Inspection) -> list[Refusal]:
    """Names with two readings that the preview didn't show to whoever accepted Spark's: it shows the first ones."""
    known = [reading.name for reading in preview.readings]
    return encoding_refusals(findings, findings.misread if len(known) >= MISREAD else known)


def _new_files(
    session: SparkSession, path: str, schema: tuple[PartitionField, ...], lines: list[str] | None, preview: Inspection
) -> list[Refusal]:
    """Reads the footers of files that the preview didn't see (None: of all). What it showed of others, a person has decided."""
    files = None
    if lines is not None:
        files = [(name, int(size), int(changed)) for name, size, changed in (line.rsplit("\t", 2) for line in lines)]
    findings = look(session, path, schema, footers=True, only=files)
    footers = merge_footers(session, path, findings.schemas, partition_names(findings))
    new = [each for each in footers.differences if not any(each.same_as(known) for known in preview.footers)]
    _, too_old = old_times(session, findings)
    unreadable = [*fault_refusals(session, findings), *unreadable_refusals(path, footers, findings)]
    return [*directory_refusals(path, findings), *unreadable, *footer_refusals(new), *too_old]


def _names(lines: list[str]) -> list[str]:
    return [line.rsplit("\t", 2)[0] for line in lines]


def _result(session: SparkSession, path: str, settings: dict[str, Any], changes: dict[str, Any]) -> Result:
    commit = first_commit(path)
    if commit.userMetadata != session.conf.get(USER_METADATA):
        # A writer outside Levee converted it first: the lease can't stop it, and Delta then does nothing without reporting so.
        return Result(version=None, operation=None, no_op=True, details={"text": NO_OP})
    metrics = dict(commit.operationMetrics)
    details = {
        "files_converted": int(metrics["numConvertedFiles"]) if "numConvertedFiles" in metrics else None,
        "files_in_table": commit.num_added,
        **_file_changes(changes),
        **settings,
        "text": VACUUM.format(path=path),
    }
    return recorded(commit, details)


def _file_changes(changes: dict[str, Any]) -> dict[str, Any]:
    findings: WalkFindings = changes["found"]
    facts: dict[str, Any] = {"files_listed": findings.total("files")}
    for name in ("come", "gone"):
        names = changes[name]
        facts[f"files_{name}"] = None if names is None else names[:NAMED_CHANGES]
        facts[f"num_files_{name}"] = None if names is None else len(names)
    return facts


def _already(session: SparkSession, command: Convert, directory: Directory, report: Report) -> Result:
    """Leaves a Delta table as it is, and repairs its name where the catalog still lists it as parquet.

    Delta itself repairs an external catalog's entry, and commits only when it has properties to merge.
    """
    path = directory.path
    if command.name is None or not is_table(path):
        return _no_op(report)
    directory.check()
    refuse_foreign_sidecars(path)
    register_delta(session, command.name, path)
    if not is_stale(session, command.name):
        return _no_op(report)
    before = latest(session, path).version
    directory.check()
    with changing(directory):
        session.sql(statement(replace(command, partition_schema=None), path)).collect()
    commit = latest(session, path)
    return _no_op(report) if commit.version == before else recorded(commit, {"text": MERGED})


def _no_op(report: Report) -> Result:
    report.log(NO_OP)
    return Result(version=None, operation=None, no_op=True, details={"text": NO_OP})


def _extended(inspection: Inspection, refusals: list[Refusal]) -> Inspection:
    return replace(inspection, refusals=(*inspection.refusals, *refusals)) if refusals else inspection


def _path(command: Convert) -> str:
    path = command.path or command.location
    if path is None:
        raise CommandRefused(Refusal("no_table", f"the catalog has no directory for {command.name}", place="name"))
    return path


def _read_inspection(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    return inspect(session, str(question["path"]), report).as_json()


def _warm_up(path: str) -> Convert:
    return Convert(path=path, name=None, source_format="parquet", partition_schema="p int")


RUNNER = Runner(
    run_convert,
    preview_convert,
    reads={"inspect": _read_inspection},
    warm_up=_warm_up,
    paths=lambda command: (_path(command),),
)
