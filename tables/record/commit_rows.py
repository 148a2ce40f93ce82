"""A log's commits as rows of the catalog."""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from console.base.text.masking import masked, masked_properties, masked_text
from tables.deltalog.read.actions import Metadata, Protocol
from tables.deltalog.read.commits import LogCommit as LogCommit
from tables.deltalog.read.file_sums import Removal
from tables.deltalog.read.lines import parse_json
from tables.deltalog.read.problems import LogProblem, ProblemCode, harms_state
from tables.deltalog.replay.log import job_of
from tables.deltalog.rules.features import implied_features
from tables.deltalog.rules.schema import SchemaError, Struct, parse_schema
from tables.models import Commit, Schema, Table
from tables.record.inserts import insert_new
from tables.rules.destruction import UNREAD
from tables.rules.reported_rows import reported_change

RULES = 3  # to be raised where rows of commits that are read already should be others: the next sync reads each log once from its begin
LONGEST_TEXT = 100_000  # of one text that a writer put into its commit; what is longer is cut, and says so
LONGEST_NAME = 200  # of a text that an index holds: PostgreSQL takes 2,704 bytes at most
LONGEST_SCHEMA = 8 << 20  # characters of a schema's JSON: the longest line of a log that is read at all


@dataclass(frozen=True, slots=True)
class StoredCommitRow:
    """A commit's row and the schema that it refers to."""

    commit: Commit
    schema: Schema | None


def rows(table: Table, commits: Iterable[LogCommit]) -> Iterator[StoredCommitRow]:
    """Unsaved rows of the table's present incarnation, in the order of the commits."""
    for commit in commits:
        schema, problems = schema_of(commit.metadata, f"{commit.version:020d}.json")
        row = _row(table, commit, schema)
        row.problems += [problem.as_json() for problem in problems]
        yield StoredCommitRow(row, schema)


def ensure_schemas(schemas: Iterable[Schema | None]) -> None:
    """Saves those that are new."""
    by_hash = {schema.sha256: schema for schema in schemas if schema is not None}
    if by_hash:
        insert_new(list(by_hash.values()), "sha256")


def _row(table: Table, commit: LogCommit, schema: Schema | None) -> Commit:
    metadata = commit.metadata
    return Commit(
        table=table,
        incarnation=table.incarnation,
        version=commit.version,
        committed_at=commit.committed_at,
        operation=short(commit.operation),
        operation_parameters=texts(masked(commit.operation_parameters)),
        operation_metrics=texts(commit.operation_metrics),
        user_name=text(commit.user_name or commit.user_id),
        engine_info=text(commit.engine_info),
        isolation_level=text(commit.isolation_level),
        is_blind_append=commit.is_blind_append,
        read_version=_read_version(commit),
        txn_id=text(commit.txn_id),
        user_metadata=text(masked_text(commit.user_metadata)),
        job=job_id(commit.user_metadata),
        files_added=commit.num_added_files,
        files_removed=commit.num_removed_files,
        bytes_added=bounded(commit.added_bytes),
        bytes_removed=bounded(commit.removed_bytes),
        rows_added=bounded(commit.rows_added),
        rows_removed=bounded(commit.rows_removed),
        rows_changed=bounded(rows_changed(commit, commit.num_removed_files, commit.num_added_files)),
        removal=removal_of(commit),
        schema=schema,
        partition_columns=[text(name) for name in metadata.partition_columns] if metadata else None,
        properties=texts(masked_properties(metadata.configuration)) if metadata else None,
        protocol=protocol_json(commit.protocol),
        log_bytes=bounded(commit.size_bytes),
        problems=[problem.as_json() for problem in commit.problems],
    )


def removal_of(commit: LogCommit) -> str:
    """What its removals did; UNREAD where a part of the commit couldn't be read that may say otherwise."""
    is_certain = commit.removal is Removal.LOST or not harms_state(commit.problems)
    return commit.removal.value if is_certain else UNREAD


def rows_changed(commit: LogCommit | Commit, files_removed: int, files_added: int) -> int | None:
    """By how many rows the table grew: from the files where their statistics say, else from what the operation reported.

    None when neither tells, and where it reports no change but only removed files: a DELETE of whole partitions reports 0 rows with
    some writers, whatever the files held.
    """
    if commit.rows_added is not None and commit.rows_removed is not None:
        return commit.rows_added - commit.rows_removed
    reported = reported_change(commit.operation, commit.operation_metrics)
    return None if reported == 0 and files_removed and not files_added else reported


