"""An optimize's preview: the files that Delta would join, by the log alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.commands.optimize.rules import Mode, Optimize, consequences_of, name_parts, written_name
from jobs.domain.delta.readers import unseen_by
from jobs.domain.packing import MIN_FILE_BYTES, MOST_DELETED
from jobs.domain.predicates.schema import Unresolved, resolve
from jobs.domain.predicates.tree import Node
from jobs.pruning.packing import FileGroup, packed, sorted_whole
from jobs.pruning.partition_predicates import refuse_data_columns, refused, refused_on_clustered
from jobs.pruning.prediction import matched
from jobs.targets.metadata import refuse_schema
from jobs.targets.subject import Subject
from tables.deltalog.rules.retention import deleted_file_retention
from tables.deltalog.rules.schema_limits import Use
from tables.rules.column_statistics import Retained, retained

NOTHING = {
    "compaction": "No two small files lie in one partition, so Delta has nothing to join and commits nothing.",
    "zorder": "No file matches, so Delta has nothing to sort and commits nothing.",
    "clustering": "The table has no files, so Delta has nothing to cluster and commits nothing.",
}


@dataclass(frozen=True, slots=True)
class _Work:
    """The files that Delta rewrites, and how many it writes at most; None where the log doesn't tell."""

    files_in: int | None
    bytes_in: int | None
    files_out: int | None
    vectors: int | None
    partitions: int | None
    exact: bool


def from_log(subject: Subject, command: Optimize, node: Node | None) -> dict[str, Any]:
    """What an optimize would rewrite at the subject's version; `node` is the predicate's tree.

    Raises CommandRefused with Delta's own condition for what Delta would refuse; `unsupported_schema` where it would fail in the run.
    """
    mode = mode_of(subject, command)
    _refuse(subject, command, node)
    files, outcome = matched(subject.snapshot, subject.struct, subject.schema, node)
    chosen = files.table.filter(outcome.true)
    sure = bool(pc.all(pc.or_(pc.invert(outcome.true), outcome.must)).as_py())
    work = _work(mode, chosen, sure)
    if work.files_in != 0:
        refuse_schema(subject.struct, Use.REWRITE, subject.table.path)
    return {
        "class": "ordinary",
        "mode": mode,
        "files_total": files.count,
        "files_in": work.files_in,
        "bytes_in": work.bytes_in,
        "files_out": work.files_out,
        "deletion_vectors": work.vectors,
        "partitions": work.partitions,
        "exact": work.exact,
        "nothing_to_do": work.files_in == 0,
        "table_id": subject.metadata.id,
        "shape_sha256": subject.shape_sha256,
        "measured_at_version": subject.version,
        "speed": "log",
        "consequences": [
            *consequences_of(
                retention=deleted_file_retention(subject.configuration),
                num_bytes=work.bytes_in,
                vectors=work.vectors or 0,
            ),
            *unseen_by(subject.other_formats),
        ],
    }


def files_rewritten(subject: Subject, command: Optimize, node: Node | None) -> pa.Table:
    """The live files that Delta may rewrite."""
    files, outcome = matched(subject.snapshot, subject.struct, subject.schema, node)
    return _candidates(mode_of(subject, command), files.table.filter(outcome.true))


def mode_of(subject: Subject, command: Optimize) -> Mode:
    """How Delta would go about it."""
    if clustering_columns(subject):
        return "clustering"
    return "zorder" if command.zorder_by else "compaction"


def clustering_columns(subject: Subject) -> Sequence[str]:
    """The columns by which Delta clusters the table; none if it isn't clustered."""
    return subject.table.clustering_columns if "clustering" in subject.snapshot.features else ()


def _refuse(subject: Subject, command: Optimize, node: Node | None) -> None:
    """Raises CommandRefused for what Delta refuses, in the order in which it looks."""
    if "clustering" in subject.snapshot.features:
        _refuse_on_clustered(command, node)
    partitions = {name.lower(): name for name in subject.metadata.partition_columns}
    refuse_data_columns(node, partitions)
    paths = sorted_by(subject, command.zorder_by or ())
    for path in paths:
        _refuse_partition_column(path, partitions)
    _refuse_without_statistics(subject, paths)
    if command.full and not clustering_columns(subject):
        text = "OPTIMIZE FULL is only supported for clustered tables with non-empty clustering columns."
        raise refused("DELTA_OPTIMIZE_FULL_NOT_SUPPORTED", "42601", text, "Leave out full.")


