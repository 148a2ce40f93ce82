"""What Delta's DELETE would do at a version, from the log alone: files, bytes, rows at most, and the branch it will take and why.

Source of the rules: Delta 4.4.0, DeleteCommand.performDelete and DeletionVectorUtils.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.base.text.counted import counted
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.domain.predicates import typenames
from jobs.domain.predicates.schema import Field, Schema
from jobs.domain.predicates.tree import Node, columns
from jobs.pruning.matching import DataColumn, LiveFiles, Matcher, everything, match
from jobs.pruning.outcomes import Outcome, filled
from jobs.pruning.partitions import PartitionColumn
from jobs.pruning.skipping import NONE, Missed, missed
from jobs.pruning.spread import Spread, spread_of
from jobs.pruning.statistics import LONGEST_TEXT
from tables.deltalog.rules.schema import Column, Struct
from tables.deltalog.state.livefiles import PARTITION, rows_of, sum_of, visible_rows
from tables.deltalog.state.snapshot import Snapshot

APPEND_ONLY = "delta.appendOnly"
VECTORS = "delta.enableDeletionVectors"
MAPPING = "delta.columnMapping.mode"
TYPE_CHANGES = "delta.typeChanges"
PREFIX_LENGTH = "delta.dataSkippingStringPrefixLength"


@dataclass(frozen=True, slots=True)
class Prediction:
    """The log's answer. Sizes are bytes; unknown is None.

    `files_matched` may hold matching rows (at most so many), `files_whole` certainly match with every row; `rows_matched` is an upper
    bound unless `rows_matched_exact`, `rows_least` a lower one. `kind` is `whole_table` or `ordinary`; `branch` is `metadata_only`,
    `deletion_vectors`, `rewrite` or `nothing`, `why` its reason. `files_to_rewrite` and `bytes_to_rewrite` are upper bounds too.
    `by_partition` is as `spread.spread_of` has it. `skipping` are the matched files that Delta itself would pass over.
    """

    version: int
    kind: str
    branch: str
    why: str
    files_total: int
    files_matched: int
    files_whole: int
    bytes_matched: int | None
    files_to_rewrite: int
    bytes_to_rewrite: int | None
    rows_matched: int | None
    rows_matched_exact: bool
    rows_least: int | None
    partitions: int | None
    notes: tuple[str, ...] = ()
    by_partition: Spread | None = None
    skipping: Missed = NONE

    def as_json(self) -> dict[str, Any]:
        """The preview as the API has it."""
        value = asdict(self)
        value["class"] = value.pop("kind")
        value["measured_at_version"] = value.pop("version")
        return {**value, "notes": list(self.notes), "speed": "log"}


def see(snapshot: Snapshot, struct: Struct, schema: Schema, node: Node | None) -> tuple[Prediction, pa.Table, pa.Table]:
    """The prediction for a predicate (None: the whole table) at the snapshot's version, the live files that may hold matching rows, and
    those of them that Delta's data skipping passes over.

    `struct` is the snapshot's schema and `schema` the same for predicates, against which `node` was resolved. The snapshot must have
    its files. Raises CommandRefused (`append_only`).
    """
    refuse_append_only(snapshot)
    files = files_of(snapshot, struct, schema)
    outcome, skipping, passed = _judged(files, node)
    return (
        _summed(snapshot, files, outcome, node, skipping),
        files.table.filter(outcome.true),
        files.table.filter(passed),
    )


def _judged(files: LiveFiles, node: Node | None) -> tuple[Outcome, Missed, pa.Array]:
    if node is None:
        return everything(files), NONE, filled(files.count, False)
    matcher = Matcher.of(node, files)
    outcome = matcher.outcome(node)
    return outcome, *missed(node, matcher, outcome)


def matched(snapshot: Snapshot, struct: Struct, schema: Schema, node: Node | None) -> tuple[LiveFiles, Outcome]:
    """The live files, and which of them may match the predicate (None: all)."""
    files = files_of(snapshot, struct, schema)
    return files, everything(files) if node is None else match(node, files)


def refuse_append_only(snapshot: Snapshot) -> None:
    """Delta refuses a delete from an append-only table even where nothing would match. Raises CommandRefused."""
    if _configuration(snapshot).get(APPEND_ONLY, "").lower() != "true":
        return
    text = "This table is configured to only allow appends."
    raise CommandRefused(
        Refusal(
            "append_only",
            "The table only takes new rows: delta.appendOnly is true.",
            place=APPEND_ONLY,
            remedy="To allow deletes, set delta.appendOnly to false.",
            engine=EngineFailure("DELTA_CANNOT_MODIFY_APPEND_ONLY", "42809", text),
        )
    )


def files_of(snapshot: Snapshot, struct: Struct, schema: Schema) -> LiveFiles:
    """The live files with the columns that a predicate may name, by the names that files carry."""
    mapped = _configuration(snapshot).get(MAPPING, "none").lower() != "none"
    metadata = snapshot.metadata
    refuse_shared_names(struct, mapped)
    partition_names = {name.lower() for name in metadata.partition_columns} if metadata else set()
    partitions: list[PartitionColumn] = []
    data: list[DataColumn] = []
    for column, field in zip(struct.columns, schema.fields, strict=True):
        physical = column.physical_name if mapped else column.name
        if column.name.lower() in partition_names:
            partitions.append(PartitionColumn((column.name,), _logged(snapshot, physical), field.type))
        else:
            data.extend(_data_columns(column, field, (), (), mapped))
    return LiveFiles(snapshot.files(), partitions, data, longest_text(snapshot))


def refuse_shared_names(struct: Struct, mapped: bool) -> None:
    """Two columns that files keep under one name can't be told apart. Raises CommandRefused."""
    names = [column.physical_name if mapped else column.name for column in struct.columns]
    if shared := {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set():
        text = f"The table’s schema can’t be read with certainty: two columns are kept in files under the name {min(shared)}."
        raise CommandRefused(Refusal("unreadable", text, remedy="Give each column a physical name of its own."))
    for column in struct.columns:
        if isinstance(column.type, Struct):
            refuse_shared_names(column.type, mapped)


def _logged(snapshot: Snapshot, physical: str) -> str:
    """The partition column's name as the saved files have it: metadata may differ from the schema in case."""
    known = snapshot.physical_partition_columns
    return next((name for name in known if name.lower() == physical.lower()), physical)


def _data_columns(
    column: Column, field: Field, above: tuple[str, ...], physical_above: tuple[str, ...], mapped: bool
) -> list[DataColumn]:
    """A column, or the fields of a struct: statistics are kept for those only."""
    path = (*above, column.name)
    physical = (*physical_above, column.physical_name if mapped else column.name)
    if isinstance(column.type, Struct):
        pairs = zip(column.type.columns, field.fields, strict=True)
        return [leaf for inner, below in pairs for leaf in _data_columns(inner, below, path, physical, mapped)]
    return [DataColumn(path, physical, kept_as(column, field.type))] if typenames.family(field.type) else []


def kept_as(column: Column, kind: str) -> str:
    """The type as which older files have the column's bounds, where they aren't those of its type now.

    Delta widens types without rewriting files. Whole numbers, decimals and dates stay what they were; a float's statistics say 0.7 where
    its rows, read as doubles, are 0.699999988.
    """
    changes = column.metadata.get(TYPE_CHANGES)
    before = [change.get("fromType") if isinstance(change, dict) else None for change in _listed(changes)]
    return kind if all(isinstance(name, str) and _keeps_values(name) for name in before) else "float"


def _listed(changes: Any) -> list[Any]:
    return [] if changes is None else changes if isinstance(changes, list) else [changes]


def _keeps_values(name: str) -> bool:
    return name in ("byte", "short", "integer", "long", "date") or name.startswith("decimal")


def longest_text(snapshot: Snapshot) -> int:
    """How many characters of a text statistics keep: one as long may be cut."""
    text = _configuration(snapshot).get(PREFIX_LENGTH, "")
    return min(int(text), LONGEST_TEXT) if text.isascii() and text.isdigit() and len(text) < 6 else LONGEST_TEXT


def _configuration(snapshot: Snapshot) -> Mapping[str, str]:
    return snapshot.metadata.configuration if snapshot.metadata else {}


def _summed(snapshot: Snapshot, files: LiveFiles, outcome: Outcome, node: Node | None, skipping: Missed) -> Prediction:
    matched = files.table.filter(outcome.true)
    whole = files.table.filter(pc.and_(outcome.true, outcome.must))
    branch, why = _branch(snapshot, files, matched, node)
    rows, least = rows_of(matched), rows_of(whole)
    all_whole = whole.num_rows == matched.num_rows
    rewrites = branch == "rewrite"
    return Prediction(
        version=snapshot.version,
        kind="whole_table" if node is None or (files.count and whole.num_rows == files.count) else "ordinary",
        branch=branch,
        why=why,
        files_total=files.count,
        files_matched=matched.num_rows,
        files_whole=whole.num_rows,
        bytes_matched=sum_of(matched, "size"),
        files_to_rewrite=matched.num_rows if rewrites else 0,
        bytes_to_rewrite=sum_of(matched, "size") if rewrites else 0,
        rows_matched=rows,
        rows_matched_exact=rows is not None and all_whole,
        rows_least=least,
        partitions=_partitions(matched, files),
        notes=(*_notes(files, matched, all_whole), *_empty(branch, matched), *skipping.notes),
        by_partition=spread_of(files.table, files.partitions, outcome),
        skipping=skipping,
    )


def _branch(snapshot: Snapshot, files: LiveFiles, matched: pa.Table, node: Node | None) -> tuple[str, str]:
    if matched.num_rows == 0:
        empty = "The table has no files" if files.count == 0 else "No file can hold a matching row"
        return "nothing", f"{empty}, so nothing will be committed."
    if node is None:
        return "metadata_only", "The whole table goes: Delta removes every file by the log alone and reads no data."
    if columns(node) <= {column.path for column in files.partitions}:
        named = ", ".join(sorted(".".join(path) for path in columns(node)))
        return (
            "metadata_only",
            f"Only partition columns are asked for ({named}): Delta removes whole files by the log alone.",
        )
    if has_vectors(snapshot):
        return (
            "deletion_vectors",
            "The table has deletion vectors on: rows are marked as deleted, files are not rewritten.",
        )
    return "rewrite", _no_vectors(snapshot)


def has_vectors(snapshot: Snapshot) -> bool:
    """Whether a delete marks rows: the feature is in the protocol, and the property is on (by default it is off)."""
    on = _configuration(snapshot).get(VECTORS, "").lower() == "true"
    return on and "deletionVectors" in snapshot.features


def _no_vectors(snapshot: Snapshot) -> str:
    rewritten = "each file with a matching row is written again without it"
    if "deletionVectors" in snapshot.features:
        return f"The protocol knows deletion vectors, but {VECTORS} is off: {rewritten}."
    return f"The table has no deletion vectors: {rewritten}."


def _partitions(matched: pa.Table, files: LiveFiles) -> int | None:
    """Partitions with matching files; None when the table has none."""
    names = [PARTITION + column.physical for column in files.partitions]
    return int(matched.group_by(names).aggregate([]).num_rows) if names else None


def _notes(files: LiveFiles, matched: pa.Table, all_whole: bool) -> tuple[str, ...]:
    """What makes the numbers less than exact."""
    notes: list[str] = []
    missing = matched.column("num_records").null_count
    if missing:
        of = counted(matched.num_rows, "file doesn’t say its rows", "files don’t say how many rows they hold")
        notes.append(f"{missing:,} of {of}, so the rows are unknown.")
    if matched.num_rows and not all_whole:
        notes.append("The statistics of files only say what can’t match: the number of rows is an upper bound.")
    if files.table.column("deletion_vector").null_count < files.count:
        notes.append("Rows that deletion vectors hide already are not counted.")
    return tuple(notes)


def _empty(branch: str, matched: pa.Table) -> tuple[str, ...]:
    """Files without a row that go all the same: by the log alone Delta removes every file of its partitions."""
    if branch != "metadata_only":
        return ()
    return empty_files_notes(pc.sum(pc.equal(visible_rows(matched), 0)).as_py() or 0)


def empty_files_notes(count: int) -> tuple[str, ...]:
    """That a delete by the log alone removes so many files that hold no row."""
    if count < 1:
        return ()
    text = "1 matching file holds no rows" if count == 1 else f"{count:,} matching files hold no rows"
    return (f"{text}: Delta removes {'it' if count == 1 else 'them'} from the log all the same.",)