def job_id(user_metadata: str | None) -> uuid.UUID | None:
    """The job that a commit names, when it names one as Levee does."""
    try:
        return uuid.UUID(job_of(user_metadata) or "")
    except ValueError:
        return None


def tree_of(schema: Schema | None) -> Struct | None:
    """The schema as a tree, None when there is none or it can't be read."""
    if schema is None:
        return None
    try:
        return parse_schema(json.dumps(schema.struct))
    except SchemaError:
        return None


def schema_of(metadata: Metadata | None, file: str = "") -> tuple[Schema | None, list[LogProblem]]:
    """The schema of a metaData action, unsaved, and what is wrong with it: one that can't be kept is a problem of `file`."""
    if metadata is None:
        return None, []
    try:
        struct = _struct(metadata.schema_json)
        names = list(field_names(struct))
    except (KeyError, TypeError, AttributeError, RecursionError):
        return None, [
            LogProblem(file, "the schema is not a struct of Spark’s, so it is not kept", ProblemCode.UNREADABLE)
        ]
    except ValueError as error:
        return None, [LogProblem(file, f"the schema is not kept: {error}", ProblemCode.UNREADABLE)]
    canonical = json.dumps(struct, sort_keys=True, separators=(",", ":"))
    return Schema(sha256=hashlib.sha256(canonical.encode()).hexdigest(), struct=struct, columns=names), []


def _struct(schema_json: str) -> Any:
    """The schema's JSON as the database can hold it. Raises ValueError, RecursionError."""
    if len(schema_json) > LONGEST_SCHEMA:
        raise ValueError(f"it is longer than {LONGEST_SCHEMA >> 20} MiB")
    struct = parse_json(schema_json)
    if not _is_finite(struct):
        raise ValueError("it holds a number that is out of range")
    return struct


def _is_finite(value: Any) -> bool:
    """False when a number in the value is beyond what JSON can hold: `1e400` reads as infinity."""
    if isinstance(value, float):
        return math.isfinite(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(map(_is_finite, inner))


def field_names(struct: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Dotted names of all fields of a struct, those of nested ones included, parents first."""
    for field in struct["fields"]:
        name = f"{prefix}{field['name']}"
        yield name
        yield from _below(field["type"], f"{name}.")


def _below(kind: Any, prefix: str) -> Iterator[str]:
    if not isinstance(kind, dict):
        return
    match kind.get("type"):
        case "struct":
            yield from field_names(kind, prefix)
        case "array":
            yield from _below(kind["elementType"], prefix)
        case "map":
            yield from _below(kind["keyType"], prefix)
            yield from _below(kind["valueType"], prefix)


def protocol_json(protocol: Protocol | None) -> dict[str, Any] | None:
    """A protocol as the API gives it; feature lists are null for legacy protocols."""
    if protocol is None:
        return None
    return {
        "min_reader_version": protocol.min_reader_version,
        "min_writer_version": protocol.min_writer_version,
        "reader_features": _sorted(protocol.reader_features),
        "writer_features": _sorted(protocol.writer_features),
        "implied_features": list(implied_features(protocol)),
    }


def _sorted(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else sorted(text(name) for name in names)


def text(value: str | None) -> str:
    """A text as PostgreSQL can hold it: no NUL, no lone surrogates, bounded."""
    plain = (value or "").replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
    return plain if len(plain) <= LONGEST_TEXT else plain[:LONGEST_TEXT] + "… (cut)"


def short(value: str | None) -> str:
    """A name that a writer chose, short enough for an index; what is longer ends in an ellipsis."""
    plain = text(value)
    return plain if len(plain) <= LONGEST_NAME else plain[:LONGEST_NAME] + "…"


def texts(values: dict[str, str | None]) -> dict[str, str | None]:
    """The same for a mapping of texts, null values kept."""
    return {text(key): None if value is None else text(value) for key, value in values.items()}


def bounded(value: int | None) -> int | None:
    """A count as a bigint can hold it; one that is out of its range is unknown."""
    return value if value is not None and -(2**63) <= value < 2**63 else None


def _read_version(commit: LogCommit) -> int | None:
    """None for a commit that read no version: Delta writes -1 (a CONVERT)."""
    version = bounded(commit.read_version)
    return version if version is None or version >= 0 else None
