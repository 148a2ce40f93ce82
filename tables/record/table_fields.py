"""A table's fields from a snapshot, for the lists, the page's header and its health."""

from __future__ import annotations

from collections.abc import Container
from datetime import datetime
from typing import Any

from django.db import connection

from console.base.text.masking import masked_properties
from tables.deltalog.read.actions import Metadata, Protocol
from tables.deltalog.read.filenames import LAST_CHECKPOINT
from tables.deltalog.read.problems import ProblemCode as ProblemCode
from tables.deltalog.rules.features import locks_writers_out, understand
from tables.deltalog.rules.property_values import stopping_value
from tables.deltalog.rules.schema_limits import SchemaLimit, schema_limits
from tables.deltalog.state.snapshot import Snapshot
from tables.models import Table
from tables.record import file_check, file_layout, transactions
from tables.record.commit_rows import bounded, protocol_json, schema_of, short, text, texts, tree_of
from tables.rules import health, search_index
from tables.rules.column_statistics import STATS_COLUMNS
from tables.rules.property_faults import NO_FAULTS, PropertyFaults, property_faults
from tables.storage.store import Entry

NAMED_FEATURES = 20  # that a table needs and Levee doesn't know: a hostile protocol lists any number


def take(table: Table, snapshot: Snapshot) -> None:
    """Sets the fields that describe the newest version, unsaved, the schema among them. Asks the database nothing."""
    metadata = snapshot.metadata
    table.version = snapshot.version
    table.head_mark = mark(snapshot.head_file)
    table.last_commit_at = snapshot.committed_at
    table.num_files = snapshot.num_files
    table.size_bytes = bounded(snapshot.size_bytes)
    table.num_records = bounded(snapshot.num_records)
    table.protocol = protocol_json(snapshot.protocol)
    table.features = [short(feature) for feature in snapshot.features]
    table.clustering_columns = [text(column) for column in snapshot.clustering_columns]
    table.table_id = id_of(metadata) if metadata else None
    table.properties = texts(masked_properties(metadata.configuration)) if metadata else {}
    table.partition_columns = [text(column) for column in metadata.partition_columns] if metadata else []
    table.created_at = metadata.created_at if metadata else None
    table.comment = text(metadata.description) if metadata else ""
    table.schema, problems = schema_of(metadata)
    table.problems = [problem.as_json() for problem in (*snapshot.problems, *problems)]
    table.layout = file_layout.summarize(snapshot)
    table.log_state = transactions.of_snapshot(snapshot)
    if not snapshot.complete or snapshot.understanding.needs:
        table.num_records = None


def id_of(metadata: Metadata) -> str:
    """Delta's id of the table, as long as the catalog keeps it."""
    return text(metadata.id)[:64]


def forget(table: Table) -> None:
    """Resets the fields to those of a directory that Levee hasn't read."""
    table.version = table.first_version = table.first_readable = table.checkpoint_version = None
    table.rebuildable = table.lost_commits = table.rewritten = None
    table.table_id = table.last_commit_at = table.created_at = table.schema = table.protocol = table.layout = None
    table.num_files = table.size_bytes = table.num_records = None
    table.partition_columns, table.clustering_columns, table.features, table.problems = [], [], [], []
    table.properties, table.log_state, table.head_mark, table.comment = {}, {}, "", ""
    table.removed, table.lost_files, table.file_check = [], [], None


def mark(entry: Entry | None) -> str:
    """What tells a commit's file from another one of the same number."""
    return f"{entry.size}:{entry.modified_ms}" if entry else ""


def judge(table: Table) -> None:
    """Sets the table's health from its fields, unsaved."""
    findings = [health.missing(table.path)] if table.missing_since else []
    findings += health.findings(_facts(table)) if table.is_delta else []
    table.health = [finding.as_json() for finding in findings]
    table.health_codes = sorted({finding.code.value for finding in findings})


def _facts(table: Table) -> health.Facts:
    lies = table.layout or {}
    partitions = lies.get("partitions") or {}
    protocol = protocol_of(table.protocol)
    needs = understand(protocol).needs
    ended = table.earlier.values_list("ended_at", flat=True).first() if table.incarnation else None
    return health.Facts(
        num_files=lies.get("num_files"),
        small_files=lies.get("small_files"),
        small_bytes=lies.get("small_bytes"),
        small_alone=lies.get("small_alone"),
        num_partitions=partitions.get("count"),
        size_bytes=lies.get("size_bytes"),
        files_with_vectors=lies.get("deletion_vectors"),
        files_with_statistics=lies.get("with_statistics"),
        largest_partition_bytes=partitions.get("largest_bytes"),
        median_partition_bytes=partitions.get("median_bytes"),
        commits_since_checkpoint=_since_checkpoint(table),
        log_bytes=_log_bytes(table),
        unknown_features=tuple(map(short, needs[:NAMED_FEATURES])),
        locking_out=tuple(map(short, locks_writers_out(protocol)[:NAMED_FEATURES])),
        properties=faults_of(table),
        schema_limits=_limits_of(table),
        unknown_actions=_told(table, {ProblemCode.UNSUPPORTED.value}),
        broken_entries=_told(table, _BROKEN),
        stopping=_stopping(table),
        pointer=next((item["reason"] for item in table.problems if item["file"] == LAST_CHECKPOINT), ""),
        stored=_stored_files(table),
        outside_files=lies.get("outside_files") or 0,
        recreated_at=ended,
        rewritten=_rewritten(table),
    )


