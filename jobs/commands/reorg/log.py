"""A reorg's preview: the files that Delta would write again, by the log alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.commands.reorg.rules import Reorg, consequences_of
from jobs.domain.delta.readers import unseen_by
from jobs.domain.predicates.tree import Node
from jobs.pruning.packing import FileGroup, packed
from jobs.pruning.partition_predicates import refuse_data_columns, refused_on_clustered
from jobs.pruning.prediction import matched
from jobs.targets.metadata import refuse_schema
from jobs.targets.subject import Subject
from tables.deltalog.rules.retention import deleted_file_retention
from tables.deltalog.rules.schema import HIGHEST_ID, Column, Struct, highest_id, walk
from tables.deltalog.rules.schema_limits import Use

NOTHING = "No file has a deletion vector and no column was dropped, so Delta has nothing to purge and commits nothing."
MAPPING_MODE = "delta.columnMapping.mode"
NESTED_IDS = "delta.columnMapping.nested.ids"


def from_log(subject: Subject, command: Reorg, node: Node | None) -> dict[str, Any]:
    """What a reorg would write again at the subject's version; `node` is the predicate's tree.

    Delta looks for dropped columns in the files' own footers. The log doesn't have them, so once a column was dropped every file may
    still hold it, and the numbers are bounds. Raises CommandRefused with Delta's own condition for what Delta would refuse;
    `unsupported_schema` where it would fail in the run.
    """
    clustered = "clustering" in subject.snapshot.features
    if clustered and node is not None:
        raise refused_on_clustered()
    refuse_data_columns(node, {name.lower(): name for name in subject.metadata.partition_columns})
    files, outcome = matched(subject.snapshot, subject.struct, subject.schema, node)
    sure = bool(pc.all(pc.or_(pc.invert(outcome.true), outcome.must)).as_py())
    asked, dropped = files.table.filter(outcome.true), may_hold_dropped(subject.struct, subject.configuration)
    worn = asked.filter(_has_deleted_rows(asked))
    chosen = asked if dropped else worn
    groups = list(packed(chosen, alone=True))
    if groups:
        refuse_schema(subject.struct, Use.REWRITE, subject.table.path)
    return {
        "class": "ordinary",
        "files_total": files.count,
        **_sums(groups),
        "files_out": None if clustered and groups else sum(group.written for group in groups),
        "rows_hidden": _rows_hidden(worn),
        "dropped_columns": dropped,
        "exact": sure and not dropped and not (clustered and groups),
        "nothing_to_do": not groups,
        "table_id": subject.metadata.id,
        "shape_sha256": subject.shape_sha256,
        "measured_at_version": subject.version,
        "speed": "log",
        "consequences": [
            *consequences_of(
                retention=deleted_file_retention(subject.configuration), rows=_rows_hidden(worn), dropped=dropped
            ),
            *unseen_by(subject.other_formats),
        ],
    }


def files_rewritten(subject: Subject, node: Node | None) -> pa.Table:
    """The live files that Delta may rewrite, or in whose footers it looks for dropped columns."""
    files, outcome = matched(subject.snapshot, subject.struct, subject.schema, node)
    asked = files.table.filter(outcome.true)
    whole = may_hold_dropped(subject.struct, subject.configuration)
    return asked if whole else asked.filter(_has_deleted_rows(asked))


def may_hold_dropped(struct: Struct, configuration: Mapping[str, str]) -> bool:
    """Whether a column may have been dropped whose values are still in files.

    Delta drops columns only with column mapping, gives each column the next number, and never gives a number twice: it keeps the highest
    one (Delta protocol, "Column Mapping"). A number that no column of the schema has was a dropped column's.
    """
    if configuration.get(MAPPING_MODE, "none").lower() == "none":
        return False
    highest = highest_id(configuration)
    if HIGHEST_ID not in configuration or highest is None:
        return True
    given = {number for _, column in walk(struct) for number in _numbers(column) if 1 <= number <= highest}
    return len(given) < highest


def _numbers(column: Column) -> Iterator[int]:
    """A column's own number, and those of its elements, keys and values, which Iceberg's rules ask for."""
    nested = column.metadata.get(NESTED_IDS)
    given = nested.values() if isinstance(nested, Mapping) else ()
    yield from (number for number in (column.mapping_id, *given) if type(number) is int)


def _sums(groups: Sequence[FileGroup]) -> dict[str, int]:
    return {
        "files_in": sum(group.files for group in groups),
        "bytes_in": sum(group.size for group in groups),
        "deletion_vectors": sum(group.vectors for group in groups),
        "partitions": len({group.partition for group in groups}),
    }


def _has_deleted_rows(files: pa.Table) -> pa.Array:
    """Whether a file has a deletion vector that hides rows, or, without a row count, one at all (`DeltaPurgeOperation`)."""
    vector, rows = files.column("deletion_vector").combine_chunks(), files.column("num_records").combine_chunks()
    hides = pc.fill_null(pc.greater(pc.cast(pc.struct_field(vector, "cardinality"), pa.int64()), 0), False)
    return pc.and_(pc.is_valid(vector), pc.or_(hides, pc.is_null(rows)))


def _rows_hidden(files: pa.Table) -> int | None:
    counts = pc.struct_field(files.column("deletion_vector").combine_chunks(), "cardinality")
    return None if counts.null_count else int(pc.sum(counts).as_py() or 0)