def _refuse_on_clustered(command: Optimize, node: Node | None) -> None:
    if node is not None:
        raise refused_on_clustered()
    if command.zorder_by:
        text = "OPTIMIZE of a clustered table takes no ZORDER BY: it sorts by the clustering columns."
        raise refused("DELTA_CLUSTERING_WITH_ZORDER_BY", "42613", text, "Leave out the columns.")


def sorted_by(subject: Subject, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The columns' paths with the schema's own spelling. Raises CommandRefused in Delta's words."""
    return [_column(subject, name) for name in columns]


def _column(subject: Subject, name: str) -> tuple[str, ...]:
    """A column whose own name has dots comes before a struct's field."""
    with suppress(Unresolved):
        return resolve(subject.schema, [name])
    try:
        return resolve(subject.schema, name_parts(name))
    except (Unresolved, ValueError):
        text = f"The table has no column {name}."
        raise refused("DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST", "42703", text, "Choose other columns.") from None


def _refuse_partition_column(path: tuple[str, ...], partitions: Mapping[str, str]) -> None:
    if len(path) == 1 and path[0].lower() in partitions:
        text = f"{path[0]} is a partition column: Delta sorts by data columns only."
        raise refused("DELTA_ZORDERING_ON_PARTITION_COLUMN", "42P10", text, "Choose other columns.")


def _refuse_without_statistics(subject: Subject, paths: Sequence[tuple[str, ...]]) -> None:
    """Columns of which the next files would have no statistics (`OptimizeTableCommand.validateZorderByColumns`)."""
    kept = retained(subject.struct, subject.metadata.partition_columns, subject.configuration) if paths else {}
    without = [path for path in paths if _keeps_none(path, kept)]
    if without:
        named = ", ".join(map(written_name, without))
        text = (
            f"Z-Ordering on {named} will be ineffective, because we currently do not collect stats for these columns."
        )
        remedy = "Choose other columns, or have statistics of these collected (delta.dataSkippingStatsColumns) for new files first."
        raise refused("DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS", "KD00D", text, remedy)


def _keeps_none(path: tuple[str, ...], kept: Mapping[tuple[str, ...], Retained]) -> bool:
    """Whether no statistics are kept of a column, nor, if it is a struct, of any field in it."""
    found = [what for leaf, what in kept.items() if leaf[: len(path)] == path]
    return bool(found) and set(found) == {Retained.NONE}


def _work(mode: Mode, files: pa.Table, sure: bool) -> _Work:
    if mode == "clustering" and files.num_rows:
        return _Work(None, None, None, None, None, exact=False)
    groups = list(_groups(mode, files))
    return _Work(
        files_in=sum(group.files for group in groups),
        bytes_in=sum(group.size for group in groups),
        files_out=sum(group.written for group in groups),
        vectors=sum(group.vectors for group in groups),
        partitions=len({group.partition for group in groups}),
        exact=sure,
    )


def _groups(mode: Mode, files: pa.Table) -> Iterator[FileGroup]:
    return sorted_whole(files) if mode == "zorder" else packed(_candidates(mode, files))


def _candidates(mode: Mode, files: pa.Table) -> pa.Table:
    return files.filter(_is_candidate(files)) if mode == "compaction" else files


def _is_candidate(files: pa.Table) -> pa.Array:
    """Whether compaction looks at a file: it is small, or too many of its rows are deleted, or that can't be told."""
    vector, rows = files.column("deletion_vector").combine_chunks(), files.column("num_records").combine_chunks()
    hidden = pc.fill_null(pc.cast(pc.struct_field(vector, "cardinality"), pa.float64()), 0.0)
    many = pc.greater(hidden, pc.multiply(pc.cast(rows, pa.float64()), MOST_DELETED))
    worn = pc.and_(pc.is_valid(vector), pc.fill_null(many, True))
    small = pc.less(pc.fill_null(files.column("size").combine_chunks(), 0), MIN_FILE_BYTES)
    return pc.or_(small, worn)