def _limits_of(table: Table) -> tuple[SchemaLimit, ...]:
    """What Spark can't do with the table's columns; nothing of a table that it can't open, which is a finding of its own."""
    struct = None if _stopping(table) else tree_of(table.schema)
    return () if struct is None else tuple(schema_limits(struct, table.features))


def faults_of(table: Table) -> PropertyFaults:
    """What is wrong with the table's properties; nothing where one of them stops Delta from opening the table."""
    protocol, values = protocol_of(table.protocol), table.configuration
    if protocol is None or stopping_value(protocol, values) is not None:
        return NO_FAULTS
    return property_faults(values, tree_of(table.schema) if STATS_COLUMNS in values else None, table.partition_columns)


def _stored_files(table: Table) -> health.StoredFiles | None:
    """What the last looks at the live files found wrong; None for nothing."""
    check = table.file_check
    if check is None or not file_check.has_findings(check):
        return None
    gone = [each for each in check["named"] if each["stored"] is None]
    others = [each for each in check["named"] if each["stored"] is not None]
    sizes = [f"{each['path']}: {each['stored']:,} bytes, and the log says {each['logged']:,}" for each in others]
    return health.StoredFiles(
        version=check["version"],
        seen=datetime.fromisoformat(check["at"]),
        missing=check["missing"],
        first_missing=next((each["path"] for each in gone if not each.get("vector")), ""),
        missing_vectors=check.get("missing_vectors", 0),
        first_missing_vector=next((each["path"] for each in gone if each.get("vector")), ""),
        other_size=check["other_size"],
        first_other_size=next(iter(sizes), ""),
    )


def _rewritten(table: Table) -> tuple[int, str, tuple[str, ...]] | None:
    """From which version on the log was rewritten, the day on which that was seen, and the commits that it held before."""
    if table.rewritten is None:
        return None
    commits = [f"v{c['version']} {c['operation'] or ''}".strip() for c in table.rewritten["commits"]]
    return table.rewritten["from_version"], table.rewritten["seen_at"][:10], tuple(commits)


def _told(table: Table, codes: Container[str]) -> tuple[str, ...]:
    """The table's problems of these codes, each with the file that has it."""
    # These have findings of their own. A problem of the log as a whole names no file, so it hides no other.
    elsewhere = {LAST_CHECKPOINT, *(file for file, _ in _stopping(table) if file)}
    problems = (p for p in table.problems if p["code"] in codes and p["file"] not in elsewhere)
    return tuple(f"{p['file']}: {p['reason']}" if p["file"] else p["reason"] for p in problems)


def _stopping(table: Table) -> tuple[tuple[str, str], ...]:
    """The files that stop Spark, each with what is wrong."""
    stops = ProblemCode.STOPS_SPARK.value
    return tuple((item["file"], item["reason"]) for item in table.problems if item["code"] == stops)


_BROKEN = {
    ProblemCode.CORRUPT.value,
    ProblemCode.MISSING.value,
    ProblemCode.UNREADABLE.value,
    ProblemCode.DISAGREES.value,
}


def _since_checkpoint(table: Table) -> int | None:
    if table.version is None:
        return None
    return table.version - (-1 if table.checkpoint_version is None else table.checkpoint_version)


def _log_bytes(table: Table) -> int | None:
    """Bytes of the commits that are still in the log."""
    if table.first_version is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_LOG_BYTES, [table.pk, table.incarnation, table.first_version])
        (total,) = cursor.fetchone()
    return None if total is None else int(total)


_LOG_BYTES = "select sum(log_bytes) from tables_commit where table_id = %s and incarnation = %s and version >= %s"


def index_words(table: Table) -> None:
    """Sets what a search looks through, unsaved."""
    columns = table.schema.columns if table.schema else []
    parts = [table.name, table.catalog_name or "", table.path, table.owner, *table.tags, table.description, *columns]
    table.leaf = search_index.normal(table.name.replace("/", ".").rstrip(".").rpartition(".")[2])
    table.words = search_index.words(parts)
    table.grams = search_index.grams(table.words) + search_index.later_words(table.leaf)


def protocol_of(stored: dict[str, Any] | None) -> Protocol | None:
    """A protocol as the reader has it, from the catalog's JSON."""
    if stored is None:
        return None
    lists = [stored[name] for name in ("reader_features", "writer_features")]
    reader, writer = (None if names is None else tuple(names) for names in lists)
    return Protocol(stored["min_reader_version"], stored["min_writer_version"], reader, writer)
